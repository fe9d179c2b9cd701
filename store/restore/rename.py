"""Renaming inside one folder in the two ways that lose nothing: exchanging two names, and never replacing.

Linux has renameat2(2), macOS renameatx_np(2); both are reached through ctypes. Where the system or the file system
offers neither, `exchange` says so and `move` falls back to a hard link, which replaces nothing either, or takes the
name with an empty file first.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache

MISSING = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
NO_LINKS = (*MISSING, errno.EPERM, errno.EMLINK, errno.EACCES)


class CannotExchange(Exception):
    """The system or the file system cannot exchange two names in one step."""


def exchange(folder: int, one: bytes, other: bytes) -> None:
    """Both names change what they name, in one step. Raises OSError, or CannotExchange where that does not exist."""
    if not _rename(folder, one, other, _flags()[0]):
        raise CannotExchange


def move(folder: int, old: bytes, new: bytes) -> None:
    """Renames `old` to `new`; raises FileExistsError when something stands there already."""
    if not _rename(folder, old, new, _flags()[1]):
        _move_by_link(folder, old, new)


def _move_by_link(folder: int, old: bytes, new: bytes) -> None:
    if stat.S_ISDIR(os.lstat(old, dir_fd=folder).st_mode):
        _move_folder(folder, old, new)
        return
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _move_over_placeholder(folder, old, new)
    else:
        os.unlink(old, dir_fd=folder)


def _move_folder(folder: int, old: bytes, new: bytes) -> None:
    """A folder's rename replaces an empty folder at most, so that looking first is enough."""
    try:
        os.lstat(new, dir_fd=folder)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(new))


def _move_over_placeholder(folder: int, old: bytes, new: bytes) -> None:
    """Takes the name with an empty file first, so that only that is replaced."""
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
    os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def _rename(folder: int, old: bytes, new: bytes, flags: int) -> bool:
    """One system call; False when the system or the file system knows no such flags."""
    call = _system_call()
    if call is None:
        return False
    if call(folder, old, folder, new, flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in MISSING:
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(old), None, os.fsdecode(new))


def _flags() -> tuple[int, int]:
    """The flags for exchanging and for not replacing."""
    return (2, 4) if sys.platform == "darwin" else (2, 1)


@cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    library = ctypes.CDLL(None, use_errno=True)
    try:
        call = library["renameatx_np" if sys.platform == "darwin" else "renameat2"]
    except AttributeError:
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
