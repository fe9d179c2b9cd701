"""What a walk is told, and what it finds."""

from __future__ import annotations

import os
import stat

from ..light import Iterable, Mapping, NamedTuple
from ..states import FOLDER_MODE, Node, State
from .ignore import Source
from .secrets import looks_secret
from .statindex import FileInfo, Folder


class Limits(NamedTuple):
    """What is not captured whatever the rules say."""

    largest_file: int
    skip: frozenset[tuple[int, int]] = frozenset()
    """(device, inode) of folders that are left out: our own store, when it stands inside the root."""
    own: frozenset[str] = frozenset()
    """Absolute paths of what is an agent's own, its sessions above all: never captured, hence never written."""
    ceiling: int = 0
    """How many files may be read for the first time before a person has to be asked (rule 8); 0 for any number."""
    named: Mapping[str, tuple[str, ...]] = {}
    """Paths that agents' edit tools named: captured whatever the ignore rules say."""
    secrets: bool = True
    """Whether files that look like secrets are captured."""


class Change(NamedTuple):
    """A path whose bytes or git mode are not those of the index."""

    old: FileInfo | None
    new: FileInfo | None


class Scan(NamedTuple):
    """One walk."""

    folders: dict[str, Folder]
    changed: dict[str, Change]
    uncaptured: dict[str, str]
    moving: frozenset[str]
    sources: tuple[Source, ...]
    stamps: dict[str, tuple[int, int, int]]
    modes_changed: bool
    """Permission bits or empty folders differ from the index, though perhaps no bytes."""
    holding: frozenset[str] = frozenset()
    """Folders ("a/b/") that hold something that is never captured: what is ignored, a `.git`, an agent's own data."""
    hollow: frozenset[str] = frozenset()
    """Ignored folders ("a/b/") that were only passed through, and in which nothing was captured: in no state."""
    named: Mapping[str, tuple[str, ...]] = {}
    """Paths that were captured whatever the rules say."""
    outside: Mapping[str, FileInfo | None] = {}
    """What stands outside of the root where agents' edit tools named a path; the walk itself does not look there."""
    unanswered: Mapping[str, str] = {}
    """Where it could not be asked what is ignored → why."""
    same: tuple[str, Mapping[str, str]] | None = None
    """The tree and the parts of the newest checkpoint, where that holds just what was found."""

    @property
    def files(self) -> int:
        """How many files and links were captured."""
        return sum(folder.file_count for folder in self.folders.values())

    @property
    def bytes(self) -> int:
        """Bytes of all captured files."""
        return sum(folder.byte_count for folder in self.folders.values())

    def secrets(self) -> list[str]:
        """Captured files that look like secrets, those outside of the root included."""
        inside = [path + name for path, folder in self.folders.items() for name in folder.secrets]
        return inside + [path for path, info in self.outside.items() if info and looks_secret(os.path.basename(path))]

    def is_empty(self, folder: Folder, path: str) -> bool:
        """Whether nothing was captured in a folder."""
        if folder.file_count or not folder.folders:
            return not folder.file_count
        return bool(self.hollow) and all(f"{path}{name}/" in self.hollow for name in folder.folders)

    def state(self) -> State:
        """What the walk found, as paths and nodes."""
        found: dict[bytes, Node] = {}
        for path, folder in self.folders.items():
            if path not in self.hollow and path and (folder.mode != FOLDER_MODE or self.is_empty(folder, path)):
                found[os.fsencode(path[:-1])] = Node("folder", folder.mode, "")
            for name, info in folder.files.items():
                found[os.fsencode(path + name)] = _node(info)
        return found

    def nodes(self, paths: Iterable[bytes]) -> State:
        """The files and links that the walk found at some paths; the same as in its state, for less."""
        wanted: dict[str, list[tuple[str, bytes]]] = {}
        for path in paths:
            folder, slash, name = os.fsdecode(path).rpartition("/")
            wanted.setdefault(folder + slash, []).append((name, path))
        found: dict[bytes, Node] = {}
        for folder, names in wanted.items():
            files = self.folders[folder].files if folder in self.folders else {}
            found |= {path: _node(files[name]) for name, path in names if name in files}
        return found


def _node(info: FileInfo) -> Node:
    if stat.S_ISLNK(info[0]):
        return Node("link", 0, info[5])
    return Node("file", stat.S_IMODE(info[0]), info[5])
