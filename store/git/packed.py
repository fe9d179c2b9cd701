"""Changing many refs at once: `packed-refs` is replaced as a whole, then the refs' own files go.

Done here and not by git: a git whose parent was killed goes on without the lock that the parent held. Whoever calls
holds the store for writing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ..durable import sync_folder, write_atomic
from ..errors import StoreDamaged, StoreUnwritable
from .refs import Refs, listed

HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"
"""Says that no ref of ours is a tag: then git and libgit2 look for no lines that tell what a tag names."""


def pack(git_dir: Path) -> None:
    """Puts all refs into one file: 20,000 in files of their own take 80 MB. Raises StoreDamaged, StoreUnwritable."""
    refs = sound(git_dir)
    if refs.commits:
        _replace(git_dir, refs.commits)
        _unlink(git_dir, refs.commits)


def remove(git_dir: Path, names: Collection[str]) -> None:
    """Removes refs; those that are gone already do not matter. Raises StoreDamaged, StoreUnwritable."""
    refs = sound(git_dir)
    gone = frozenset(names)
    if (git_dir / "packed-refs").exists():
        _replace(git_dir, {name: commit for name, commit in refs.commits.items() if name not in gone})
    _unlink(git_dir, names)


def sound(git_dir: Path) -> Refs:
    """All refs; what cannot be read would be lost when it is written anew."""
    refs = listed(git_dir)
    if refs.broken:
        raise StoreDamaged("a ref cannot be read", path=refs.broken[0], todo="forkpoint verify")
    return refs


def _replace(git_dir: Path, commits: Mapping[str, str]) -> None:
    lines = [f"{commit} {name}\n".encode("utf-8", "surrogateescape") for name, commit in commits.items()]
    lines.sort(key=lambda line: line[41:-1])
    try:
        write_atomic(git_dir / "packed-refs", HEADER + b"".join(lines))
    except OSError as error:
        raise _unwritable(git_dir, error) from None


def _unlink(git_dir: Path, names: Iterable[str]) -> None:
    """Removes the refs' own files, and makes that durable."""
    folders: set[Path] = set()
    try:
        for name in names:
            file = git_dir / name
            with suppress(FileNotFoundError, NotADirectoryError):
                file.unlink()
                folders.add(file.parent)
        for folder in folders:
            if len(folder.relative_to(git_dir).parts) > 2:
                with suppress(OSError):
                    folder.rmdir()  # an empty one takes a block
                    folder = folder.parent
            sync_folder(folder)
    except OSError as error:
        raise _unwritable(git_dir, error) from None


def _unwritable(git_dir: Path, error: OSError) -> StoreUnwritable:
    return StoreUnwritable(
        "the store cannot be written",
        path=os.fspath(error.filename or git_dir),
        todo=f"{error.strerror}: forkpoint doctor",
    )
