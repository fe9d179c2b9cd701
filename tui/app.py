"""The app: one store, the screens over it, and what all of them share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette
from textual.screen import ModalScreen, Screen

from .palette import Actions, Palette
from .theme import Signs, signs_for, themes

if TYPE_CHECKING:
    from ..store.api import Store

Answer = TypeVar("Answer")

THREADS = 3
"""For store calls: a long one must not hold up the small ones that the screen waits for."""


class ForkpointApp(App[None]):
    """Shows the tree of a workspace's newest session, or of the one that is named by the beginning of its id."""

    TITLE = "forkpoint"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    COMMANDS: ClassVar = {lambda: Actions}
    COMMAND_PALETTE_DISPLAY = "ctrl+p"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (150, "-vast")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]
    BINDINGS: ClassVar[list[Binding]] = [Binding("?,f1", "help", "Help", id="everywhere.help", show=False)]  # type: ignore[assignment]

    def __init__(
        self,
        store: Store,
        session: str | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        signs: Signs | None = None,
    ) -> None:
        super().__init__()
        self.store = store
        self.first_session = session
        self.signs = signs or signs_for()
        self.searched = ""
        """What was looked for last in everything."""
        self._clock = clock
        self._threads = ThreadPoolExecutor(THREADS, "store")
        for theme in themes():
            self.register_theme(theme)
        self.theme = themes()[0].name

    def now(self) -> int:
        """The present, in nanoseconds: what ages are counted from."""
        return self._clock()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The app's own colours under a theme that does not have them."""
        dark, light, _ = themes()
        return dict(dark.variables if self.current_theme.dark else light.variables)

    async def ask(self, work: Callable[[Store], Answer]) -> Answer:
        """Does something with the store on another thread; whoever was cancelled meanwhile gets no answer."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, self.store)

    def on_mount(self) -> None:
        from .screens.main import MainScreen

        self.push_screen(MainScreen(self.first_session))

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(id="--command-palette"))

    async def action_help(self) -> None:
        from .screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen | CommandPalette | ModalScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_theme(self) -> None:
        self.search_themes()

    def get_system_commands(self, screen: Screen) -> Iterable[SystemCommand]:
        """Textual's own are left out: one of them writes a file, the others have keys here."""
        return ()
