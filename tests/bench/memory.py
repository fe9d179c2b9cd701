"""The memory that a very large file takes: stored, restored and verified in pieces, never held whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

from trees import Tree

MARK = b"forkpoint"


def large_file(folder: Path, megabytes: int) -> None:
    """Stores, changes, restores and verifies one file of that size; only the memory of each is of interest."""
    tree = Tree(folder, 10, name="large")
    tree.home.mkdir()
    (tree.home / "settings.toml").write_text(f"[limits]\nlargest_file = {2 * megabytes << 20}\n", "utf-8")
    file = tree.folder / "large.bin"
    size = f"a file of {megabytes:,} MB"
    _fill(file, megabytes, b"")
    point = str(json.loads(tree.forkpoint(f"save, {size}", "save", "--json").output)["id"])
    _fill(file, megabytes, MARK)
    tree.forkpoint(f"diff, {size}", "diff", point)
    tree.forkpoint(f"restore, {size}", "restore", point, "--files", "--all", "--yes")
    if _begins(file) == MARK:
        raise SystemExit("the large file was not restored")
    tree.forkpoint(f"verify, {size}", "verify")


def _fill(file: Path, megabytes: int, beginning: bytes) -> None:
    """Zeros are cheap to keep and cost as much to read and to hash as anything else."""
    with open(file, "wb") as stream:
        stream.write(beginning)
        os.truncate(stream.fileno(), megabytes << 20)


def _begins(file: Path) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(len(MARK))
