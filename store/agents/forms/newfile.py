"""Forks as new files: put in place as a whole, for their owner alone, never over anything."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import BinaryIO

from ...durable import beside, give_name, sync_folder, write_all
from ...errors import ForkpointError, StoreUnwritable
from ..base import Fork, Source

_SECOND = 1_000_000_000


def write_fork(fork: Fork, first: Callable[[], None] | None = None) -> None:
    """Writes a planned fork; nothing for an empty one. Raises ForkpointError, StoreUnwritable.

    first: what is to be written before it, once its folder is there.
    """
    if not fork.data:
        return
    folder = os.path.dirname(fork.file)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if first is not None:
            first()
        with beside(folder) as (temporary, descriptor):
            os.fchmod(descriptor, 0o600)
            write_all(descriptor, fork.data)
            if fork.mtime:
                os.utime(descriptor, ns=(fork.mtime, fork.mtime))
            os.fsync(descriptor)
            give_name(temporary, fork.file)
        sync_folder(folder)
    except FileExistsError:
        raise ForkpointError("a session with this id is already there", path=fork.file, todo="try again") from None
    except OSError as error:
        raise StoreUnwritable(
            f"the fork cannot be written ({error.strerror})", path=fork.file, todo="free space, or check permissions"
        ) from None


def untouched(fork_file: str, digest: str) -> bool:
    """Whether a fork's file is still byte for byte what we wrote."""
    try:
        with open(fork_file, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def opened(source: Source) -> BinaryIO:
    """The bytes to fork from. Raises ForkpointError."""
    try:
        return source.open()
    except OSError as error:
        raise ForkpointError(
            f"the session's file cannot be read ({error.strerror})", path=source.name, todo="choose another row"
        ) from None


def just_before(source: str, otherwise: int) -> int:
    """A moment just before the source's time: what goes on with the newest session must not take the fork."""
    try:
        return os.stat(source).st_mtime_ns - _SECOND
    except OSError:
        return otherwise
