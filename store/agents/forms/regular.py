"""Opens files that agents wrote: what stands in the place of one is told, and never waited for."""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import BinaryIO

from ..base import Source
from .jsonl import BUFFER

_AT_ONCE = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_regular(file: str) -> BinaryIO:
    """Opens a regular file for reading. Raises OSError, also for a folder, and for a FIFO instead of waiting for it."""
    return open(descriptor(file), "rb", buffering=BUFFER)


def descriptor(file: str) -> int:
    """A regular file's descriptor for reading, to be closed by the caller. Raises OSError as `open_regular` does."""
    found = os.open(file, _AT_ONCE)
    kind = os.fstat(found).st_mode
    if stat.S_ISREG(kind):
        return found
    os.close(found)
    code = errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL
    raise OSError(code, "it is a folder" if stat.S_ISDIR(kind) else "it is no regular file", file)


def names_in(folder: str) -> list[str]:
    """What a folder holds, sorted; nothing when it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def on_disk(file: str) -> Source:
    """A regular file as a source; JSON that is no list of lines is written anew each time."""
    return Source(file, partial(open_regular, file), grows=not file.endswith(".json"))


def why(error: OSError) -> str:
    """Why a file cannot be read, in words for people."""
    return f"its file cannot be read ({error.strerror or type(error).__name__})"
