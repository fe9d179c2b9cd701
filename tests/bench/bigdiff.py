"""A diff of 100,000 lines in the whole app, against Textual's TextArea with the same text.

Run as a program this is one of the two: `bigdiff.py app FOLDER` opens the diff of the two checkpoints of a folder by
real keys, `bigdiff.py area FILE` shows a file in a TextArea. Both print what they measured.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from pairs import Figure, pair, run
from trees import FORKPOINT, environment

SIZE = (160, 50)
KEYS = 12
LINES_OF_A_FILE = 500
NAMES = {"first": "first screen", "down": "a key", "pagedown": "a page"}
REACH = {"first": 0.05, "down": 0.1, "pagedown": 0.1}


def figures(folder: Path, rounds: int, lines: int) -> list[Figure]:
    """The diff opened and moved in, in many files and in a single one."""
    found: list[Figure] = []
    for name, files in ((f"a diff of {lines:,} lines", max(1, lines // LINES_OF_A_FILE)), ("the same in one file", 1)):
        project = _project(folder / f"of-{files}", files, lines // files)
        text = folder / f"of-{files}.diff"
        env = environment(folder)
        text.write_text(run([FORKPOINT, "diff", "first", "third"], project, env).output, "utf-8")
        found += _figures(name, project, text, env, rounds)
    return found


def _figures(name: str, project: Path, text: Path, env: dict[str, str], rounds: int) -> Iterator[Figure]:
    def measured(kind: str, what: Path) -> dict[str, float]:
        return json.loads(run([sys.executable, __file__, kind, what], project, env).output)

    seen = [pair(number, lambda: measured("app", project), lambda: measured("area", text)) for number in range(rounds)]
    rest = statistics.median(ours["all"] for ours, _ in seen)
    early = statistics.median(ours["early"] for ours, _ in seen)
    for key, told in NAMES.items():
        note = f"all lines are there after {rest:,.0f} ms; a key before that takes {early:.0f} ms"
        ours, theirs = ([one[key] for one in side] for side in zip(*seen, strict=True))
        yield Figure(
            f"{name}: {told}",
            "TextArea with the same text",
            REACH[key],
            None,
            ours,
            theirs,
            "ms",
            note if key == "first" else "",
        )


def _project(folder: Path, files: int, lines: int) -> Path:
    """A folder with checkpoints: from the first to the others so many lines in each of so many files differ."""
    folder.mkdir()
    env = environment(folder.parent)
    for label, word in (("first", "compute"), ("second", "evaluate")):
        for number in range(files):
            # Of five lines two change, so there are seven in the diff.
            kept = (("compute" if n % 5 > 1 else word, n) for n in range(lines * 5 // 7))
            text = "".join(f"    value_{n} = {name}({number}, other={n}, text='so {n}')\n" for name, n in kept)
            (folder / f"module_{number}.py").write_text(text)
        run([FORKPOINT, "save", "-m", label], folder, env)
    # What the newest one changed by itself is little: the app shows that beside its row.
    (folder / "more.py").write_text("more = True\n")
    run([FORKPOINT, "save", "-m", "third"], folder, env)
    return folder


# The two programs


async def _app(folder: Path) -> dict[str, float]:
    from forkpoint.store.api import Store
    from forkpoint.tui.app import ForkpointApp
    from forkpoint.tui.screens.diff import DiffScreen
    from forkpoint.tui.widgets.diffpane import DiffPane
    from frames import Frames

    app = ForkpointApp(Store.open(folder))
    async with app.run_test(size=SIZE) as pilot:
        while len(app.screen.query("#tree")) == 0 or app.screen.query_one("#tree").line_count < 2:  # type: ignore[attr-defined]
            await pilot.pause(0.05)
        frames = Frames(app)
        for key in ("g", "space", "G"):
            await frames.press(key)
        while any(worker.group != "poll" and not worker.is_finished for worker in app.workers):
            await pilot.pause(0.05)

        def shown(whole: bool) -> bool:
            screen = app.screen
            return (
                isinstance(screen, DiffScreen)
                and (content := screen.content) is not None
                and (content.diff.whole or not whole)
            )

        start = perf_counter()
        first = await frames.press("d", lambda: shown(whole=False))
        early = await frames.press("down")
        while not shown(whole=True):
            await asyncio.sleep(0.01)
        whole = (perf_counter() - start) * 1000
        await asyncio.sleep(0.2)
        pane = app.screen.query_one(DiffPane)
        return {"first": first, "early": early, "all": whole, **await _keys(frames, lambda: pane.cursor)}


async def _area(file: Path) -> dict[str, float]:
    from frames import Frames
    from textual.app import App, ComposeResult
    from textual.widgets import TextArea

    text = file.read_text("utf-8")

    class Area(App[None]):
        def compose(self) -> ComposeResult:
            yield TextArea(text, read_only=True)

    app = Area()
    frames = Frames(app)
    start = perf_counter()
    async with app.run_test(size=SIZE):
        while not _has_text(app):
            await asyncio.sleep(0.005)
        first = (perf_counter() - start) * 1000
        area = app.query_one(TextArea)
        area.focus()
        await frames.press("down")
        return {"first": first, **await _keys(frames, lambda: area.cursor_location)}


def _has_text(app: Any) -> bool:
    strips = app.screen._compositor.render_strips()
    return any("@@" in segment.text for strip in strips for segment in strip)


async def _keys(frames: Any, place: Callable[[], object]) -> dict[str, float]:
    """Medians of keys, each until a frame with the cursor elsewhere."""
    found: dict[str, float] = {}
    for key in ("down", "pagedown"):
        spent: list[float] = []
        for _ in range(KEYS):
            before = place()
            spent.append(await frames.press(key, lambda before=before: place() != before))
        found[key] = statistics.median(spent)
    return found


if __name__ == "__main__":
    kind, what = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(asyncio.run(_app(what) if kind == "app" else _area(what))))
