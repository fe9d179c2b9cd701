"""What a person did in this folder, the newest first; Enter goes to its row in the tree."""

from __future__ import annotations

from typing import ClassVar

from textual import work

from ...store.errors import ForkpointError
from ...store.model import Operation
from ..widgets.listing import Column, Item
from ..words import day, moment, one_line
from .headline import home_relative
from .lists import ListScreen


class OperationsScreen(ListScreen):
    """Restores, forks, marks, undos and redos, under the days on which they were done."""

    HEADING = "Operations"
    EMPTY = "Nothing was restored, forked, labelled or pinned here yet."
    COLUMNS: ClassVar = (
        Column("Time", ink="muted"),
        Column("Kind", ink="strong"),
        Column("What", grows=True),
        Column("Undo", ink="muted", least=60),
    )

    def __init__(self) -> None:
        super().__init__()
        self.operations: dict[str, Operation] = {}

    @property
    def about(self) -> str:
        return home_relative(self.app.store.root)

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        try:
            found = await self.ask(lambda store: store.operations())
        except ForkpointError as error:
            self.failed(error)
            return
        self.operations = {operation.id: operation for operation in found}
        now = self.app.now()
        items: list[Item] = []
        newest = next((operation.id for operation in found if operation.undoable), "")
        for operation in found:
            heading = day(operation.time, now)
            if not items or heading not in {item.cells[0] for item in items if item.heading}:
                items.append(Item(f"day {heading}", (heading,), heading=True))
            undo = "u undoes" if operation.id == newest else "can be undone" if operation.undoable else operation.why
            at = moment(operation.time, now)[-5:]
            items.append(Item(operation.id, (at, operation.kind, one_line(operation.summary), one_line(undo))))
        self.filled(items)

    def opened(self, item: Item) -> None:
        operation = self.operations[item.key]
        self.leave((operation.session or None, operation.id))
