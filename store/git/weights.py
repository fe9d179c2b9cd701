"""What objects weigh on the disk, and which checkpoint alone holds them: by the differences from one to the next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from .libgit import pygit2
from .process import call
from .reader import Objects

MANY = -1
"""Stands for more than one checkpoint."""
FOLDER = b"40000"
ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
"""One entry of a tree as git stores it: mode, name, id."""

Entry = tuple[bytes, bytes, bytes]
Entries = frozenset[Entry]


class Change(NamedTuple):
    """An entry of a tree that came or went."""

    path: bytes
    oid: bytes
    is_folder: bool
    came: bool


def sizes(objects: Objects) -> dict[bytes, int]:
    """Bytes on the disk of every object that is stored, by its id; a delta weighs what it takes itself."""
    form = "--batch-check=%(objectname) %(objectsize:disk)"
    told = call(objects.git_dir, "cat-file", "--batch-all-objects", "--unordered", form)
    return {bytes.fromhex(line[:40].decode()): int(line[41:]) for line in told.splitlines()}


class Following:
    """Goes from checkpoint to checkpoint and keeps count of who holds what."""

    def __init__(self, objects: Objects) -> None:
        self.owner: dict[bytes, int] = {}
        """Object → the number of the one checkpoint that holds it, or MANY."""
        self.paths: dict[bytes, tuple[bytes, ...]] = {}
        """Object → the paths below `files/` where it stood as a file."""

        @lru_cache(maxsize=256)
        def entries(tree: bytes) -> Entries:
            return _entries(objects, tree)

        self._entries = entries
        self._names: dict[bytes, bytes] = {}
        """Each path once, however many contents it had."""

    def series(self, numbered: Iterable[tuple[int, str, str]]) -> None:
        """Follows checkpoints that come one after the other: number, commit and tree of each."""
        live: dict[bytes, int] = {}
        before, fresh = b"", list[bytes]()
        for number, commit, tree in numbered:
            now = bytes.fromhex(tree)
            came = [bytes.fromhex(commit), now]
            for change in self._changes(before, now):
                live[change.oid] = live.get(change.oid, 0) + (1 if change.came else -1)
                if change.came:
                    came.append(change.oid)
                    if not change.is_folder and change.path.startswith(b"files/"):
                        self._stands(change.oid, change.path[6:])
            for oid in fresh:
                if live.get(oid, 0) > 0:
                    self.owner[oid] = MANY
            for oid in came:
                self.owner[oid] = number if self.owner.setdefault(oid, number) == number else MANY
            before, fresh = now, came

    def _stands(self, oid: bytes, path: bytes) -> None:
        held = self.paths.get(oid, ())
        if path not in held:
            self.paths[oid] = (*held, self._names.setdefault(path, path))

    def held_alone(self, weights: dict[bytes, int], count: int) -> list[int]:
        """Bytes that each of `count` checkpoints holds alone."""
        found = [0] * count
        for oid, number in self.owner.items():
            if number != MANY:
                found[number] += weights.get(oid, 0)
        return found

    def _changes(self, left: bytes, right: bytes) -> Iterator[Change]:
        pending = [(b"", left, right)]
        while pending:
            base, old_id, new_id = pending.pop()
            old, new = self._entries(old_id), self._entries(new_id)
            inside: dict[bytes, list[bytes]] = {}
            for came, entries in ((False, old - new), (True, new - old)):
                for mode, name, oid in entries:
                    yield Change(base + name, oid, mode == FOLDER, came)
                    if mode == FOLDER:
                        inside.setdefault(name, [b"", b""])[came] = oid
            pending += [(base + name + b"/", old_tree, new_tree) for name, (old_tree, new_tree) in inside.items()]


def reached(objects: Objects, commit: str) -> set[bytes]:
    """Every object that a chain of commits reaches."""
    found: set[bytes] = set()
    at: str | None = commit
    while at is not None:
        found.add(bytes.fromhex(at))
        pending = [objects.tree(at).id.raw]
        while pending:
            tree = pending.pop()
            if tree not in found:
                found.add(tree)
                for mode, _, oid in _entries(objects, tree):
                    if mode == FOLDER:
                        pending.append(oid)
                    else:
                        found.add(oid)
        at = next(iter(objects.parents(at)), None)
    return found


def _entries(objects: Objects, tree: bytes) -> Entries:
    """What stands in a tree; nothing where it is damaged: `verify` tells that."""
    if not tree:
        return frozenset()
    try:
        data = objects.repository.read(pygit2.Oid(raw=tree))[1]
    except (KeyError, ValueError, pygit2.GitError):
        return frozenset()
    found: Sequence[Entry] = ENTRY.findall(data)
    return frozenset(found)
