"""Writing files so that a power cut leaves the old or the new, never a mixture."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomic(file: Path, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Replaces `file` by `data`: a new file beside it, fsync, rename, fsync of the folder.

    With sync=False only the rename protects it: for caches whose loss costs nothing but time.
    """
    temporary = file.with_name(f"{file.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
