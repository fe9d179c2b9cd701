"""Opening and leaving screens when keys come faster than screens do.

Keys that were typed before a screen had gone still reach it; without care a second one would take away the screen
beneath, or open a dialog over the one that the first key opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from textual.command import CommandPalette
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen

from ...store.errors import ForkpointError
from ..widgets.toosmall import cover

if TYPE_CHECKING:
    from ...store.api import Store

    Base = Screen[Any]
else:
    Base = object

Answer = TypeVar("Answer")


class Stacked(Base):
    """A screen that is left once, only while it is on top, and opens others only then."""

    _leaving = False
    _gone = False
    _answer: Any = None

    def begin(self) -> None:
        """Fills what was composed, and starts to read."""

    def resized(self, size: Size) -> None:
        """The terminal has another size."""

    def on_mount(self) -> None:
        # Nothing was composed when the app ended between the key and this.
        if self.children:
            self.begin()

    def on_resize(self, event: Resize) -> None:
        if self.children:
            cover(self, event.size)
            self.resized(event.size)

    async def ask(self, work: Callable[[Store], Answer]) -> Answer:
        """Does something with the store on another thread; a screen that has gone meanwhile gets no answer."""
        try:
            answer = await self.app.ask(work)  # type: ignore[attr-defined]
        except ForkpointError:
            if self._is_over:
                raise asyncio.CancelledError from None
            raise
        if self._is_over:
            raise asyncio.CancelledError
        return answer

    @property
    def _is_over(self) -> bool:
        """Whether the screen has gone, or the app ends, which takes the widgets away before the screen."""
        return self._gone or not self.is_attached or not self.app.is_running

    def leave(self, answer: Any = None) -> None:
        """Goes, with an answer for whoever opened this screen; what stands over it is left by the person first."""
        if self._leaving:
            return
        self._leaving = True
        self._answer = answer
        self._go()

    def on_screen_resume(self) -> None:
        """What stood over this screen has gone, and now it can go too."""
        if self._leaving:
            self._go()

    def _go(self) -> None:
        if not self._gone and self.app.screen is self:
            self._gone = True
            self.dismiss(self._answer)

    def open(self, screen: Screen[Any], answered: Callable[[Any], None] | None = None) -> None:
        """Shows another screen over this one, unless something is over it already."""
        if not self._leaving and (self.app.screen is self or isinstance(self.app.screen, CommandPalette)):
            self.app.push_screen(screen, answered)
