"""`forkpoint restore` of many changed files against `git checkout` of the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pairs import Figure, pair
from trees import Tree


def restore(tree: Tree, folder: Path, rounds: int, count: int) -> Figure:
    """Both go to and fro between two states of a folder of their own; forkpoint takes a guard, verifies and syncs."""
    tree.home, git_dir = folder / "home", folder / "git"
    points = [_saved(tree)]
    other = tree.copied("copy")
    other.new_git(git_dir)
    commits = [other.commit(git_dir, sync=False).output.strip()]
    for name in tree.change(count):
        shutil.copyfile(tree.folder / name, other.folder / name)
    points.append(_saved(tree))
    commits.append(other.commit(git_dir, sync=False).output.strip())
    other.checkout(git_dir, commits[1])
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        # As it stands where hooks record: what is there is saved, as git's index knows what is checked out.
        tree.forkpoint("save", "save")
        point, commit = points[number % 2], commits[number % 2]
        ours, theirs = pair(
            number,
            lambda point=point: tree.forkpoint("restore", "restore", point, "--files", "--all", "--yes").ms,
            lambda commit=commit: other.checkout(git_dir, commit).ms,
        )
        times[0].append(ours)
        times[1].append(theirs)
    for path in (other.folder, tree.home, git_dir):
        shutil.rmtree(path)
    name = f"restore of {count:,} of {len(tree.names):,} files"
    return Figure(name, "git checkout", 2.0, 1.2, *times, "ms")


def _saved(tree: Tree) -> str:
    return str(json.loads(tree.forkpoint("first save", "save", "--json").output)["id"])
