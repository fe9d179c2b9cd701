"""Which rows of a tree show, and where one is among them."""

from __future__ import annotations

from bisect import bisect_left

from .outline import Outline
from .rows import FILTERS, Row, filtered_rows, unfolded_rows
from .spans import Parts
from .theme import Signs
from .widgets.rowpaint import Look, State, column_cells, row_parts
from .words import count


class Shown:
    """The rows of an outline of which some are unfolded, or filtered out."""

    def __init__(self) -> None:
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
        """What is searched for."""
        self._here: dict[int, str] = {}

    @property
    def rows(self) -> list[Row]:
        return self.outline.rows if self.outline else []

    def choose(self) -> None:
        """Works out which rows show."""
        if self.filter == "all":
            self.shown = unfolded_rows(self.rows, self.opened)
        else:
            self.shown = filtered_rows(self.rows, FILTERS[self.filter], self.closed)
        self._mark_here()

    def open_newest(self) -> None:
        """Unfolds the newest turn of the conversation only, so that a tree shows what was done last."""
        at = self._row_of(self.outline.tree.here.talk if self.outline else None)
        while at is not None and self.rows[at].parent >= 0:
            at = self.rows[at].parent
        self.opened, self.closed = {self.rows[at].key} if at is not None else set(), set()

    def place_of(self, key: str) -> int:
        """Line of a row, or of the nearest one that is shown and that it stands in."""
        at = self.outline.index.get(key, -1) if self.outline else -1
        while at >= 0:
            place = self.line_of(at)
            if self.shown[place : place + 1] == [at]:
                return place
            at = self.rows[at].parent if self.rows[at].parent >= 0 else at - 1
        return 0

    def line_of(self, at: int) -> int:
        """Line of a row, or the one that it would have."""
        return bisect_left(self.shown, at)

    @property
    def place_of_here(self) -> int | None:
        """Line on which the conversation is, else the files; None when that is unknown."""
        if self.outline is None:
            return None
        here = self.outline.tree.here
        return next((place for name in (here.talk, here.files) if (place := self._place(name)) is not None), None)

    def _row_of(self, name: str | None) -> int | None:
        return self.outline.index.get(name) if self.outline and name is not None else None

    def _place(self, name: str | None) -> int | None:
        at = self._row_of(name)
        return self.place_of(self.rows[at].key) if at is not None else None

    def _mark_here(self) -> None:
        """Puts the marks of files and talk on the rows that show them; one sign where they are on one row."""
        self._here = {}
        if not self.outline:
            return
        outline, here = self.outline, self.outline.tree.here
        talk = self._place(here.talk)
        files = self._place(outline.place_of_files(here.files))
        if talk is not None and files is not None:
            stands_for = outline.checkpoint_at(outline.rows[outline.index[here.talk or ""]])
            if stands_for is not None and stands_for.id == here.files:
                files = talk
        edits = f", {count(here.dirty, 'edit')}" if here.dirty else ""
        if talk is not None:
            self._here[talk] = "talk"
        if files is not None:
            self._here[files] = f"here{edits}" if talk == files else f"files{edits}"

    # Folding

    def is_open(self, row: Row) -> bool:
        return row.key in self.opened if self.filter == "all" else row.key not in self.closed

    def folds(self, row: Row) -> bool:
        """Whether rows stand inside of it."""
        at = self.outline.index[row.key] if self.outline else -1
        return row.end > at + 1

    def holds_a_result(self, row: Row) -> bool:
        """A call with what it brought back and nothing else inside: it needs no sign that it can be unfolded."""
        at = self.outline.index[row.key] if self.outline else -1
        return row.end == at + 2 and self.rows[at + 1].kind == "result"

    # Painting

    def parts(self, at: int, signs: Signs, now: int) -> Parts:
        """The pieces of a line."""
        row = self.rows[self.shown[at]]
        columns = column_cells(self.outline.columns if self.outline else (0, 0))
        look = Look(signs, now, self.clocks, columns, self.needle)
        is_open = self.is_open(row)
        state = State(
            folds=self.folds(row) and (row.heads or is_open or not self.holds_a_result(row)),
            is_open=is_open,
            here=self._here.get(at, ""),
            marked=row.key == self.marked,
        )
        return row_parts(row, state, look)
