"""A diff on the Line API: unified or side by side, with word marks and colours made when a line is painted."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len
from textual.events import Resize
from textual.message import Message

from ...store.model import Line
from .colouring import coloured, lexer_for, overlaid
from .difftext import BLANK, END, FILE, HUNK, NEW, NOTE, OLD, PROBLEM, SAME, DiffText
from .lines import Lines, Span, clip
from .wordmarks import changed_words

NARROWEST_SPLIT = 90
"""Cells that a pane needs for two sides."""


class DiffPane(Lines):
    """Shows a diff; its cursor is the line that jumps, the editor and copying start from."""

    @dataclass
    class Turned(Message):
        """The cursor came to another file."""

        pane: DiffPane
        file: int

    def __init__(self, *, ident: str | None = None) -> None:
        super().__init__(ident=ident)
        self.content: DiffText | None = None
        self.split = False
        self.wrap = False
        self.numbers = True
        self.empty = ""
        """What is said where nothing differs."""
        self.always_marks = False
        """Shows the cursor's line although another pane has the keys."""
        self._tops: list[int] = []
        """First line on the screen of each drawn line; only when wrapping, where one can take several."""
        self._file = -1

    # What is shown

    @property
    def drawn(self) -> int:
        """Lines before wrapping: of the text, or of its two sides."""
        if self.content is None:
            return 0
        return len(self.content.sides) if self.split else len(self.content)

    @property
    def line_count(self) -> int:
        if not self.drawn:
            return 1 if self.empty else 0
        return self._tops[-1] if self.wrap and self._tops else self.drawn

    @property
    def content_width(self) -> int:
        if self.content is None or self.split or self.wrap or not len(self.content):
            return 0
        return max(self.content.lengths) + self.lead + 1

    @property
    def lead(self) -> int:
        """Cells before the text: a mark, two numbers and a sign."""
        digits = len(str(self.content.highest)) if self.content else 1
        return 1 + (2 * digits + 2 if self.numbers else 0) + 2

    def show(self, content: DiffText, *, keep: tuple[bytes, int] | None = None) -> None:
        """Shows another diff, the cursor at its first line or near a line of a file that it had before."""
        self.content = content
        self._file = -1
        self._measure()
        self.repaint()
        self.set_reactive(Lines.cursor, 0)
        if keep is not None:
            self._go_near(*keep)
        self.scroll_to(x=0, y=max(0, self.cursor - self.page // 3), animate=False, force=True)
        self._tell_file()

    def place(self) -> tuple[bytes, int] | None:
        """Path and number of the new line under the cursor, to come back to it in another diff."""
        if self.content is None or not len(self.content):
            return None
        at = self.row_at(self.cursor)
        return self.content.diff.files[self.content.of_file[at]].path, self.number_at(at)

    def number_at(self, at: int) -> int:
        """The number that a line has in the newer file, or the next one that has one there; 1 at a heading."""
        if self.content is None:
            return 1
        for near in range(at, min(at + 200, len(self.content))):
            line = self.content.lines[near]
            if isinstance(line, Line) and line.new is not None:
                return line.new
            if near > at and self.content.kinds[near] in (FILE, BLANK):
                break
        line = self.content.lines[at]
        return line.old if isinstance(line, Line) and line.old is not None else 1

    def _go_near(self, path: bytes, number: int) -> None:
        if self.content is None:
            return
        file = next((n for n, file in enumerate(self.content.diff.files) if file.path == path), None)
        if file is None:
            return
        at = self.content.files[file]
        end = self.content.files[file + 1] if file + 1 < len(self.content.files) else len(self.content)
        for near in range(at, end):
            line = self.content.lines[near]
            if isinstance(line, Line) and line.new is not None and line.new >= number:
                at = near
                break
        self.set_reactive(Lines.cursor, self.validate_cursor(self.line_of(at)))

    # Lines on the screen and lines of the text

    def _measure(self) -> None:
        self._tops = []
        if not self.wrap or self.content is None or not self.drawn:
            return
        room = self._room()
        lengths = self.content.lengths
        if self.split:
            heights = [
                max(_height(lengths[old], room) if old >= 0 else 1, _height(lengths[new], room) if new >= 0 else 1)
                if old != new
                else 1
                for old, new in self.content.sides
            ]
        else:
            kinds = self.content.kinds
            heights = [_height(n, room) if kinds[at] in (SAME, OLD, NEW) else 1 for at, n in enumerate(lengths)]
        self._tops = [0, *accumulate(heights)]

    def _room(self) -> int:
        width = max(self.width, 10)
        if self.split:
            # The old side is never the wider one.
            return max((width - 1) // 2 - self._side_gutter(), 4)
        return max(width - self.lead, 4)

    def _side_gutter(self) -> int:
        digits = len(str(self.content.highest)) if self.content else 1
        return 1 + (digits + 1 if self.numbers else 0) + 2

    def _drawn_at(self, line: int) -> tuple[int, int]:
        """Which drawn line stands at a line of the screen, and which part of it."""
        if not self._tops:
            return line, 0
        at = bisect_right(self._tops, line) - 1
        return at, line - self._tops[at]

    def row_at(self, line: int) -> int:
        """Line of the text that stands at a line of the screen."""
        at, _ = self._drawn_at(line)
        if self.content is None or not self.split:
            return at
        old, new = self.content.sides[min(at, len(self.content.sides) - 1)]
        return new if new >= 0 else old

    def line_of(self, row: int) -> int:
        """Line of the screen at which a line of the text begins."""
        at = row
        if self.content is not None and self.split:
            sides = self.content.sides
            at = bisect_left(sides, row, key=lambda pair: max(pair))
            at = next((n for n in range(max(0, at - 400), min(len(sides), at + 400)) if row in sides[n]), at)
        return self._tops[at] if self._tops else at

    def on_resize(self, event: Resize) -> None:
        if self.split and event.size.width < NARROWEST_SPLIT:
            self.turn(split=False)
        elif self.wrap:
            self.turn()

    def turn(self, *, split: bool | None = None, wrap: bool | None = None, numbers: bool | None = None) -> None:
        """Draws the same diff another way; the cursor stays on its line."""
        row = self.row_at(self.cursor) if self.drawn else 0
        offset = self.cursor - self.scroll_offset.y
        self.split = self.split if split is None else split
        self.wrap = self.wrap if wrap is None else wrap
        self.numbers = self.numbers if numbers is None else numbers
        self._measure()
        self.repaint()
        if self.drawn:
            self.set_reactive(Lines.cursor, self.validate_cursor(self.line_of(row)))
            self.scroll_to(x=0, y=self.cursor - offset, animate=False, force=True)
            self.show_line(self.cursor)

    # Jumps

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._tell_file()

    def _tell_file(self) -> None:
        file = self.file
        if file != self._file:
            self._file = file
            self.post_message(self.Turned(self, file))

    @property
    def file(self) -> int:
        """Number of the file under the cursor; -1 where there is none."""
        if self.content is None or not len(self.content):
            return -1
        return self.content.of_file[self.row_at(self.cursor)]

    def jump(self, starts: Sequence[int], by: int) -> bool:
        """Moves to the next or previous of these lines of the text."""
        if self.content is None or not starts:
            return False
        row = self.row_at(self.cursor)
        at = bisect_right(starts, row) if by > 0 else bisect_left(starts, row) - 1
        if not 0 <= at < len(starts):
            return False
        self.go_to(starts[at])
        return True

    def go_to(self, row: int) -> None:
        """Puts a line of the text under the cursor, and near the top when it was out of sight."""
        line = self.line_of(row)
        first, last = self.scroll_offset.y, self.scroll_offset.y + self.page
        self.cursor = line
        if not first <= line <= last - 3:
            self.scroll_to(y=max(0, line - 2), animate=False, force=True)

    def action_scroll_left(self) -> None:
        self.scroll_to(x=self.scroll_offset.x - 8, animate=False)

    def action_scroll_right(self) -> None:
        self.scroll_to(x=self.scroll_offset.x + 8, animate=False)

    # Painting

    def selected_ink(self) -> str:
        return "row" if self.has_focus else "row-idle"

    def plain(self, at: int) -> str:
        if self.content is None or not self.drawn:
            return ""
        row, part = self._drawn_at(at)
        if self.split:
            return super().plain(at)
        return self.content.text(row) if not part else ""

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        if self.content is None or not self.drawn:
            return [(f" {self.empty}", "muted")], "text"
        drawn, part = self._drawn_at(at)
        here = at == self.cursor and (self.has_focus or self.always_marks)
        if not self.split:
            return self._line(drawn, part, here)
        old, new = self.content.sides[drawn]
        if old == new and self.content.kinds[old] in (BLANK, FILE, NOTE, PROBLEM, HUNK):
            return self._line(old, 0, here)
        half = (width - 1) // 2
        left = self._half(old, half, part, True, here)
        right = self._half(new, width - half - 1, part, False, here)
        return [*left, (self.signs.line, "faint"), *right], ""

    def _line(self, at: int, part: int, here: bool) -> tuple[Sequence[Span], str]:
        assert self.content is not None
        kind = self.content.kinds[at]
        bar: Span = (self.signs.bar if here else " ", "here")
        if kind == FILE:
            return [bar, *self._heading(at)], "bar"
        if kind in (BLANK, NOTE, PROBLEM, HUNK, END):
            inks = {HUNK: "muted", NOTE: "said", PROBLEM: "attention", END: "muted"}
            lead = " " * (self.lead - 2) if kind == END else ""
            sign = "! " if kind == PROBLEM else ""
            return [bar, (lead + sign + self.content.text(at), inks.get(kind, "text"))], ""
        line = self.content.lines[at]
        assert isinstance(line, Line)
        ground = {OLD: "old", NEW: "new"}.get(kind, "")
        sign = {OLD: self.signs.minus, NEW: "+"}.get(kind, " ")
        digits = len(str(self.content.highest))
        ink = "strong" if here else "muted"
        old, new = ("", "") if part else (str(line.old or ""), str(line.new or ""))
        head = f"{old:>{digits}} {new:>{digits}} " if self.numbers else ""
        signed = {OLD: "removed", NEW: "added"}.get(kind, ink)
        return [bar, (head, ink), (f"{' ' if part else sign} ", signed), *self._text(at, kind, part)], ground

    def _heading(self, at: int) -> list[Span]:
        assert self.content is not None
        file = self.content.diff.files[self.content.of_file[at]]
        return [(self.content.text(at), "strong"), *lines_of(file.added, file.removed, self.signs.minus)]

    def _text(self, at: int, kind: int, part: int) -> list[Span]:
        """The words of a line: code colours, then the marks of what changed; one part of it when it wraps."""
        assert self.content is not None
        content = self.content
        text = content.text(at)
        file = content.diff.files[content.of_file[at]]
        pieces = coloured(lexer_for(file.path.decode("utf-8", "replace")), text)
        if kind in (OLD, NEW) and content.pairs[at] >= 0:
            other = content.text(content.pairs[at])
            old, new = changed_words(text, other) if kind == OLD else changed_words(other, text)
            pieces = overlaid(pieces, old if kind == OLD else new, "old-word" if kind == OLD else "new-word")
        return _part(pieces, part, self._room()) if self._tops else pieces

    def _half(self, at: int, width: int, part: int, is_old: bool, here: bool) -> list[Span]:
        assert self.content is not None
        if at < 0 or (part and _height(self.content.lengths[at], self._room()) <= part):
            ground = "" if at < 0 else {OLD: "old", NEW: "new"}.get(self.content.kinds[at], "")
            return [((self.signs.bar if here and is_old else " ") + " " * (width - 1), f"{ground} here")]
        kind, line = self.content.kinds[at], self.content.lines[at]
        ground = {OLD: "old ", NEW: "new "}.get(kind, "")
        digits = len(str(self.content.highest))
        number = (line.old if is_old else line.new) if isinstance(line, Line) and not part else None
        head = f"{number or '':>{digits}} " if self.numbers else ""
        sign = {OLD: self.signs.minus, NEW: "+"}.get(kind, " ")
        ink = "removed" if kind == OLD else "added" if kind == NEW else "muted"
        lead: list[Span] = [
            (self.signs.bar if here and is_old else " ", f"{ground}here"),
            (head, ground + ("strong" if here else "muted")),
            (f"{' ' if part else sign} ", ground + ink),
        ]
        body = [(self.content.text(at), "muted")] if kind == END else self._text(at, kind, part)
        room = width - sum(cell_len(text) for text, _ in lead)
        return [*lead, *_fitted([(text, ground + ink) for text, ink in body], room, f"{ground}text", self.signs.cut)]


def lines_of(added: int, removed: int, minus: str) -> list[Span]:
    """Lines that came and went, as spans."""
    spans: list[Span] = []
    if added:
        spans.append((f"  +{added}", "added"))
    if removed:
        spans.append((f"  {minus}{removed}", "removed"))
    return spans


def _height(cells: int, room: int) -> int:
    return max(1, -(-cells // room))


def _part(pieces: list[Span], part: int, room: int) -> list[Span]:
    """The cells of the pieces that stand on one line of a wrapped text."""
    start, end = part * room, (part + 1) * room
    out: list[Span] = []
    place = 0
    for text, ink in pieces:
        length = cell_len(text)
        if place + length > start and place < end:
            if length == len(text):
                out.append((text[max(0, start - place) : end - place], ink))
            else:
                out.append((_cells(text, max(0, start - place), end - place), ink))
        place += length
    return out


def _cells(text: str, start: int, end: int) -> str:
    """Characters that begin within a range of cells."""
    out: list[str] = []
    place = 0
    for character in text:
        if start <= place < end:
            out.append(character)
        place += cell_len(character)
    return "".join(out)


def _fitted(pieces: list[Span], room: int, blank: str, cut: str) -> list[Span]:
    """The pieces in exactly this room, with a sign where something is left out."""
    out: list[Span] = []
    for text, ink in pieces:
        length = cell_len(text)
        if length > room:
            out.append((clip(text, room, cut), ink))
            return out
        out.append((text, ink))
        room -= length
    return [*out, (" " * room, blank)]
