"""Bringing many files to the disk together.

While others write too, each fsync takes its turn: a thousand of them took seconds where one call for the whole file
system took a tenth of one. Linux has syncfs(2), and sync_file_range(2) to begin with early; elsewhere it is one fsync
after the other.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache

MANY = 64
"""From so many on, one call for the whole file system is the quicker one."""
WRITE = 2
"""SYNC_FILE_RANGE_WRITE: begin, and do not wait."""


def write_out(descriptor: int) -> None:
    """Begins to write an open file to the disk, without waiting; a hint, and nothing where there is no such call."""
    call = _system_calls()[0]
    if call is not None:
        call(descriptor, 0, 0, WRITE)


def all_synced(descriptor: int, folders: Iterable[int]) -> bool:
    """Brings everything on the file system of an open folder to the disk.

    False when it could not, or when one of `folders` is on another file system: then each has to be synced by itself.
    """
    call = _system_calls()[1]
    device = os.fstat(descriptor).st_dev
    if call is None or any(os.fstat(folder).st_dev != device for folder in folders):
        return False
    return call(descriptor) == 0


@cache
def _system_calls() -> tuple[Callable[[int, int, int, int], int] | None, Callable[[int], int] | None]:
    if sys.platform != "linux":
        return None, None
    library = ctypes.CDLL(None)
    try:
        begin, sync = library.sync_file_range, library.syncfs
    except AttributeError:
        return None, None
    begin.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    sync.argtypes = (ctypes.c_int,)
    return begin, sync
