"""The branches of a session; Enter goes to the head of one."""

from __future__ import annotations

from typing import ClassVar

from ..outline import Outline
from ..widgets.listing import Column, Item
from ..words import count, long_age, one_line
from .lists import ListScreen


class BranchesScreen(ListScreen):
    """Every line of the conversation, the one that it goes on from first."""

    HEADING = "Branches"
    EMPTY = "No conversation here yet, so there are no branches."
    COLUMNS: ClassVar = (
        Column("", ink="here"),
        Column("Name", ink="strong", grows=True),
        Column("State"),
        Column("Begins with", grows=True, least=70),
        Column("Own entries", right=True, least=90, ink="muted"),
        Column("Used", ink="muted"),
        Column("Made by", ink="muted", least=100),
    )

    def __init__(self, outline: Outline) -> None:
        super().__init__()
        self.outline = outline

    @property
    def about(self) -> str:
        return one_line(self.outline.tree.info.title)

    def load(self) -> None:
        tree, now = self.outline.tree, self.app.now()
        own: dict[str, int] = {}
        for name in tree.branch_of.values():
            own[name] = own.get(name, 0) + 1
        makers = {"agent": "agent", "forkpoint": "forkpoint"}
        items = [
            Item(
                branch.head,
                (
                    self.app.signs.here if branch.state == "active" else "",
                    branch.name,
                    branch.state,
                    branch.title,
                    count(own.get(branch.name, 0), "entry", "entries"),
                    long_age(branch.updated, now) if branch.updated else "",
                    makers.get(branch.origin, ""),
                ),
                about=branch.session,
            )
            for branch in sorted(tree.branches, key=lambda branch: (branch.state != "active", -branch.updated))
        ]
        self.filled(items)

    def opened(self, item: Item) -> None:
        self.leave((None, item.key))
