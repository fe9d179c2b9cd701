"""The palette: every action that can be done here, by its name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from .actions import Action, actions_of, key_names
from .screens.page import Page

ORDER = {"act": 0, "diff": 0, "see": 1, "lists": 1, "search": 1, "file": 1, "fold": 2, "move": 3}
"""Which group comes first while nothing is typed."""


class Actions(Provider):
    """Offers the actions of the screen beneath, from the one list."""

    def _offered(self) -> Iterator[tuple[Action, str]]:
        places = getattr(self.screen, "PLACES", ())
        actions = sorted(actions_of(*places, "everywhere"), key=lambda action: ORDER.get(action.group, 9))
        for action in actions:
            if action.palette and action.label and self._does(action.id):
                keys = " ".join(key_names(action))
                yield action, f"{action.label}  ({keys})" if keys else action.label

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


class Palette(CommandPalette):
    """Textual's palette, but one that goes only once: a second Enter that came too early took the screen beneath."""

    _gone = False

    def dismiss(self, result: object = None) -> AwaitComplete:
        if self._gone or self.app.screen is not self:
            return AwaitComplete.nothing()
        self._gone = True
        return super().dismiss(None)
