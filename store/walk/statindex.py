"""The stat index of a root: what each file looked like when its bytes were last read.

A cache of facts ("with this stat, the bytes had this id"): losing it costs a full read, never a checkpoint.
marshal, because a hook reads it on every call: 50,000 entries load in the time that json needs for 5,000. A checksum
guards what is known of the folders, which is the head; their files follow as they are, each folder's with a checksum of
its own. They are read where somebody looks inside of a folder; else they are only copied into the next index.
"""

from __future__ import annotations

import marshal
import os
import sys

from ..durable import beside, write_all
from ..errors import GitFailed
from ..light import Iterable, Iterator, Mapping, NamedTuple, Path, blake2b

FORMAT = 7
DIGEST, LENGTH = 16, 8
"""Bytes at the beginning: the checksum of the head, and its length."""
BEGINNING = 1 << 16
"""Bytes that are read at once: most heads are not longer."""
PIECE = 1 << 16
"""Bytes that are copied at a time: for more the system would have to be asked for memory."""

FileInfo = tuple[int, int, int, int, int, str]
"""st_mode, size, mtime ns, ctime ns, inode, blob id. A ctime of 0 never matches: the bytes are read again."""

Files = Mapping[str, FileInfo | None]
"""Absolute path → what stands there; None for nothing, or nothing that can be captured. The newest stands last."""


class Opened:
    """An index file that stays open. It is only ever replaced, so what stands in it stays."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


class Part(NamedTuple):
    """Bytes of an index file."""

    file: Opened
    begin: int
    end: int

    def read(self) -> bytes:
        """The bytes; fewer where the file is damaged."""
        return os.pread(self.file.descriptor, self.end - self.begin, self.begin)


class Folder(NamedTuple):
    """What the index knows of one folder."""

    mode: int
    """Permission bits."""
    rules: str
    """Fingerprint of the ignore rules under which its names were judged."""
    packed: bytes | Part
    """Its files as `packed_files` makes them, or where they stand: most folders did not change, and then nobody looks
    inside."""
    file_count: int
    """How many files it holds …"""
    byte_count: int
    """… and how many bytes they have."""
    ignored: tuple[str, ...]
    """Names that a pattern ignores and no index tracks; a folder's with its slash."""
    forced: tuple[str, ...]
    """Names that a pattern ignores but that are tracked or named, hence captured; a folder's with its slash."""
    folders: tuple[str, ...]
    odd: dict[str, int]
    """Permission bits of files that are not the usual ones."""
    holds: bool = False
    """Something in it is left out: ignored, or never captured."""
    seen: bytes = b""
    """The mark of its listing (see `sighting`): listed the same again, it is the same. b"": look at each name."""
    secrets: tuple[str, ...] = ()
    """Names of captured files that look like secrets."""
    tree: bytes = b""
    """Id of the git tree that it makes, 20 bytes; b"" where it holds nothing."""
    rules_inside: bool = False
    """It holds ignore files or a `.git`: what they say is read at each walk."""

    @property
    def files(self) -> dict[str, FileInfo]:
        """Its files by name. Raises GitFailed where the index is damaged: then everything has to be read again."""
        import zlib  # most saves look inside of no folder

        try:
            packed = self.packed if isinstance(self.packed, bytes) else self.packed.read()
            return marshal.loads(zlib.decompress(packed))
        except (zlib.error, EOFError, ValueError, TypeError, OSError):
            raise GitFailed("the stat index is damaged", todo="forkpoint save makes it anew") from None

    @property
    def size(self) -> int:
        """Bytes of its files as they are packed."""
        return len(self.packed) if isinstance(self.packed, bytes) else self.packed.end - self.packed.begin


class Index(NamedTuple):
    """All of it; `folders` by path relative to the root, "" and "a/b/"."""

    tree: str = ""
    """Id of the tree that these files make; "" when none was stored."""
    point: str = ""
    """The checkpoint that holds it."""
    time: int = 0
    """Time of the newest checkpoint of the root: the next one is never older."""
    stamps: Mapping[str, tuple[int, int, int]] = {}
    """Per repository prefix, the stamp of the project's own index."""
    folders: Mapping[str, Folder] = {}
    named: Mapping[str, tuple[str, ...]] = {}
    """Paths in the root that agents' edit tools named."""
    outside: Mapping[str, FileInfo | None] = {}
    """What stood outside of the root where they named a path."""
    parts: Mapping[str, str] = {}
    """Ids of the checkpoint's parts beside its files, by name."""
    pack: str = ""
    """The pack that the tree was written into, to find it there quickly."""


def packed_files(files: dict[str, FileInfo]) -> bytes:
    """The form in which a folder's files are kept. Version 2 of marshal: equal things become equal bytes."""
    import zlib

    return zlib.compress(marshal.dumps(files, 2), 1)


class Encoded(NamedTuple):
    """What an index file is made of."""

    head: bytes
    parts: tuple[bytes | Part, ...]

    @property
    def digest(self) -> bytes:
        """What tells it from every other."""
        return self.head[:DIGEST]


def load(file: Path) -> Index:
    """The index in `file`; an empty one when it is missing, damaged or of another version."""
    try:
        index = Opened(file)
        size = os.fstat(index.descriptor).st_size
        data = os.pread(index.descriptor, BEGINNING, 0)
        begin = DIGEST + LENGTH + int.from_bytes(data[DIGEST : DIGEST + LENGTH], "big")
        if len(data) < begin <= size:
            data += os.pread(index.descriptor, begin - len(data), len(data))
    except OSError:
        return Index()
    head = data[DIGEST + LENGTH : begin]
    if blake2b(head, digest_size=DIGEST).digest() != data[:DIGEST]:
        return Index()
    version, *parts = marshal.loads(head)
    if version != _version():
        return Index()
    tree, point, time, stamps, folders, *others = parts
    known: dict[str, Folder] = {}
    for name, (mode, rules, length, *rest) in folders.items():
        known[name] = Folder._make((mode, rules, Part(index, begin, begin + length), *rest))
        begin += length
    return Index(tree, point, time, stamps, known, *others) if begin == size else Index()


def encode(index: Index) -> Encoded:
    """What an index file is made of."""
    folders = {name: (folder.mode, folder.rules, folder.size, *folder[3:]) for name, folder in index.folders.items()}
    maps = (dict(index.named), dict(index.outside), dict(index.parts))
    head = marshal.dumps(
        (_version(), index.tree, index.point, index.time, dict(index.stamps), folders, *maps, index.pack)
    )
    head = b"".join((blake2b(head, digest_size=DIGEST).digest(), len(head).to_bytes(LENGTH, "big"), head))
    return Encoded(head, tuple(_joined(folder.packed for folder in index.folders.values())))


def _joined(parts: Iterable[bytes | Part]) -> Iterator[bytes | Part]:
    """The parts with those made one that follow each other in a file."""
    last: Part | None = None
    for part in parts:
        if isinstance(part, Part) and last is not None and last.file is part.file and last.end == part.begin:
            last = last._replace(end=part.end)
            continue
        if last is not None:
            yield last
        last = part if isinstance(part, Part) else None
        if isinstance(part, bytes):
            yield part
    if last is not None:
        yield last


def save(file: Path, encoded: Encoded) -> None:
    """Replaces the index file; not fsynced, since a lost index is only slow."""
    with beside(file.parent) as (temporary, descriptor):
        os.fchmod(descriptor, 0o600)
        write_all(descriptor, encoded.head)
        for part in encoded.parts:
            if isinstance(part, bytes):
                write_all(descriptor, part)
            else:
                _copy(part, descriptor)
        os.replace(temporary, file)


def _copy(part: Part, target: int) -> None:
    """Appends a part of an index to a file."""
    at = part.begin
    while at < part.end:
        piece = os.pread(part.file.descriptor, min(PIECE, part.end - at), at)
        if not piece:
            return  # it was cut meanwhile: the new one is too short as well, hence none
        write_all(target, piece)
        at += len(piece)


def _version() -> tuple[int, int, int]:
    return (FORMAT, sys.version_info.major, sys.version_info.minor)
