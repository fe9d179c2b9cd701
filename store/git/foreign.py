"""Trees and files in a repository of another program's, read without touching it: no ref, no index, no lock.

An agent's snapshots are trees that nothing refers to; its own clean-up takes them away, so that anything may be gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import StoreDamaged
from .libgit import pygit2
from .reader import ENTRY, FOLDER, TREE, Objects

_FILE = 0o100000
_KIND = 0o170000
_EXECUTABLE = 0o100


class Held(NamedTuple):
    """One file of a tree."""

    oid: str
    mode: int
    """Permission bits: git knows two of them."""


class Item(NamedTuple):
    """One name in a tree."""

    name: bytes
    mode: int
    """As git has it, with the kind."""
    oid: str


class Foreign:
    """A repository that is not ours. Links, and repositories inside of it, are passed over."""

    def __init__(self, git_dir: str) -> None:
        """Raises OSError when there is none."""
        self.git_dir = git_dir
        try:
            self._odb = Objects(Path(git_dir)).repository.odb
        except StoreDamaged:
            raise FileNotFoundError(2, "there is no repository", git_dir) from None
        self._trees: dict[str, tuple[Item, ...]] = {}
        self._counts: dict[str, int] = {}

    def holds(self, oid: str) -> bool:
        """Whether an object is there now."""
        try:
            return pygit2.Oid(hex=oid) in self._odb
        except ValueError:
            return False

    def data(self, oid: str) -> bytes:
        """The bytes of a file. Raises OSError when they are gone."""
        return self._read(oid)[1]

    def items(self, tree: str) -> tuple[Item, ...]:
        """What a tree holds. Raises OSError when it is gone."""
        found = self._trees.get(tree)
        if found is None:
            kind, data = self._read(tree)
            if kind != TREE:
                raise FileNotFoundError(2, "this is no tree", tree)
            found = tuple(Item(name, int(mode, 8), oid.hex()) for mode, name, oid in ENTRY.findall(data))
            self._trees[tree] = found
        return found

    def files(self, tree: str) -> Iterator[tuple[bytes, Held]]:
        """Every file of a tree with its path. Raises OSError."""
        waiting = [(b"", tree)]
        while waiting:
            above, at = waiting.pop()
            for item in self.items(at):
                if item.mode & _KIND == FOLDER:
                    waiting.append((above + item.name + b"/", item.oid))
                elif item.mode & _KIND == _FILE:
                    yield above + item.name, _held(item)

    def count(self, tree: str) -> int:
        """How many files a tree has; each folder is counted once, in however many trees it stands. Raises OSError."""
        waiting = [tree]
        while waiting:
            at = waiting[-1]
            items = self.items(at)
            below = [item.oid for item in items if item.mode & _KIND == FOLDER]
            missing = [oid for oid in below if oid not in self._counts]
            if missing:
                waiting += missing
                continue
            files = sum(1 for item in items if item.mode & _KIND == _FILE)
            self._counts[at] = files + sum(self._counts[oid] for oid in below)
            waiting.pop()
        return self._counts[tree]

    def below(self, tree: str, path: bytes) -> str:
        """The tree of a folder; "" when it is not there. Raises OSError."""
        for name in path.split(b"/") if path else ():
            inner = next((item.oid for item in self.items(tree) if item.name == name and item.mode == FOLDER), "")
            if not inner:
                return ""
            tree = inner
        return tree

    def file(self, tree: str, path: bytes) -> Held | None:
        """A file by its path; None when there is none. Raises OSError."""
        folder, _, name = path.rpartition(b"/")
        inside = self.below(tree, folder)
        items = self.items(inside) if inside else ()
        return next((_held(item) for item in items if item.name == name and item.mode & _KIND == _FILE), None)

    def changed(self, left: str, right: str) -> dict[bytes, tuple[Held | None, Held | None]]:
        """Files that differ between two trees; folders that are equal are not looked into. Raises OSError."""
        found: dict[bytes, tuple[Held | None, Held | None]] = {}
        waiting: list[tuple[bytes, str, str]] = [(b"", left, right)]
        while waiting:
            above, one, other = waiting.pop()
            old = {item.name: item for item in self.items(one)} if one else {}
            new = {item.name: item for item in self.items(other)} if other else {}
            for name in old.keys() | new.keys():
                was, now = old.get(name), new.get(name)
                if was == now:
                    continue
                folders = [item.oid if item and item.mode & _KIND == FOLDER else "" for item in (was, now)]
                if any(folders):
                    waiting.append((above + name + b"/", folders[0], folders[1]))
                pair = _file_of(was), _file_of(now)
                if any(pair):
                    found[above + name] = pair
        return found

    def _read(self, oid: str) -> tuple[int, bytes]:
        try:
            kind, data = self._odb.read(pygit2.Oid(hex=oid))
        except (KeyError, ValueError, pygit2.GitError):
            raise FileNotFoundError(2, "an object is gone", oid) from None
        return int(kind), data


def _held(item: Item) -> Held:
    return Held(item.oid, 0o755 if item.mode & _EXECUTABLE else 0o644)


def _file_of(item: Item | None) -> Held | None:
    return _held(item) if item is not None and item.mode & _KIND == _FILE else None
