"""How a folder looks: its names with what the system tells of them, and a short mark by which it is known again."""

from __future__ import annotations

import marshal
import os

from ..light import Collection, Iterable, NamedTuple, attrgetter, blake2b

KIND, FOLDER = 0o170000, 0o040000
"""Of st_mode: the bits that tell what a thing is, and those of a folder."""

_marks = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


class Sight(NamedTuple):
    """One listing of a folder."""

    stats: dict[str, os.stat_result]
    mark: bytes
    """Another listing with this mark has the same names, and files that look the same; b"": look at each name."""
    own: tuple[str, ...]
    """Names of what is an agent's own; it is not looked at."""


def within(root: str, paths: Iterable[str]) -> frozenset[str]:
    """Those of absolute paths that are below a root, relative to it."""
    above = root.rstrip(os.sep) + os.sep
    return frozenset(path[len(above) :] for path in paths if path.startswith(above))


def sight(descriptor: int, path: str, own: Collection[str], skip: Collection[tuple[int, int]]) -> Sight:
    """Lists an open folder. `own` are paths that are left out, `skip` (device, inode) of folders that are."""
    stats: dict[str, os.stat_result] = {}
    left: list[str] = []
    row: list[str | int] = []
    plain = True
    look = os.stat
    for name in os.listdir(descriptor):
        if own and path + name in own:
            left.append(name)
            continue
        try:
            found = look(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError:
            continue
        stats[name] = found
        row.append(name)
        if found.st_mode & KIND != FOLDER:
            row += _marks(found)
        elif (found.st_dev, found.st_ino) in skip:
            plain = False
    # Version 2 of marshal: equal things become equal bytes.
    mark = blake2b(marshal.dumps(row, 2), digest_size=20).digest() if plain and not left else b""
    return Sight(stats, mark, tuple(left))
