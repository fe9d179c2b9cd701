"""A line of a diff as spans: word marks, code colours and hits are made when it is painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from ...store.model import Line
from ...store.text import path_text
from ..theme import Signs
from .colouring import coloured, coloured_within, lexer_for, overlaid
from .difflayout import WHOLE, Layout
from .difftext import END, FILE, HUNK, NEW, NOTE, OLD, PROBLEM, STATUS, DiffText
from .linecells import character_at, window
from .lines import Span, spans_length
from .spanning import Spans
from .wordmarks import Ranges, changed_words

GROUNDS = {OLD: "old", NEW: "new"}
WORDS = {OLD: "old-word", NEW: "new-word"}
SIGNED = {OLD: "removed", NEW: "added"}
CUT_BEFORE = {"»": "«", ">": "<"}
"""For the sign that something is cut off behind, the one that something is cut off before."""
LEAST_NAME = 16
"""Cells of a file's name that its heading never gives up."""


@dataclass
class Paint:
    """How a diff is drawn now."""

    layout: Layout
    spanning: Spans
    signs: Signs
    shift: int = 0
    """Cells by which the text stands to the left, where it is not wrapped."""
    needle: str = ""
    """What is searched for."""
    cursor_ink: str = "row"
    """Ground of the numbers and the sign where the cursor is."""

    @property
    def content(self) -> DiffText:
        return self.layout.content

    def line(self, at: int, here: bool) -> tuple[Sequence[Span], str]:
        """A line of the screen, and the ink beneath it; `here`: the cursor is on it."""
        layout = self.layout
        _, part = layout.at(at)
        old, new = layout.rows_at(at)
        bar: Span = (self.signs.bar if here else " ", "here")
        if old == new and self.content.kinds[new] in WHOLE:
            return self.whole(new, bar)
        if not layout.split:
            line, kind = self.content.lines[new], self.content.kinds[new]
            numbers = (line.old, line.new) if isinstance(line, Line) and not part else (None, None)
            first = (bar[0], f"{self.cursor_ink} {bar[1]}") if here else bar
            spans = [first, *self._lead(kind, numbers, part, here), *self._text(new, part, layout.room)]
            return spans, GROUNDS.get(kind, "text")
        left, right = layout.halves
        return [
            *self._half(old, part, left, bar, is_old=True),
            (self.signs.line, "faint"),
            *self._half(new, part, right, (" ", "text"), is_old=False),
        ], "text"

    def whole(self, row: int, bar: Span = (" ", "here"), place: str = "") -> tuple[Sequence[Span], str]:
        """A row that goes over the whole width; a file's heading with where the cursor is."""
        kind, text = self.content.kinds[row], self.content.text(row)
        if kind == FILE:
            return [bar, *self._heading(row, place)], "bar"
        if kind == HUNK:
            place, _, section = text.partition(" @@")
            return [bar, (f"{place} @@", "muted"), (section, "said")], "text"
        sign = "! " if kind == PROBLEM else ""
        return [bar, (sign + text, {NOTE: "said", PROBLEM: "attention"}.get(kind, "text"))], "text"

    def _heading(self, row: int, place: str) -> list[Span]:
        file = self.content.diff.files[self.content.of_file[row]]
        told = STATUS[file.status]
        after: list[Span] = [(f"  {told}", "said")] if told else []
        after += lines_of(file.added, file.removed, self.signs.minus)
        room = self.layout.width - 1 - spans_length(after)
        if place and room - cell_len(place) - 3 >= min(cell_len(path_text(file.path)), LEAST_NAME):
            room -= cell_len(place) + 3
        else:
            place = ""
        name = self.content.text(row)
        if cell_len(name) > room:
            name = clip_start(path_text(file.path), room, self.signs.more)
        blanks = " " * (room - cell_len(name) + 2)
        end: list[Span] = [(blanks, "text"), (f"{place} ", "muted")] if place else []
        return [(name, "strong"), *after, *end]

    def _lead(self, kind: int, numbers: Sequence[int | None], part: int, here: bool, ground: str = "") -> list[Span]:
        """Line numbers and sign."""
        layout = self.layout
        head = "".join(f"{number or '':>{layout.digits}} " for number in numbers) if layout.numbers else ""
        if here:
            ground = self.cursor_ink
        sign = " " if part else {OLD: self.signs.minus, NEW: "+"}.get(kind, " ")
        hidden = CUT_BEFORE.get(self.signs.cut, " ") if self.shift and not layout.wrap and kind != END else " "
        return [
            (head, f"{ground} {'strong' if here else 'muted'}"),
            (sign, f"{ground} {SIGNED.get(kind, 'muted')}"),
            (hidden, f"{ground} muted"),
        ]

    def _half(self, row: int, part: int, width: int, bar: Span, *, is_old: bool) -> list[Span]:
        layout = self.layout
        if row < 0:
            return [(bar[0], f"gap {bar[1]}"), (" " * (width - 1), "gap")]
        kind, line = self.content.kinds[row], self.content.lines[row]
        ground = GROUNDS.get(kind, "text")
        here = bar[0] != " "
        first = (bar[0], f"{self.cursor_ink if here else ground} {bar[1]}")
        if part >= layout.parts(row):
            return [first, (" " * (width - 1), ground)]
        number = (line.old if is_old else line.new) if isinstance(line, Line) and not part else None
        spans = [first, *self._lead(kind, [number], part, here, ground)]
        text = [(words, f"{ground} {ink}") for words, ink in self._text(row, part, width - layout.lead - 1)]
        return [*spans, *text, (" " * (width - layout.lead - spans_length(text)), ground)]

    # The words

    def _text(self, row: int, part: int, room: int) -> list[Span]:
        """What of a row's words stands on this line."""
        content, layout = self.content, self.layout
        text = content.text(row)
        if content.kinds[row] == END:
            return [(text, "muted")]
        if layout.wrap:
            first, _ = character_at(text, part * layout.room)
            last, _ = character_at(text, (part + 1) * layout.room)
            return self._pieces(row, text, first, last)
        first, last, blanks = window(text, self.shift, room)
        more = last < len(text)
        if last == len(text) - 1 and not blanks:
            # The cell that says that something is cut can hold the last character just as well.
            first, last, blanks = window(text, self.shift, room + 1)
            more = last < len(text)
        spans: list[Span] = [(" " * blanks, "text"), *self._pieces(row, text, first, last)]
        if more:
            hidden = any(end > last for _, end in self._marks(row, text))
            spans.append((" " * (room - spans_length(spans)), "text"))
            spans.append((self.signs.cut, "attention" if hidden else "muted"))
        return spans

    def _pieces(self, row: int, text: str, first: int, last: int) -> list[Span]:
        """Characters of a row: code colours, then the marks of what changed, then what is searched for."""
        content, kind = self.content, self.content.kinds[row]
        file = content.diff.files[content.of_file[row]]
        lexer = lexer_for(file.path.decode("utf-8", "replace"))
        begins = self.spanning.within(row)
        colours = coloured_within(lexer, text, begins.end, begins.ink) if begins else coloured(lexer, text)
        pieces = _between(colours, first, last)
        marks = _moved(self._marks(row, text), first, last)
        # The grounds of words are too bright for the colours of code, and far too bright for those of comments.
        pieces = overlaid(pieces, marks, WORDS.get(kind, ""), alone=True)
        if self.needle:
            pieces = overlaid(pieces, _found(text[first:last], self.needle), "hit")
        return pieces

    def _marks(self, row: int, text: str) -> Ranges:
        """The words that changed; of a line that only came the blanks at its end, which nobody would see."""
        content, kind = self.content, self.content.kinds[row]
        if kind not in WORDS:
            return []
        pair = content.pair_of(row)
        if pair >= 0:
            other = content.text(pair)
            return changed_words(text, other)[0] if kind == OLD else changed_words(other, text)[1]
        ends = len(text.rstrip())
        return [(ends, len(text))] if kind == NEW and ends < len(text) else []


def lines_of(added: int, removed: int, minus: str) -> list[Span]:
    """Lines that came and went, as spans."""
    spans: list[Span] = []
    if added:
        spans.append((f"  +{added}", "added"))
    if removed:
        spans.append((f"  {minus}{removed}", "removed"))
    return spans


def clip_start(path: str, width: int, more: str) -> str:
    """A path in at most so many cells: its beginning gives way, since its end tells most."""
    if cell_len(path) <= width:
        return path
    short = path
    while cell_len(short) > width - cell_len(more) and short:
        short = short[1:]
    cut = short.find("/")
    return more + (short[cut:] if 0 <= cut < len(short) // 2 else short)


def _between(pieces: list[Span], first: int, last: int) -> list[Span]:
    """The pieces of some characters."""
    out: list[Span] = []
    place = 0
    for text, ink in pieces:
        if place < last and place + len(text) > first:
            out.append((text[max(0, first - place) : last - place], ink))
        place += len(text)
    return out


def _moved(ranges: Ranges, first: int, last: int) -> Ranges:
    """Ranges within a piece of a text, counted from where it begins."""
    return [
        (max(start, first) - first, min(end, last) - first) for start, end in ranges if start < last and end > first
    ]


def _found(text: str, needle: str) -> Ranges:
    """Where a piece of a text holds what is searched for."""
    within = text if needle != needle.lower() else text.lower()
    ranges: Ranges = []
    at = within.find(needle)
    while at >= 0:
        ranges.append((at, at + len(needle)))
        at = within.find(needle, at + len(needle))
    return ranges
