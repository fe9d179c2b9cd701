"""Measures what forkpoint promises: `python tests/bench/run.py`, with the Python of an environment it is installed in.

Every figure is the median of ratios between two programs that were run right after each other, so it says little about
the machine. Ends with 1 when a figure is over its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
FORKPOINT = Path(sys.executable).with_name("forkpoint")
FSYNC = ("-c", "core.fsync=all", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null")
SHAPES = (
    "\n\ndef {0}({1}: int, {2}: str) -> None:\n",
    "    {0} = {1}.{2}({3}, {4})\n",
    "    for {0} in {1}:\n        {2}.append({0} + {4})\n",
    "    if {0} is not None and {1} > {4}:\n        return {2}({3})\n",
    "    # {0} {1} the {2} of {3}\n",
    "    self.{0}[{4}] = {{'{1}': {2}, '{3}': {4}}}\n",
)
WALK = """
import os, sys
stack = [sys.argv[1]]
while stack:
    with os.scandir(stack.pop()) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                stack.append(entry.path)
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One promise and what was measured."""

    name: str
    limit: float
    ours: Sequence[float]
    theirs: Sequence[float]
    unit: str
    against: str

    @property
    def ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def line(self) -> str:
        ours, theirs = (f"{statistics.median(values):,.0f} {self.unit}" for values in (self.ours, self.theirs))
        verdict = "" if self.ratio <= self.limit else "  OVER"
        return f"{self.name:44} {self.ratio:5.2f} × {self.against} (limit {self.limit:.2g}; {ours} : {theirs}){verdict}"


class Tree:
    """A project of many small files, and the two stores that keep it."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder = folder / "project"
        self.home = folder / "home"
        self.random = random.Random(2)
        self.words = ["".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=n % 9 + 2)) for n in range(4000)]
        self.names = [f"part{n // 100:03}/module_{n:05}.py" for n in range(files)]
        for name in self.names:
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text(), "utf-8")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CLAUDE"))}
        self.env |= {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        self.env |= {name: "bench" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")}
        self.env |= {name: "bench@example.org" for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}

    def text(self) -> str:
        """A small program: mostly 10 to 100 lines, with the few dozen names that one file speaks of."""
        names = self.random.sample(self.words, 40)
        lines = min(1000, int(self.random.lognormvariate(3.4, 0.9)) + 3)
        return "".join(self._line(names) for _ in range(lines))

    def _line(self, names: Sequence[str]) -> str:
        shape = self.random.choice(SHAPES)
        return shape.format(*self.random.choices(names, k=4), self.random.randrange(100))

    def change(self, count: int) -> None:
        for name in self.random.sample(self.names, count):
            (self.folder / name).write_text(self.text(), "utf-8")

    def forkpoint(self, *arguments: str, payload: str = "") -> float:
        """Milliseconds of a whole process."""
        command = [str(FORKPOINT), *arguments]
        return self._timed(command, {**self.env, "FORKPOINT_HOME": str(self.home)}, payload)

    def git(self, git_dir: Path) -> float:
        """Milliseconds of `git add -A && git write-tree && git commit-tree`, as three processes of one shell."""
        git = " ".join(["git", *FSYNC])
        script = f"{git} add -A && {git} commit-tree -m bench $({git} write-tree)"
        return self._timed(["sh", "-c", script], {**self.env, **self._git_env(git_dir)})

    def new_git(self, git_dir: Path) -> None:
        env = {**self.env, **self._git_env(git_dir)}
        subprocess.run(["git", "init", "-q"], cwd=self.folder, env=env, check=True)

    def walk(self) -> float:
        return self._timed([sys.executable, "-c", WALK, str(self.folder)], self.env)

    def _git_env(self, git_dir: Path) -> dict[str, str]:
        return {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(self.folder)}

    def _timed(self, command: Sequence[str], env: dict[str, str], payload: str = "") -> float:
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, env=env, input=payload.encode(), capture_output=True)
        spent = (time.perf_counter() - begin) * 1000
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()}")
        return spent


def pair(number: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Runs both right after each other; who goes first changes from round to round."""
    if number % 2:
        second = theirs()
        return ours(), second
    first = ours()
    return first, theirs()


def disk(folder: Path) -> float:
    """Kilobytes that a folder takes, in whole blocks, as du counts them."""
    seen = [folder, *folder.rglob("*")]
    return sum(path.lstat().st_blocks for path in seen) / 2


def first_save(tree: Tree, folder: Path, rounds: int) -> list[Figure]:
    times: list[list[float]] = [[], []]
    sizes: list[list[float]] = [[], []]
    for number in range(rounds):
        tree.home, git_dir = folder / f"home{number}", folder / f"git{number}"
        tree.new_git(git_dir)
        empty = disk(git_dir)
        ours, theirs = pair(number, partial(tree.forkpoint, "save"), partial(tree.git, git_dir))
        times[0].append(ours)
        times[1].append(theirs)
        sizes[0].append(disk(tree.home))
        sizes[1].append(disk(git_dir) - empty)
    return [
        Figure("first save", 0.8, times[0], times[1], "ms", "git"),
        Figure("first save, disk", 1 / 3, sizes[0], sizes[1], "kB", "git"),
    ]


def later_save(tree: Tree, folder: Path, rounds: int, files: int) -> Figure:
    git_dir = folder / "git"
    tree.new_git(git_dir)
    tree.forkpoint("save")
    tree.git(git_dir)

    first: list[float] = []
    second: list[float] = []
    for number in range(rounds):
        tree.change(5)
        ours, theirs = pair(number, lambda: tree.forkpoint("save"), lambda: tree.git(git_dir))
        first.append(ours)
        second.append(theirs)
    return Figure(f"save, 5 of {files:,} files changed", 2.5, first, second, "ms", "git")


def hook(tree: Tree, rounds: int) -> list[Figure]:
    figures: list[Figure] = []
    for event in ("PreToolUse", "PostToolUse"):
        payload = json.dumps(
            {
                "hook_event_name": event,
                "session_id": "5f0c7f0a-0000-4000-8000-000000000001",
                "prompt_id": "5f0c7f0a-0000-4000-8000-000000000002",
                "cwd": str(tree.folder),
                "transcript_path": str(tree.folder.parent / "none.jsonl"),
                "tool_name": "Bash",
                "tool_input": {"command": "true"},
                "tool_use_id": "toolu_bench",
            }
        )
        run = partial(tree.forkpoint, "hook", "claude", payload=payload)
        times = [pair(number, run, tree.walk) for number in range(rounds)]
        ours, walks = zip(*times, strict=True)
        figures.append(Figure(f"hook {event}, nothing changed", 2.5, ours, walks, "ms", "a walk"))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="how many files the project has")
    parser.add_argument("--rounds", type=int, default=9, help="pairs of runs for each figure")
    options = parser.parse_args()
    if not FORKPOINT.exists():
        sys.exit(f"there is no {FORKPOINT}: install forkpoint into this environment first")
    with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as name:
        folder = Path(name)
        tree = Tree(folder, options.files)
        figures = first_save(tree, folder, max(3, options.rounds // 3))
        figures.append(later_save(tree, folder, options.rounds, options.files))
        figures += hook(tree, options.rounds)
    for figure in figures:
        print(figure.line, flush=True)
    return max(any(figure.ratio > figure.limit for figure in figures), transcript())


def transcript() -> int:
    """The reader's own figures, in a process of their own: memory is one of them."""
    return subprocess.run([sys.executable, str(HERE / "bench_transcript.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
