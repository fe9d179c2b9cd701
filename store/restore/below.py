"""Looking at paths below a root without ever following a link (rule 5)."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ..git.stream import blob_id
from ..states import Node
from .paths import twins

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CONTENT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PASSING = getattr(os, "O_PATH", os.O_RDONLY)
"""How a folder is opened that may be passed through but not read."""
PIECE = 1 << 20
TRIES = 3
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What opening a path says when a part of it is missing, no folder, or a link."""


@contextmanager
def opened_root(root: str | os.PathLike[str]) -> Generator[int]:
    """The descriptor of a root's folder."""
    descriptor = os.open(root, FOLDER & ~os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_parent(root: int, path: bytes) -> Generator[tuple[int, bytes]]:
    """The folder that holds `path`, opened part by part, and the name in it.

    Raises OSError: FileNotFoundError for a missing parent, NotADirectoryError or ELOOP for one that is no folder.
    """
    *above, name = path.split(b"/")
    folder = os.dup(root)
    try:
        for part in above:
            inner = open_folder(part, folder)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)


class Nearby:
    """Opens the folders of one path after the other; the last one stays open, for the neighbours of its path."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._path = b""
        self._folder: int | None = None

    def __enter__(self) -> Nearby:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def of(self, path: bytes) -> tuple[int, bytes]:
        """The folder that holds `path`, open until the next path is asked for, and the name in it.

        Raises OSError as `opened_parent` does.
        """
        above, _, name = path.rpartition(b"/")
        if self._folder is None or above != self._path:
            self._leave()
            self._folder, self._path = _opened(self._root, above), above
        return self._folder, name

    def _leave(self) -> None:
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def _opened(root: int, folder: bytes) -> int:
    """A descriptor of a folder below the root, opened part by part."""
    if not folder:
        return os.dup(root)
    first, *others = folder.split(b"/")
    found = open_folder(first, root)
    for part in others:
        try:
            inner = open_folder(part, found)
        finally:
            os.close(found)
        found = inner
    return found


def open_folder(name: bytes, folder: int) -> int:
    """A descriptor of a folder in a folder; one that may only be passed through does as well."""
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        return os.open(name, FOLDER | PASSING, dir_fd=folder)


def look(root: int, path: bytes) -> Node | None:
    """What stands at `path` below the root; None for nothing, also when a parent is a link or no folder.

    The kind of what is neither file, link nor folder is "special". Raises OSError when it cannot be read.
    """
    with Nearby(root) as nearby:
        return look_near(nearby, path)


def look_near(nearby: Nearby, path: bytes) -> Node | None:
    """`look`, for one path after the other."""
    try:
        return look_in(*nearby.of(path))
    except OSError as error:
        if error.errno in GONE:
            return None
        raise


def look_in(folder: int, name: bytes) -> Node | None:
    """What stands under a name in an open folder; None for nothing. Raises OSError when it cannot be read."""
    for _ in range(TRIES):
        try:
            found = os.lstat(name, dir_fd=folder)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(name, dir_fd=folder)
            return Node("link", 0, blob_id(target))
        if stat.S_ISDIR(found.st_mode):
            return Node("folder", stat.S_IMODE(found.st_mode), "")
        if not stat.S_ISREG(found.st_mode):
            return Node("special", stat.S_IMODE(found.st_mode), "")
        node = _read(folder, name)
        if node is not None:
            return node
    raise BlockingIOError(errno.EAGAIN, "it changes while it is read")


def _read(folder: int, name: bytes) -> Node | None:
    """The node of a file; None when it was changed or replaced while it was read."""
    try:
        descriptor = os.open(name, CONTENT, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
    try:
        return node_of(descriptor)
    finally:
        os.close(descriptor)


def node_of(descriptor: int) -> Node | None:
    """The node of an open file, read from its start; None when it changed meanwhile or is no regular file."""
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        return None
    digest = hashlib.sha1(b"blob %d\0" % before.st_size, usedforsecurity=False)
    length = 0
    # No more than is left: room for a megabyte takes twenty times as long to be had as a small file to be read.
    while (left := before.st_size - length) > 0 and (piece := os.pread(descriptor, min(PIECE, left), length)):
        digest.update(piece)
        length += len(piece)
    after = os.fstat(descriptor)
    if length != before.st_size or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        return None
    return Node("file", stat.S_IMODE(after.st_mode), digest.hexdigest())


def standing(root: int, path: bytes) -> str:
    """What stands at `path` below the root: "folder", "other" or ""; what is behind a link does not count."""
    try:
        with opened_parent(root, path) as (folder, name):
            return "folder" if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode) else "other"
    except OSError as error:
        return "" if error.errno in GONE else "other"


def ignores_case(root: int) -> bool:
    """Whether the root's file system takes "A" for "a"; found without writing, by a name that stands there already."""
    with os.scandir(root) as listing:
        for entry in listing:
            other = os.fsencode(entry.name.swapcase())
            if other != os.fsencode(entry.name):
                return _same(root, os.fsencode(entry.name), other)
    return False


def is_spelled(root: int, path: bytes) -> bool:
    """Whether the folders list these very names, where the file system would also answer to another spelling."""
    parts = path.split(b"/")
    return all(_lists(root, b"/".join(parts[: count + 1])) for count in range(len(parts)))


def _lists(root: int, path: bytes) -> bool:
    try:
        with opened_parent(root, path) as (folder, name), os.scandir(folder) as listing:
            return any(os.fsencode(entry.name) == name for entry in listing)
    except OSError:
        return False


class Sight:
    """Looks at the paths of a restore, each under its very spelling, whatever the file system makes of that."""

    def __init__(self, root: int, paths: Iterable[bytes]) -> None:
        self.root = root
        self.twins = twins(paths) if ignores_case(root) else frozenset[bytes]()

    def look(self, path: bytes, nearby: Nearby | None = None) -> Node | None:
        """What stands at a path. Raises OSError when it cannot be read."""
        if path in self.twins and not is_spelled(self.root, path):
            return None
        return look(self.root, path) if nearby is None else look_near(nearby, path)


def _same(folder: int, name: bytes, other: bytes) -> bool:
    try:
        return os.path.samestat(os.lstat(name, dir_fd=folder), os.lstat(other, dir_fd=folder))
    except OSError:
        return False
