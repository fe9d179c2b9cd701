"""A project of many small files, and the two stores that keep it: forkpoint's and a private git."""

from __future__ import annotations

import copy
import os
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pairs import Peaks, Run, run

FORKPOINT = Path(sys.executable).with_name("forkpoint")
FSYNC = ("-c", "core.fsync=all", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null")
PEAKS = Peaks()
SHAPES = (
    "\n\ndef {0}({1}: int, {2}: str) -> None:\n",
    "    {0} = {1}.{2}({3}, {4})\n",
    "    for {0} in {1}:\n        {2}.append({0} + {4})\n",
    "    if {0} is not None and {1} > {4}:\n        return {2}({3})\n",
    "    # {0} {1} the {2} of {3}\n",
    "    self.{0}[{4}] = {{'{1}': {2}, '{3}': {4}}}\n",
)
COMMIT = "git add -A && git commit-tree -m bench $(git write-tree)"


class Writer:
    """Makes up small programs: mostly 10 to 100 lines, with the few dozen names that one file speaks of."""

    def __init__(self, seed: int = 2) -> None:
        self.random = random.Random(seed)
        self.words = ["".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=n % 9 + 2)) for n in range(4000)]

    def text(self) -> str:
        """A program that nobody wrote before."""
        names = self.random.sample(self.words, 40)
        lines = min(1000, int(self.random.lognormvariate(3.4, 0.9)) + 3)
        return "".join(self._line(names) for _ in range(lines))

    def _line(self, names: Sequence[str]) -> str:
        shape = self.random.choice(SHAPES)
        return shape.format(*self.random.choices(names, k=4), self.random.randrange(100))


def environment(folder: Path) -> dict[str, str]:
    """The person's environment without what could lead git or an agent elsewhere; the home folder is `folder`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CLAUDE", "FORKPOINT"))}
    env |= {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    env |= {name: "bench" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")}
    env |= {name: "bench@example.org" for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}
    return env


class Tree:
    """A project folder below `folder`, with `files` files."""

    def __init__(self, folder: Path, files: int, *, name: str = "project", seed: int = 2) -> None:
        self.base = folder
        self.folder = folder / name
        self.home = folder / f"{name}-home"
        self.writer = Writer(seed)
        self.names = [f"part{n // 100:03}/module_{n:05}.py" for n in range(files)]
        self.env = environment(folder)
        for name in self.names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name)

    def copied(self, name: str) -> Tree:
        """A second project with the same files."""
        other = copy.copy(self)
        other.folder, other.home = self.base / name, self.base / f"{name}-home"
        shutil.copytree(self.folder, other.folder)
        return other

    def write(self, name: str) -> None:
        """Gives a file a new text."""
        (self.folder / name).write_text(self.writer.text(), "utf-8")

    def change(self, count: int) -> list[str]:
        """Gives some files a new text; which."""
        names = self.writer.random.sample(self.names, count)
        for name in names:
            self.write(name)
        return names

    def forkpoint(self, work: str, *arguments: str, payload: str = "") -> Run:
        """One command of ours; `work` says under which name its memory is noted."""
        env = {**self.env, "FORKPOINT_HOME": str(self.home)}
        return PEAKS.see(work, run([FORKPOINT, *arguments], self.folder, env, payload.encode()))

    def python(self, script: str, *arguments: str) -> Run:
        """A program of its own in the same Python, over our store."""
        return run(
            [sys.executable, "-c", script, *arguments], self.folder, {**self.env, "FORKPOINT_HOME": str(self.home)}
        )

    def new_git(self, git_dir: Path) -> None:
        """A private git of the folder."""
        self._run_git(git_dir, "git init -q")

    def commit(self, git_dir: Path, *, sync: bool = True) -> Run:
        """`git add -A; git write-tree; git commit-tree`, as three processes of one shell.

        Without `sync` nothing is brought to the disk: for what is only prepared.
        """
        return self._run_git(git_dir, COMMIT if sync else COMMIT.replace("git ", "git -c core.fsync=none "))

    def checkout(self, git_dir: Path, commit: str) -> Run:
        """`git checkout` of a commit's files."""
        return self._run_git(git_dir, f"git checkout -q {commit}")

    def _run_git(self, git_dir: Path, script: str) -> Run:
        env = {**self.env, "GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(self.folder)}
        whole = script.replace("git ", f"{' '.join(['git', *FSYNC])} ")
        return run(["sh", "-c", whole], self.folder, env)
