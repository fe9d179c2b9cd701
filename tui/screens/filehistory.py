"""A file's history over the whole workspace: each moment at which it changed, by whom, on which branch, and how."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container

from ...store.errors import ForkpointError
from ...store.model import UNRECORDED, Diff, Touch
from ...store.text import path_text
from ..actions import Where
from ..detail.files import by
from ..outline import Outline
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.diffpane import DiffPane
from ..widgets.difftext import LETTERS, DiffText
from ..widgets.lines import Lines, bindings
from ..widgets.listing import Column, Item, Listing
from ..words import count, moment, one_line, short
from .page import Page

if TYPE_CHECKING:
    from ...store.api import Store

POLL = 1.0
"""Seconds between two looks at whether anything came."""
REST = 0.06
"""Seconds that the cursor must rest on a moment before it is compared."""
COLUMNS = (
    Column("When", right=True, ink="muted"),
    Column("", ink="chip"),
    Column("+", right=True, ink="added"),
    Column("−", right=True, ink="removed"),
    Column("Changed by", grows=True),
    Column("On branch", grows=True, least=72, ink="muted"),
    Column("", ink="muted"),
)


class FileHistoryScreen(Page):
    """Every moment that is recorded of a path, the newest first, and beside it what differed then."""

    PLACES: ClassVar[tuple[Where, ...]] = ("history",)
    BINDINGS: ClassVar[list[Binding]] = [*bindings("history"), Binding("tab", "next_pane", show=False)]  # type: ignore[assignment]
    AUTO_FOCUS = "#list"

    def __init__(self, path: bytes, outline: Outline) -> None:
        super().__init__()
        self.path, self.outline = path, outline
        self.touches: list[Touch] = []
        """The newest first."""
        self._by_key: dict[str, Touch] = {}
        self._now: DiffText | None = None
        """What differs from what was last recorded to the folder as it is."""
        self._token = ""
        self._polling = False

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        with Container(id="moments"):
            yield Listing(COLUMNS, ident="list")
            yield DiffPane(ident="diff")
        yield Notice(ident="notice")
        yield KeyBar(ident="keys")

    def begin(self) -> None:
        super().begin()
        self.list.empty = "Reading …"
        self.pane.empty = ""
        self._show_header()
        self.read()
        self.set_interval(POLL, self._follow)

    @property
    def list(self) -> Listing:
        return self.query_one("#list", Listing)

    @property
    def pane(self) -> DiffPane:
        return self.query_one("#diff", DiffPane)

    @property
    def touch(self) -> Touch | None:
        """The moment under the cursor; None where it is the present, or nothing."""
        item = self.list.item
        return self._by_key.get(item.key) if item is not None else None

    @work(exclusive=True, group="read")
    async def read(self) -> None:
        """Looks the moments up, in a worker."""
        path, tree = self.path, self.outline.tree

        def look(store: Store) -> tuple[str, list[Touch], DiffText, dict[str, str]]:
            token = store.token()
            found = store.touches(path, tree, placed=True)[::-1]
            now = DiffText(store.unrecorded([path]))
            titles = {key: one_line(info.title) for info in store.sessions() for key in info.keys}
            return token, found, now, titles

        try:
            self._token, self.touches, self._now, titles = await self.ask(look)
        except ForkpointError as error:
            self.list.empty = ""
            self.list.fill([])
            self.failed(error)
            return
        self._by_key = {f"{touch.time} {touch.who.operation}": touch for touch in self.touches}
        self.list.empty = "Nothing that is recorded here changed it."
        self.list.fill(self._items(titles))
        self._show_header()

    def _follow(self) -> None:
        if self._token and not self._polling:
            self._poll()

    @work(group="poll")
    async def _poll(self) -> None:
        """Reads anew when a checkpoint or an operation came."""
        self._polling = True
        with suppress(ForkpointError):
            if await self.ask(lambda store: store.token()) != self._token:
                self.read()
        self._polling = False

    def _items(self, titles: dict[str, str]) -> list[Item]:
        now, keys = self.app.now(), self.outline.tree.info.keys
        items: list[Item] = []
        if self._now is not None and self._now.diff.files:
            (file, *_) = self._now.diff.files
            numbers = (_signed("+", file.added), _signed(self.app.signs.minus, file.removed))
            cells = ("now", LETTERS[file.status], *numbers, by([UNRECORDED], ""), "", self.app.signs.idle)
            items.append(Item("now", cells))
        for key, touch in self._by_key.items():
            branch = touch.branch
            if touch.session and touch.session not in keys and touch.session in titles:
                branch = f"{branch or '?'} of “{titles[touch.session]}”"
            cells = (
                moment(touch.time, now),
                LETTERS[touch.status],
                _signed("+", touch.added),
                _signed(self.app.signs.minus, touch.removed),
                by([touch.who], path_text(touch.path)),
                branch,
                self._sign(touch),
            )
            items.append(Item(key, cells))
        return items

    def _sign(self, touch: Touch) -> str:
        signs = self.app.signs
        if touch.point is None:
            return signs.back
        return signs.checkpoint if touch.point.complete else signs.partial

    def _show_header(self) -> None:
        moments = f"  changed {count(len(self.touches), 'time')}" if self.touches else ""
        left = [("History of ", "muted"), (path_text(self.path), "strong"), (moments, "muted")]
        self.query_one("#header", Bar).show(left, [("every session of this folder", "muted")])

    # What differed

    def on_lines_moved(self, event: Lines.Moved) -> None:
        if event.lines is self.list:
            self.compare()

    @work(exclusive=True, group="compare")
    async def compare(self) -> None:
        """Shows what differed at the moment under the cursor, once it rests there."""
        touch = self.touch
        if touch is None:
            self.pane.show(self._now or DiffText(Diff("", "", ())))
            return
        await asyncio.sleep(REST)
        try:
            content = await self.ask(lambda store: DiffText(store.touched(touch)))
        except ForkpointError as error:
            self.failed(error)
            return
        self.pane.empty = "The bytes are the same."
        self.pane.show(content)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        if event.lines is self.list:
            self.action_to_diff()

    def action_to_diff(self) -> None:
        """The diff takes the keys."""
        self.pane.focus()

    def action_next_pane(self) -> None:
        (self.list if self.pane.has_focus else self.pane).focus()

    def action_since_then(self) -> None:
        """What changed in the file from that moment to now."""
        from .diff import DiffScreen

        touch = self.touch
        if touch is None:
            return
        if touch.point is None:
            self.notice.say("No checkpoint was made of what a restore left.", then="take the moment before or after it")
        else:
            self.open(DiffScreen(touch.point.id, None, paths=(self.path,)))

    def action_in_tree(self) -> None:
        """Leaves for the row of the tree where it happened."""
        touch = self.touch
        if touch is None:
            return
        name = touch.who.operation or (touch.point.id if touch.point else "")
        session = touch.session or "files"
        own = touch.who.operation in self.outline.index or touch.session in self.outline.tree.info.keys
        self.leave((None if own else session, name))

    def action_back(self) -> None:
        if self.pane.has_focus:
            self.list.focus()
        elif not self.notice.hush():
            self.leave(None)


def _signed(sign: str, lines: int) -> str:
    return f"{sign}{short(lines)}" if lines else ""
