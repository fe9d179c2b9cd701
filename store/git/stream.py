"""Writing into the object store: one fast-import stream, one pack, one or more refs, all or nothing.

Design.md section 4: with core.fsync=all and fastimport.unpackLimit=1 a stream is one fsynced pack, and its refs move
only when the pack is complete.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from ..errors import GitFailed
from .process import command, failure, start

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
CHUNK = 1 << 20
UNFINISHED = 600.0
PARTING = 1.0
"""Seconds: what is older than the first, or still there after the second, belongs to no living process."""
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+,=@ ")


def blob_id(data: bytes) -> str:
    """Git's id of a blob with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def quoted(path: bytes) -> bytes:
    """A path as fast-import takes every byte of it."""
    if path[:1] not in (b'"', b"") and path[-1:] != b" " and PLAIN.issuperset(path) and b" " not in path:
        return path
    return b'"' + b"".join(b"%c" % byte if _literal(byte) else b"\\%03o" % byte for byte in path) + b'"'


def _literal(byte: int) -> bool:
    return 32 <= byte < 127 and byte not in b'"\\'


class Stream:
    """One running fast-import. Nothing that was sent exists for anyone before `close` has returned.

    Whoever begins one holds the store for writing: what another writer's git left behind is a dead one's.
    """

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        _sweep(git_dir / "objects" / "pack")
        self._process = start(command(git_dir, "fast-import", "--quiet", "--done", "--date-format=raw"))
        assert self._process.stdin is not None
        self._out: IO[bytes] = self._process.stdin
        self._marks = 0
        self._ended = False

    def blob(self, data: bytes) -> None:
        """Sends a blob; afterwards its id can be used in `commit`."""
        self._write(b"blob\ndata %d\n" % len(data))
        self._write(data)
        self._write(b"\n")

    def blob_from(self, read: Callable[[int], bytes], size: int) -> None:
        """Sends a blob of `size` bytes piece by piece; `read` must give exactly that many."""
        self._write(b"blob\ndata %d\n" % size)
        left = size
        while left:
            piece = read(min(CHUNK, left))
            if not piece:
                raise GitFailed("a file ended before its size", todo="try again")
            self._write(piece)
            left -= len(piece)
        self._write(b"\n")

    def commit(
        self, ref: str, moment: int, lines: Iterable[bytes], *, message: bytes = b"", parent: str | None = None
    ) -> str:
        """Sends a commit on `ref` whose tree is made by `lines` (see `put`, `put_tree`, `remove`); gives its mark."""
        free(self._git_dir / f"{ref}.lock")
        self._marks += 1
        self._write(b"commit %s\nmark :%d\n" % (ref.encode(), self._marks))
        self._write(b"committer forkpoint <forkpoint@localhost> %d +0000\ndata %d\n" % (moment // 10**9, len(message)))
        self._write(message + b"\n")
        if parent is not None:
            self._write(b"from %s\n" % parent.encode())
        for line in lines:
            self._write(line)
        self._write(b"\n")
        return f":{self._marks}"

    def tree_of(self, mark: str, path: str) -> str:
        """The id of the tree at `path` of a commit that was sent."""
        self._write(b'ls %s "%s"\n' % (mark.encode(), path.encode()))
        self._flush()
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            self._fail()
        return EMPTY_TREE if answer.startswith(b"missing") else answer.split(b" ", 2)[2][:40].decode()

    def end(self) -> None:
        """Says that all was sent; git begins to write pack and refs, while the caller may do something else."""
        self._write(b"done\n")
        self._flush()
        self._ended = True

    def close(self) -> None:
        """Ends the stream and waits until pack and refs are on the disk; raises StoreUnwritable or GitFailed."""
        if not self._ended:
            self.end()
        try:
            _, complaint = self._process.communicate()
        except BrokenPipeError:
            self._fail()
        if self._process.returncode != 0:
            raise failure("fast-import", complaint, self._process.returncode)

    def abandon(self) -> None:
        """Drops all that was sent."""
        self._process.kill()
        self._process.communicate()

    def _write(self, data: bytes) -> None:
        try:
            self._out.write(data)
        except (BrokenPipeError, ValueError):
            self._fail()

    def _flush(self) -> None:
        try:
            self._out.flush()
        except BrokenPipeError:
            self._fail()

    def _fail(self) -> NoReturn:
        with suppress(BrokenPipeError):
            self._out.close()
        self._process.stdin = None
        try:
            _, complaint = self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, complaint = self._process.communicate()
        raise failure("fast-import", complaint, self._process.returncode)


def _sweep(packs: Path) -> None:
    """Removes packs that were never finished: their writer was killed, or its disk was full."""
    with suppress(OSError):
        for name in os.listdir(packs):
            if name.startswith("tmp_"):
                file = packs / name
                if file.stat().st_mtime < time.time() - UNFINISHED:
                    file.unlink()


def free(*locks: Path) -> None:
    """Removes the locks that a killed git left on refs; one that is just ending without its parent may do so."""
    until = time.monotonic() + PARTING
    while standing := [lock for lock in locks if lock.exists()]:
        if time.monotonic() >= until:
            for lock in standing:
                lock.unlink(missing_ok=True)
            return
        time.sleep(0.02)


def put(git_mode: int, oid: str, path: bytes) -> bytes:
    """A line that puts a known blob at a path."""
    return b"M %06o %s %s\n" % (git_mode, oid.encode(), quoted(path))


def put_tree(oid: str, path: bytes) -> bytes:
    """A line that puts a known tree at a path."""
    return b"M 040000 %s %s\n" % (oid.encode(), quoted(path))


def put_inline(data: bytes, path: bytes) -> bytes:
    """A line that puts new bytes at a path."""
    return b"M 100644 inline %s\ndata %d\n" % (quoted(path), len(data)) + data + b"\n"


def remove(path: bytes) -> bytes:
    """A line that takes a path out."""
    return b"D %s\n" % quoted(path)


def read_pieces(descriptor: int) -> Callable[[int], bytes]:
    """A reader for `blob_from` over an open file."""
    return lambda count: os.read(descriptor, count)
