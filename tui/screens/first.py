"""The tree as it was read at a glance, on the screen before what can be done with it is imported."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.screen import Screen

from ..spans import Span
from ..widgets.bars import Bar, KeyBar
from ..widgets.lines import Lines
from ..widgets.toosmall import cover

if TYPE_CHECKING:
    from ..app import ForkpointApp
    from ..glance import Glance, Picture


class FirstTree(Lines):
    """Rows that another process has prepared."""

    picture: Picture | None = None

    @property
    def line_count(self) -> int:
        return self.picture.lines if self.picture else 0

    def show(self, picture: Picture) -> None:
        """Draws them, the cursor where it will be."""
        self.picture = picture
        self.repaint()
        self.cursor = picture.cursor

    def on_resize(self, event: Resize) -> None:
        self.show_line(self.cursor)

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        if self.picture is None or not self.picture.first <= at < self.picture.first + len(self.picture.rows):
            return (), ""
        return self.picture.rows[at - self.picture.first].fitted(width, self.signs.more), ""


class FirstScreen(Screen[None]):
    """Looks like the main screen, which takes its place as soon as it can."""

    AUTO_FOCUS = "#tree"

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    def __init__(self, glance: Glance) -> None:
        super().__init__()
        self.glance = glance

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        with Horizontal(id="panes"):
            yield FirstTree(ident="tree")
            with Vertical(id="side"):
                yield Bar(ident="tabs")
        yield Bar(ident="strip")
        yield Bar(ident="status")
        yield KeyBar(ident="keys")

    def on_resize(self, event: Resize) -> None:
        cover(self, event.size)

    def on_mount(self) -> None:
        self.query_one("#header", Bar).show([("Reading …", "muted")])
        self.query_one(KeyBar).show_actions(
            [
                action
                for action in self.app.choices.keys.actions_of("tree", "everywhere")
                if action.footer and action.id != "record"
            ]
        )
        if self.glance.ready:
            self._show(self.glance.picture())
        else:
            self._wait()

    @work
    async def _wait(self) -> None:
        self._show(await asyncio.to_thread(self.glance.picture))

    def _show(self, picture: Picture | None) -> None:
        if picture is not None:
            self.query_one("#header", Bar).show(picture.header)
            self.query_one(FirstTree).show(picture)
        self.call_after_refresh(self._go_on)

    def _go_on(self) -> None:
        gc.enable()
        gc.freeze()
        self.app.open_folder()
