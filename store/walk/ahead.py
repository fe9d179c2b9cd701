"""What a save begins with, before most of its modules are imported: the second process looks at folders meanwhile."""

from __future__ import annotations

import os

from .. import agents
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


@contextmanager
def begun(place: Place) -> Generator[Ahead]:
    """Begins, for the time of the block; the caller holds the root, so no restore changes what was seen."""
    index, second = statindex.load(place.index_file), None
    with suppress(OSError):
        own = within(place.root.path, agents.own_data())
        second = vouching.begun(place.root.path, index, own, never_entered(place.home))
    try:
        yield Ahead(index, second)
    finally:
        if second is not None:
            second.end()


def never_entered(home: Path) -> frozenset[tuple[int, int]]:
    """(device, inode) of folders that no checkpoint captures: our own store."""
    with suppress(FileNotFoundError):
        found = os.stat(home)
        return frozenset(((found.st_dev, found.st_ino),))
    return frozenset()
