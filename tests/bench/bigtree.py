"""One side of a pair on a large tree, headless: `bigtree.py ours|flat|turns|bare ENTRIES BRANCHES`, in milliseconds."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from frames import LONG, Frames
from shelf import Bare, Flat, Shelf, ours
from textual.widgets import Tree

SIZE = (160, 50)
KEYS = 60
"""Keys of a kind; of what takes long in Textual's own tree there are few."""
Spent = dict[str, list[float]]


class First:
    """The first frame that shows what is wanted, which may come before anybody waits for it."""

    def __init__(self, app: Any, wanted: Callable[[], bool]) -> None:
        self._at = 0.0
        display = app._display

        def listening(screen: Any, renderable: Any) -> None:
            display(screen, renderable)
            if renderable is not None and not self._at and wanted():
                self._at = perf_counter()

        app._display = listening

    async def seen(self) -> float:
        """When it came."""
        end = perf_counter() + LONG
        while not self._at:
            assert perf_counter() < end, "the first frame never came"
            await asyncio.sleep(0.02)
        return self._at


async def of_ours(entries: int, branches: int) -> Spent:
    """The whole app: first paint, keys, folds, filters, search steps, and what is appended while it is looked at."""
    app, shelf = ours(entries, branches)
    first = First(app, lambda: bool(app.screen.query("#tree")) and bool(_tree(app).shown))
    frames, found = Frames(app), Spent()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.5)
        filled = _noted(_tree(app))
        shelf.open.set()
        painted = await first.seen()
        found["rows"] = [(filled[0] - shelf.answered) * 1000]
        found["paint"] = [(painted - filled[0]) * 1000]
        await pilot.pause(0.5)
        tree = _tree(app)
        await frames.press("L")
        await frames.press("g")
        found["down"] = [await frames.press("down") for _ in range(KEYS)]
        await frames.press("g")
        found["page"] = [await frames.press("pagedown") for _ in range(min(KEYS // 2, tree.line_count // SIZE[1] - 1))]
        await frames.press("g")
        await frames.press("H")
        found["fold"] = []
        for key in ("l", "h") * 4:
            count = tree.line_count
            found["fold"].append(await frames.press(key, lambda count=count: tree.line_count != count))
        for key in ("L", "H"):
            count = tree.line_count
            found["fold"].append(await frames.press(key, lambda count=count: tree.line_count != count))
        await frames.press("L")
        found["filter"] = []
        for _ in range(5):
            count, name = tree.line_count, tree.filter
            found["filter"].append(await frames.press("v", lambda name=name: tree.filter != name))
        await frames.press("slash", lambda: app.screen.query_one("#line").has_focus)
        found["search"] = [await frames.press(key) for key in "module_011"]
        await frames.press("escape")
        found["append"] = []
        for _ in range(5):
            await pilot.pause(0.3)
            found["append"].append(await _appended(shelf, frames, tree))
        found["megabytes"] = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]
    return found


def _noted(tree: Any) -> list[float]:
    """When the tree was given rows."""
    times: list[float] = []
    fill = tree.fill

    def noting(outline: Any) -> None:
        times.append(perf_counter())
        fill(outline)

    tree.fill = noting
    return times


async def _appended(shelf: Shelf, frames: Frames, tree: Any) -> float:
    """From the moment at which what is new was read until it stands on the screen."""
    known = len(tree.rows)
    shelf.grow()
    await frames.until(lambda: len(tree.rows) > known)
    return (perf_counter() - shelf.answered) * 1000


def _tree(app: Any) -> Any:
    return app.screen.query_one("#tree")


async def of_a_list() -> Spent:
    """One short list."""
    app = Bare()
    frames, found = Frames(app), Spent()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.3)
        await frames.press("down")
        found["down"] = [await frames.press("down") for _ in range(KEYS)]
        found["page"] = []
        for _ in range(KEYS // 6):
            await frames.press("home")
            found["page"] += [await frames.press("pagedown") for _ in range(3)]
    return found


async def of_textual(nodes: int, *, turns: bool) -> Spent:
    """Textual's tree with all nodes shown: first paint with its nodes, then keys, folds and nodes that are appended."""
    start = perf_counter()
    app = Flat(nodes, turns=turns)
    first = First(app, lambda: bool(app.query("#tree")) and app.query_one("#tree").size.height > 1)
    frames, found = Frames(app), Spent()
    async with app.run_test(size=SIZE):
        found["paint"] = [(await first.seen() - start) * 1000]
        tree = app.query_one("#tree", Tree)
        tree.focus()
        await frames.press("down")
        found["down"] = [await frames.press("down") for _ in range(KEYS)]
        if turns:
            await frames.press("home")
            await frames.press("down")
            found["fold"] = [await frames.press("space") for _ in range(4)]
            found["append"] = []
            for number in range(3):
                tree.root.add_leaf(f"appended {number}")
                found["append"].append(await frames.until(lambda: True))
    return found


def main() -> None:
    kind, entries, branches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if kind == "bare":
        work = of_a_list()
    else:
        work = of_ours(entries, branches) if kind == "ours" else of_textual(entries, turns=kind == "turns")
    print(json.dumps(asyncio.run(work)))


if __name__ == "__main__":
    main()
