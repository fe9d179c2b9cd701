"""All that happened in a workspace under the days of its time: prompts, checkpoints, saves and operations."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding

from ...store.errors import ForkpointError
from ...store.model import Moment, SessionInfo
from ..actions import Where
from ..marking import Mark
from ..outline import Outline
from ..rows import Row
from ..widgets.bars import Bar
from ..widgets.lines import bindings
from ..widgets.listing import Column, Item
from ..words import clock, day, one_line, signed
from .headline import home_relative
from .lists import ListScreen

if TYPE_CHECKING:
    from ...store.api import Store

READ = 256 << 20
"""Bytes of sessions that are read for their prompts, the newest first; of the others checkpoints are shown alone."""
PAUSE = 0.3
"""Seconds between two times that the list is shown anew while sessions are read."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One row."""

    time: int
    session: str
    name: str
    """Of the entry, checkpoint or operation in that session's tree."""
    root: str
    sign: str
    text: str
    ink: str
    title: str
    lines: tuple[int | None, int | None] = (None, None)
    left: str = ""
    """The two checkpoints between which lies what changed; "" where there are none."""
    right: str = ""
    points: tuple[str, ...] = ()
    """All checkpoints that the row stands for."""

    @property
    def key(self) -> str:
        return f"{self.root}\n{self.session}\n{self.name}"


class EverythingScreen(ListScreen):
    """Answers with a session, a row in it and its root."""

    HEADING = "Everything, by time"
    EMPTY = "Nothing was recorded here yet."
    HEAD = False
    PLACES: ClassVar[tuple[Where, ...]] = ("list", "moments")
    BINDINGS: ClassVar[list[Binding]] = bindings("moments")  # type: ignore[assignment]
    COLUMNS: ClassVar = (
        Column("", ink="muted"),
        Column(""),
        Column("", grows=True),
        Column("", right=True, ink="muted", least=50),
        Column("", ink="muted", grows=True, least=80),
    )

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, Happened] = {}
        self._reading = ""

    @property
    def about(self) -> str:
        return home_relative(self.app.store.root)

    def show_header(self) -> None:
        super().show_header()
        if self._reading:
            bar = self.query_one("#header", Bar)
            bar.show(bar.left, [*bar.right, (f"  {self._reading}", "muted")])

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        """Shows checkpoints and operations at once, and each session's prompts when it was read."""
        signs = self.app.signs

        def known(store: Store) -> tuple[list[SessionInfo], list[Moment]]:
            return store.sessions(), store.moments()

        try:
            infos, moments = await self.ask(known)
        except ForkpointError as error:
            self.failed(error)
            return
        bare = {
            (moment.root, moment.id): of_moment(moment, signs.checkpoint, signs.partial, signs.back)
            for moment in moments
        }
        read: dict[str, list[Happened]] = {}
        self.show_rows(bare, read)
        left, shown = READ, asyncio.get_running_loop().time()
        for number, info in enumerate(infos):
            left -= info.bytes
            if left < 0:
                break
            self._reading = f"reading {number + 1:,} of {len(infos):,}"

            def rows(store: Store, info: SessionInfo = info) -> list[Happened]:
                return list(of_outline(Outline(store.tree_in_passing(info)), store.root, signs.checkpoint, signs.back))

            try:
                read[info.key] = await self.ask(rows)
            except ForkpointError as error:
                self.failed(error)
                continue
            if (now := asyncio.get_running_loop().time()) - shown > PAUSE:
                shown = now
                self.show_rows(bare, read)
        self._reading = ""
        self.show_rows(bare, read)

    def show_rows(self, bare: dict[tuple[str, str], Happened], read: dict[str, list[Happened]]) -> None:
        """All rows under their days; what a session that was read tells stands for what is known without."""
        now, root = self.app.now(), self.app.store.root
        found = {item.key: item for those in read.values() for item in those}
        told = {point for item in found.values() for point in (item.name, *item.points)}
        rest = [item for (of, name), item in bare.items() if of != root or name not in told]
        self.rows = found | {item.key: item for item in rest}
        items: list[Item] = []
        heading = ""
        for item in sorted(self.rows.values(), key=lambda item: -item.time):
            if (today := day(item.time, now)) != heading:
                heading = today
                items.append(Item(f"day {heading}", (heading,), heading=True))
            where = item.title if item.root == root else home_relative(item.root)
            cells = (clock(item.time, item.time), item.sign, one_line(item.text), signed(*item.lines), one_line(where))
            items.append(Item(item.key, cells, ("", "", item.ink), about=" ".join((item.name, *item.points))))
        self.filled(items)

    # Keys

    @property
    def row(self) -> Happened | None:
        """What stands under the cursor."""
        return self.rows.get(self.list.item.key) if self.list.item else None

    def opened(self, item: Item) -> None:
        row = self.rows[item.key]
        self.leave((row.session, row.name, row.root))

    def action_moment_diff(self) -> None:
        from .diff import DiffScreen

        row, marked = self.row, self.app.marked
        if row is None or row.root != self.app.store.root:
            self.notice.say("This point is in another folder.", then="Enter goes there")
        elif marked is not None and marked.root == row.root and row.points and row.points[-1] != marked.point:
            self.open(DiffScreen(marked.point, row.points[-1], older=marked.older(row.points[-1], row.time)))
        elif row.left and row.right:
            self.open(DiffScreen(row.left, row.right))
        else:
            self.notice.say("What changed here is not known.", then="D compares with the files as they are")

    def action_moment_now(self) -> None:
        from .diff import DiffScreen

        row = self.row
        if row is None or row.root != self.app.store.root:
            self.notice.say("This point is in another folder.", then="Enter goes there")
        elif row.points:
            self.open(DiffScreen(row.points[-1], None))
        else:
            self.notice.say("This row has no checkpoint.")

    def action_moment_mark(self) -> None:
        """The row becomes the one side of the next diff; once more takes the mark away."""
        row, marked = self.row, self.app.marked
        if row is None or not row.points:
            self.notice.say("This row has no checkpoint.")
        elif marked is not None and marked.point == row.points[-1]:
            self.app.marked = None
            self.notice.say("The mark is gone.")
        else:
            self.app.marked = Mark(row.points[-1], row.time, row.root)
            self.notice.say("Marked: d on another row compares the two.")

    def action_moment_copy(self) -> None:
        if self.row is not None:
            name = self.row.points[-1] if self.row.points else self.row.name
            self.app.copy_to_clipboard(name)
            self.notice.say(f"Copied {name}.", then=self.app.copied_how)


def of_moment(moment: Moment, whole: str, partial: str, back: str) -> Happened:
    """A checkpoint or operation as the catalog knows it."""
    is_point = moment.kind == "point"
    return Happened(
        moment.time,
        moment.session,
        moment.id,
        moment.root,
        (whole if moment.complete else partial) if is_point else back,
        moment.text,
        "text",
        moment.title,
        (moment.added, moment.removed),
        moment.before if is_point else "",
        moment.id if is_point and moment.before else "",
        (moment.id,) if is_point else (),
    )


def of_outline(outline: Outline, root: str, whole: str, back: str) -> list[Happened]:
    """The rows of a session's tree that stand for a moment of their own."""
    info = outline.tree.info
    return [_of_row(outline, row, info, root, whole, back) for row in outline.rows if _is_moment(row)]


def _is_moment(row: Row) -> bool:
    is_save = row.entry is not None and row.entry.flavour == "save"
    return row.kind in ("prompt", "point", "operation") or is_save or bool(row.points)


def _of_row(outline: Outline, row: Row, info: SessionInfo, root: str, whole: str, back: str) -> Happened:
    name = row.operation.id if row.operation else row.entry.id if row.entry else row.points[-1].id
    ends = outline.ends(row)
    return Happened(
        row.time,
        info.key,
        name,
        root,
        back if row.operation else whole if row.points or row.moved else "",
        row.text,
        "strong" if row.kind == "prompt" else "text",
        info.title,
        row.lines or (None, None),
        ends[0].id if ends else "",
        ends[1].id if ends else "",
        tuple(point.id for point in (*row.points, *row.gone)),
    )
