"""A fork's intent: noted before its session file is written, so that no kill leaves a branch that nobody asked for.

The next command that looks settles it. The file goes again while it is byte for byte what we wrote; one that its agent
has gone on with by then is somebody's work, and is recorded as the fork that it is.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from .. import agents, operations
from ..durable import sync_folder, write_atomic
from ..errors import ForkpointError, storing
from ..git.reader import Objects
from ..operations import Record
from ..restore import journal
from ..roots import Place


@contextmanager
def settled(place: Place) -> Generator[None]:
    """Settles, at the end of the block, what was noted in it: it was recorded, or it came to nothing."""
    try:
        yield
    finally:
        settle(place)


def note(place: Place, record: Record) -> None:
    """Notes an operation whose fork is about to be written; the caller holds the root. Raises StoreUnwritable."""
    with storing(place.fork_file):
        write_atomic(place.fork_file, operations.encode(record))


def settle(place: Place) -> None:
    """Ends what a killed process was doing; does nothing while it is being done, or where that cannot be told."""
    if not place.fork_file.exists():
        return
    with suppress(ForkpointError, OSError), place.locked("finish a fork", 0.0):
        _settle(place)


def _settle(place: Place) -> None:
    """The caller holds the root."""
    try:
        record = operations.decode(place.fork_file.read_bytes(), str(place.fork_file))
    except FileNotFoundError:
        return
    begun = journal.pending(place.journal_file)
    # With a journal the recovery of the files decides about the branch as well.
    if not (begun is not None and begun.operation == record.id):
        objects = Objects(place.git_dir)
        if not any(act.id == record.id for _, act in operations.newest_first(objects)):
            _take_back(place, objects, record)
    place.fork_file.unlink(missing_ok=True)


def _take_back(place: Place, objects: Objects, record: Record) -> None:
    file = str(record.fork.get("file", ""))
    if not file or not os.path.lexists(file):
        return
    if agents.get(str(record.fork["agent"])).untouched(file, str(record.fork["digest"])):
        os.unlink(file)
        sync_folder(os.path.dirname(file))
    else:
        operations.append(place, objects, record)
