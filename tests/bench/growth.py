"""What the ten-thousandth checkpoint costs, and how long a store that holds so many takes to open."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from pathlib import Path

from pairs import Figure, disk, pairs
from trees import PEAKS, Tree, run

HERE = Path(__file__).parent
FEW = 100
FILES = 200
BRANCHES = 200
LOADS = """
import json, sys, time
lines = open(sys.argv[1], "rb").read().splitlines()
begin = time.perf_counter()
for line in lines:
    json.loads(line)
print((time.perf_counter() - begin) * 1000)
"""


def grown(folder: Path, name: str, count: int, branches: int) -> Tree:
    """A small project whose session has that many checkpoints."""
    tree = Tree(folder, FILES, name=name)
    tree.env["CLAUDE_CONFIG_DIR"] = str(folder / f"{name}-claude")
    _work(tree, "checkpoints", str(count), str(branches))
    return tree


def growth(folder: Path, rounds: int, count: int) -> list[Figure]:
    """Saves in a store of many checkpoints and in one of a few, then openings of the large one."""
    many, few = grown(folder, "many", count, BRANCHES), grown(folder, "few", FEW, 2)
    figures = [*_saves(many, few, rounds, count), *_opening(many, rounds, count)]
    for tree in (many, few):
        shutil.rmtree(tree.folder)
        shutil.rmtree(tree.home)
    return figures


def _saves(many: Tree, few: Tree, rounds: int, count: int) -> list[Figure]:
    added: tuple[list[float], list[float]] = ([], [])

    def save(tree: Tree, work: str, sizes: list[float]) -> float:
        tree.change(5)
        before = disk(tree.home)
        spent = tree.forkpoint(work, "save").ms
        sizes.append(disk(tree.home) - before)
        return spent

    times = pairs(
        rounds,
        lambda: save(many, f"save, {count:,} checkpoints", added[0]),
        lambda: save(few, f"save, {FEW} checkpoints", added[1]),
    )
    name = f"checkpoint {count:,}"
    against = f"checkpoint {FEW}"
    return [
        Figure(f"{name}, time", against, 1.3, 1.0, *times, "ms"),
        Figure(f"{name}, bytes added", against, 1.3, 1.0, *added, "kB"),
    ]


def _opening(tree: Tree, rounds: int, count: int) -> list[Figure]:
    """The catalog and the session's tree, as the app asks for them, in a process that has imported what it needs."""
    _work(tree, "open")
    (catalog,) = tree.home.glob("workspaces/*/catalog.json")
    opened: list[dict[str, float]] = []

    def ours() -> float:
        opened.append(json.loads(_work(tree, "open")))
        return opened[-1]["catalog"]

    times = pairs(rounds, ours, lambda: float(tree.python(LOADS, str(catalog)).output))
    whole = [found["tree"] for found in opened]
    name = f"opening a store of {count:,} checkpoints"
    note = f"{int(opened[0]['points']):,} checkpoints on {int(opened[0]['branches'])} branches"
    imports = statistics.median(found["imports"] for found in opened)
    return [
        Figure(name, "json.loads of its catalog", 3.0, 1.5, *times, "ms", f"{note}; its imports take {imports:.0f} ms"),
        Figure(
            f"{name}, and its largest session's tree",
            "json.loads of its catalog",
            float("inf"),
            None,
            whole,
            times[1],
            "ms",
            "the whole of what a screen shows: also the transcript, parsed, and the folder, walked",
        ),
    ]


def _work(tree: Tree, what: str, *arguments: str) -> str:
    command = [sys.executable, HERE / "making.py", what, *arguments]
    done = run(command, tree.folder, {**tree.env, "FORKPOINT_HOME": str(tree.home)})
    return PEAKS.see(f"{what}, in one process", done).output
