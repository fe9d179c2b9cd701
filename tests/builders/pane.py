"""One pane of the app with no store behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from forkpoint.tui.app import ForkpointApp
from forkpoint.tui.theme import Signs
from forkpoint.tui.widgets.lines import Lines
from textual.events import Mount
from textual.pilot import Pilot

from .tree import MINUTE, START

NOW = START + 41 * MINUTE
WIDTHS = [40, 60, 80, 119, 200]


class Bench(ForkpointApp):
    """The app with one pane on it and no store."""

    def __init__(self, pane: Lines, signs: Signs | None = None) -> None:
        super().__init__(None, clock=lambda: NOW, signs=signs or Signs())  # type: ignore[arg-type]
        self.pane = pane

    def on_mount(self, event: Mount) -> None:  # type: ignore[override]
        event.prevent_default()  # the app's own would open the main screen
        self.screen.mount(self.pane)
        self.pane.focus()


@asynccontextmanager
async def shown(
    pane: Lines, size: tuple[int, int] = (80, 24), signs: Signs | None = None
) -> AsyncIterator[Pilot[None]]:
    async with Bench(pane, signs).run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot
