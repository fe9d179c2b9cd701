"""Real folders told as data, and read back without the code under test."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from forkpoint.store.states import Node


class Thing(NamedTuple):
    """A file (bytes), a link (target) or a folder."""

    kind: str
    mode: int = 0
    data: bytes = b""

    @property
    def node(self) -> Node:
        """As the engine speaks of it."""
        return Node(self.kind, self.mode, blob_id(self.data) if self.kind != "folder" else "")


Tree = Mapping[bytes, Thing]
"""Things by their path; folders above them need not be named when their mode is 0o755."""


def file(data: bytes | str = b"", mode: int = 0o644) -> Thing:
    return Thing("file", mode, data.encode() if isinstance(data, str) else data)


def link(target: bytes | str) -> Thing:
    return Thing("link", 0, target.encode() if isinstance(target, str) else target)


def folder(mode: int = 0o755) -> Thing:
    return Thing("folder", mode)


def blob_id(data: bytes) -> str:
    """Git's id of a blob, worked out here a second time so that the engine's is checked."""
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest()


class Contents:
    """A store of bytes in memory."""

    def __init__(self, *trees: Tree) -> None:
        self.held: dict[str, bytes] = {}
        for tree in trees:
            self.add(tree)

    def add(self, tree: Tree) -> None:
        for thing in tree.values():
            self.held[blob_id(thing.data)] = thing.data

    def read(self, oid: str) -> bytes:
        return self.held[oid]

    def copy(self, oid: str, descriptor: int) -> None:
        data = self.held[oid]
        while data:
            data = data[os.write(descriptor, data) :]


def lay(root: Path, tree: Tree) -> Path:
    """Makes the folder hold exactly this besides what it holds already; returns it."""
    root.mkdir(exist_ok=True)
    top = os.fsencode(root)
    for path, thing in sorted(tree.items()):
        whole = os.path.join(top, path)
        _make_parents(top, path)
        if thing.kind == "folder":
            if not os.path.isdir(whole):
                os.mkdir(whole)
        elif thing.kind == "link":
            os.symlink(thing.data, whole)
        else:
            with open(whole, "wb") as stream:
                stream.write(thing.data)
            os.chmod(whole, thing.mode)
    for path, thing in sorted(tree.items(), reverse=True):
        if thing.kind == "folder":
            os.chmod(os.path.join(top, path), thing.mode)
    return root


def seen(root: Path) -> dict[bytes, Thing]:
    """Everything that stands in the folder, every folder included."""
    found: dict[bytes, Thing] = {}
    top = os.fsencode(root)
    for base, folders, files in os.walk(top):
        for name in folders + files:
            whole = os.path.join(base, name)
            what = os.lstat(whole)
            mode = stat.S_IMODE(what.st_mode)
            path = os.path.relpath(whole, top)
            if stat.S_ISLNK(what.st_mode):
                found[path] = link(os.readlink(whole))
            elif stat.S_ISDIR(what.st_mode):
                found[path] = folder(mode)
            elif stat.S_ISREG(what.st_mode):
                with open(whole, "rb") as stream:
                    found[path] = file(stream.read(), mode)
            else:
                found[path] = Thing("special", mode)
    return found


def listed(tree: Tree) -> dict[bytes, Thing]:
    """A tree as a checkpoint speaks of it: folders only when they are empty or have another mode than 0o755."""
    holding = {parent for path in tree for parent in _parents(path)}
    return {
        path: thing
        for path, thing in tree.items()
        if thing.kind != "folder" or thing.mode != 0o755 or path not in holding
    }


def state(tree: Tree) -> dict[bytes, Node]:
    """A tree as the engine's state."""
    return {path: thing.node for path, thing in listed(tree).items()}


def whole(tree: Tree) -> dict[bytes, Thing]:
    """A tree with every folder named."""
    found = dict(tree)
    for path in tree:
        for parent in _parents(path):
            found.setdefault(parent, folder())
    return found


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _make_parents(top: bytes, path: bytes) -> None:
    for parent in _parents(path):
        whole_path = os.path.join(top, parent)
        if not os.path.isdir(whole_path):
            os.mkdir(whole_path)
            os.chmod(whole_path, 0o755)
