"""The locks of the store: advisory, held by an open file, so that a killed holder leaves nothing behind.

`fcntl.flock` is used as it is: a hook must start in a few milliseconds, and importing filelock alone takes forty.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .errors import Busy, StoreUnwritable

PAUSE = 0.01


@contextmanager
def held(file: Path, *, who: str, wait: float = 30.0) -> Generator[None]:
    """Holds the lock `file` for the time of the block.

    Raises Busy, naming the holder, when it is not free within `wait` seconds; StoreUnwritable where there can be none.
    """
    with _writing(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with _writing(file):
            _acquire(descriptor, file, time.monotonic() + wait)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "who": who}).encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _writing(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnwritable(
            "the store cannot be written", path=str(error.filename or file), todo=f"{error.strerror}: forkpoint doctor"
        ) from None


def _acquire(descriptor: int, file: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise Busy(f"{holder(file)} is at work on this store", todo="try again when it has finished") from None
            time.sleep(PAUSE)


def holder(file: Path) -> str:
    """Names who holds (or last held) the lock, for a message."""
    try:
        data = json.loads(file.read_bytes())
        return f"forkpoint {data['who']} (pid {data['pid']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another forkpoint"
