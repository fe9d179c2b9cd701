"""One row of the tree, and which rows show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from ..store.model import Branch, Entry, Operation, Point

RowKind = Literal["prompt", "summary", "entry", "result", "point", "operation", "branch"]
"""A result stands inside of its call; where the call is not known it is an entry like others."""


class Row(Struct, gc=False):
    """One line of the tree; there may be very many. None of them refers to another one."""

    key: str
    """Stays the same while the tree grows: what folding and the cursor remember."""
    kind: RowKind
    depth: int
    """How many branches it stands inside of."""
    inset: int
    """How far it stands inside its turn and its sub-agents."""
    text: str
    time: int
    active: bool
    """On the line that the conversation goes on from."""
    parent: int
    """Index of the row that it folds into, or -1."""
    entry: Entry | None = None
    at: str = ""
    """The entry at or after which this row stands; "" before the first."""
    end: int = 0
    """Index after its last row inside."""
    result: Entry | None = None
    """What a tool call brought back."""
    points: Sequence[Point] = ()
    """Checkpoints of this very row, the newest last."""
    gone: Sequence[Point] = ()
    """Checkpoints that stood here, and whose files were deleted."""
    moved: Sequence[Point] = ()
    """Checkpoints whose differences the row sums up: a turn's, or its own."""
    errors: int = 0
    """Calls and replies inside of it that failed."""
    agents: int = 0
    """Calls inside of it that started a sub-agent; of such a call itself one more."""
    entries: int = 0
    """Of a branch: entries inside of it, results left out."""
    operation: Operation | None = None
    branch: Branch | None = None

    @property
    def heads(self) -> bool:
        """Begins a turn or a branch."""
        return self.kind in ("prompt", "summary", "branch")

    @property
    def error(self) -> bool:
        return bool((self.entry and self.entry.error) or (self.result and self.result.error))

    @property
    def compaction(self) -> bool:
        """Stands for a part of the conversation that the agent put into few words."""
        return self.kind == "summary" or (self.entry is not None and self.entry.flavour == "compaction")

    @property
    def point(self) -> Point | None:
        """The checkpoint that this row is, when it is seen as a moment."""
        return self.points[-1] if self.points else None

    @property
    def target(self) -> str:
        """What this row is called when the engine is asked; "" where it is no moment (an operation)."""
        if self.kind == "operation":
            return ""
        if self.branch is not None:
            return self.branch.head
        return self.point.id if self.point else self.entry.id if self.entry else ""

    @property
    def lines(self) -> tuple[int, int] | None:
        """Lines that came and went here; None where nothing was counted."""
        added = removed = None
        for point in self.moved:
            if point.added is not None:
                added = (added or 0) + point.added
            if point.removed is not None:
                removed = (removed or 0) + point.removed
        return None if added is None and removed is None else (added or 0, removed or 0)


FILTERS: dict[str, Callable[[Row], bool]] = {
    "all": lambda row: True,
    "prompts": lambda row: row.heads,
    "changes": lambda row: bool(row.moved) and row.kind != "branch" and row.lines != (0, 0),
    "labelled": lambda row: any(point.label or point.pinned for point in row.points),
    "errors": lambda row: row.error,
}


def unfolded_rows(rows: list[Row], opened: set[str]) -> list[int]:
    """Indices of the rows that show when only these row keys are unfolded."""
    shown: list[int] = []
    at = 0
    while at < len(rows):
        shown.append(at)
        row = rows[at]
        at = row.end if row.end > at + 1 and row.key not in opened else at + 1
    return shown


def filtered_rows(rows: list[Row], wanted: Callable[[Row], bool], closed: set[str]) -> list[int]:
    """Indices of the wanted rows and of those that they stand in, but for what is inside of the closed ones."""
    keep = bytearray(len(rows))
    for at, row in enumerate(rows):
        if wanted(row):
            while at >= 0 and not keep[at]:
                keep[at] = 1
                at = rows[at].parent
    shown: list[int] = []
    at = 0
    while at < len(rows):
        if keep[at]:
            shown.append(at)
        at = rows[at].end if keep[at] and rows[at].key in closed else at + 1
    return shown
