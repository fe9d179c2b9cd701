"""What holds most of the store: paths, points and sessions; and the line that would stop each path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from ..catalog.catalog import Row
from ..conversation import transcripts, tree
from ..errors import StoreDamaged
from ..git.reader import Objects
from ..git.weights import Following, reached, sizes
from ..model import Point
from ..status import size_of
from ..workspace import Workspace
from . import space

FEW = 20
"""A folder with at least so many files …"""
EVEN = 0.1
"""… none of whose parts holds more than this share of it is named as one: node_modules, not its 10,000 files."""
MOST = 100
"""So many paths are named."""
SPECIAL = frozenset("\\*?[")


@dataclass(frozen=True, slots=True)
class PathUsage:
    """A file, or a folder whose files hold little each but much together."""

    path: bytes
    is_folder: bool
    alone: int
    """Bytes of contents that stand nowhere else."""
    bytes: int
    """Bytes of all contents that it ever had."""
    versions: int
    ignore_line: str
    """The line for .forkpointignore that stops it from being captured."""


@dataclass(frozen=True, slots=True)
class PointUsage:
    """A checkpoint."""

    point: Point
    frees: int
    """Bytes that would be freed if it alone were deleted."""


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """A stored conversation."""

    id: str
    agent: str
    title: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What the store takes, in bytes, the largest first."""

    total: int
    workspace: int
    free: int
    paths: tuple[PathUsage, ...]
    points: tuple[PointUsage, ...]
    sessions: tuple[SessionUsage, ...]


def usage(workspace: Workspace) -> Usage:
    """Weighs the store. Raises NoWorkspace, StoreDamaged."""
    place = workspace.need_place()
    objects, rows = workspace.objects(), workspace.content().rows
    weights = sizes(objects)
    following = Following(objects)
    for series in _series(rows):
        following.series((number, rows[number].stored.commit, _tree(objects, rows[number])) for number in series)
    alone = following.held_alone(weights, len(rows))
    marks = tree.marks(rows, workspace.acts(), place.root.id)
    points = [PointUsage(point, frees) for point, frees in zip(tree.bare(rows, marks), alone, strict=True)]
    return Usage(
        size_of(place.home),
        size_of(place.workspace),
        space.free(place.home),
        tuple(_paths(following.paths, weights)),
        tuple(sorted(points, key=lambda item: item.frees, reverse=True)),
        tuple(sorted(_sessions(objects, weights), key=lambda item: item.bytes, reverse=True)),
    )


def ignore_line(path: bytes, is_folder: bool) -> str:
    """A pattern that matches exactly this path, or as good as: bytes that no line can hold are matched by "?"."""
    told = "".join(_escaped(char) for char in os.fsdecode(path))
    if told.endswith(" ") and not is_folder:
        told = f"{told[:-1]}\\ "
    return f"/{told}{'/' if is_folder else ''}"


def _escaped(char: str) -> str:
    if char in SPECIAL:
        return f"\\{char}"
    is_text = char == " " or (char.isprintable() and not char.isspace())
    return char if is_text else "?" * len(os.fsencode(char))


def _series(rows: Sequence[Row]) -> Iterable[list[int]]:
    """The numbers of checkpoints that differ little from one to the next: those of a root; partial ones each alone."""
    whole: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        if row.stored.checkpoint.complete:
            whole.setdefault(row.stored.checkpoint.root, []).append(number)
        else:
            yield [number]
    yield from whole.values()


def _tree(objects: Objects, row: Row) -> str:
    return str(objects.tree(row.stored.commit).id)


def _sessions(objects: Objects, weights: Mapping[bytes, int]) -> Iterable[SessionUsage]:
    for kept in transcripts.known(objects).values():
        try:
            found = sum(weights.get(oid, 0) for oid in reached(objects, kept.commit))
        except StoreDamaged:
            continue
        yield SessionUsage(kept.info.id, kept.info.agent, kept.info.title, found)


@dataclass(slots=True)
class _Sum:
    """What a file or folder adds up to."""

    alone: int = 0
    bytes: int = 0
    versions: int = 0
    files: int = 0
    largest: int = 0
    """The most that a direct part of it holds alone."""


def _paths(paths: Mapping[bytes, Sequence[bytes]], weights: Mapping[bytes, int]) -> list[PathUsage]:
    sums, files = _sums(paths, weights)
    parts: dict[bytes, list[bytes]] = {}
    for path, found in sums.items():
        if path:
            above = path.rpartition(b"/")[0]
            parts.setdefault(above, []).append(path)
            sums[above].largest = max(sums[above].largest, found.alone)
    chosen: list[tuple[bytes, bool]] = []
    pending = [b""]
    while pending:
        path = pending.pop()
        found = sums.get(path, _Sum())
        if path in files:
            chosen.append((path, False))
        if path and found.files >= FEW and found.largest <= EVEN * found.alone:
            chosen.append((path, True))
        else:
            pending += parts.get(path, ())
    best = nlargest(MOST, chosen, key=lambda item: (sums[item[0]].alone, sums[item[0]].bytes))
    return [
        PathUsage(path, folder, found.alone, found.bytes, found.versions, ignore_line(path, folder))
        for path, folder in best
        for found in (sums[path],)
    ]


def _sums(paths: Mapping[bytes, Sequence[bytes]], weights: Mapping[bytes, int]) -> tuple[dict[bytes, _Sum], set[bytes]]:
    """For every path, and every folder above one, what its contents weigh; and which of them are files."""
    sums: dict[bytes, _Sum] = {b"": _Sum()}
    files: set[bytes] = set()
    for oid, at in paths.items():
        weight = weights.get(oid, 0)
        lines = [_line(path) for path in at]
        shared = set(lines[0]).intersection(*lines[1:])
        for path in {path for line in lines for path in line}:
            found = sums.setdefault(path, _Sum())
            found.bytes += weight
            found.versions += 1
            if path in shared:
                found.alone += weight
        files.update(at)
    for path in files:
        for above in _line(path)[1:]:
            sums[above].files += 1
    return sums, files


def _line(path: bytes) -> list[bytes]:
    """A path and the folders above it, the root's b"" last."""
    found = [path]
    while found[-1]:
        found.append(found[-1].rpartition(b"/")[0])
    return found
