"""The tree of a session: its rows on the Line API, with folding, filters, search and the marks of the present."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..outline import Outline
from ..rows import FILTERS, Row, filtered_rows, unfolded_rows
from ..words import count
from .lines import Lines, Span
from .rowpaint import Look, State, line_columns, row_spans


class Timeline(Lines):
    """The rows of an outline; the cursor stays on its row while the tree grows."""

    def __init__(self, *, ident: str | None = None) -> None:
        super().__init__(ident=ident)
        self.outline: Outline | None = None
        self.shown: list[int] = []
        self.opened: set[str] = set()
        """Keys of the rows that are unfolded."""
        self.closed: set[str] = set()
        """Keys of the rows that are folded while a filter is on."""
        self.filter = "all"
        self.clocks = False
        self.marked = ""
        """Key of the marked row."""
        self.needle = ""
        self.hits: list[int] = []
        """Rows that hold what is searched for."""
        self.seeks_here = False
        """The next state of the tree is shown where one is in it."""
        self._here: dict[int, str] = {}
        self._seen = 0
        """How many rows there were when the last line was on the screen."""
        self._columns = (0, 0)
        """Cells that lines which came, and lines which went, need at most."""

    # The rows

    @property
    def rows(self) -> list[Row]:
        return self.outline.rows if self.outline else []

    @property
    def line_count(self) -> int:
        return len(self.shown)

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.shown[self.cursor]] if self.shown else None

    def fill(self, outline: Outline) -> None:
        """Shows another state of the tree; the cursor stays on its row, and the row on its line of the screen."""
        before, first = self.row, self.outline is None
        offset = self.cursor - self.scroll_offset.y
        changed = self.outline is not None and self.outline.tree.info.key != outline.tree.info.key
        self.outline = outline
        if first or changed:
            self.opened = self._opened_at_first(outline)
            self.closed, self.marked, before = set(), "", None
            self._seen = len(outline.rows)
        self._find()
        self._columns = line_columns(outline.rows)
        self._show(before, offset)
        if first or changed or self.seeks_here or (before is not None and before.key not in outline.index):
            self.seeks_here = False
            self.go_here()

    @property
    def unseen(self) -> int:
        """How many rows came since the last line was on the screen."""
        if self.scroll_offset.y + self.scrollable_content_region.height >= self.line_count:
            self._seen = len(self.rows)
        return max(0, len(self.rows) - self._seen)

    def _opened_at_first(self, outline: Outline) -> set[str]:
        """The newest turn of the conversation, so that a tree shows what was done last."""
        at = outline.index.get(outline.tree.here.talk or "", -1)
        while at >= 0 and outline.rows[at].parent >= 0:
            at = outline.rows[at].parent
        return {outline.rows[at].key} if at >= 0 else set()

    def _show(self, keep: Row | None, offset: int | None = None) -> None:
        """Works out which rows show, and keeps the cursor on a row or the nearest one that it stands in."""
        rows = self.rows
        if self.filter == "all":
            self.shown = unfolded_rows(rows, self.opened)
        else:
            self.shown = filtered_rows(rows, FILTERS[self.filter], self.closed)
        self._mark_here()
        self.repaint()
        place = self.place_of(keep.key) if keep else 0
        self.set_reactive(Lines.cursor, self.validate_cursor(place))
        if offset is not None:
            self.scroll_to(y=self.cursor - offset, animate=False, force=True)
        self.show_line(self.cursor)
        self.post_message(self.Moved(self, self.cursor))

    def place_of(self, key: str) -> int:
        """Line of a row, or of the nearest one that is shown and that it stands in."""
        at = self.outline.index.get(key, -1) if self.outline else -1
        while at >= 0:
            place = self._line_of(at)
            if self.shown[place : place + 1] == [at]:
                return place
            at = self.rows[at].parent if self.rows[at].parent >= 0 else at - 1
        return 0

    def _line_of(self, at: int) -> int:
        low, high = 0, len(self.shown)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.shown[middle] < at else (low, middle)
        return low

    def _mark_here(self) -> None:
        """Puts the marks of files and talk on the rows that show them; one sign where they are on one row."""
        self._here = {}
        if not self.outline:
            return
        outline, here = self.outline, self.outline.tree.here
        talk = self._shown_place(here.talk)
        files = self._shown_place(outline.place_of_files(here.files))
        if talk is not None and files is not None:
            stands_for = outline.checkpoint_at(outline.rows[outline.index[here.talk or ""]])
            if stands_for is not None and stands_for.id == here.files:
                files = talk
        edits = f", {count(here.dirty, 'edit')}" if here.dirty else ""
        if talk is not None:
            self._here[talk] = "talk"
        if files is not None:
            self._here[files] = f"here{edits}" if talk == files else f"files{edits}"

    def _shown_place(self, name: str | None) -> int | None:
        if self.outline is None or name is None or name not in self.outline.index:
            return None
        return self.place_of(self.rows[self.outline.index[name]].key)

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
        if self.filter != "all" and self.shown[(line := self._line_of(at)) : line + 1] != [at]:
            self.filter = "all"
            opened = True
        if opened:
            self._show(self.rows[at])
        self.cursor = self.place_of(self.rows[at].key)

    def go_here(self) -> bool:
        """Puts the cursor where the conversation is, else where the files are; the last row when that is unknown."""
        if not self.outline or not self.shown:
            return False
        here = self.outline.tree.here
        name = next((name for name in (here.talk, here.files) if name in self.outline.index), None)
        self.cursor = len(self.shown) - 1 if name is None else self.place_of(self.rows[self.outline.index[name]].key)
        self.show_line(self.cursor)
        return name is not None

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

    def is_open(self, row: Row) -> bool:
        return row.key in self.opened if self.filter == "all" else row.key not in self.closed

    def folds(self, row: Row) -> bool:
        at = self.outline.index[row.key] if self.outline else -1
        return row.end > at + 1

    def _set_open(self, row: Row, is_open: bool) -> None:
        if self.filter == "all":
            (self.opened.add if is_open else self.opened.discard)(row.key)
        else:
            (self.closed.discard if is_open else self.closed.add)(row.key)
        self._show(row, self.cursor - self.scroll_offset.y)

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
        if self.is_open(row):
            self.cursor += 1
        else:
            self._set_open(row, True)
        return True

    def fold_all(self, is_open: bool) -> None:
        folding = {row.key for at, row in enumerate(self.rows) if row.end > at + 1}
        self.opened = folding if is_open else set()
        self.closed = set() if is_open else folding
        self._show(self.row, self.cursor - self.scroll_offset.y)

    def next_filter(self) -> str:
        names = list(FILTERS)
        self.filter = names[(names.index(self.filter) + 1) % len(names)]
        self.closed = set()
        self._show(self.row)
        return self.filter

    # Search

    def search(self, needle: str) -> int:
        """Marks the rows that hold a text (capitals count once it has one); returns how many."""
        self.needle = needle
        self._find()
        self.repaint()
        return len(self.hits)

    def _find(self) -> None:
        self.hits = []
        if self.needle:
            fold = self.needle.islower()
            for at, row in enumerate(self.rows):
                text = self._searched(row)
                if self.needle in (text.lower() if fold else text):
                    self.hits.append(at)

    def _searched(self, row: Row) -> str:
        labels = " ".join(point.label for point in row.points)
        return f"{row.text} {labels} {row.branch.name if row.branch else ''}"

    def next_hit(self, by: int, *, stay: bool = False) -> bool:
        """Moves to the next or previous hit, round the end; `stay` counts the cursor's own row."""
        if not self.hits or not self.shown:
            return False
        at = self.shown[self.cursor]
        after = [hit for hit in self.hits if hit > at or (stay and hit == at)]
        before = [hit for hit in self.hits if hit < at]
        target = (after or self.hits)[0] if by > 0 else (before or self.hits)[-1]
        self.go_to_row(target)
        return True

    @property
    def hit_number(self) -> int:
        """Which hit the cursor is on, from 1; 0 when on none."""
        at = self.shown[self.cursor] if self.shown else -1
        return self.hits.index(at) + 1 if at in self.hits else 0

    # Painting

    def plain(self, at: int) -> str:
        return self.rows[self.shown[at]].text

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        row = self.rows[self.shown[at]]
        look = Look(self.signs, self.app.now(), self.clocks, self._columns, self.needle, width)
        folds = self.folds(row)
        state = State(
            folds=folds,
            is_open=folds and self.is_open(row),
            entries=self._entries_in(row) if row.kind == "branch" else 0,
            here=self._here.get(at, ""),
            marked=row.key == self.marked,
        )
        return row_spans(row, state, look), ""

    def _entries_in(self, row: Row) -> int:
        at = self.outline.index[row.key] if self.outline else 0
        return sum(1 for inner in self.rows[at + 1 : row.end] if inner.entry)
