"""The keys that work on the screen beneath, from the one list of actions."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from textual.binding import Binding
from textual.screen import Screen

from ..actions import PLACES, Where, actions_of, help_lines
from ..widgets.listing import Column, Item
from .lists import ListScreen

EVERYWHERE = (
    ("ctrl+q", "leave from anywhere"),
    ("mouse", "a click selects, a second one opens; drag to select text, ctrl+c copies it"),
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
    BINDINGS: ClassVar[list[Binding]] = [Binding("?,f1", "leave", show=False)]  # type: ignore[assignment]

    def __init__(self, beneath: Screen[object]) -> None:
        super().__init__()
        self.places: tuple[Where, ...] = getattr(beneath, "PLACES", ())

    @property
    def about(self) -> str:
        return "that work here"

    def load(self) -> None:
        items: list[Item] = []
        for place in ("move", *self.places, "everywhere"):
            name = "tree" if place == "tree" else PLACES[place]
            items.append(Item(f"place {place}", (name.capitalize(),), heading=True))
            items += [Item(f"{place} {keys}", (keys, words)) for keys, words in help_lines(actions_of(place))]
        items += [Item(f"more {keys}", (keys, words)) for keys, words in EVERYWHERE]
        if "tree" in self.places:
            items.append(Item("signs", ("Signs",), heading=True))
            drawn = dataclasses.asdict(self.app.signs)
            items += [Item(f"sign {sign}", (sign.format(**drawn), words)) for sign, words in SIGNS]
        self.filled(items)
