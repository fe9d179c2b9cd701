"""Telling the system to begin to write a file to the disk, without waiting for it.

When many files are written and then synced one after the other, the first fsync waits for all of them and the others
find little left to do: 0.08 ms a file where one after the other took 0.4 ms.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

WRITE = 2
"""SYNC_FILE_RANGE_WRITE: begin, and do not wait."""


def write_out(descriptor: int) -> None:
    """Begins to write an open file to the disk; a hint, so that nothing comes of a system that does not know it."""
    call = _system_call()
    if call is not None:
        call(descriptor, 0, 0, WRITE)


@cache
def _system_call() -> Callable[[int, int, int, int], int] | None:
    if sys.platform != "linux":
        return None
    try:
        call = ctypes.CDLL(None).sync_file_range
    except AttributeError:
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
