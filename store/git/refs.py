"""The refs of our object store, read as the files that they are: libgit2 takes a third of a second to list 10,000.

A ref of its own file outranks the same name in `packed-refs`. The files are read first: git writes the packed refs
before it takes a file away, so a ref that is packed meanwhile is in the one or in the other.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

OPERATIONS = "refs/operations"
TRANSCRIPTS = "refs/transcripts/"
ONE = re.compile(rb"[0-9a-f]{40}\s*")
PACKED = re.compile("^([0-9a-f]{40}) (\\S+)$", re.MULTILINE)


class Refs(NamedTuple):
    """All refs at one moment."""

    commits: dict[str, str]
    """Ref name → commit id."""
    broken: tuple[str, ...] = ()
    """Refs that are there, but name nothing."""

    def below(self, prefix: str) -> dict[str, str]:
        """Those whose name begins so."""
        return {name: commit for name, commit in self.commits.items() if name.startswith(prefix)}


def listed(git_dir: Path) -> Refs:
    """Reads all refs. Raises OSError where they cannot be read."""
    own: dict[str, str] = {}
    broken: list[str] = []
    top = f"{git_dir}/"
    pending = [f"{top}refs"]
    while pending:
        folder = pending.pop()
        for entry in _entries(folder, may_go=folder != f"{top}refs"):
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif not entry.name.endswith(".lock"):
                _read(entry.path, entry.path[len(top) :], own, broken)
    found, unreadable = _packed(git_dir)
    return Refs(found | own, (*unreadable, *broken))


def _entries(folder: str, *, may_go: bool) -> list[os.DirEntry[str]]:
    """What stands in a folder; nothing once git took it away with the last ref in it."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        if may_go:
            return []
        raise


def _read(file: str, ref: str, own: dict[str, str], broken: list[str]) -> None:
    try:
        with open(file, "rb") as stream:
            text = stream.read(64)
    except FileNotFoundError:
        return  # it was packed or deleted meanwhile
    if ONE.fullmatch(text):
        own[ref] = text[:40].decode()
    else:
        broken.append(ref)


def _packed(git_dir: Path) -> tuple[dict[str, str], list[str]]:
    """The packed refs, parsed once while their file is the same: one command asks some six times."""
    try:
        with open(f"{git_dir}/packed-refs", "rb") as stream:
            about = os.fstat(stream.fileno())
            stamp = (str(git_dir), about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
            held = _parsed_last.get(stamp)
            if held is None:
                held = _parsed(stream.read().decode("utf-8", "surrogateescape"))
                _parsed_last.clear()
                _parsed_last[stamp] = held
    except FileNotFoundError:
        return {}, []
    return held


_parsed_last: dict[tuple[str, int, int, int, int], tuple[dict[str, str], list[str]]] = {}


def _parsed(text: str) -> tuple[dict[str, str], list[str]]:
    found = {name: commit for commit, name in PACKED.findall(text)}
    if text.count("\n") == len(found) + text.startswith("#"):
        return found, []
    lines = [line for line in text.split("\n") if line and line[0] not in "#^"]
    return found, [line[41:] or "packed-refs" for line in lines if not PACKED.fullmatch(line)]
