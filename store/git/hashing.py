"""Hashing the object store again, each object once and large ones as a stream; what is damaged is told by its path."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ..errors import StoreDamaged
from .libgit import pygit2
from .reader import LARGE, Objects
from .stream import EMPTY_TREE

PIECE = 1 << 20
KINDS = {1: b"commit", 2: b"tree", 3: b"blob"}
MISSING, DAMAGED = "is missing", "is damaged: its bytes are not what they were"
Entry = tuple[bytes, bool, str]
"""Name, whether it is a folder, id."""


class Damage(NamedTuple):
    """Something that cannot be read, or is not what its id says."""

    path: bytes
    """In the tree of the commit; empty for the commit itself."""
    why: str


class _Commit(NamedTuple):
    tree: str
    parents: tuple[str, ...]
    why: str
    """What is wrong with it, or ""."""


class Hashing:
    """What was hashed, and what came of it."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._blobs: dict[str, str] = {}
        self._trees: dict[str, tuple[Damage, ...]] = {}
        self._commits: dict[str, _Commit] = {}

    @property
    def count(self) -> int:
        """Objects that were hashed."""
        return len(self._blobs) + len(self._trees) + len(self._commits)

    def commit(self, oid: str) -> tuple[Damage, ...]:
        """Hashes a commit and all that it holds, but not the commits before it."""
        found = self._commit(oid)
        return (Damage(b"", found.why),) if found.why else self.tree(found.tree)

    def parents(self, oid: str) -> tuple[str, ...]:
        """Parents of a commit."""
        return self._commit(oid).parents

    def _commit(self, oid: str) -> _Commit:
        if oid not in self._commits:
            data, why = self._read(oid, b"commit")
            head = data.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
            parents = tuple(line[7:] for line in head if line.startswith("parent "))
            self._commits[oid] = _Commit(head[0][5:], parents, why)
        return self._commits[oid]

    def tree(self, oid: str) -> tuple[Damage, ...]:
        """Hashes a tree and all that is below it."""
        pending = [oid]
        open_: dict[str, list[Entry]] = {}
        while pending:
            here = pending[-1]
            if here in self._trees:
                pending.pop()
                continue
            if here not in open_:
                data, why = (b"", "") if here == EMPTY_TREE else self._read(here, b"tree")
                if why:
                    self._trees[here] = (Damage(b"", why),)
                    continue
                open_[here] = _entries(data)
                below = [child for _, folder, child in open_[here] if folder and child not in self._trees]
                if below:
                    pending += below
                    continue
            self._trees[here] = tuple(self._below(open_.pop(here)))
            pending.pop()
        return self._trees[oid]

    def _below(self, entries: list[Entry]) -> list[Damage]:
        found: list[Damage] = []
        for name, folder, oid in entries:
            if folder:
                # A tree that holds itself cannot be: its id is the hash of what it holds.
                found += [
                    Damage(name + b"/" + item.path if item.path else name, item.why)
                    for item in self._trees.get(oid, ())
                ]
            else:
                why = self._blob(oid)
                if why:
                    found.append(Damage(name, why))
        return found

    def _blob(self, oid: str) -> str:
        if oid not in self._blobs:
            try:
                large = self._objects.repository.odb.read_header(pygit2.Oid(hex=oid))[1] > LARGE
            except (KeyError, ValueError, pygit2.GitError):
                large = False
            self._blobs[oid] = self._streamed(oid) if large else self._read(oid, b"blob")[1]
        return self._blobs[oid]

    def _read(self, oid: str, kind: bytes) -> tuple[bytes, str]:
        """The bytes of an object, and what is wrong with them."""
        try:
            number, data = self._objects.repository.read(oid)
        except KeyError:
            return b"", MISSING
        except (ValueError, pygit2.GitError):
            return self._elsewhere(oid, kind)
        digest = hashlib.sha1(b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
        digest.update(data)
        return (data, "") if KINDS.get(int(number)) == kind and digest.hexdigest() == oid else (b"", DAMAGED)

    def _elsewhere(self, oid: str, kind: bytes) -> tuple[bytes, str]:
        try:
            return self._objects.elsewhere(kind.decode(), oid), ""
        except StoreDamaged:
            return b"", DAMAGED

    def _streamed(self, oid: str) -> str:
        try:
            for _ in self._objects.pieces(oid):
                pass
        except StoreDamaged:
            return DAMAGED
        return ""


def _entries(tree: bytes) -> list[Entry]:
    found: list[Entry] = []
    at = 0
    while at < len(tree):
        space = tree.index(b" ", at)
        end = tree.index(b"\0", space)
        found.append((tree[space + 1 : end], tree[at:space] == b"40000", tree[end + 1 : end + 21].hex()))
        at = end + 21
    return found


def broken_packs(git_dir: Path) -> list[str]:
    """Packs and indexes whose own checksum does not fit: also what no checkpoint reaches was changed then."""
    packs = git_dir / "objects" / "pack"
    try:
        names = sorted(name for name in os.listdir(packs) if name.endswith((".pack", ".idx")))
    except OSError:
        return []
    return [name for name in names if not _is_as_written(packs / name)]


def _is_as_written(file: Path) -> bool:
    try:
        with open(file, "rb") as stream:
            left = os.fstat(stream.fileno()).st_size - 20
            digest = hashlib.sha1(usedforsecurity=False)
            while left > 0:
                piece = stream.read(min(PIECE, left))
                if not piece:
                    return False
                digest.update(piece)
                left -= len(piece)
            return left == 0 and stream.read(20) == digest.digest()
    except FileNotFoundError:
        return True  # it was repacked meanwhile
    except OSError:
        return False
