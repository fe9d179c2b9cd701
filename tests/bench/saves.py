"""`forkpoint save` against `git add -A; git write-tree; git commit-tree` with a private index and the same fsync."""

from __future__ import annotations

import shutil
from pathlib import Path

from pairs import Figure, disk, pair, pairs
from trees import Tree

AGAINST = "git add, write-tree, commit-tree"


def first(tree: Tree, folder: Path, rounds: int) -> list[Figure]:
    """The first checkpoint of a project: time, and what it takes on the disk."""
    times: tuple[list[float], list[float]] = ([], [])
    sizes: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        tree.home, git_dir = folder / f"home{number}", folder / f"git{number}"
        tree.new_git(git_dir)
        empty = disk(git_dir)
        ours, theirs = pair(
            number, lambda: tree.forkpoint("first save", "save").ms, lambda git=git_dir: tree.commit(git).ms
        )
        for values, value in zip((*times, *sizes), (ours, theirs, disk(tree.home), disk(git_dir) - empty), strict=True):
            values.append(value)
        shutil.rmtree(tree.home)
        shutil.rmtree(git_dir)
    files = f"{len(tree.names):,} files"
    return [
        Figure(f"first save of {files}", AGAINST, 0.6, 0.4, *times, "ms"),
        Figure(f"first save of {files}, disk", AGAINST, 0.25, None, *sizes, "kB"),
    ]


def later(tree: Tree, folder: Path, rounds: int) -> list[Figure]:
    """A checkpoint after five files changed, and after none did."""
    files = f"{len(tree.names):,} files"
    tree.home, git_dir = folder / "home", folder / "git"
    tree.new_git(git_dir)
    tree.forkpoint("first save", "save")
    tree.commit(git_dir, sync=False)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        tree.change(5)
        ours, theirs = pair(number, lambda: tree.forkpoint("save", "save").ms, lambda: tree.commit(git_dir).ms)
        times[0].append(ours)
        times[1].append(theirs)
    nothing = pairs(rounds, lambda: tree.forkpoint("save", "save").ms, lambda: tree.commit(git_dir).ms)
    shutil.rmtree(tree.home)
    shutil.rmtree(git_dir)
    return [
        Figure(f"save, 5 of {files} changed", AGAINST, 1.8, 1.0, *times, "ms"),
        Figure(f"save, nothing of {files} changed", AGAINST, 1.5, 0.7, *nothing, "ms"),
    ]
