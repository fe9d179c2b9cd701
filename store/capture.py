"""Making a checkpoint: walk, stream what is new, move one ref. Everything else can be repaired from that ref."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from . import agents, points, statindex
from .errors import GitFailed, StoreUnwritable
from .home import settings
from .points import Checkpoint
from .roots import Place
from .scan import Limits, Scan, scan
from .states import Node, State
from .statindex import Index
from .writing import Progress, Writer


class Wanted(NamedTuple):
    """What a checkpoint is taken for, and how."""

    draft: Checkpoint
    """Its record as far as it is known beforehand; a time of 0 stands for now."""
    only_drift: bool = False
    """Store nothing when the files are as in the newest checkpoint of the root."""
    agreed: bool = False
    """The person wants the first checkpoint even of a very large folder (rule 8)."""
    deadline: float = 0.0
    """By time.monotonic(): a checkpoint whose files were read after it is marked late; 0.0 for never."""


class Taken(NamedTuple):
    """What `take` did."""

    id: str
    """The checkpoint that holds the files as they are: the new one, or with only_drift the one before."""
    made: bool
    """A new checkpoint was stored."""
    changed: bool
    """The files differ from the newest checkpoint before."""
    files: int
    uncaptured: Mapping[str, str]
    checkpoint: Checkpoint | None = None

    @property
    def time(self) -> int:
        """When a new checkpoint was made, in nanoseconds; 0 when none was."""
        return self.checkpoint.time if self.checkpoint else 0


def take(
    place: Place,
    wanted: Wanted,
    *,
    wait: float = 30.0,
    must_store: Iterable[tuple[bytes, Node]] = (),
    locked: bool = False,
    progress: Progress | None = None,
) -> Taken:
    """Takes a checkpoint of the root as it is now; returns once it is on the disk.

    `must_store` names paths that a guard has to hold whatever the rules say (rule 2). With `locked` the caller
    holds the root's lock. Raises Busy, StoreUnwritable, GitFailed, GitMissing.
    """
    with ExitStack() as stack:
        if not locked:
            stack.enter_context(place.locked(_who(wanted), wait))
        try:
            index = statindex.load(place.index_file)
            try:
                return _take(place, wanted, index, wait, list(must_store), progress)
            except GitFailed:
                if not index.tree:
                    raise
                # The index may name a tree that the store lost: read everything again, once.
                return _take(place, wanted, Index(time=index.time), wait, list(must_store), progress)
        except OSError as error:
            raise StoreUnwritable(
                "the checkpoint could not be made",
                path=str(error.filename or place.root.path),
                todo=str(error.strerror),
            ) from None


def look(root: str, home: Path, place: Place | None) -> Scan:
    """Walks a root without storing anything; the caller holds its lock, where it has a place in the store."""
    index = statindex.load(place.index_file) if place is not None else Index()
    return scan(root, index, limits(home), temporary=str(place.folder) if place is not None else None)


def limits(home: Path) -> Limits:
    """What is never captured."""
    skip: set[tuple[int, int]] = set()
    with suppress(FileNotFoundError):
        found = os.stat(home)
        skip.add((found.st_dev, found.st_ino))
    return Limits(settings(home).largest_file, frozenset(skip), agents.own_data())


def _take(
    place: Place,
    wanted: Wanted,
    index: Index,
    wait: float,
    must_store: list[tuple[bytes, Node]],
    progress: Progress | None,
) -> Taken:
    with ExitStack() as stack:
        writer = Writer(place, stack, wait, progress)
        allowed = limits(place.home)
        if not index.folders and not wanted.agreed:
            allowed = allowed._replace(ceiling=settings(place.home).largest_tree)
        found = scan(place.root.path, index, allowed, writer, str(place.folder))
        changed = bool(found.changed) or found.modes_changed or not index.tree
        if wanted.only_drift and not changed and index.point:
            if found.stamps != index.stamps or found.folders != index.folders:
                fresh = index._replace(stamps=found.stamps, folders=found.folders)
                statindex.save(place.index_file, statindex.encode(fresh))
            return Taken(index.point, False, False, found.files, found.uncaptured)
        moment = max(wanted.draft.time or time.time_ns(), index.time + 1)
        checkpoint = _record(place, wanted, found, index, moment)
        held: State = found.state() if must_store else {}
        extra = [(path, node) for path, node in must_store if path not in held]
        tree = writer.commit(checkpoint, found, index, extra)
        writer.close()
        if not extra:
            fresh = Index(tree, checkpoint.id, moment, found.stamps, found.folders)
            fresh = fresh._replace(parts=writer.parts, pack=writer.pack)
            statindex.save(place.index_file, statindex.encode(fresh))
        return Taken(checkpoint.id, True, changed, found.files, found.uncaptured, checkpoint)


def _record(place: Place, wanted: Wanted, found: Scan, index: Index, moment: int) -> Checkpoint:
    return wanted.draft._replace(
        id=points.new_id(),
        root=place.root.id,
        time=moment,
        previous=index.point,
        late=wanted.draft.late or 0.0 < wanted.deadline < time.monotonic(),
        files=found.files,
        bytes=found.bytes,
        uncaptured=found.uncaptured,
        moving=tuple(sorted(found.moving)),
        largest_file=limits(place.home).largest_file,
    )


def _who(wanted: Wanted) -> str:
    return f"save ({wanted.draft.reason})"
