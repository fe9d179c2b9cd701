"""What the list screens share: a header, a filter, a list, and leaving with esc."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input

from ..actions import Where
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.lines import Lines, bindings
from ..widgets.listing import Column, Item, Listing
from ..widgets.sheet import Sheet
from ..words import one_line
from .page import Page


def counted(item: Item) -> bool:
    """Whether a row is one of what the list is about."""
    return item.counts and not item.heading


class ListScreen(Page):
    """A list in columns; Enter opens the row, / filters."""

    PLACES: ClassVar[tuple[Where, ...]] = ("list",)
    BINDINGS: ClassVar[list[Binding]] = bindings("list")  # type: ignore[assignment]
    AUTO_FOCUS = "#list"

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    HEADING = ""
    EMPTY = "Nothing here yet."
    HEAD = True
    """Whether the columns have names."""
    STRIP = False
    """Whether something is told of the row under the cursor, below the list."""

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        yield Input(id="line", placeholder="filter", select_on_focus=False)
        yield Listing(self.COLUMNS, ident="list", head=self.HEAD)
        if self.STRIP:
            yield Sheet(ident="strip")
        yield from self.compose_below()
        yield Notice(ident="notice")
        yield KeyBar(ident="keys")

    def compose_below(self) -> Iterable[Widget]:
        """What stands below the list."""
        return ()

    def begin(self) -> None:
        super().begin()
        if self.STRIP:
            self.query_one("#strip").can_focus = False
        self.list.empty = "Reading …"
        self.show_header()
        self.load()

    @property
    def list(self) -> Listing:
        return self.query_one("#list", Listing)

    def load(self) -> object:
        """Fills the list, in a worker where it must be read."""

    def opened(self, item: Item) -> None:
        """What Enter does with a row."""

    def show_header(self) -> None:
        """Says what is listed, and how much of it shows."""
        listing = self.list
        total = sum(map(counted, listing.items))
        shown = sum(counted(listing.items[at]) for at in listing.shown)
        number = f"  {shown} of {total}" if shown != total else f"  {total}" if total else ""
        left = [(self.HEADING, "strong"), (number, "muted"), (f"  {self.about}", "muted")]
        self.query_one("#header", Bar).show(left, [("filtered", "attention")] if self.list.needle else [])

    @property
    def about(self) -> str:
        """What stands beside the heading."""
        return ""

    def filled(self, items: list[Item], *, at: str = "") -> None:
        """Shows what was read."""
        self.list.empty = self.EMPTY
        self.list.fill(items, at=at)
        self.show_header()

    def action_choose(self) -> None:
        if self.list.item is not None:
            self.opened(self.list.item)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        self.action_choose()

    def action_list_filter(self) -> None:
        line = self.query_one("#line", Input)
        line.add_class("-on")
        line.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.list.items:
            self.list.empty = f"Nothing here holds {one_line(event.value)}." if event.value else self.EMPTY
        self.list.filter(event.value)
        self.show_header()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes to the list, and opens nothing yet."""
        event.stop()
        if not event.value:
            self.query_one("#line").remove_class("-on")
        self.list.focus()

    def action_leave(self) -> None:
        line = self.query_one("#line", Input)
        if line.has_class("-on"):
            line.value = ""
            line.remove_class("-on")
            self.list.filter("")
            self.show_header()
            self.list.focus()
        elif not self.notice.hush():
            self.leave(None)
