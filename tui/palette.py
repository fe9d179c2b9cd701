"""The palette: every action that can be done here, by its name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from .actions import Action, key_names
from .keys import Keys
from .screens.page import Page
from .theme import themes

if TYPE_CHECKING:
    from .app import ForkpointApp

ORDER = {"act": 0, "diff": 0, "see": 1, "lists": 1, "search": 1, "file": 1, "fold": 2, "move": 3}
"""Which group comes first while nothing is typed."""


class Actions(Provider):
    """Offers the actions of the screen beneath, from the one list."""

    def _offered(self) -> Iterator[tuple[Action, str]]:
        places = getattr(self.screen, "PLACES", ())
        actions = sorted(self._keys.actions_of(*places, "everywhere"), key=lambda action: ORDER.get(action.group, 9))
        for action in actions:
            if action.palette and action.label and self._does(action.id):
                keys = " ".join(key_names(action))
                yield action, f"{action.label}  ({keys})" if keys else action.label

    @property
    def _keys(self) -> Keys:
        return cast("ForkpointApp", self.app).choices.keys

    def _does(self, action: str) -> bool:
        return self.screen.offers(action) if isinstance(self.screen, Page) else True

    def _command(self, action: Action) -> partial[object]:
        target = self.app if action.where == "everywhere" else self.screen
        return partial(target.run_action, action.id)

    async def discover(self) -> Hits:
        for action, name in self._offered():
            yield DiscoveryHit(name, self._command(action), help=action.text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, name in self._offered():
            if (score := matcher.match(f"{name} {action.text}")) > 0:
                yield Hit(score, matcher.highlight(name), self._command(action), help=action.text)


class Themes(Provider):
    """Every theme by its name, the app's own first; the one that is taken is kept in the settings."""

    def _names(self) -> list[str]:
        own = [theme.name for theme in themes()]
        return [*own, *sorted(self.app.available_themes.keys() - set(own))]

    def _told(self, name: str) -> str:
        return "the colours now" if name == self.app.theme else ""

    def _choice(self, name: str) -> partial[object]:
        return partial(cast("ForkpointApp", self.app).choose_theme, name)

    async def discover(self) -> Hits:
        for name in self._names():
            yield DiscoveryHit(name, self._choice(name), help=self._told(name))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name in self._names():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), self._choice(name), help=self._told(name))


class Palette(CommandPalette):
    """Textual's palette, but one that goes only once: a second Enter that came too early took the screen beneath."""

    _gone = False

    def dismiss(self, result: object = None) -> AwaitComplete:
        if self._gone or self.app.screen is not self:
            return AwaitComplete.nothing()
        self._gone = True
        return super().dismiss(None)
