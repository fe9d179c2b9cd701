"""Paths that agents' edit tools name: captured whatever the ignore rules say, and in the coverage from then on.

Those inside of a root are kept by folder, so that a walk finds its way to them with one look-up a folder. Those outside
of it are kept by their absolute paths (see outside.py).
"""

from __future__ import annotations

import os

from ..light import Iterable, Iterator, Mapping, NamedTuple, Sequence

Named = Mapping[str, tuple[str, ...]]
"""Folder ("" or "a/b/") → names in it that are named ("x"), or lead to one that is ("c/")."""

MOST = 10_000
"""So many paths inside of a root are remembered, and no further ones."""
NOT_FILES = ("/proc/", "/sys/", "/dev/")


class Told(NamedTuple):
    """What a call's input names, sorted by where it is."""

    inside: tuple[str, ...] = ()
    """Relative to the root."""
    outside: tuple[str, ...] = ()
    """Absolute, with folders that are no links."""


def told(root: str, paths: Sequence[str], home: str) -> Told:
    """Sorts absolute paths; `home` is the folder of our own data.

    A path that leads out of the root by a link in it is neither (rule 5), nor is one into a `.git` outside (rule 1).
    """
    inside: list[str] = []
    outside: list[str] = []
    for path in paths:
        folder, name = os.path.split(path)
        if not os.path.isabs(path) or "\0" in path or name in ("", ".", ".."):
            continue
        full = os.path.join(os.path.realpath(folder), name)
        if full.startswith(root + os.sep):
            inside.append(os.path.relpath(full, root))
        elif full != root and not _hostile(full, home) and not _through(root, folder):
            outside.append(full)
    return Told(tuple(inside), tuple(outside))


def _hostile(full: str, home: str) -> bool:
    ours = full.startswith(os.path.realpath(home) + os.sep)
    return ours or full.startswith(NOT_FILES) or ".git" in full.lower().split(os.sep)


def _through(root: str, folder: str) -> bool:
    """Whether the way to a folder leads through the root."""
    at = os.path.normpath(folder)
    while len(at) > 1:
        if os.path.realpath(at) == root:
            return True
        at = os.path.dirname(at)
    return False


def joined(named: Named, paths: Iterable[str]) -> Named:
    """What is named with some paths more; the very same when nothing is new."""
    new = [path for path in paths if not holds(named, path)]
    if not new:
        return named
    found = dict(named)
    for path in new[: max(0, MOST - sum(map(len, named.values())))]:
        child = path
        while True:
            folder, _, name = child.rstrip("/").rpartition("/")
            folder = folder + "/" if folder else ""
            name += "/" if child.endswith("/") else ""
            if name in found.get(folder, ()):
                break
            found[folder] = (*found.get(folder, ()), name)
            if not folder:
                break
            child = folder
    return found


def holds(named: Named, path: str, is_folder: bool = False) -> bool:
    """Whether a file is named, or a folder leads to one that is."""
    cut = path.rfind("/") + 1
    return path[cut:] + ("/" if is_folder else "") in named.get(path[:cut], ())


def listed(named: Named) -> Iterator[str]:
    """The paths that are named."""
    return (folder + name for folder, names in named.items() for name in names if not name.endswith("/"))
