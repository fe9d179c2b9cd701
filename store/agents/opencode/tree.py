"""Lines of rows that begin alike, as one tree.

A fork copies rows under new ids (folded by what they hold and when they began), an older copy of the store has rows
that a revert removed (folded by their ids), the event log tells how removed rows stood.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...model import SessionInfo
from ..base import Source
from ..forms.face import Face
from .records import Revert
from .rows import Read, Row, read_source

ROOT = -1
REVERT = "@revert-"
"""In the id of the notice that stands for a pending revert."""


class _Node(Struct, gc=False):
    row: Row
    parent: int
    source: int


class Tree:
    """Rows of several lines that begin alike, as one tree."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []
        self.by_id: dict[str, int] = {}
        self.below: dict[tuple[int, tuple[object, ...]], int] = {}
        self.ends: dict[int, int] = {}
        """Source → node of its last row."""

    def add(self, rows: Iterable[Row], source: int, at: int = ROOT) -> list[int]:
        """Walks along rows from a node, adding those that are new; gives the node of each."""
        nodes, by_id, below = self.nodes, self.by_id, self.below
        passed: list[int] = []
        for row in rows:
            known = by_id.get(row.id)
            if known is None:
                known = below.get((at, row.key))
                if known is None:
                    known = len(nodes)
                    nodes.append(_Node(row, at, source))
                    below[at, row.key] = known
                by_id[row.id] = known
            at = known
            passed.append(at)
        return passed


def line_up(tree: Tree, found: Read, number: int) -> int:
    """Adds a source to the tree: as it stands, then as it stood. Gives the node of its last row, or ROOT."""
    passed = tree.add(found.rows, number)
    places = {uid: passed[count - 1] if count else ROOT for uid, count in found.places.items()}
    for after, removed in found.pasts:
        at = places.get(after, ROOT) if after is not None else ROOT
        for uid in removed:
            if uid in found.gone:
                at = (tree.add(found.gone[uid], number, at) or [at])[-1]
            places[uid] = at
    return _reverted(tree, found, passed, places, number)


def _reverted(tree: Tree, found: Read, passed: list[int], places: dict[str, int], number: int) -> int:
    """Where the agent goes on: at the end, or before what a pending revert hides; then a notice stands there."""
    last = passed[-1] if passed else ROOT
    revert = found.data.revert
    if revert is None or not revert.message or found.is_former:
        return last
    hidden = _first_hidden(found, revert)
    if hidden is None:
        return last
    at = passed[hidden - 1] if hidden else ROOT
    time = max((row.end for row in found.rows), default=0)
    face = Face("notice", "Reverted: what comes after is left out (not yet deleted, /redo brings it back)", "rewind")
    uid = f"{found.id}{REVERT}{revert.part or revert.message}"
    return tree.add([Row(uid, (uid,), (face,), time, time, 0, 0)], number, at)[-1]


def _first_hidden(found: Read, revert: Revert) -> int | None:
    """How many rows stand before what a revert hides; None when it names nothing that is there."""
    wanted = revert.part or revert.message
    for number, row in enumerate(found.rows):
        if row.id == wanted:
            return number
    place = found.places.get(wanted)
    return place if place is not None and place < len(found.rows) else None


def path_to(info: SessionInfo, sources: Sequence[Source], uid: str) -> list[tuple[Source, Row]]:
    """The rows from the beginning up to one, hidden ones included, each with the source that it stands in."""
    reads = [read_source(source, info.cwd) for source in sources]
    tree, _ = main(reads, are_children(reads, info), info)
    at = tree.by_id.get(uid, ROOT)
    path: list[tuple[Source, Row]] = []
    while at >= 0:
        node = tree.nodes[at]
        path.append((sources[node.source], node.row))
        at = node.parent
    return path[::-1]


def are_children(reads: list[Read], info: SessionInfo) -> list[bool]:
    """Which sources are sub-agents'."""
    ids = {found.id for found in reads} | set(info.ids)
    return [found.data.parent in ids and found.file not in info.files for found in reads]


def main(reads: list[Read], is_child: list[bool], info: SessionInfo) -> tuple[Tree, dict[str, int]]:
    """The tree of the main conversation, and for each session the node that it ends with."""
    order = {name: number for number, name in enumerate(info.files)}
    mains = [number for number, child in enumerate(is_child) if not child]
    tree = Tree()
    ends: dict[str, int] = {}
    for number in sorted(mains, key=lambda n: (order.get(reads[n].file, -1), reads[n].is_former, -n)):
        end = line_up(tree, reads[number], number)
        # A former version is read after the newest, for what was removed since: where it ends counts no more.
        ends.setdefault(reads[number].id, end)
    return tree, ends
