"""Reading the object store through libgit2, cut off from every configuration but its own."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..checkpoints import points
from ..checkpoints.points import Checkpoint
from ..contents import refuse_large
from ..errors import StoreDamaged
from ..states import Node, State
from ..walk.ignore import Source
from .libgit import pygit2
from .process import command, start
from .refs import Refs, listed
from .stream import EMPTY_TREE

ENTRY = re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL)
"""What stands in a tree, entry by entry: three times as quick as libgit2's own, object by object."""
WHOLE_ENTRY = re.compile(rb"[0-7]{5,6} [^\0]+\0.{20}", re.DOTALL)
COMMIT = 1
TREE = 2
BLOB = 3
LARGE = 8 << 20
STREAMED = tuple(
    part
    for setting in (f"core.bigFileThreshold={LARGE}", "core.packedGitWindowSize=1m", "core.packedGitLimit=32m")
    for part in ("-c", setting)
)
"""What keeps git's memory small: by itself it takes a content of up to 512 MB whole, and maps packs by the gigabyte."""
LINK = 0o120000
FOLDER = 0o040000
RAW_FOLDER = b"40000"
KINDS = {b"100644": ("file", 0o644), b"100755": ("file", 0o755), b"120000": ("link", 0)}


class Stored(NamedTuple):
    """A checkpoint and where its parts are."""

    checkpoint: Checkpoint
    commit: str
    files: str
    """Id of the tree of its files."""
    modes: str
    """Ids of the blobs beside it; "" where there is none."""
    empty: str
    rules: str
    named: str = ""
    outside: str = ""
    """Id of the tree of files outside of the root, "" where there are none …"""
    outside_modes: str = ""
    """… and of the blob of their permission bits."""


class Objects:
    """The object store of a workspace, for reading. Opening it anew sees what other processes wrote."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        if not all((git_dir / name).exists() for name in ("HEAD", "objects", "refs")):
            raise self._unreadable()
        self._states: dict[tuple[str, str, str], State] = {}

    @cached_property
    def repository(self) -> pygit2.Repository:
        """libgit2's own, opened when the first object is read. Raises StoreDamaged."""
        try:
            return pygit2.Repository(str(self.git_dir), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        except (pygit2.GitError, KeyError):
            raise self._unreadable() from None

    def _unreadable(self) -> StoreDamaged:
        return StoreDamaged(
            "the object store cannot be opened",
            path=str(self.git_dir),
            todo="forkpoint doctor tells what can be done",
        )

    def read(self, oid: str) -> bytes:
        """A blob's bytes, checked against its id; raises StoreDamaged."""
        try:
            kind, data = self.repository.odb.read(pygit2.Oid(hex=oid))
        except KeyError:
            raise StoreDamaged("an object is missing", path=oid, todo="forkpoint verify") from None
        except (ValueError, pygit2.GitError):
            return self.elsewhere("blob", oid)
        if kind != BLOB:
            raise StoreDamaged("an object is not a blob", path=oid, todo="forkpoint verify")
        return data

    def elsewhere(self, kind: str, oid: str) -> bytes:
        """The bytes of an object whose copy is damaged, from another one: git looks for it, libgit2 does not.

        What was damaged is stored once more by the next checkpoint that holds it. Raises StoreDamaged.
        """
        process = start(command(self.git_dir, "cat-file", kind, oid), stdin=subprocess.DEVNULL)
        data, _ = process.communicate()
        if hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest() != oid:
            raise StoreDamaged("an object is missing or damaged", path=oid, todo="forkpoint verify")
        return data

    def text(self, oid: str) -> bytes:
        """A blob's bytes, to be compared or shown. Raises StoreDamaged, TooLarge."""
        refuse_large(self.size(oid))
        return self.read(oid)

    def copy(self, oid: str, descriptor: int) -> None:
        """Writes a blob's bytes to an open file, with little memory whatever its size."""
        size = self.size(oid)
        if size <= LARGE:
            data = memoryview(self.read(oid))
            while data:
                data = data[os.write(descriptor, data) :]
            return
        for piece in self.pieces(oid):
            left = memoryview(piece)
            while left:
                left = left[os.write(descriptor, left) :]

    def pieces(self, oid: str) -> Iterator[bytes]:
        """A blob's bytes in pieces of a megabyte; raises StoreDamaged at the end when they are not what its id says."""
        digest = hashlib.sha1(b"blob %d\0" % self.size(oid), usedforsecurity=False)
        process = start(command(self.git_dir, *STREAMED, "cat-file", "blob", oid), stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        try:
            while piece := process.stdout.read(1 << 20):
                digest.update(piece)
                yield piece
        finally:
            process.kill()
            process.communicate()
        # git says nothing of a content that it streams.
        if digest.hexdigest() != oid:
            raise StoreDamaged("an object is damaged", path=oid, todo="forkpoint verify")

    def size(self, oid: str) -> int:
        """Bytes of a blob."""
        try:
            return int(self.repository.odb.read_header(pygit2.Oid(hex=oid))[1])
        except KeyError:
            raise StoreDamaged("an object is missing", path=oid, todo="forkpoint verify") from None
        except (ValueError, pygit2.GitError):
            return len(self.elsewhere("blob", oid))

    def holds(self, oid: str) -> bool:
        """Whether the object is there."""
        return pygit2.Oid(hex=oid) in self.repository.odb

    def listed(self) -> Refs:
        """All refs as they stand now. Raises StoreDamaged."""
        try:
            return listed(self.git_dir)
        except OSError as error:
            raise StoreDamaged(
                f"the refs cannot be read ({error.strerror})", path=str(error.filename), todo="forkpoint doctor"
            ) from None

    def refs(self, prefix: str) -> dict[str, str]:
        """Ref name → commit id, for all refs that begin with `prefix`."""
        return self.listed().below(prefix)

    def ref(self, name: str) -> str | None:
        """The commit that a ref names."""
        try:
            return str(self.repository.references[name].target)
        except KeyError:
            return None
        except pygit2.GitError as error:
            raise StoreDamaged(f"a ref cannot be read ({error})", path=name, todo="forkpoint verify") from None

    def stored(self, commit: str) -> Stored:
        """The checkpoint of a commit."""
        tree = self.tree(commit)
        record = points.decode(self._file(tree, points.RECORD, commit), commit)

        def part(name: str) -> str:
            return str(tree[name].id) if name in tree else ""

        return Stored(
            record,
            commit,
            part(points.FILES) or EMPTY_TREE,
            part(points.MODES),
            part(points.EMPTY),
            part(points.RULES),
            part(points.NAMED),
            part(points.OUTSIDE),
            part(points.OUTSIDE_MODES),
        )

    def tree(self, commit: str) -> pygit2.Tree:
        """The tree of a commit, or a tree itself."""
        if commit == EMPTY_TREE:
            return cast(pygit2.Tree, self.repository[self.repository.TreeBuilder().write()])
        found = self._object(commit)
        if isinstance(found, pygit2.Commit):
            found = self._object(str(found.tree_id))
        if isinstance(found, pygit2.Tree):
            return found
        raise StoreDamaged("an object is not a tree", path=commit, todo="forkpoint verify")

    def parents(self, commit: str) -> list[str]:
        """Parents of a commit."""
        found = self._object(commit)
        return [str(oid) for oid in found.parent_ids] if isinstance(found, pygit2.Commit) else []

    def file(self, commit: str, name: str) -> bytes:
        """The bytes of a blob at the top of a commit's tree."""
        return self._file(self.tree(commit), name, commit)

    def state(self, stored: Stored) -> State:
        """All nodes of a checkpoint."""
        key = (stored.files, stored.modes, stored.empty)
        if key not in self._states:
            if len(self._states) > 8:
                self._states.clear()
            self._states[key] = self._state(stored)
        return self._states[key]

    def nodes(self, stored: Stored, paths: Iterable[bytes]) -> State:
        """The files and links of a checkpoint at some paths; only the trees on the way are read."""
        modes = self.modes(stored)
        trees: dict[bytes, dict[bytes, tuple[bytes, bytes]]] = {b"": self._by_name(stored.files)}
        found: dict[bytes, Node] = {}
        for path in paths:
            folder, _, name = path.rpartition(b"/")
            git_mode, oid = self._tree_at(trees, folder).get(name, (RAW_FOLDER, b""))
            if git_mode != RAW_FOLDER:
                found[path] = node(int(git_mode, 8), oid.hex(), modes.get(path))
        return found

    def _tree_at(
        self, trees: dict[bytes, dict[bytes, tuple[bytes, bytes]]], path: bytes
    ) -> dict[bytes, tuple[bytes, bytes]]:
        missing: list[bytes] = []
        while path not in trees:  # no recursion: a tree may be deeper than that
            missing.append(path)
            path = path.rpartition(b"/")[0]
        for place in reversed(missing):
            git_mode, oid = trees[path].get(place[place.rfind(b"/") + 1 :], (b"", b""))
            trees[place] = self._by_name(oid.hex()) if git_mode == RAW_FOLDER else {}
            path = place
        return trees[path]

    def _by_name(self, tree: str) -> dict[bytes, tuple[bytes, bytes]]:
        return {name: (git_mode, oid) for git_mode, name, oid in self.raw_entries(tree)}

    def modes(self, stored: Stored) -> dict[bytes, int]:
        """Unusual permission bits of a checkpoint; folders end in "/"."""
        return points.decode_modes(self.read(stored.modes)) if stored.modes else {}

    def empty_folders(self, stored: Stored) -> list[bytes]:
        """Folders without files of a checkpoint."""
        return points.decode_paths(self.read(stored.empty)) if stored.empty else []

    def sources(self, stored: Stored) -> tuple[Source, ...]:
        """The ignore sources that were in force."""
        return points.decode_rules(self.read(stored.rules)) if stored.rules else ()

    def named(self, stored: Stored) -> list[bytes]:
        """Paths in the root that agents' edit tools named."""
        return points.decode_paths(self.read(stored.named)) if stored.named else []

    def outside(self, stored: Stored) -> State:
        """Files outside of the root that agents' edit tools named, by their absolute paths."""
        if not stored.outside:
            return {}
        modes = points.decode_modes(self.read(stored.outside_modes)) if stored.outside_modes else {}
        found = ((b"/" + path, git_mode, oid) for path, git_mode, oid in self.walk(stored.outside))
        return {path: node(git_mode, oid, modes.get(path)) for path, git_mode, oid in found}

    def walk(self, tree: str) -> Iterator[tuple[bytes, int, str]]:
        """Every blob below a tree: path, git mode, id; without recursion."""
        for base, folder in self._folders(tree):
            for git_mode, name, oid in folder:
                yield base + name, int(git_mode, 8), oid.hex()

    def _folders(self, tree: str) -> Iterator[tuple[bytes, list[tuple[bytes, bytes, bytes]]]]:
        """The blobs of each folder below a tree, as `raw_entries` gives them, with the folder's path and a slash."""
        pending = [(b"", tree)]
        while pending:
            base, here = pending.pop()
            entries = self.raw_entries(here)
            folders = [(base + name + b"/", oid.hex()) for git_mode, name, oid in entries if git_mode == RAW_FOLDER]
            pending += folders
            yield base, [entry for entry in entries if entry[0] != RAW_FOLDER] if folders else entries

    def entries(self, tree: str) -> list[tuple[bytes, int, str]]:
        """Name, git mode and id of what stands in a tree. Raises StoreDamaged."""
        return [(name, int(git_mode, 8), oid.hex()) for git_mode, name, oid in self.raw_entries(tree)]

    def raw_entries(self, tree: str) -> list[tuple[bytes, bytes, bytes]]:
        """Mode in octal digits, name and id of what stands in a tree, or a commit's. Raises StoreDamaged."""
        data = self._tree_data(tree)
        found: list[tuple[bytes, bytes, bytes]] = ENTRY.findall(data)
        _refuse_other(tree, data, sum(map(len, chain.from_iterable(found))) + 2 * len(found))
        return found

    def whole_entries(self, tree: str) -> list[bytes]:
        """The same, each as it stands there: mode, a blank, the name, NUL and the id in 20 bytes."""
        data = self._tree_data(tree)
        found: list[bytes] = WHOLE_ENTRY.findall(data)
        _refuse_other(tree, data, sum(map(len, found)))
        return found

    def _tree_data(self, tree: str) -> bytes:
        """The bytes of a tree, or a commit's."""
        if tree == EMPTY_TREE:
            return b""
        try:
            kind, data = self.repository.odb.read(pygit2.Oid(hex=tree))
        except KeyError:
            raise StoreDamaged("a tree is missing", path=tree, todo="forkpoint verify") from None
        except (pygit2.GitError, ValueError):
            kind, data = TREE, self.elsewhere("tree", tree)
        if kind == COMMIT:
            return self._tree_data(data[5:45].decode())
        if kind != TREE:
            raise StoreDamaged("an object is not a tree", path=tree, todo="forkpoint verify")
        return data

    def _state(self, stored: Stored) -> State:
        modes = self.modes(stored)
        found: dict[bytes, Node] = {}
        for base, folder in self._folders(stored.files):
            for git_mode, name, oid in folder:
                kind, mode = KINDS.get(git_mode) or _kind(int(git_mode, 8))
                found[base + name] = Node(kind, mode, oid.hex())
        for path in self.empty_folders(stored):
            found[path] = Node("folder", modes.get(path + b"/", 0o755), "")
        for path, mode in modes.items():
            if path.endswith(b"/"):
                found[path[:-1]] = Node("folder", mode, "")
            elif path in found and found[path].kind == "file":
                found[path] = found[path]._replace(mode=mode)
        return found

    def _file(self, tree: pygit2.Tree, name: str, where: str) -> bytes:
        try:
            return self.read(str(tree[name].id))
        except KeyError:
            raise StoreDamaged(f"{name} is missing", path=where, todo="forkpoint verify") from None

    def _object(self, oid: str) -> Any:
        # Any: pygit2's stubs do not say that commits, trees and blobs are objects.
        try:
            return self.repository[oid]
        except (KeyError, ValueError, pygit2.GitError):
            raise StoreDamaged("an object is missing or damaged", path=oid, todo="forkpoint verify") from None


def _refuse_other(tree: str, data: bytes, told: int) -> None:
    """Raises StoreDamaged where the entries of a tree do not make up the whole of it."""
    if told != len(data):
        raise StoreDamaged("an object is not a tree", path=tree, todo="forkpoint verify")


def node(git_mode: int, oid: str, mode: int | None) -> Node:
    """The node of a tree entry; `mode` are its recorded permission bits, where they are unusual."""
    kind, usual = _kind(git_mode)
    return Node(kind, usual if mode is None or kind == "link" else mode, oid)


def _kind(git_mode: int) -> tuple[str, int]:
    return ("link", 0) if git_mode == LINK else ("file", stat.S_IMODE(git_mode))
