"""The keys that work on the screen beneath, from the one list of actions."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding
from textual.geometry import Size
from textual.screen import Screen

from ..actions import PLACES, Where, help_lines
from ..widgets.listing import Column, Item
from .lists import ListScreen

EVERYWHERE = (
    ("ctrl+q", "leave from anywhere"),
    ("mouse", "a click selects, a second one opens; drag to select text, ctrl+c copies it"),
)
IN_DIALOGS = (
    ("tab ← →", "to the next field, choice or button"),
    ("Enter space", "choose, press the button that is marked"),
    ("↑ ↓ PgUp PgDn", "move what is told"),
)
SIGNS = (
    ("{checkpoint}", "a checkpoint: all files at that moment"),
    ("{partial}", "a partial checkpoint: knows some files only, what the shell did is not known"),
    ("{here} here", "where the conversation and the files are now"),
    ("{branch}", "a branch that was left"),
    ("{pin}", "kept for good"),
    ("{error}", "went wrong"),
)


class HelpScreen(ListScreen):
    """What can be done; ? again or esc closes it."""

    HEADING = "Keys"
    HEAD = False
    COLUMNS: ClassVar = (Column("", ink="key"), Column("", grows=True))
    BINDINGS: ClassVar[list[Binding]] = [Binding("?,f1", "leave", id="everywhere.help", show=False)]  # type: ignore[assignment]

    def __init__(self, beneath: Screen[object]) -> None:
        super().__init__()
        self.places: tuple[Where, ...] = getattr(beneath, "PLACES", ())

    @property
    def about(self) -> str:
        return "that work here"

    def load(self) -> None:
        told: list[tuple[str, str]] = []
        moves: tuple[Where, ...] = () if "dialog" in self.places else ("move",)
        places: tuple[Where, ...] = (*moves, *self.places, "everywhere")
        for place in places:
            name = "tree" if place == "tree" else PLACES[place]
            told += [(name.capitalize(), ""), *help_lines(self.app.choices.keys.actions_of(place))]
        told += [*(IN_DIALOGS if "dialog" in self.places else ()), *EVERYWHERE]
        if "tree" in self.places:
            drawn = dataclasses.asdict(self.app.signs)
            told += [("Signs", ""), *((sign.format(**drawn), words) for sign, words in SIGNS)]
        self.filled(list(rows(told, self.app.size.width)))

    def resized(self, size: Size) -> None:
        super().resized(size)
        self.load()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing behind a row."""
        return action != "choose"


def rows(told: list[tuple[str, str]], width: int) -> Iterable[Item]:
    """Keys and what they do, wrapped to the width of the screen; a heading where there are no words."""
    room = max(width - max(cell_len(keys) for keys, words in told if words) - 6, 12)
    heading = ""
    for keys, words in told:
        if not words:
            heading = keys
            yield Item(f"place {keys}", (keys,), heading=True)
            continue
        for number, line in enumerate(textwrap.wrap(words, room)):
            yield Item(
                f"{heading} {keys} {number}", ("" if number else keys, line), about=f"{keys} {words}", counts=False
            )
