"""What a save or a restore begins with, before most is imported: the second process looks at folders meanwhile.

A save holds the root by then. A restore does not: its imports take longer than the walk. What was seen for it serves
when nobody held the root at its beginning, and nobody saved, did or recovered anything until it is held (`moment`).
"""

from __future__ import annotations

import os
import time

from .. import agents, roots
from ..light import Generator, NamedTuple, Path, contextmanager, suppress
from ..roots import Place
from . import statindex, vouching
from .sighting import within
from .statindex import Index
from .vouching import Vouching


class Ahead(NamedTuple):
    """The stat index of a root that is held, and who looks through its folders already."""

    known: Index
    vouching: Vouching | None


Moment = tuple[tuple[int, int, int], ...]
"""How the files look that are replaced by whoever changes what stands in a root, or was seen of it."""


class Early(NamedTuple):
    """What was begun before the root is held."""

    place: Place
    moment: Moment
    began: int
    """By time.monotonic_ns()."""
    ahead: Ahead


_early: list[Early] = []


def begin_early(root: str, home: Path) -> None:
    """Begins to look through a root that is recorded, once in a process that has no other threads."""
    place = roots.find(root, home)
    if place is None or _early or _is_held(place):
        return
    began, before = time.monotonic_ns(), moment(place)
    found = _looking(place)
    if found.vouching is not None:
        _early.append(Early(place, before, began, found))


def early(place: Place, now: Moment) -> Early | None:
    """What was begun early for a root that is held by now, if it still serves; gives it once."""
    if not _early:
        return None
    found = _early.pop()
    if found.place == place and found.moment == now:
        return found
    if found.ahead.vouching is not None:
        found.ahead.vouching.end()
    return None


def moment(place: Place) -> Moment:
    """Equal while nobody saved here, carried out an operation or recovered one."""
    return tuple(_look_of(file) for file in (place.index_file, place.operations_file, place.journal_file))


def _look_of(file: Path) -> tuple[int, int, int]:
    try:
        seen = os.stat(file)
    except OSError:
        return (0, 0, 0)
    return (seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns)


def _is_held(place: Place) -> bool:
    """Whether somebody may be at work: who holds a root has signed its lock before he changes anything."""
    try:
        return os.stat(place.lock_file).st_size > 0
    except OSError:
        return True


@contextmanager
def begun(place: Place) -> Generator[Ahead]:
    """Begins, for the time of the block; the caller holds the root, so no restore changes what was seen."""
    found = _looking(place)
    try:
        yield found
    finally:
        if found.vouching is not None:
            found.vouching.end()


def _looking(place: Place) -> Ahead:
    index, second = statindex.load(place.index_file), None
    with suppress(OSError):
        second = vouching.begun(place.root.path, index, lambda: _own(place), never_entered(place.home))
    return Ahead(index, second)


def _own(place: Place) -> frozenset[str]:
    """What is the agents' own in a root; asked by each process for itself, hence at the same time."""
    return within(place.root.path, agents.own_data())


def never_entered(home: Path) -> frozenset[tuple[int, int]]:
    """(device, inode) of folders that no checkpoint captures: our own store."""
    with suppress(FileNotFoundError):
        found = os.stat(home)
        return frozenset(((found.st_dev, found.st_ino),))
    return frozenset()
