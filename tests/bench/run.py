"""Measures what forkpoint promises: `python tests/bench/run.py`, with the Python of an environment it is installed in.

Every figure is the median of ratios between two programs that were run right after each other, so it says little about
the machine. Prints a table, keeps it in RESULTS.md after a full run, and ends with 1 when a figure is over its limit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import apptree
import bigdiff
import prose
import report
from growth import growth
from history import history
from hooks import hooks
from memory import large_file
from pairs import Figure
from restores import restore
from saves import first, later
from trees import FORKPOINT, PEAKS, Tree

HERE = Path(__file__).parent
SMALL = 10_000
Group = Callable[[Path, argparse.Namespace], Sequence[Figure]]


def _save(folder: Path, options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    for files in sorted({min(SMALL, options.files), options.files}):
        tree = Tree(folder, files, name=f"project-{files}")
        figures += later(tree, folder, options.rounds)
    return figures


def _first(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return first(Tree(folder, options.files), folder, max(1, options.rounds // 3))


def _restore(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return [restore(Tree(folder, options.files), folder, options.rounds, options.files // 50)]


def _hook(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return hooks(Tree(folder, min(SMALL, options.files)), folder, options.rounds)


def _growth(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return growth(folder, options.rounds, options.checkpoints)


def _history(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return [history(folder, options.checkpoints // 10)]


def _memory(folder: Path, options: argparse.Namespace) -> list[Figure]:
    large_file(folder, options.large)
    return []


def _transcript(folder: Path, options: argparse.Namespace) -> list[Figure]:
    """The reader's figures, from a process of their own, which needs much memory to make the transcript."""
    command = [sys.executable, HERE / "bench_transcript.py", str(options.transcript)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout)
    ours, bare = ([seconds * 1000 for seconds in found[name]] for name in ("ours", "bare"))
    against = "a bare orjson pass over its lines"
    time = Figure("a transcript, from the start of a process to its tree", against, 8.0, None, ours, bare, "ms")
    memory = Figure("a transcript, memory", "what is promised", 1.0, None, [found["megabytes"]], [500], "MB")
    return [replace(time, note=found["told"]), memory]


def _sessions(kind: str, folder: Path, rounds: int, size: int) -> list[Figure]:
    """Figures of every agent, from a process of their own, which needs much memory to write the sessions."""
    command = [sys.executable, HERE / "sessions.py", kind, str(rounds), str(size)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=folder).stdout)
    return [Figure(*members) for members in found]


def _listing(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return _sessions("listing", folder, options.rounds, options.sessions)


def _reading(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return _sessions("reading", folder, options.rounds, options.transcript)


def _diff(folder: Path, options: argparse.Namespace) -> list[Figure]:
    """TextArea takes half a minute of each round, so there are few."""
    return bigdiff.figures(folder, max(1, options.rounds // 3), options.lines)


def _detail(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return prose.figures(folder, options.rounds)


def _search(folder: Path, options: argparse.Namespace) -> list[Figure]:
    """The search's figures, from a process of their own, which needs much memory to write the sessions."""
    command = [sys.executable, HERE / "search.py", str(options.rounds), str(options.entries)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=folder).stdout)
    return [Figure(*members) for members in found]


def _tree(folder: Path, options: argparse.Namespace) -> list[Figure]:
    return apptree.figures(folder, options.rounds, options.entries, max(1, options.entries // 250))


GROUPS: dict[str, Group] = {
    "save": _save,
    "first": _first,
    "restore": _restore,
    "hook": _hook,
    "growth": _growth,
    "history": _history,
    "memory": _memory,
    "transcript": _transcript,
    "listing": _listing,
    "reading": _reading,
    "search": _search,
    "diff": _diff,
    "tree": _tree,
    "detail": _detail,
}


def main() -> int:
    """Measures; gives the exit code."""
    options = _options()
    if not FORKPOINT.exists():
        sys.exit(f"there is no {FORKPOINT}: install forkpoint into this environment first")
    figures: list[Figure] = []
    for name in options.only or GROUPS:
        with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as folder:
            for figure in GROUPS[name](Path(folder), options):
                print(report.line(figure), flush=True)
                figures.append(figure)
    for work, peak in sorted(PEAKS.found.items()):
        print(f"memory: {work:60} {peak:6.0f} MB{'  OVER' if peak > report.LIMIT else ''}")
    if not options.only and not options.quick:
        report.write(figures, PEAKS.found, " ".join(sys.argv[1:]))
    over = any(figure.verdict == "OVER" for figure in figures)
    return int(over or max(PEAKS.found.values(), default=0) > report.LIMIT)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(GROUPS), help="a group; may be repeated")
    parser.add_argument("--files", type=int, help="how many files the large project has (50,000)")
    parser.add_argument("--rounds", type=int, help="pairs of runs for each figure (9)")
    parser.add_argument("--checkpoints", type=int, help="how many the large store has (10,000)")
    parser.add_argument("--large", type=int, help="megabytes of the very large file (3,000)")
    parser.add_argument("--transcript", type=int, help="megabytes of a transcript (100)")
    parser.add_argument("--sessions", type=int, help="how many sessions are listed (2,000)")
    parser.add_argument("--lines", type=int, help="how many lines the large diff has (100,000)")
    parser.add_argument("--entries", type=int, help="how many entries are searched, and the large tree has (50,000)")
    parser.add_argument("--quick", action="store_true", help="everything once and small: does the bench itself work?")
    options = parser.parse_args()
    usual = {
        "files": 50_000,
        "rounds": 9,
        "checkpoints": 10_000,
        "large": 3_000,
        "transcript": 100,
        "sessions": 2_000,
        "entries": 50_000,
    }
    quick = {
        "files": 2_000,
        "rounds": 1,
        "checkpoints": 1_000,
        "large": 100,
        "transcript": 5,
        "sessions": 50,
        "entries": 2_000,
    }
    usual, quick = usual | {"lines": 100_000}, quick | {"lines": 10_000}
    for name, value in (quick if options.quick else usual).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


if __name__ == "__main__":
    sys.exit(main())
