"""What the full screens share: bars, a notice, and asking the store without holding up the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.screen import Screen

from ...store.errors import ForkpointError
from ..actions import Where, actions_of
from ..widgets.bars import KeyBar, Notice

if TYPE_CHECKING:
    from ...store.api import Store
    from ..app import ForkpointApp

Answer = TypeVar("Answer")


class Page(Screen[object]):
    """A screen with a notice and a footer of keys."""

    PLACES: ClassVar[tuple[Where, ...]] = ()
    """The places of the list of actions that work here."""

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    async def ask(self, work: Callable[[Store], Answer]) -> Answer:
        """Does something with the store on another thread."""
        return await self.app.ask(work)

    def on_mount(self) -> None:
        self.show_keys()

    def show_keys(self) -> None:
        """Draws the footer anew: what cannot be done now is not offered."""
        offered = [
            action
            for action in actions_of(*self.PLACES, "everywhere")
            if action.footer and self.check_action(action.id, ()) is True
        ]
        self.query_one(KeyBar).show_actions(offered)

    @property
    def notice(self) -> Notice:
        return self.query_one(Notice)

    def failed(self, error: ForkpointError) -> None:
        """Tells a person what went wrong and what to do."""
        self.notice.say(in_words(error), "attention", then=error.todo)


def in_words(error: ForkpointError) -> str:
    """What happened, and to what."""
    return f"{error.what}: {error.path}" if error.path else error.what
