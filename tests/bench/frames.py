"""Keys given to an app that runs headless, timed until the screen's next frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any

from textual import events
from textual.app import App

LONG = 60.0
"""Seconds after which a frame that did not come ends the bench."""


class Frames:
    """Listens to the frames of an app."""

    def __init__(self, app: App[Any]) -> None:
        self.app = app
        self._wanted: Callable[[], bool] = lambda: True
        self._came = asyncio.Event()
        display = app._display

        def listening(screen: Any, renderable: Any) -> None:
            display(screen, renderable)
            if renderable is not None and self._wanted():
                self._came.set()

        app._display = listening

    async def until(self, wanted: Callable[[], bool]) -> float:
        """Milliseconds until a frame that shows what is wanted."""
        start = perf_counter()
        self._wanted, self._came = wanted, asyncio.Event()
        await asyncio.wait_for(self._came.wait(), LONG)
        return (perf_counter() - start) * 1000

    async def press(self, key: str, wanted: Callable[[], bool] = lambda: True) -> float:
        """Milliseconds from a key to the next frame that shows what is wanted."""
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(self.app)
        assert self.app._driver is not None
        self.app._driver.send_message(event)
        spent = await self.until(wanted)
        await asyncio.sleep(0.03)
        return spent
