"""The app: one store, the screens over it, and what all of them share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette, Provider
from textual.events import Event, Key
from textual.screen import Screen

from ..store.errors import ForkpointError, UnsafePlace
from . import clipboard, keys
from .theme import NO_COLOURS, Signs, signs_for, themes

if TYPE_CHECKING:
    from textual.driver import Driver

    from ..store.api import Store
    from .glance import Glance
    from .marking import Mark
    from .outline import Outline

Answer = TypeVar("Answer")

THREADS = 4
"""For store calls: long ones must not hold up the small ones that the screen waits for."""
LEAVING = frozenset({"ctrl+q", "ctrl+c"})
"""Keys that are answered while the app still starts; the others wait until it can."""


def _actions() -> type[Provider]:
    from .palette import Actions

    return Actions


class ForkpointApp(App[None]):
    """Shows the tree of a workspace's newest session, or of the one that is named by the beginning of its id."""

    TITLE = "forkpoint"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    COMMANDS: ClassVar = {_actions}
    COMMAND_PALETTE_DISPLAY = "ctrl+p"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (150, "-vast")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("?,f1", "help", "Help", id="everywhere.help", show=False),
        Binding("ctrl+p", "command_palette", "Palette", id="everywhere.palette", show=False, priority=True),
    ]

    def __init__(
        self,
        store: Store | None,
        session: str | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        signs: Signs | None = None,
        folder: str | None = None,
        glance: Glance | None = None,
    ) -> None:
        """`glance`: what is shown until the store of the folder is open."""
        super().__init__()
        self._store = store
        self._folder = folder
        self._glance = glance
        self._early: list[Event] | None = None if glance is None else []
        """Keys that were pressed before there was anything to answer them."""
        self.failure: ForkpointError | None = None
        """Why the app ended before it could show anything."""
        self.first_session = session
        self.signs = signs or signs_for()
        self.marked: Mark | None = None
        """The checkpoint with which the next diff compares."""
        self.text_until = 0.0
        """Until when keys are taken for pasted text, as events count time."""
        self.searched = ""
        """What was looked for last in everything."""
        self.kept: tuple[int, int] | None = None
        """While conversations are read into the store: how many are, of how many."""
        self._keeping = self._keep_again = self._ended = False
        self._clock = clock
        self._threads = ThreadPoolExecutor(THREADS, "store")
        for theme in themes():
            self.register_theme(theme)
        self.choices = keys.read(themes=self.available_themes)
        """What the person chose in the settings; what was wrong with it is told by the first screen that can."""
        self.theme = NO_COLOURS if self.no_color else self.choices.theme or themes()[0].name

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """The screens that are seen behind the front one: none where that is opaque.

        Textual counts the next one always, and once something changes there it draws both again and again.
        """
        if len(self._screen_stack) > 1 and self.screen.styles.background.a == 1:
            return []
        return super()._background_screens

    def now(self) -> int:
        """The present, in nanoseconds: what ages are counted from."""
        return self._clock()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The app's own colours under a theme that does not have them."""
        dark, light, *_ = themes()
        return dict(dark.variables if self.current_theme.dark else light.variables)

    @property
    def is_open(self) -> bool:
        """Whether a workspace is open; where none can be, the sessions of all of them are shown."""
        return self._store is not None

    @property
    def store(self) -> Store:
        """The one that is open."""
        assert self._store is not None
        return self._store

    def finish(self) -> None:
        """Waits for what the store is doing."""
        self._threads.shutdown()

    async def ask(self, work: Callable[[Store], Answer]) -> Answer:
        """Does something with the store on another thread; whoever was cancelled meanwhile gets no answer."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, cast("Store", self._store))

    def on_key(self, event: Key) -> None:
        """Lets a paste, which may hold a tab and the end of a line, press no button but the one that cancels."""
        if event.time <= self.text_until and event.key == "enter":
            from .widgets.choices import Press

            if isinstance(self.focused, Press) and self.focused.id != "cancel":
                event.prevent_default()

    def on_unmount(self) -> None:
        self._ended = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def on_mount(self) -> None:
        self.set_keymap(dict(self.choices.keys.keymap))
        if self._glance is None:
            self.push_screen(self._main())
            return
        from .screens.first import FirstScreen

        self.push_screen(FirstScreen(self._glance))

    def _main(self, outline: Outline | None = None) -> Screen[Any]:
        if self.is_open:
            from .screens.main import MainScreen

            return MainScreen(self.first_session, outline)
        from .screens.sessions import SessionsScreen

        return SessionsScreen("", everywhere=True)

    @work(exclusive=True, group="keep")
    async def keep_index(self) -> None:
        """Lets a search find at once what was just read."""
        await self.ask(lambda store: store.keep_up())

    @work(group="conversations")
    async def keep_conversations(self) -> None:
        """Reads into the store what all conversations have more, one round at a time, while the app is used."""
        self._keep_again = True
        if self._keeping:
            return
        self._keeping = True
        try:
            while self._keep_again:
                self._keep_again = False
                await self.ask(self._keep)
        finally:
            self._keeping, self.kept = False, None

    def _keep(self, store: Store) -> None:
        def tell(done: int, all_of_them: int) -> None:
            self.kept = (done, all_of_them)

        with suppress(ForkpointError):  # what is wrong with the store is told where it is shown
            store.keep(progress=tell, cancelled=lambda: self._ended or store is not self._store)

    @work(exclusive=True, group="open")
    async def open_folder(self) -> None:
        """Opens the store of the folder, and shows its main screen in place of the first one."""

        def opened(_: Store) -> tuple[Store | None, Outline | None]:
            from ..store.api import Store
            from .outline import Outline
            from .screens import main, sessions

            del main, sessions  # imported here, where they hold up no key
            try:
                store = Store.open(self._folder)
            except UnsafePlace:
                return None, None  # home or /: the sessions of all folders are shown
            tree = self._glance.tree() if self._glance else None
            return store, Outline(tree) if tree else None

        try:
            self._store, outline = await self.ask(opened)
        except ForkpointError as error:
            self.failure = error
            self.exit()
            return
        await self.switch_screen(self._main(outline))
        early, self._early = self._early or [], None
        for event in early:
            self.post_message(event)

    async def on_event(self, event: Event) -> None:
        if self._early is not None and isinstance(event, Key) and event.key not in LEAVING:
            self._early.append(event)
        else:
            await super().on_event(event)

    @work(exclusive=True, group="open")
    async def open_workspace(self, root: str, session: str, row: str = "") -> None:
        """Shows a session of another workspace, and in it a row."""
        from .screens.main import MainScreen
        from .screens.page import Page

        def opened(_: Store) -> Store:
            from ..store.api import Store

            return Store.open(root)

        try:
            self._store = await self.ask(opened)
        except ForkpointError as error:
            if isinstance(self.screen, Page):
                self.screen.failed(error)
            return
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        shown = MainScreen(session)
        await self.push_screen(shown)
        if row:
            shown.open_session(session, row)

    def get_driver_class(self) -> type[Driver]:
        """Textual's for terminals, but for what a byte of another encoding does to it."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from .driver import Driver as Patient

        return Patient

    def copy_to_clipboard(self, text: str) -> None:
        """Copies; `copied_how` says which way, for whoever tells it."""
        if self.copied_how == clipboard.IN_TMUX and self._driver is not None:
            self._clipboard = text
            self._copy_by_tmux(text)
        else:
            self._copy_by_terminal(text)

    @property
    def copied_how(self) -> str:
        """The way that copied text takes, in words."""
        return clipboard.way()

    def _copy_by_terminal(self, text: str) -> None:
        super().copy_to_clipboard(clipboard.encoded(text).decode("utf-8", "replace"))

    @work(group="copy")
    async def _copy_by_tmux(self, text: str) -> None:
        if not await self.ask(lambda _: clipboard.give_to_tmux(text)):
            self._copy_by_terminal(text)
            from .screens.page import Page

            if isinstance(self.screen, Page):
                self.screen.notice.say("tmux did not take it.", "attention", then=f"tried {clipboard.BY_TERMINAL}")

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            from .palette import Palette

            self.push_screen(Palette(id="--command-palette"))

    async def action_help(self) -> None:
        from .screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen | CommandPalette):
            self.push_screen(HelpScreen(self.screen))

    def action_theme(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            from .palette import Palette, Themes

            self.push_screen(Palette([Themes], placeholder="Search for colours…"))

    @work(exclusive=True, group="theme")
    async def choose_theme(self, name: str) -> None:
        """Draws with other colours, and keeps the choice in the settings."""
        from .screens.page import Page

        self.theme = name
        try:
            await self.ask(lambda _: keys.keep_theme(name))
        except (ForkpointError, OSError) as error:
            if isinstance(self.screen, Page):
                whole = error if isinstance(error, ForkpointError) else ForkpointError(str(error))
                self.screen.failed(whole)

    def settings_trouble(self) -> tuple[str, str]:
        """What is wrong with the settings, and what to do: told once, then ("", "")."""
        first, *others = self.choices.wrong or (keys.Wrong("", ""),)
        self.choices = replace(self.choices, wrong=())
        if not first.what:
            return "", ""
        more = f" (and {len(others)} more: forkpoint doctor)" if others else ""
        return f"Settings: {first.what}{more}", first.todo

    def get_system_commands(self, screen: Screen) -> Iterable[SystemCommand]:
        """Textual's own are left out: one of them writes a file, the others have keys here."""
        return ()
