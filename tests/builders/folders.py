"""Real folders for tests: made from a short description, and read back as one."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

Wanted = dict[str | bytes, object]
"""Path → bytes or str (a file), Link, Mode-wrapped content, or None (an empty folder)."""


class Link(str):
    """A symbolic link to this target."""


def make(root: Path, wanted: Wanted) -> Path:
    """Puts the described paths into a folder, over what is there."""
    for path, what in wanted.items():
        full = os.path.join(os.fsencode(root), path.encode() if isinstance(path, str) else path)
        if what is None:
            os.makedirs(full, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if os.path.islink(full):
            os.unlink(full)
        if isinstance(what, Link):
            os.symlink(os.fsencode(str(what)), full)
        else:
            with open(full, "wb") as stream:
                stream.write(what.encode() if isinstance(what, str) else what)  # type: ignore[union-attr]
    return root


def seen(root: Path) -> dict[bytes, tuple[str, int, bytes]]:
    """Everything below a folder but `.git`: path → kind, permission bits, bytes or target."""
    found: dict[bytes, tuple[str, int, bytes]] = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name != b".git"]
        for name in folders + files:
            full = os.path.join(folder, name)
            path = os.path.relpath(full, os.fsencode(root))
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                found[path] = ("link", 0, os.readlink(full))
            elif stat.S_ISDIR(mode):
                found[path] = ("folder", stat.S_IMODE(mode), b"")
            elif stat.S_ISREG(mode):
                with open(full, "rb") as stream:
                    found[path] = ("file", stat.S_IMODE(mode), stream.read())
            else:
                found[path] = ("special", stat.S_IMODE(mode), b"")
    return found


def git(folder: Path, *arguments: str) -> str:
    """Runs the real git in a folder as its person would."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def repository(root: Path, wanted: Wanted | None = None) -> Path:
    """A git repository with the described files committed."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    make(root, wanted or {})
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "seed")
    return root
