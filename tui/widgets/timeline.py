"""The tree of a session: its rows on the Line API, with folding, filters, search and the marks of the present."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.events import Resize

from ..outline import Outline
from ..rows import FILTERS, Row
from ..shown import Shown
from .lines import Lines, Span


@dataclass(frozen=True, slots=True)
class Seen:
    """What was on the screen before the rows became others, so that it stays there."""

    row: Row | None
    """Under the cursor."""
    offset: int
    """Its line of the screen; outside of it where the person scrolled away."""
    top: Row | None
    """On the first line of the screen."""


class Timeline(Shown, Lines):
    """The rows of an outline; the cursor stays on its row while the tree grows."""

    def __init__(self, *, ident: str | None = None) -> None:
        Lines.__init__(self, ident=ident)
        Shown.__init__(self)
        self.hits: list[int] = []
        """Rows that hold what is searched for."""
        self.seeks_here = False
        """The next state of the tree is shown where one is in it."""
        self._seen = 0
        """How many rows there were when the last line was on the screen."""
        self._was_sized = False
        self._found: tuple[Outline | None, str, list[int]] = (None, "", [])
        """The newest search: in which state of the tree, for what, and its hits."""
        self._texts: tuple[Outline | None, list[str]] = (None, [])
        self._before_search: tuple[set[str], set[str], str, Seen] | None = None
        """What was unfolded, folded and filtered, and what was seen, when a search began."""

    def on_resize(self, event: Resize) -> None:
        """A tree that was filled before it had a size shows its cursor now."""
        if 0 <= self.cursor - self.scroll_offset.y <= event.size.height or not self._was_sized:
            self._was_sized = True
            self.show_line(self.cursor)

    # The rows

    @property
    def line_count(self) -> int:
        return len(self.shown)

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.shown[self.cursor]] if self.shown else None

    def fill(self, outline: Outline) -> None:
        """Shows another state of the tree; the cursor stays on its row, and what is on the screen on its line."""
        seen, first = self._what_is_seen(), self.outline is None
        changed = self.outline is not None and self.outline.tree.info.key != outline.tree.info.key
        self.outline = outline
        if first or changed:
            self.open_newest()
            seen = None
            self._seen = outline.told
        self._find()
        self._show(seen)
        if seen is None or self.seeks_here or (seen.row is not None and seen.row.key not in outline.index):
            self.seeks_here = False
            self.go_here()

    def _what_is_seen(self) -> Seen:
        top = self.scroll_offset.y
        first = self.rows[self.shown[top]] if top < len(self.shown) else None
        return Seen(self.row, self.cursor - top, first)

    @property
    def unseen(self) -> int:
        """How many rows came since the last line was on the screen."""
        told = self.outline.told if self.outline else 0
        if self.scroll_offset.y + self.scrollable_content_region.height >= self.line_count:
            self._seen = told
        return max(0, told - self._seen)

    def _show(self, seen: Seen | None) -> None:
        """Works out which rows show; the cursor keeps its row, or the nearest one that it stands in, and its line."""
        self.choose()
        self.repaint()
        keep = seen.row if seen else None
        self.set_reactive(Lines.cursor, self.validate_cursor(self.place_of(keep.key) if keep else 0))
        if seen is None or 0 <= seen.offset < self.scrollable_content_region.height:
            if seen is not None:
                self.scroll_to(y=self.cursor - seen.offset, animate=False, force=True)
            self.show_line(self.cursor)
        elif seen.top is not None:
            self.scroll_to(y=self.place_of(seen.top.key), animate=False, force=True)
        self.post_message(self.Moved(self, self.cursor))

    # Moving about

    def go_to_row(self, at: int) -> None:
        """Puts the cursor on a row, unfolding what it stands in."""
        inside = self.rows[at].parent
        opened = False
        while inside >= 0:
            key = self.rows[inside].key
            opened = opened or key not in self.opened or key in self.closed
            self.opened.add(key)
            self.closed.discard(key)
            inside = self.rows[inside].parent
        if self.filter != "all" and self.shown[(line := self.line_of(at)) : line + 1] != [at]:
            self.filter = "all"
            opened = True
        if opened:
            self._show(self._what_is_seen())
        self.cursor = self.place_of(self.rows[at].key)

    def go_here(self) -> bool:
        """Puts the cursor where the conversation is, else where the files are; the last row when that is unknown."""
        if not self.shown:
            return False
        place = self.place_of_here
        self.cursor = len(self.shown) - 1 if place is None else place
        self.show_line(self.cursor)
        return place is not None

    def seek(self, by: int, wanted: Callable[[Row], bool]) -> bool:
        """Moves to the next or previous shown row that is wanted."""
        place = self.cursor + by
        while 0 <= place < len(self.shown):
            if wanted(self.rows[self.shown[place]]):
                self.cursor = place
                return True
            place += by
        return False

    def seek_anywhere(self, by: int, wanted: Callable[[Row], bool]) -> bool:
        """Moves to the next or previous row that is wanted, folded away or not."""
        at = self.shown[self.cursor] + by if self.shown else -1
        while 0 <= at < len(self.rows):
            if wanted(self.rows[at]):
                self.go_to_row(at)
                return True
            at += by
        return False

    # Folding

    def _set_open(self, row: Row, is_open: bool) -> None:
        if self.filter == "all":
            (self.opened.add if is_open else self.opened.discard)(row.key)
        else:
            (self.closed.discard if is_open else self.closed.add)(row.key)
        self._show(self._what_is_seen())

    def fold(self) -> None:
        """Folds the row, else goes to the row that it stands in."""
        row = self.row
        if row is None:
            return
        if self.folds(row) and self.is_open(row):
            self._set_open(row, False)
        elif row.parent >= 0:
            self.cursor = self.place_of(self.rows[row.parent].key)

    def unfold(self) -> bool:
        """Unfolds the row, else goes to the first row inside; False where there is none."""
        row = self.row
        if row is None or not self.folds(row):
            return False
        if not self.is_open(row):
            self._set_open(row, True)
        elif self.shown[self.cursor + 1 : self.cursor + 2] and self.shown[self.cursor + 1] < row.end:
            self.cursor += 1
        return True

    def fold_all(self, is_open: bool) -> None:
        """Folds everything, or unfolds all turns, branches and sub-agents; results come out one by one."""
        folding = {
            row.key
            for at, row in enumerate(self.rows, 1)
            if row.end > at and not (is_open and row.end == at + 1 and self.rows[at].kind == "result")
        }
        self.opened = folding if is_open else set()
        self.closed = set() if is_open else folding
        self._show(self._what_is_seen())

    def show_only(self, name: str) -> None:
        """Shows what a filter wants, and what that stands in."""
        self.filter, self.closed = name, set()
        self._show(self._what_is_seen())

    def next_filter(self) -> str:
        """Goes on to the next filter; returns its name."""
        names = list(FILTERS)
        self.show_only(names[(names.index(self.filter) + 1) % len(names)])
        return self.filter

    # Search

    def begin_search(self) -> None:
        """Remembers what is on the screen: each letter looks from here on, and leaving comes back to it."""
        self._before_search = (set(self.opened), set(self.closed), self.filter, self._what_is_seen())

    def search(self, needle: str) -> int:
        """Marks the rows that hold a text (capitals count once it has one); returns how many.

        During a search the cursor goes to the first of them from where it was; without any it is there again.
        """
        self.needle = needle
        self._find()
        before = self._before_search
        if before is None:
            self.repaint()
            return len(self.hits)
        opened, closed, filter_, seen = before
        unchanged = (opened, closed, filter_) == (self.opened, self.closed, self.filter)
        self.opened, self.closed, self.filter = set(opened), set(closed), filter_
        if unchanged:
            self.repaint()
            if seen.row is not None:
                self.cursor = self.place_of(seen.row.key)
                self.scroll_to(y=self.cursor - seen.offset, animate=False, force=True)
        else:
            self._show(seen)
        if self.hits:
            self.next_hit(1, stay=True)
        return len(self.hits)

    def end_search(self, *, stay: bool) -> None:
        """The text is whole: the cursor stays where it led to, or goes back, and nothing is searched for."""
        if not stay:
            self.search("")
        self._before_search = None

    def _find(self) -> None:
        """Looks through all rows; where letters were only added, through those that held the text before."""
        needle, (outline, was, hits) = self.needle, self._found
        longer = bool(was) and outline is self.outline and needle.startswith(was) and was.islower() == needle.islower()
        if not needle:
            self.hits = []
        elif needle.islower():
            texts = self._lowered()
            self.hits = [at for at in (hits if longer else range(len(texts))) if needle in texts[at]]
        else:
            found = self.rows
            self.hits = [
                at
                for at in (hits if longer else range(len(found)))
                if needle in found[at].text or needle in self._named(found[at])
            ]
        self._found = (self.outline, self.needle, self.hits)

    def _lowered(self) -> list[str]:
        """What is searched in each row, without capitals; made once for a state of the tree."""
        outline, texts = self._texts
        if outline is not self.outline:
            texts = [
                f"{row.text} {self._named(row)}".lower() if row.points or row.branch else row.text.lower()
                for row in self.rows
            ]
            self._texts = (self.outline, texts)
        return texts

    def _named(self, row: Row) -> str:
        """What a person called a row, or its branch."""
        names = [point.label for point in row.points if point.label]
        return " ".join([*names, row.branch.name] if row.branch else names)

    def next_hit(self, by: int, *, stay: bool = False) -> bool:
        """Moves to the next or previous hit, round the end; `stay` counts the cursor's own row."""
        if not self.hits or not self.shown:
            return False
        at, hits = self.shown[self.cursor], self.hits
        place = bisect_left(hits, at)
        if by < 0:
            place -= 1
        elif hits[place : place + 1] == [at] and not stay:
            place += 1
        self.go_to_row(hits[place % len(hits)])
        return True

    @property
    def hit_number(self) -> int:
        """Which hit the cursor is on, from 1; 0 when on none."""
        at = self.shown[self.cursor] if self.shown else -1
        place = bisect_left(self.hits, at)
        return place + 1 if self.hits[place : place + 1] == [at] else 0

    # Painting

    def plain(self, at: int) -> str:
        return self.rows[self.shown[at]].text

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        return self.parts(at, self.signs, self.app.now()).fitted(width, self.signs.more), ""
