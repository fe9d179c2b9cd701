"""A second process that looks through the folders of a root from the other end, so that a walk uses two processors.

It only says of a folder that it is listed as the stat index knows it. Both go through the same list, the walk from the
front, the other from the back, until they meet: neither waits for the other.
"""

from __future__ import annotations

import os
import stat

from ..light import Callable, Collection, suppress
from .levels import OPEN_FOLDER, OPEN_LEVELS
from .sighting import sight
from .statindex import Index

FEWEST = 2000
"""Files; walking through fewer takes less time than starting a process."""
SIGKILL = 9
"""As in the module signal, whose import takes longer than to look through a hundred files."""
SAME, OTHER = b"1", b"0"
Own = Callable[[], Collection[str]]
"""Gives the paths in the root that are left out."""
_ended: list[int] = []
"""Processes that are not waited for yet: their end takes longer than that of a save that waits for nobody."""


class Vouching:
    """The second process, while the walk goes on."""

    def __init__(self, root: str, index: Index, own: Own, skip: Collection[tuple[int, int]]) -> None:
        order = _order(index)
        self._rank = {path: number for number, path in enumerate(reversed(order))}
        self._answers = bytearray()
        self._ended = False
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        try:
            self._child = os.fork()
        except OSError:
            os.close(self._reader)
            os.close(writer)
            raise
        if self._child == 0:
            try:
                os.close(self._reader)  # else it would outlive a killed walk, and hold its locks
                top, left = os.open(root, OPEN_FOLDER & ~os.O_NOFOLLOW), own()
                for path in self._rank:
                    os.write(writer, SAME if _same(top, path, index, left, skip) else OTHER)
            finally:
                os._exit(0)
        os.close(writer)

    def same(self, path: str) -> bool:
        """Whether the folder was seen to be listed as before; False also when nobody looked yet."""
        rank = self._rank.get(path)
        if rank is None:
            return False
        if rank >= len(self._answers):
            with suppress(BlockingIOError):
                self._answers += os.read(self._reader, 1 << 16)
        return rank < len(self._answers) and self._answers[rank] == SAME[0]

    def end(self) -> None:
        """Ends the process, once."""
        if self._ended:
            return
        self._ended = True
        os.close(self._reader)
        with suppress(ProcessLookupError):
            os.kill(self._child, SIGKILL)
        _ended.append(self._child)


def begun(root: str, index: Index, own: Own, skip: Collection[tuple[int, int]]) -> Vouching | None:
    """Starts the second process, where it is worth it and safe."""
    if sum(folder.file_count for folder in index.folders.values()) < FEWEST or not may_begin():
        return None
    while _ended:
        with suppress(ChildProcessError):
            os.waitpid(_ended.pop(), 0)
    with suppress(OSError):  # too many files or processes: one will do
        return Vouching(root, index, own, skip)
    return None


def may_begin() -> bool:
    """Whether a second process can be started safely and has a processor of its own."""
    return _processors() >= 2 and not _threads()


def _order(index: Index) -> list[str]:
    """The folders of the index as a walk comes to them; the root itself is always the walk's."""
    found: list[str] = []
    pending = [""]
    while pending:
        path = pending.pop()
        folder = index.folders.get(path)
        if folder is not None:
            if path:
                found.append(path)
            pending += [f"{path}{name}/" for name in folder.folders]
    return found


def _same(top: int, path: str, index: Index, own: Collection[str], skip: Collection[tuple[int, int]]) -> bool:
    known = index.folders[path]
    if not known.seen or path.count("/") >= OPEN_LEVELS:
        return False
    opened: list[int] = []
    try:
        for name in path.split("/")[:-1]:
            opened.append(os.open(name, OPEN_FOLDER, dir_fd=opened[-1] if opened else top))
        mode = stat.S_IMODE(os.fstat(opened[-1]).st_mode)
        return mode == known.mode and sight(opened[-1], path, own, skip).mark == known.seen
    except OSError:
        return False
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _threads() -> bool:
    """Whether other threads run in this process: what they hold would be held for ever in a copy of it."""
    import _thread

    return _thread._count() > 0  # pyright: ignore[reportPrivateUsage]
