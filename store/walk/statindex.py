"""The stat index of a root: what each file looked like when its bytes were last read.

A cache of facts ("with this stat, the bytes had this id"): losing it costs a full read, never a checkpoint.
marshal, because a hook reads it on every call: 50,000 entries load in the time that json needs for 5,000. A checksum
guards what is known of the folders; their files follow as they are, each folder's with a checksum of its own.
"""

from __future__ import annotations

import marshal
import sys
import zlib

from ..durable import write_atomic
from ..errors import GitFailed
from ..light import Mapping, NamedTuple, Path, blake2b

FORMAT = 7
DIGEST, LENGTH = 16, 8
"""Bytes at the beginning: the checksum of the head, and its length."""

FileInfo = tuple[int, int, int, int, int, str]
"""st_mode, size, mtime ns, ctime ns, inode, blob id. A ctime of 0 never matches: the bytes are read again."""

Files = Mapping[str, FileInfo | None]
"""Absolute path → what stands there; None for nothing, or nothing that can be captured. The newest stands last."""


class Folder(NamedTuple):
    """What the index knows of one folder."""

    mode: int
    """Permission bits."""
    rules: str
    """Fingerprint of the ignore rules under which its names were judged."""
    packed: bytes | tuple[bytes, int, int]
    """Its files as `packed_files` makes them, or where they stand in an index (its bytes, from, to): most folders did
    not change, and then nobody looks inside."""
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
        try:
            return marshal.loads(zlib.decompress(self.raw))
        except (zlib.error, EOFError, ValueError, TypeError):
            raise GitFailed("the stat index is damaged", todo="forkpoint save makes it anew") from None

    @property
    def raw(self) -> bytes:
        """Its files as they are packed."""
        if isinstance(self.packed, bytes):
            return self.packed
        data, begin, end = self.packed
        return data[begin:end]


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
    return zlib.compress(marshal.dumps(files, 2), 1)


def load(file: Path) -> Index:
    """The index in `file`; an empty one when it is missing, damaged or of another version."""
    try:
        data = file.read_bytes()
    except OSError:
        return Index()
    begin = DIGEST + LENGTH + int.from_bytes(data[DIGEST : DIGEST + LENGTH], "big")
    head = data[DIGEST + LENGTH : begin]
    if blake2b(head, digest_size=DIGEST).digest() != data[:DIGEST]:
        return Index()
    version, *parts = marshal.loads(head)
    if version != _version():
        return Index()
    tree, point, time, stamps, folders, *others = parts
    known: dict[str, Folder] = {}
    for name, (mode, rules, size, *rest) in folders.items():
        known[name] = Folder._make((mode, rules, (data, begin, begin + size), *rest))
        begin += size
    return Index(tree, point, time, stamps, known, *others) if begin == len(data) else Index()


def encode(index: Index) -> bytes:
    """The bytes of an index file."""
    packed = [folder.raw for folder in index.folders.values()]
    folders = {
        name: (folder.mode, folder.rules, len(raw), *folder[3:])
        for (name, folder), raw in zip(index.folders.items(), packed, strict=True)
    }
    maps = (dict(index.named), dict(index.outside), dict(index.parts))
    head = marshal.dumps(
        (_version(), index.tree, index.point, index.time, dict(index.stamps), folders, *maps, index.pack)
    )
    return b"".join((blake2b(head, digest_size=DIGEST).digest(), len(head).to_bytes(LENGTH, "big"), head, *packed))


def save(file: Path, data: bytes) -> None:
    """Replaces the index file by encoded bytes; not fsynced, since a lost index is only slow."""
    write_atomic(file, data, sync=False)


def _version() -> tuple[int, int, int]:
    return (FORMAT, sys.version_info.major, sys.version_info.minor)
