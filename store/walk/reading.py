"""Reading one path into its blob id, so that what is stored is what was hashed (rule 7)."""

from __future__ import annotations

import errno
import os
import stat
import time

from ..git.ids import begun, blob_id
from ..light import TYPE_CHECKING, Protocol
from .statindex import FileInfo

if TYPE_CHECKING:
    from typing import IO

IN_MEMORY = 8 << 20
FRESH = 20_000_000
"""Nanoseconds: file systems stamp files by a clock that ticks this coarsely; a younger file may change unseen."""
COARSE = 2_000_000_000
TRIES = 3
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Sink(Protocol):
    """Takes the bytes that no checkpoint holds yet."""

    def blob(self, oid: str, data: bytes) -> None: ...

    def large(self, oid: str, stream: IO[bytes], size: int) -> None: ...


class _Unreadable(Exception):
    """A path that cannot be captured; the message says why."""


class Reader:
    """Reads files and links; remembers which could not be captured and which would not hold still."""

    def __init__(self, largest_file: int, sink: Sink | None, temporary: str | None) -> None:
        self.largest_file = largest_file
        self.sink = sink
        self.temporary = temporary
        self.uncaptured: dict[str, str] = {}
        self.moving: set[str] = set()

    def info(
        self, descriptor: int, path: str, name: str, found: os.stat_result, old: FileInfo | None
    ) -> FileInfo | None:
        """The index's record of a path, read now; None when it could not be captured."""
        kind = stat.S_IFMT(found.st_mode)
        try:
            if kind == stat.S_IFLNK:
                return self._link(descriptor, name, found, old)
            if kind != stat.S_IFREG:
                raise _Unreadable(_KINDS.get(kind, "a special file"))
            if found.st_size > self.largest_file:
                raise _Unreadable(f"{found.st_size:,} bytes, more than the limit of {self.largest_file:,}")
            return self._file(descriptor, path, name, old)
        except _Unreadable as reason:
            self.uncaptured[path] = str(reason)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.uncaptured[path] = why(error)
        return None

    def _link(self, descriptor: int, name: str, found: os.stat_result, old: FileInfo | None) -> FileInfo:
        target = os.readlink(os.fsencode(name), dir_fd=descriptor)
        oid = blob_id(target)
        self._send(oid, target, old)
        return _info(found, oid)

    def _file(self, descriptor: int, path: str, name: str, old: FileInfo | None) -> FileInfo:
        opened = os.open(name, OPEN_FILE, dir_fd=descriptor)
        try:
            for attempt in range(TRIES):
                before = os.fstat(opened)
                if not stat.S_ISREG(before.st_mode):
                    raise _Unreadable(_KINDS.get(stat.S_IFMT(before.st_mode), "a special file"))
                last = attempt == TRIES - 1
                read = self._large if before.st_size > IN_MEMORY else self._small
                oid = read(opened, before, old, last)
                if oid is not None:
                    if last and not _held_still(opened, before, oid):
                        self.moving.add(path)
                    return _info(before, oid)
                os.lseek(opened, 0, os.SEEK_SET)
            raise AssertionError("the last attempt always answers")
        finally:
            os.close(opened)

    def _small(self, opened: int, before: os.stat_result, old: FileInfo | None, last: bool) -> str | None:
        """Reads a whole file; None when it changed meanwhile and may be tried again."""
        data = _read_all(opened, before.st_size)
        oid = blob_id(data)
        if not last and (len(data) != before.st_size or not _held_still(opened, before, oid)):
            return None
        self._send(oid, data, old)
        return oid

    def _large(self, opened: int, before: os.stat_result, old: FileInfo | None, last: bool) -> str | None:
        """Copies a file aside while hashing it, so that what is stored is what was hashed."""
        import tempfile

        with tempfile.TemporaryFile(dir=self.temporary) as copy:
            size = 0
            while piece := os.read(opened, 1 << 20):
                copy.write(piece)
                size += len(piece)
                if size > before.st_size:
                    break
            if not last and size != before.st_size:
                return None
            copy.flush()
            oid = _digest(copy.fileno(), size)
            if not last and not _held_still(opened, before, oid):
                return None
            if self.sink is not None and (old is None or old[5] != oid):
                copy.seek(0)
                self.sink.large(oid, copy, size)
            return oid

    def _send(self, oid: str, data: bytes, old: FileInfo | None) -> None:
        if self.sink is not None and (old is None or old[5] != oid):
            self.sink.blob(oid, data)


_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "became a folder",
}


def why(error: OSError) -> str:
    """Why a path cannot be read, in a word or two."""
    return {errno.EACCES: "not readable", errno.ELOOP: "became a link"}.get(
        error.errno or 0, error.strerror or "unreadable"
    )


def _held_still(opened: int, before: os.stat_result, oid: str) -> bool:
    """Whether a file is as it was before it was read.

    The clock of a file system ticks coarsely: of one that was written a moment ago only a second look tells.
    """
    if not _same(before, os.fstat(opened)):
        return False
    return not _is_fresh(before) or _digest(opened, before.st_size) == oid


def _digest(opened: int, size: int) -> str:
    """The blob id of the first so many bytes of an open file, and of what it has beyond them."""
    digest = begun(b"blob %d\0" % size, size)
    at = 0
    while at <= size and (piece := os.pread(opened, min(1 << 20, size + 1 - at), at)):
        digest.update(piece)
        at += len(piece)
    return digest.digest().hex()


def _same(before: os.stat_result, after: os.stat_result) -> bool:
    return (before.st_size, before.st_mtime_ns, before.st_ctime_ns) == (
        after.st_size,
        after.st_mtime_ns,
        after.st_ctime_ns,
    )


def _info(found: os.stat_result, oid: str) -> FileInfo:
    changed = 0 if _is_fresh(found) else found.st_ctime_ns
    return (found.st_mode, found.st_size, found.st_mtime_ns, changed, found.st_ino, oid)


def _is_fresh(found: os.stat_result) -> bool:
    """Whether it could be changed now without a trace in its times."""
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    return time.time_ns() - newest < (COARSE if newest % 1_000_000_000 == 0 else FRESH)


def _read_all(opened: int, size: int) -> bytes:
    """The bytes of a file, one more than its size at most: one that grows for ever must not hold us."""
    data = os.read(opened, size + 1)
    while len(data) <= size and (piece := os.read(opened, size + 1 - len(data))):
        data += piece
    return data
