"""The rows of a session's tree, and which moment each of them is."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from operator import attrgetter

from ..store.model import Point, SessionTree
from .laying import Layout
from .places import Places
from .rows import Row


class Outline:
    """All rows of a tree, which of them fold into which, and where everything stands."""

    def __init__(self, tree: SessionTree, laid: Layout | None = None) -> None:
        if laid is None:
            with uncollected():
                laid = Layout(Places(tree))
                laid.lay()
        self._laid = laid
        self.tree = tree
        places = laid.places
        self.rows = laid.rows
        self.index = laid.index
        """Row of each entry id, checkpoint id, operation id and row key."""
        self.columns = laid.columns
        """The most lines that came, and that went, in one row."""
        self.told = len(laid.rows) - laid.results
        """How many rows there are without results, which show only where they are asked for."""
        self.prompts = laid.prompts
        self.whole = sum(map(attrgetter("complete"), tree.points))
        """How many checkpoints know all files."""
        self.entries, self.parents, self.own, self.path = places.entries, places.parents, places.own, places.path
        self._places = places

    def grown(self, tree: SessionTree) -> Outline:
        """The outline of a later state of the tree; where only the newest turn went on, the rows before are taken."""
        laid = self._laid
        if laid.header >= 0:
            places = self._places.grown(tree, self.rows[laid.header].at)
            if places is not None:
                return Outline(tree, laid.grown(places))
        return Outline(tree)

    # Moments

    def checkpoint_at(self, row: Row) -> Point | None:
        """The newest checkpoint at or before a row on its branch: what the row stands for."""
        if row.branch is not None:
            return self._places.newest(row.branch.head)
        return row.point or (self._places.newest(row.at) if row.at else None)

    def place_of_files(self, point: str | None) -> str | None:
        """The entry at whose end the files of a checkpoint stand; the checkpoint itself where it is bound to none.

        What stands before a prompt that was left stands at the end of what came before it.
        """
        places = self._places
        at = places.home.get(point or "")
        if point is None or at is None:
            return point
        found = next((held for held in self.own[at] if held.id == point), None)
        above = self.parents.get(at)
        if found is not None and found.side == "before" and at not in self.path and above is not None:
            return places.alias.get(above, above)
        return point

    def checkpoint_before(self, point: Point) -> Point | None:
        """The newest checkpoint that stands before another one on its branch."""
        places = self._places
        at = places.home.get(point.id)
        if at is None:
            place = places.first.index(point) if point in places.first else 0
            return places.first[place - 1] if place else None
        if place := self.own[at].index(point):
            return self.own[at][place - 1]
        above = self.parents.get(at, self.entries[at].parent)
        return places.newest(above) if above is not None else places.first[-1] if places.first else None

    def ends(self, row: Row) -> tuple[Point, Point] | None:
        """The two checkpoints between which a row's own changes lie; None where there are no two."""
        if row.kind in ("prompt", "summary"):
            if not row.moved:
                return None
            right = row.moved[-1]
            left = row.point or self.checkpoint_before(row.moved[0])
        elif row.branch is not None:
            right = self._places.newest(row.branch.head)
            left = self._places.newest(row.branch.fork) if row.branch.fork else None
        else:
            right = row.point
            left = self.checkpoint_before(right) if right else None
        return (left, right) if left and right and left.id != right.id else None


@contextmanager
def uncollected() -> Generator[None]:
    """Lets the garbage collector wait while very many objects come, and never look through them: they all stay."""
    waits = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if waits:
            gc.freeze()
            gc.enable()
