"""The git trees of a walk: only those of folders that changed are made, the others are known from the stat index."""

from __future__ import annotations

import os
import stat

from ..git.stream import EMPTY_TREE, Put, Stream
from ..light import Iterable, Mapping
from ..walk.scan import Scan
from ..walk.statindex import FileInfo, Folder, Index

LINK, EXECUTABLE, PLAIN, FOLDER = 0o120000, 0o100755, 0o100644, 0o040000

Entry = tuple[bytes, int, bytes]
"""Name, git mode and id (20 bytes)."""


def file_mode(mode: int) -> int:
    """The git mode of a file with these permission bits."""
    return EXECUTABLE if mode & 0o100 else PLAIN


class Trees:
    """Writes the trees of a walk, beginning with the innermost."""

    def __init__(self, found: Scan, index: Index, stream: Stream, extra: Iterable[Put] = ()) -> None:
        """`extra` are files beside those of the walk; with any, what is learned of the folders is not kept."""
        self._found = found
        self._old: Mapping[str, Folder] = index.folders if index.tree else {}
        self._stream = stream
        self._extra: dict[str, dict[str, Entry]] = {}
        """Folder → name → entry."""
        self._below: dict[str, set[str]] = {}
        """Folder → names of folders in it that only hold extra files."""
        for item in extra:
            self._add(item)

    def write(self) -> str:
        """Gives the id of the tree of all files."""
        folders = self._found.folders
        made: dict[str, bytes] = {}
        for path in sorted(self._touched(), reverse=True):
            if path in folders or path in self._extra or path in self._below:
                made[path] = self._tree(path, made)
        if not self._extra:
            for path, oid in made.items():
                if path in folders:
                    folders[path] = folders[path]._replace(tree=oid)
        top = made[""] if "" in made else folders[""].tree
        return top.hex() or EMPTY_TREE

    def _touched(self) -> set[str]:
        """Folders in which something is another than in the index, and all above them."""
        if not self._old:
            pending = set(self._found.folders)
        else:
            pending = {path[: path.rfind("/") + 1] for path in self._found.changed}
        pending |= self._extra.keys() | self._below.keys()
        touched: set[str] = set()
        for path in pending:
            while path not in touched:
                touched.add(path)
                path = path[: path.rfind("/", 0, -1) + 1] if path else path
        return touched

    def _tree(self, path: str, made: dict[str, bytes]) -> bytes:
        folders = self._found.folders
        entries: dict[str, Entry] = {}
        folder = folders.get(path)
        below = set(self._below.get(path, ()))
        if folder is not None:
            below.update(folder.folders)
            entries = {name: _entry(name, info) for name, info in folder.files.items()}
        entries.update(self._extra.get(path, {}))
        for name in below:
            inner = f"{path}{name}/"
            oid = made[inner] if inner in made else folders[inner].tree if inner in folders else b""
            if oid:
                entries[name] = (os.fsencode(name), FOLDER, oid)
        if not entries:
            return b""
        known = self._old[path].tree if path in self._old else b""
        return self._stream.tree(entries.values(), known)

    def _add(self, item: Put) -> None:
        folder, _, name = os.fsdecode(item.path).rpartition("/")
        at = f"{folder}/" if folder else ""
        self._extra.setdefault(at, {})[name] = (os.fsencode(name), item.mode, bytes.fromhex(item.oid))
        while at:
            above, _, name = at[:-1].rpartition("/")
            above = f"{above}/" if above else ""
            self._below.setdefault(above, set()).add(name)
            at = above


def _entry(name: str, info: FileInfo) -> Entry:
    mode = LINK if stat.S_ISLNK(info[0]) else file_mode(info[0])
    return os.fsencode(name), mode, bytes.fromhex(info[5])
