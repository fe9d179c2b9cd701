"""Objects written as one pack with its index, as git reads them (gitformat-pack(5)), without starting git.

Starting `git fast-import` costs as much as all the rest of a small save. Blobs, trees and commits are written whole,
without deltas: making those is a later repack's part.
"""

from __future__ import annotations

import os
import time
import zlib

from ..durable import sync_files, sync_folder, write_all
from ..errors import GitFailed, StoreDamaged, StoreUnwritable
from ..light import Callable, Generator, Iterable, Sequence, contextmanager, suppress
from .ids import BLOB, begun, object_id

FOLDER = 0o040000
CHUNK = 1 << 20
TEMPORARY = "tmp_"
OURS = "tmp_forkpoint_"
"""How the names of unfinished files begin, git's and those that are written here."""
UNFINISHED = 600.0
"""Seconds: a file of git's that is older belongs to no living process; of ours, any that another writer left."""
FAR = 1 << 31
"""Offsets from here on do not fit into 31 bits …"""
IN_TABLE = 1 << 31
"""… and stand in a table of their own, where this bit says so."""
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def tree_object(entries: Iterable[tuple[bytes, int, bytes]]) -> bytes:
    """The bytes of a tree: name, git mode and id of each entry; a folder is sorted as if its name ended in "/"."""
    keyed = sorted((name + b"/" if mode == FOLDER else name, name, mode, oid) for name, mode, oid in entries)
    return b"".join(b"%o %b\0%b" % (mode, name, oid) for _, name, mode, oid in keyed)


class Pack:
    """A pack that is being written. Nothing in it exists for anyone before `close` has returned.

    Whoever begins one holds the store for writing, hence what another writer of ours left behind is a dead one's.
    Raises StoreUnwritable.
    """

    def __init__(self, git_dir: str | os.PathLike[str]) -> None:
        self._folder = os.path.join(git_dir, "objects", "pack")
        self._file = -1
        self._name = ""
        self._pending: list[bytes] = []
        self._waiting = 0
        self._end = 12
        self._objects: dict[bytes, tuple[int, int]] = {}
        """Id → (crc32 of the packed bytes, offset)."""
        _sweep(self._folder)

    def add(self, kind: int, data: bytes, oid: bytes = b"") -> bytes:
        """Adds an object, once; gives its id, which may be told where it is known."""
        oid = oid or object_id(kind, data)
        if oid not in self._objects:
            head = _head(kind, len(data))
            self._begin(oid)
            self._put(head + deflated(data))
        return oid

    def add_from(self, oid: bytes, read: Callable[[int], bytes], size: int) -> None:
        """Adds a blob of `size` bytes piece by piece; `read` must give exactly the bytes of this id."""
        if oid in self._objects:
            return
        self._begin(oid)
        digest = begun(b"blob %d\0" % size, size)
        self._put(_head(BLOB, size))
        deflate = zlib.compressobj()
        left = size
        while left:
            piece = read(min(CHUNK, left))
            if not piece:
                raise GitFailed("a file ended before its size", todo="try again")
            digest.update(piece)
            self._put(deflate.compress(piece))
            left -= len(piece)
        self._put(deflate.flush())
        if digest.digest() != oid:
            raise GitFailed("a file changed while it was stored", todo="try again")

    def close(self, beside: Sequence[int] = ()) -> str:
        """Makes the pack durable and known, with what was written to the descriptors `beside`; gives its name."""
        with telling(self._folder):
            digest = self._finish()
            name = f"pack-{digest.hex()}"
            with self.temporary("idx") as (index, descriptor):
                write_all(descriptor, self._index(digest))
                sync_files((descriptor, self._file, *beside))
                # A pack without an index is not looked at: with the second rename it is there.
                os.rename(self._name, f"{self._folder}/{name}.pack")
                self._name = ""
                os.rename(index, f"{self._folder}/{name}.idx")
            self._close_file()
            sync_folder(self._folder)
        return name

    def abandon(self) -> None:
        """Drops all that was added."""
        self._pending.clear()
        self._close_file()
        if self._name:
            with suppress(OSError):
                os.unlink(self._name)
            self._name = ""

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _begin(self, oid: bytes) -> None:
        self._objects[oid] = (0, self._end)
        self._oid = oid

    def _put(self, packed: bytes) -> None:
        crc, offset = self._objects[self._oid]
        self._objects[self._oid] = (zlib.crc32(packed, crc), offset)
        self._pending.append(packed)
        self._end += len(packed)
        self._waiting += len(packed)
        if self._waiting >= CHUNK:
            with telling(self._folder):
                self._flush()

    def _flush(self) -> None:
        if self._file < 0:
            self._name, self._file = self._create("pack")
            # The number of objects is not known yet.
            write_all(self._file, self._header())
        write_all(self._file, b"".join(self._pending))
        self._pending.clear()
        self._waiting = 0

    def _finish(self) -> bytes:
        """Writes what is missing of the pack; gives its checksum."""
        if self._file < 0:
            whole = b"".join((self._header(), *self._pending))
            digest = begun(whole).digest()
            self._pending.clear()
            self._name, self._file = self._create("pack")
            write_all(self._file, whole + digest)
            return digest
        self._flush()
        os.lseek(self._file, 0, os.SEEK_SET)
        write_all(self._file, self._header())
        os.lseek(self._file, 0, os.SEEK_SET)
        found = begun(b"", self._end)
        while piece := os.read(self._file, CHUNK):
            found.update(piece)
        write_all(self._file, found.digest())
        return found.digest()

    def _header(self) -> bytes:
        return b"PACK" + (2).to_bytes(4, "big") + len(self._objects).to_bytes(4, "big")

    def _index(self, digest: bytes) -> bytes:
        """Version 2 of a pack's index."""
        ids = sorted(self._objects)
        counts = [0] * 256
        for oid in ids:
            counts[oid[0]] += 1
        total = 0
        fanout: list[bytes] = []
        for count in counts:
            total += count
            fanout.append(total.to_bytes(4, "big"))
        large: list[bytes] = []
        offsets: list[bytes] = []
        for oid in ids:
            offset = self._objects[oid][1]
            if offset >= FAR:
                offsets.append((IN_TABLE | len(large)).to_bytes(4, "big"))
                large.append(offset.to_bytes(8, "big"))
            else:
                offsets.append(offset.to_bytes(4, "big"))
        crcs = [self._objects[oid][0].to_bytes(4, "big") for oid in ids]
        body = b"".join((b"\377tOc\0\0\0\2", *fanout, *ids, *crcs, *offsets, *large, digest))
        return body + begun(body).digest()

    @contextmanager
    def temporary(self, what: str) -> Generator[tuple[str, int]]:
        """A new file for the time of the block: its path and descriptor; renamed by then, or it is removed."""
        name, descriptor = self._create(what)
        try:
            yield name, descriptor
        finally:
            with suppress(OSError):  # it was renamed, or the next writer sweeps it away
                os.unlink(name)
            os.close(descriptor)

    def _create(self, what: str) -> tuple[str, int]:
        name = f"{self._folder}/{OURS}{what}_{os.urandom(6).hex()}"
        return name, os.open(name, NEW_FILE, 0o400 if what != "ref" else 0o600)


def deflated(data: bytes) -> bytes:
    """Compressed as git does it; a small window for small data, since setting up a large one takes most of the time."""
    deflate = zlib.compressobj(-1, zlib.DEFLATED, 13, 6) if len(data) <= 1 << 13 else zlib.compressobj()
    return deflate.compress(data) + deflate.flush()


def _head(kind: int, size: int) -> bytes:
    """Type and size of a packed object: four bits of the size, then seven a byte, the lowest first."""
    byte = kind << 4 | size & 15
    size >>= 4
    found = bytearray()
    while size:
        found.append(byte | 128)
        byte = size & 127
        size >>= 7
    found.append(byte)
    return bytes(found)


class telling:
    """Says that the store cannot be written where the system does not let us, or that a part of it is not there."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise StoreDamaged(
                "a folder of the object store is gone",
                path=os.path.dirname(str(error.filename or self._path)),
                todo="nothing was saved; forkpoint doctor tells what can be done",
            ) from None
        if isinstance(error, OSError):
            raise StoreUnwritable(
                "the store cannot be written",
                path=str(error.filename or self._path),
                todo=f"{error.strerror}: free some space or see: forkpoint doctor",
            ) from None


def _sweep(folder: str) -> None:
    """Removes what was never finished: its writer was killed, or its disk was full."""
    with suppress(OSError):
        there = os.listdir(folder)
        known = frozenset(there)
        for name in there:
            if name.startswith(OURS):
                os.unlink(os.path.join(folder, name))
            elif name.startswith(TEMPORARY) or (name.endswith(".pack") and f"{name[:-5]}.idx" not in known):
                # Another git may just be writing it: its pack has its name a moment before it has its index.
                file = os.path.join(folder, name)
                if os.stat(file).st_mtime < time.time() - UNFINISHED:
                    os.unlink(file)
