"""The sessions of every agent that were found here; the first row shows everything by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work

from ...store.errors import ForkpointError
from ..outline import Outline
from ..widgets.listing import Column, Item
from ..words import agent, clock, day, long_age, one_line, signed, size
from .headline import home_relative
from .lists import ListScreen

if TYPE_CHECKING:
    from ...store.api import Store

EVERYTHING = "everything"


class SessionsScreen(ListScreen):
    """Answers with the session that was chosen, and a row in it."""

    HEADING = "Sessions"
    EMPTY = "No agent has worked in this folder yet."
    COLUMNS: ClassVar = (
        Column("", ink="here"),
        Column("Title", grows=True),
        Column("Agent", ink="muted"),
        Column("Used", ink="muted"),
        Column("Branches", right=True, ink="muted", least=100),
        Column("Size", right=True, ink="muted", least=60),
        Column("Problem", ink="attention", least=80),
    )

    def __init__(self, current: str) -> None:
        super().__init__()
        self.current = current

    @property
    def about(self) -> str:
        return home_relative(self.app.store.root)

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        try:
            found = await self.ask(lambda store: store.sessions())
        except ForkpointError as error:
            self.failed(error)
            return
        now, signs = self.app.now(), self.app.signs
        cells = ("", "Everything, by time", "", "", "", "", "")
        items = [Item(EVERYTHING, cells, ("", "strong"), counts=False)] if found else []
        for info in found:
            mark = signs.here if info.key == self.current else signs.checkpoint if info.live else ""
            items.append(
                Item(
                    info.key,
                    (
                        mark,
                        one_line(info.title) or "Untitled",
                        agent(info.agent),
                        long_age(info.updated, now) if info.updated else "",
                        str(info.branches) if info.branches > 1 else "",
                        size(info.bytes) if info.bytes else "",
                        one_line(info.problem),
                    ),
                    about=" ".join(info.ids),
                )
            )
        self.filled(items, at=self.current)

    def opened(self, item: Item) -> None:
        if item.key == EVERYTHING:
            self.open(EverythingScreen(), self._chosen)
        else:
            self.leave((item.key, ""))

    def _chosen(self, place: object) -> None:
        if place is not None:
            self.leave(place)


class EverythingScreen(ListScreen):
    """Prompts, checkpoints and operations of all sessions under the days of their time, the newest first."""

    HEADING = "Everything, by time"
    EMPTY = "Nothing was recorded here yet."
    HEAD = False
    COLUMNS: ClassVar = (
        Column("", ink="muted"),
        Column(""),
        Column("", grows=True),
        Column("", right=True, ink="muted", least=50),
        Column("", ink="muted", grows=True, least=80),
    )

    @property
    def about(self) -> str:
        return home_relative(self.app.store.root)

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        now, signs = self.app.now(), self.app.signs

        def read(store: Store) -> list[tuple[int, Item]]:
            found: dict[str, tuple[int, Item]] = {}
            for info in store.sessions():
                outline = Outline(store.tree(info.key))
                for row in outline.rows:
                    is_save = row.entry is not None and row.entry.flavour == "save"
                    if row.kind not in ("prompt", "point", "operation") and not is_save:
                        continue
                    name = row.operation.id if row.operation else row.entry.id if row.entry else row.points[-1].id
                    sign = signs.back if row.operation else signs.checkpoint if row.points or row.moved else ""
                    lines = signed(*row.lines) if row.lines else ""
                    cells = (clock(row.time, row.time), sign, one_line(row.text), lines, one_line(info.title))
                    inks = ("", "", "strong" if row.kind == "prompt" else "text")
                    # Operations and saves are the folder's, whichever session shows them; entries are their agent's.
                    found[f"{info.agent if row.entry else ''} {name}"] = (
                        row.time,
                        Item(f"{info.key} {name}", cells, inks),
                    )
            return sorted(found.values(), key=lambda pair: -pair[0])

        try:
            rows = await self.ask(read)
        except ForkpointError as error:
            self.failed(error)
            return
        items: list[Item] = []
        heading = ""
        for time, item in rows:
            if (today := day(time, now)) != heading:
                heading = today
                items.append(Item(f"day {heading}", (heading,), heading=True))
            items.append(item)
        self.filled(items)

    def opened(self, item: Item) -> None:
        session, _, name = item.key.partition(" ")
        self.leave((session, name))
