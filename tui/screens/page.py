"""What the full screens share: bars, a notice, and asking the store without holding up the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.screen import Screen

from ...store.errors import ForkpointError
from ..actions import Where
from ..widgets.bars import KeyBar, Notice
from .stacked import Stacked

if TYPE_CHECKING:
    from ..app import ForkpointApp


class Page(Stacked, Screen[Any]):
    """A screen with a notice and a footer of keys."""

    PLACES: ClassVar[tuple[Where, ...]] = ()
    """The places of the list of actions that work here."""

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    def begin(self) -> None:
        self.show_keys()
        self.tell_settings()

    def tell_settings(self) -> None:
        """Tells what of the settings is not followed, once."""
        what, todo = self.app.settings_trouble()
        if what:
            self.notice.say(what, "attention", then=todo)

    def show_keys(self) -> None:
        """Draws the footer anew: what cannot be done now is not offered."""
        offered = [
            action
            for action in self.app.choices.keys.actions_of(*self.PLACES, "everywhere")
            if action.footer and self.offers(action.id)
        ]
        self.query_one(KeyBar).show_actions(offered)

    def offers(self, action: str) -> bool:
        """Whether footer and palette offer it; a key that they do not offer may still answer why not."""
        return self.check_action(action, ()) is True

    @property
    def notice(self) -> Notice:
        return self.query_one(Notice)

    def failed(self, error: ForkpointError) -> None:
        """Tells a person what went wrong and what to do."""
        self.notice.say(in_words(error), "attention", then=error.todo)


def in_words(error: ForkpointError) -> str:
    """What happened, and to what."""
    return f"{error.what}: {error.path}" if error.path else error.what
