"""Whether the object store has an object: asked of the pack indexes themselves, since git and libgit2 start slowly."""

from __future__ import annotations

import os
import zlib

from ..light import suppress
from .ids import BLOB, begun

FANOUT, IDS = 8, 8 + 256 * 4
"""Where a pack's index (version 2) has its table of first bytes, and its ids."""
BEGINNING = b"\377tOc\0\0\0\2"
FAR = 1 << 31
"""The bit of an offset that says: it stands in the table of large ones."""
CHUNK = 1 << 20


def where(git_dir: str | os.PathLike[str], oid: str, pack: str = "") -> str | None:
    """The pack that holds an object, "" for none but a file of its own, None when it is not there.

    `pack` is the one that it was written into, to be looked at first.
    """
    packs = f"{os.fspath(git_dir)}/objects/pack/"
    if pack and os.path.exists(f"{packs}{pack}.idx") and os.path.exists(f"{packs}{pack}.pack"):
        return pack
    if os.path.exists(f"{os.fspath(git_dir)}/objects/{oid[:2]}/{oid[2:]}"):
        return ""
    with suppress(OSError):
        for name in os.listdir(packs):
            whole = name.endswith(".idx") and os.path.exists(f"{packs}{name[:-4]}.pack")
            if whole and _has(packs + name, bytes.fromhex(oid)):
                return name[:-4]
    return None


class Contents:
    """Which contents the packs hold whole, for a writer who holds the store: so long nothing of them is taken away."""

    def __init__(self, git_dir: str | os.PathLike[str]) -> None:
        self._folder = f"{os.fspath(git_dir)}/objects/pack/"
        self._starts: dict[str, bytes] = {}
        """The beginning of each index: most packs are small, and it tells that they do not have an id."""

    def hold(self, oid: str, size: int) -> bool:
        """Whether a content can be read from a pack, every byte of it: it is read, and hashed.

        One that is stored as a difference from another is not looked at.
        """
        if not self._starts:
            with suppress(OSError):
                names = [name for name in os.listdir(self._folder) if name.endswith(".idx")]
                self._starts = {name: _start(self._folder + name) for name in names}
        wanted = bytes.fromhex(oid)
        for name, start in self._starts.items():
            if _bucket(start, wanted)[1] and (at := _offset(self._folder + name, start, wanted)) is not None:
                with suppress(OSError, IndexError, zlib.error):
                    if _is_whole(f"{self._folder}{name[:-4]}.pack", at, wanted, size):
                        return True
        return False


def _has(index: str, oid: bytes) -> bool:
    return _offset(index, _start(index), oid) is not None


def _start(index: str) -> bytes:
    """The beginning of an index up to its ids; b"" of one that cannot be read."""
    with suppress(OSError), open(index, "rb", buffering=0) as stream:
        start = stream.read(IDS)
        return start if len(start) == IDS and start.startswith(BEGINNING) else b""
    return b""


def _bucket(start: bytes, oid: bytes) -> tuple[int, int]:
    """The first row of the ids that begin like this one, and how many there are."""
    if not start:
        return 0, 0
    first = _number(start, FANOUT + (oid[0] - 1) * 4) if oid[0] else 0
    return first, _number(start, FANOUT + oid[0] * 4) - first


def _offset(index: str, start: bytes, oid: bytes) -> int | None:
    """Where in its pack an object begins; None when the index does not have it."""
    first, count = _bucket(start, oid)
    if not count:
        return None
    with suppress(OSError), open(index, "rb", buffering=0) as stream:
        ids = os.pread(stream.fileno(), count * 20, IDS + first * 20)
        row = next((at // 20 for at in range(0, len(ids), 20) if ids[at : at + 20] == oid), None)
        if row is not None:
            total = _number(start, IDS - 4)
            at = _number(os.pread(stream.fileno(), 4, IDS + total * 24 + (first + row) * 4), 0)
            if at & FAR:
                at = int.from_bytes(os.pread(stream.fileno(), 8, IDS + total * 28 + (at ^ FAR) * 8), "big")
            return at
    return None


def _is_whole(pack: str, offset: int, oid: bytes, size: int) -> bool:
    """Whether at this offset of a pack stands a content, in full, that has this id and size."""
    with open(pack, "rb", buffering=0) as stream:
        stream.seek(offset)
        data = stream.read(CHUNK)
        kind, told, length = _head(data)
        if (kind, told) != (BLOB, size):
            return False
        digest, inflate = begun(b"blob %d\0" % size, size), zlib.decompressobj()
        data = data[length:]
        while not inflate.eof:
            piece = inflate.decompress(data, CHUNK)
            digest.update(piece)
            data = inflate.unconsumed_tail or stream.read(CHUNK)
            if not (piece or data):
                return False
    return digest.digest() == oid


def _head(data: bytes) -> tuple[int, int, int]:
    """Kind and size of a packed object, and how many bytes tell them. Raises IndexError where they are cut off."""
    size, length = data[0] & 15, 1
    while data[length - 1] & 128:
        size |= (data[length] & 127) << 7 * length - 3
        length += 1
    return data[0] >> 4 & 7, size, length


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")
