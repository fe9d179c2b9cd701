"""Writing files so that a power cut leaves the old or the new, never a mixture, and a killed writer leaves nothing."""

from __future__ import annotations

import fcntl
import os

from .light import Generator, Path, Sequence, contextmanager, suppress

BEGINNING, END = ".forkpoint-", ".tmp"
"""Of the names of files that are being written."""
BEGUN = 1 << 20
"""Bytes of a file whose writing is begun early; the system also forgets such bytes, which may be read next."""
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OLD_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_atomic(file: Path, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Replaces `file` by `data`: a new file beside it, fsync, rename, fsync of the folder.

    With sync=False only the rename protects it: for caches whose loss costs nothing but time.
    """
    with beside(file.parent) as (temporary, descriptor):
        os.fchmod(descriptor, mode)  # whatever the umask left of it
        write_all(descriptor, data)
        if sync:
            os.fsync(descriptor)
        os.replace(temporary, file)
    if sync:
        sync_folder(file.parent)


@contextmanager
def beside(folder: str | os.PathLike[str]) -> Generator[tuple[str, int]]:
    """A new file in a folder for the time of the block: its path and descriptor; renamed by then, or it is removed.

    Its writer holds it locked, so that what a killed one left is known, and goes when the next one comes.
    """
    sweep(folder)
    temporary, descriptor = _new_file(os.fspath(folder))
    try:
        yield temporary, descriptor
    finally:
        with suppress(OSError):  # renamed, or the folder was shut meanwhile: then the next writer takes it
            os.unlink(temporary)
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte: one call may take a part only."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def give_name(temporary: str, file: str) -> None:
    """Gives a written file its name, only if that is free. Raises FileExistsError."""
    try:
        os.link(temporary, file)
    except FileExistsError:
        raise
    except OSError:
        # No hard links on this file system.
        if os.path.lexists(file):
            raise FileExistsError(file) from None
        os.rename(temporary, file)


def sync_files(descriptors: Sequence[int]) -> None:
    """Makes the bytes of several open files durable; each is begun before the first is waited for."""
    if hasattr(os, "posix_fadvise"):
        for descriptor in descriptors:
            with suppress(OSError):  # some file systems take no advice
                os.posix_fadvise(descriptor, 0, BEGUN, os.POSIX_FADV_DONTNEED)
    for descriptor in descriptors:
        os.fsync(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Makes the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(top: Path) -> None:
    """Makes everything in a folder durable, whoever wrote it."""
    for folder, _, files in os.walk(top):
        for name in files:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(folder)


def sweep(folder: str | os.PathLike[str]) -> None:
    """Removes what killed writers left in a folder."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(BEGINNING) and name.endswith(END):
                _sweep_one(os.path.join(folder, name))


def _sweep_one(file: str) -> None:
    with suppress(OSError):  # locked: its writer lives
        descriptor = os.open(file, OLD_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(file)
        finally:
            os.close(descriptor)


def _new_file(folder: str) -> tuple[str, int]:
    while True:
        file = os.path.join(folder, f"{BEGINNING}{os.urandom(6).hex()}{END}")
        descriptor = os.open(file, NEW_FILE, 0o600)
        with suppress(OSError):  # some file systems have no locks: nothing is swept there either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return file, descriptor
        # Somebody swept it before it was locked.
        os.close(descriptor)
