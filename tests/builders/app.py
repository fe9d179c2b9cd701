"""The app under test: run headless with real keys on a store whose calls are counted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.app import ForkpointApp
from forkpoint.tui.screens.main import MainScreen
from textual.pilot import Pilot

from .recorded import Recorded

LONG = 20.0
"""Seconds after which a condition that did not come is a failure."""


class Watched:
    """A store that remembers which of its functions were asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if callable(found):
            self.calls.append(name)
        return found


@asynccontextmanager
async def running(store: Store, size: tuple[int, int] = (80, 24), **more: Any) -> AsyncIterator[Pilot[None]]:
    """The app on a store, its first tree painted."""
    app = ForkpointApp(Watched(store), **more)  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: main(app).timeline.outline is not None)
        await settled(pilot)
        yield pilot


def main(app: Any) -> MainScreen:
    """The main screen, whatever stands over it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, MainScreen))


def unwrapped(app: Any) -> str:
    """The words of the screen as if its lines had no end: how a path wraps depends on where the test runs."""
    return " ".join(re.sub(r"[│─╭╮╰╯]", " ", frame(app)).split())


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Waits for a condition, as long as a slow machine needs."""
    loop = asyncio.get_running_loop()
    end = loop.time() + LONG
    while not condition():
        if loop.time() > end:
            raise AssertionError(f"it never came about; the screen:\n{frame(pilot.app)}")
        await pilot.pause(0.02)


async def settled(pilot: Pilot[None]) -> None:
    """Waits until nothing but the look for something new is under way."""
    await until(pilot, lambda: all(worker.group == "poll" or worker.is_finished for worker in pilot.app.workers))
    await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Presses keys, and waits for what they set off."""
    await pilot.press(*keys)
    await settled(pilot)


def frame(app: Any) -> str:
    """All that the screen shows, as text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def focused(app: Any) -> str:
    """What has the keys."""
    return app.focused.id or "" if app.focused else ""


def a_parser(project: Path) -> Recorded:
    """A recorded session of two prompts: the second one rewrites a file, adds one, and its shell deletes another."""
    (project / "docs").mkdir(parents=True)
    (project / "docs/notes.txt").write_text("keep me\nplease\n")
    agent = Recorded(project)
    agent.starts()
    agent.asked("Write a parser for headers")
    agent.writes("parse.py", "def parse(data):\n    return data.split(b'\\r\\n')\n")
    agent.stops("It splits at line ends.")
    agent.asked("Now fold continuation lines")
    agent.writes(
        "parse.py", "from fold import unfold\n\n\ndef parse(data):\n    return unfold(data.split(b'\\r\\n'))\n"
    )
    agent.writes("fold.py", "def unfold(lines):\n    yield from lines\n")
    agent.runs("rm docs/notes.txt", lambda folder: (folder / "docs/notes.txt").unlink())
    agent.stops("Folded lines are joined.")
    return agent


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@dataclass(frozen=True)
class LookedAt:
    """A recorded session that several tests look at, and none changes."""

    project: Path
    names: dict[str, str]
    """Where its store and the agent's files are, as variables of the environment."""

    def store(self) -> Store:
        return Store.open(self.project)


@contextmanager
def looked_at(folder: Path) -> Iterator[LookedAt]:
    """Records the parser's session once, in a folder that outlives a test."""
    with pytest.MonkeyPatch.context() as patch:
        names = {"FORKPOINT_HOME": str(folder / "forkpoint"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
        for name, value in names.items():
            patch.setenv(name, value)
        a_parser(folder / "headers")
    yield LookedAt(folder / "headers", names)
