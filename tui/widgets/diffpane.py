"""A diff on the Line API: unified or side by side, with a file's heading that stays in sight."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from textual.events import Click, Focus, MouseScrollLeft, MouseScrollRight, Resize
from textual.geometry import Region, clamp
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from ...store.model import Line
from .diffcopy import marked_words
from .difflayout import WHOLE, Layout
from .diffpaint import Paint
from .difftext import BLANK, FILE, DiffText, not_compared
from .linecells import cell_at
from .lines import Lines, Span
from .spanning import Spans

NARROWEST_SPLIT = 90
"""Cells that a pane needs for two sides."""


class DiffPane(Lines):
    """Shows a diff; its cursor is the line that jumps, the editor and copying start from."""

    # The scroll bar's cell is kept free: its coming would wrap the text anew.
    DEFAULT_CSS = "DiffPane { scrollbar-gutter: stable; }"

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
        self.shift = 0
        """Cells by which the text stands to the left."""
        self.empty = ""
        """What is said where nothing differs."""
        self.always_marks = False
        """Shows the cursor's line and place although another pane has the keys."""
        self.needle = ""
        self.hits: list[int] = []
        """Rows that hold what is searched for."""
        self._layout: Layout | None = None
        self._paint_now: Paint | None = None
        self._spanning: Spans | None = None
        self._told = (-1, 0)
        """The file and hunk of the cursor that were told last."""

    # What is shown

    @property
    def layout_now(self) -> Layout | None:
        """Which rows stand where; None where there is nothing that differs."""
        width = max(self.width, 20)
        if self._layout is not None and self._layout.width != width:
            # The scroll bar came or went.
            self._layout = self._paint_now = None
        if self._layout is None and self.content is not None and len(self.content):
            self._layout = Layout(self.content, width, self.split, self.wrap, self.numbers)
        return self._layout

    @property
    def paint_now(self) -> Paint | None:
        """How it is drawn now."""
        layout = self.layout_now
        if self._paint_now is None and layout is not None:
            self._paint_now = Paint(layout, self._spans(), self.signs, self.shift, self.needle, self.selected_ink())
        return self._paint_now

    def _spans(self) -> Spans:
        """What the lines of this diff begin in."""
        assert self.content is not None
        if self._spanning is None or self._spanning.content is not self.content:
            self._spanning = Spans(self.content)
        return self._spanning

    @property
    def line_count(self) -> int:
        return layout.height if (layout := self.layout_now) else len(self._nothing())

    @property
    def lead(self) -> int:
        """Cells before the text: a mark, the numbers and a sign."""
        return layout.lead if (layout := self.layout_now) else 1

    def _nothing(self) -> list[str]:
        """What is said where there are no lines."""
        if self.content is None:
            return []
        return [line for line in (self.empty, not_compared(self.content.diff)) if line]

    def _anew(self) -> None:
        """Forgets what follows from the width and the views."""
        self._layout = self._paint_now = None
        self.repaint()

    def show(self, content: DiffText, *, keep: tuple[bytes, int] | None = None, grown: bool = False) -> None:
        """Shows another diff, the cursor at its first line or near a line of a file that it had before.

        `grown`: it begins with what is shown already, so cursor and view stay.
        """
        self.content = content
        self.hits = content.holding(self.needle) if self.needle else []
        self._anew()
        if not grown:
            self._told = (-1, 0)
            first = content.files[0] if content.files else 0
            self.set_reactive(Lines.cursor, self._line_near(*keep) if keep else self.row_line(first))
            self.shift = 0
            self.scroll_to(x=0, y=max(0, self.cursor - self.page // 3), animate=False, force=True)
        self._tell_place()

    def turn(self, *, split: bool | None = None, wrap: bool | None = None, numbers: bool | None = None) -> None:
        """Draws the same diff another way; the cursor stays on its line."""
        row, cell = self._cell_under()
        offset = self.cursor - self.scroll_offset.y
        self.split = self.split if split is None else split
        self.wrap = self.wrap if wrap is None else wrap
        self.numbers = self.numbers if numbers is None else numbers
        self._anew()
        if (layout := self.layout_now) is not None:
            part = cell // layout.room if self.wrap else 0
            self.set_reactive(Lines.cursor, self.validate_cursor(layout.line_of(row) + part))
            self.scroll_to(x=0, y=self.cursor - offset, animate=False, force=True)
            self.show_line(self.cursor)

    def _cell_under(self) -> tuple[int, int]:
        """The row under the cursor and the first of its cells on this line, as they were drawn last."""
        layout = self._layout
        if layout is None:
            return 0, 0
        line = min(self.cursor, layout.height - 1)
        return layout.row_at(line), layout.at(line)[1] * layout.room

    def on_resize(self, event: Resize) -> None:
        too_narrow = self.split and event.size.width < NARROWEST_SPLIT
        self.turn(split=False if too_narrow else None)

    # Where the cursor is

    @property
    def row(self) -> int:
        """The row under the cursor."""
        return layout.row_at(self.cursor) if (layout := self.layout_now) else 0

    def row_line(self, row: int) -> int:
        """The line of the screen at which a row begins."""
        return layout.line_of(row) if (layout := self.layout_now) else 0

    @property
    def file(self) -> int:
        """Number of the file under the cursor; -1 where there is none."""
        return self.content.of_file[self.row] if self.content is not None and len(self.content) else -1

    def place(self, *, older: bool = False) -> tuple[bytes, int] | None:
        """Path and number of the newer, or the older, line under the cursor."""
        if self.content is None or self.file < 0:
            return None
        return self.content.diff.files[self.file].path, self._number_at(self.row, older)

    def _number_at(self, row: int, older: bool) -> int:
        """The number that a row has on a side, or the next one that has one there; 1 where none has."""
        assert self.content is not None
        for near in (*range(row, min(row + 200, len(self.content))), *range(row, max(row - 200, -1), -1)):
            line = self.content.lines[near]
            number = (line.old if older else line.new) if isinstance(line, Line) else None
            if number is not None and self.content.of_file[near] == self.content.of_file[row]:
                return number
        return 1

    def _line_near(self, path: bytes, number: int) -> int:
        """The line of the screen where a newer line of a file is, or the next one after it."""
        content = self.content
        assert content is not None
        file = next((n for n, file in enumerate(content.diff.files) if file.path == path), None)
        if file is None:
            return 0
        at = content.files[file]
        end = content.files[file + 1] if file + 1 < len(content.files) else len(content)
        for near in range(at, end):
            line = content.lines[near]
            if isinstance(line, Line) and line.new is not None and line.new >= number:
                at = near
                break
        return self.row_line(at)

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._tell_place()

    def _tell_place(self) -> None:
        """Tells that the cursor came to another file, and draws the headings that say where it is."""
        content = self.content
        told = (self.file, content.hunk_place(self.row)[0]) if content is not None and len(content) else (-1, 0)
        before, self._told = self._told, told
        if told == before or not self.is_mounted:
            return
        self.refresh_line(self.scroll_offset.y)
        for file in {before[0], told[0]}:
            if content is not None and 0 <= file < len(content.files):
                self.refresh_line(self.row_line(content.files[file]))
        if told[0] != before[0]:
            self.post_message(self.Turned(self, told[0]))

    # Jumps

    def jump(self, starts: Sequence[int], by: int) -> bool:
        """Moves to the next or previous of these rows."""
        row = self.row
        at = bisect_right(starts, row) if by > 0 else bisect_left(starts, row) - 1
        if not 0 <= at < len(starts):
            return False
        self.go_to(starts[at])
        return True

    def go_to(self, row: int) -> None:
        """Puts a row under the cursor, and so high that what begins there is in sight, below its file's heading."""
        content = self.content
        if content is None or not len(content):
            return
        line = self.row_line(row)
        end = min(self.row_line(content.end_of(row)), self.line_count - 1)
        self.cursor = line
        first = self.scroll_offset.y + (content.kinds[row] != FILE)
        if first <= line and end <= self.scroll_offset.y + self.page:
            return
        heading = self.row_line(content.files[content.of_file[row]])
        self.scroll_to(y=heading if line - heading <= 4 else line - 1, animate=False, force=True)

    def show_line(self, at: int) -> None:
        """The heading that stays in sight may not hide the line."""
        layout = self.layout_now
        below = layout is not None and at > 0 and layout.content.kinds[layout.row_at(at)] not in (FILE, BLANK)
        self.scroll_to_region(Region(0, at - below, 1, 1 + below), animate=False, x_axis=False, force=True)

    # Sideways

    def slide(self, by: int) -> None:
        """Moves the text sideways, where it is not wrapped."""
        layout = self.layout_now
        if layout is None or self.wrap:
            return
        self._slide_to(clamp(self.shift + by, 0, max(0, layout.content.widest - layout.room)))

    def _slide_to(self, shift: int) -> None:
        if shift != self.shift:
            self.shift = shift
            self._paint_now = None
            self.repaint()

    def action_scroll_left(self) -> None:
        self.slide(-self._step())

    def action_scroll_right(self) -> None:
        self.slide(self._step())

    def _step(self) -> int:
        return max(8, layout.room // 2) if (layout := self.layout_now) else 8

    def on_mouse_scroll_right(self, event: MouseScrollRight) -> None:
        self.slide(4)
        event.stop()

    def on_mouse_scroll_left(self, event: MouseScrollLeft) -> None:
        self.slide(-4)
        event.stop()

    # Searching

    def search(self, needle: str) -> int:
        """Marks what holds some words; returns how many lines do."""
        self.needle = needle
        self.hits = self.content.holding(needle) if self.content is not None and needle else []
        self._paint_now = None
        self.repaint()
        return len(self.hits)

    def next_hit(self, by: int, *, stay: bool = False) -> int:
        """Goes to the next or previous line that holds it, around the end; returns which one it is, from 1."""
        layout = self.layout_now
        if layout is None or not self.hits:
            return 0
        hits = sorted((layout.line_of(row), row) for row in self.hits)
        if by > 0:
            at = bisect_left(hits, (self.cursor + (not stay), -1)) % len(hits)
        else:
            at = (bisect_left(hits, (self.cursor, -1)) - 1) % len(hits)
        row = hits[at][1]
        self.go_to(row)
        self._bring(row)
        return at + 1

    def _bring(self, row: int) -> None:
        """Has the first place in a row where it is in sight."""
        layout = self.layout_now
        if layout is None or layout.content.kinds[row] in WHOLE:
            return
        text = layout.content.text(row)
        at = (text if self.needle != self.needle.lower() else text.lower()).find(self.needle)
        cell = cell_at(text, max(at, 0))
        if self.wrap:
            self.cursor = layout.line_of(row) + cell // layout.room
        elif not self.shift <= cell <= self.shift + layout.room - len(self.needle):
            self._slide_to(max(0, cell - layout.room // 2) if cell + len(self.needle) > layout.room else 0)

    # Painting

    def render_line(self, y: int) -> Strip:
        layout, paint = self.layout_now, self.paint_now
        at = y + self.scroll_offset.y
        if layout is None or paint is None or at >= layout.height:
            return super().render_line(y)
        row = layout.row_at(at)
        kind = layout.content.kinds[row]
        if kind == FILE or (y == 0 and kind != BLANK and layout.content.of_file[row] >= 0):
            # A heading says where the cursor is, so it is drawn anew; it stays in sight while its file is read.
            return self._heading_strip(paint, row, at)
        return super().render_line(y)

    def _heading_strip(self, paint: Paint, row: int, at: int) -> Strip:
        file = paint.content.of_file[row]
        here = at == self.cursor and self.marks
        spans, ground = paint.whole(paint.content.files[file], self._bar(here), self._place_in(file))
        return self.strip_of(spans, ground, at, 0, self.width)

    def _place_in(self, file: int) -> str:
        """Where the cursor is among the hunks and files, for the heading of its file."""
        content = self.content
        if content is None or not self.marks or file != self.file:
            return ""
        hunk, hunks = content.hunk_place(self.row)
        files = len(content.diff.files)
        parts: list[str] = []
        if hunks > 1:
            parts.append(f"hunk {hunk} of {hunks}" if hunk else f"{hunks} hunks")
        if files > 1:
            parts.append(f"file {file + 1} of {files}")
        return f" {self.signs.dot} ".join(parts) if content.diff.whole else ""

    def on_focus(self, event: Focus) -> None:
        self._paint_now = None
        super().on_focus(event)

    def on_blur(self) -> None:
        self._paint_now = None
        super().on_blur()

    @property
    def marks(self) -> bool:
        """Whether the cursor is drawn."""
        return self.has_focus or self.always_marks

    def _bar(self, here: bool) -> Span:
        return (self.signs.bar if here else " ", "here")

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        paint = self.paint_now
        if paint is None:
            return [(f" {self._nothing()[at]}", "muted")], "text"
        return paint.line(at, at == self.cursor and self.marks)

    # The mouse

    def on_click(self, event: Click) -> None:
        layout = self.layout_now
        top = self.scroll_offset.y
        if layout is not None and event.y == 0 and layout.content.of_file[layout.row_at(top)] >= 0:
            self.go_to(layout.content.files[layout.content.of_file[layout.row_at(top)]])
            event.prevent_default()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The words that were marked with the mouse, without numbers and signs; wrapped lines are one again."""
        layout = self.layout_now
        if layout is None or layout.split:
            return super().get_selection(selection)
        return marked_words(layout, selection, self.shift)
