"""Files outside of the root that an agent's edit tool named: kept under `outside/`, shown and diffed, never restored.

In a checkpoint's tree such a file stands at its absolute path, below `outside`. Everywhere else it is told by its
absolute path, and known by the slash in front.
"""

from __future__ import annotations

import errno
import os
import stat

from ..checkpoints import points
from ..git.stream import Put, put, put_inline
from ..light import Iterable, Iterator, Mapping, NamedTuple
from ..states import Node, State, usual_mode
from .reading import Reader, Sink, why
from .scan import Limits
from .secrets import LEFT_OUT, looks_secret
from .statindex import FileInfo, Files

WHY = "outside of the folder"
"""Why a restore leaves it, and how a diff marks it."""
MOST = 500
"""So many are followed; the oldest make way for newer ones."""


class Outside(NamedTuple):
    """One look at the files outside."""

    files: Files
    uncaptured: Mapping[str, str]
    moving: frozenset[str]


def joined(files: Files, paths: Iterable[str]) -> Files:
    """The files to follow, with some paths more."""
    new = [path for path in paths if path not in files]
    if not new:
        return files
    found = {**files, **dict.fromkeys(new)}
    return dict(list(found.items())[-MOST:])


def look(files: Files, limits: Limits, sink: Sink | None, temporary: str | None) -> Outside:
    """What stands at each path now; links are not followed, whatever their folders became (rule 5)."""
    reader = Reader(limits.largest_file, sink, temporary)
    found: dict[str, FileInfo | None] = {}
    for path, old in files.items():
        if not limits.secrets and looks_secret(os.path.basename(path)):
            found[path] = None
            reader.uncaptured[path] = LEFT_OUT
            continue
        found[path] = _info(reader, path, old)
    return Outside(found, reader.uncaptured, frozenset(reader.moving))


def _info(reader: Reader, path: str, old: FileInfo | None) -> FileInfo | None:
    try:
        seen = os.lstat(path)
        if old is not None and old[:5] == (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino):
            return old
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reader.uncaptured[path] = why(error)
        return None
    return _read(reader, path, old)


def _read(reader: Reader, path: str, old: FileInfo | None) -> FileInfo | None:
    from ..restore.below import opened_parent, opened_root  # only at files that changed

    try:
        with opened_root("/") as top, opened_parent(top, os.fsencode(path)[1:]) as (folder, name):
            return reader.info(folder, path, os.fsdecode(name), os.lstat(name, dir_fd=folder), old)
    except FileNotFoundError:
        return None
    except OSError as error:
        reader.uncaptured[path] = "behind a link" if error.errno in (errno.ENOTDIR, errno.ELOOP) else why(error)
        return None


def differ(old: Files, new: Files) -> bool:
    """Whether a checkpoint of the new ones would say anything else."""
    return old.keys() != new.keys() or any(_kept(old[path]) != _kept(info) for path, info in new.items())


def _kept(info: FileInfo | None) -> tuple[int, str] | None:
    return None if info is None else (info[0], info[5])


def lines(files: Files) -> Iterator[Put]:
    """What puts them into the tree of a checkpoint."""
    modes: dict[str, int] = {}
    for path, info in files.items():
        if info is None:
            continue
        git_mode = 0o120000 if stat.S_ISLNK(info[0]) else (0o100755 if info[0] & 0o100 else 0o100644)
        yield put(git_mode, info[5], points.OUTSIDE.encode() + os.fsencode(path))
        if stat.S_ISREG(info[0]) and stat.S_IMODE(info[0]) != usual_mode(info[0]):
            modes[path] = stat.S_IMODE(info[0])
    if modes:
        yield put_inline(points.encode_modes(modes), points.OUTSIDE_MODES.encode())


def state(files: Files) -> State:
    """What was found, as paths and nodes."""
    found: dict[bytes, Node] = {}
    for path, info in files.items():
        if info is not None:
            link = stat.S_ISLNK(info[0])
            found[os.fsencode(path)] = Node("link" if link else "file", 0 if link else stat.S_IMODE(info[0]), info[5])
    return found


def is_outside(path: bytes) -> bool:
    """Whether a path is told as one outside of the root."""
    return path.startswith(b"/")
