"""Search over everything: what was said and done in all sessions and branches, and the files of all checkpoints."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.events import DescendantFocus
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Input

from ...store.errors import Busy, ForkpointError
from ...store.model import Found, Hit
from ..actions import Where
from ..found import kind, pieces
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.hits import HitList
from ..widgets.lines import Lines, bindings
from ..widgets.sheet import BLANK, Paragraph, Sheet, text
from ..words import agent, count, full_time, one_line
from .headline import home_relative
from .page import Page

if TYPE_CHECKING:
    from ...store.api import Store

REST = 0.04
"""Seconds that a query must rest before it is looked for."""
FIRST, MOST = 60, 1_000
"""Hits that are shown at once, and then."""
WAIT = 0.5
"""Seconds that it waits for another process that keeps the index."""
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ()),
    ("prompts", ("prompt",)),
    ("replies", ("reply", "summary")),
    ("calls", ("tool_call",)),
    ("outputs", ("tool_result",)),
    ("files", ("file",)),
)
"""What can be looked for alone."""
LETTERS = frozenset({"search_words", "search_kinds", "search_copy"})
HINT = 'words, all of them in one place; "two words" in quotes are one'


@dataclass
class Reading(Message):
    """How much of what there is has been looked at for the index; only the newest counts."""

    done: int
    total: int

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Reading)


class SearchScreen(Page):
    """Answers with the session of the row that was chosen, and the row."""

    PLACES: ClassVar[tuple[Where, ...]] = ("found",)
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        *bindings("found"),
        Binding("down", "next_hit", show=False),
        Binding("up", "previous_hit", show=False),
    ]
    AUTO_FOCUS = "#query"

    def __init__(self) -> None:
        super().__init__()
        self.found: Found | None = None
        self._kind = 0
        self._finding = Event()
        self._reading = Event()
        self._read = False
        """Whether the index has all that there is."""
        self._progress = ""
        self._go_when_found = False
        """Enter was pressed before there was anything to go to."""

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        yield Input(value=self.app.searched, id="query", placeholder=HINT, select_on_focus=False)
        with Horizontal(id="panes"):
            yield HitList(ident="list")
            yield Sheet(ident="around")
        yield Sheet(ident="strip")
        yield Notice(ident="notice")
        yield KeyBar(ident="keys")

    def begin(self) -> None:
        super().begin()
        for name in ("#strip", "#around"):
            self.query_one(name).can_focus = False
        self.query_one("#query", Input).select_all()
        self.show_header()
        self.read_all()
        self.look_for()

    def resized(self, size: Size) -> None:
        super().resized(size)
        self.show_around()

    @property
    def list(self) -> HitList:
        return self.query_one("#list", HitList)

    # Reading what is not in the index yet

    @work(exclusive=True, group="index")
    async def read_all(self) -> None:
        """Brings the index up to date while one can search already what is in it."""
        stop = self._reading

        def told(done: int, total: int) -> None:
            self.post_message(Reading(done, total))

        def keep(store: Store) -> bool:
            return store.catch_up(progress=told, cancelled=stop.is_set, wait=WAIT)

        try:
            self._read = await self.ask(keep)
        except Busy:
            self.notice.say("Another forkpoint reads what is new just now.", then="what it has read is searched")
        except ForkpointError as error:
            self.failed(error)
        self._progress = ""
        self.show_header()
        if not stop.is_set():
            self.look_for()

    def on_reading(self, message: Reading) -> None:
        if message.done == message.total or self._read:
            return
        self._progress = f"reading {message.done + 1:,} of {message.total:,}"
        self.show_header()

    # Looking for words

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._go_when_found = False
        self.app.searched = event.value
        self.look_for()

    def look_for(self) -> None:
        """Looks for what the line says; what was looked for before is given up."""
        self._finding.set()
        self._finding = Event()
        self._find(self.query_one("#query", Input).value, self._finding)

    @work(exclusive=True, group="find")
    async def _find(self, query: str, stop: Event) -> None:
        await asyncio.sleep(REST)
        kinds = KINDS[self._kind][1]
        try:
            for limit in (FIRST, MOST):
                found = await self.ask(
                    lambda store, limit=limit: store.search(query, kinds=kinds, limit=limit, cancelled=stop.is_set)
                )
                if stop.is_set():
                    return
                self.show_found(found)
                if not found.more:
                    break
        except ForkpointError as error:
            self.failed(error)
        finally:
            stop.set()

    def show_found(self, found: Found) -> None:
        """Shows what was found."""
        self.found = found
        nothing = f"Nothing holds {one_line(found.query)}." if found.query.strip(' "') else ""
        self.list.empty = "Reading …" if self._progress and nothing else nothing
        self.list.fill(found.hits)
        self.show_header()
        self.show_around()
        self._go_if_found()

    def show_header(self) -> None:
        """How much was found, and what is being done."""
        hits = self.found.hits if self.found else ()
        said = [hit for hit in hits if hit.kind != "file"]
        sessions = len({hit.session for hit in said})
        more = "+" if self.found and self.found.more else ""
        told: list[str] = []
        if said:
            told.append(f"{len(said):,}{more} in {count(sessions, 'session')}")
        if files := len(hits) - len(said):
            told.append(count(files, "file"))
        only = KINDS[self._kind][0]
        right = [(f"only {only}", "attention")] if only else []
        if self._progress:
            right = [*right, (f"  {self._progress}", "muted")]
        left = [("Search", "strong"), (f"  {', '.join(told)}" if told else "", "muted")]
        left.append((f"  {home_relative(self.app.store.root)}", "muted"))
        self.query_one("#header", Bar).show(left, right)

    def on_lines_moved(self, message: Lines.Moved) -> None:
        if message.lines is self.list:
            self.show_around()

    def show_around(self) -> None:
        """What stands around the hit under the cursor: beside the list, or below it."""
        hit = self.list.hit
        self.query_one("#around", Sheet).show(around(hit, self.size.height - 8) if hit else [])
        self.query_one("#strip", Sheet).show(glance(hit) if hit else [])

    # Keys

    def offers(self, action: str) -> bool:
        """Letters are words while one types them."""
        return super().offers(action) and (self.focused is self.list or action not in LETTERS)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        self.show_keys()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes there, once what was typed last has been looked for."""
        event.stop()
        self._go_when_found = True
        self._go_if_found()

    def _go_if_found(self) -> None:
        asked = self.query_one("#query", Input).value
        if self._go_when_found and self.found is not None and self.found.query == asked and self.list.hit is not None:
            self._go_when_found = False
            self.action_go_there()

    def action_search_list(self) -> None:
        (self.list if self.focused is not self.list else self.query_one("#query")).focus()

    def action_next_hit(self) -> None:
        self.list.move(1)

    def action_previous_hit(self) -> None:
        self.list.move(-1)

    def action_search_words(self) -> None:
        self.query_one("#query").focus()

    def action_search_kinds(self) -> None:
        self._kind = (self._kind + 1) % len(KINDS)
        self.show_header()
        self.look_for()

    def action_search_copy(self) -> None:
        if self.list.hit is not None:
            self.app.copy_to_clipboard(self.list.plain(self.list.cursor))
            self.notice.say("Copied 1 line.", then=self.app.copied_how)

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        self.action_go_there()

    def action_go_there(self) -> None:
        hit = self.list.hit
        if hit is None:
            return
        if hit.kind == "file":
            from .file import FileScreen

            self.open(FileScreen(hit, self.app.searched), self._gone_there)
        else:
            self._leave((hit.session, hit.entry))

    def _gone_there(self, place: object) -> None:
        if place is not None:
            self._leave(place)

    def action_search_back(self) -> None:
        """One thing after the other: a search under way, the notice, the screen."""
        if not self._finding.is_set():
            self._finding.set()
            self.notice.say("Stopped looking.", then="/ changes the words")
        elif not self.notice.hush():
            self._leave(None)

    def _leave(self, answer: object) -> None:
        self._finding.set()
        self._reading.set()
        self.leave(answer)


def around(hit: Hit, room: int) -> list[Paragraph]:
    """A hit with what stands around it, in about so many lines."""
    half = max(0, (room - 2) // 2)
    found = [_what(hit), text(_about(hit), "muted", hang=2), BLANK]
    found += [text(item, "muted", hang=2) for item in hit.before[-half:] if half]
    if hit.line:
        found.append(_line(hit))
    return found + [text(item, "muted", hang=2) for item in hit.after[:half]]


def glance(hit: Hit) -> list[Paragraph]:
    """The same in three lines."""
    about = Paragraph(((one_line(hit.title), "strong"), (f"  {_about(hit, title=False)}", "muted")), wrap=False)
    return [about, _line(hit) if hit.line else _what(hit)]


def _what(hit: Hit) -> Paragraph:
    place = f", line {hit.line:,}" if hit.line > 1 or (hit.name and hit.line) else ""
    what = hit.name or f"{kind(hit)} {one_line(hit.tool)}".rstrip()
    return Paragraph(((what[:1].upper() + what[1:] if not hit.name else what, "strong"), (place, "muted")), hang=2)


def _about(hit: Hit, *, title: bool = True) -> str:
    branch = f"branch {one_line(hit.branch)}" if hit.branch else ""
    facts = [one_line(hit.title) if title else "", branch, agent(hit.agent), full_time(hit.time)[:16]]
    return " · ".join(fact for fact in facts if fact)


def _line(hit: Hit) -> Paragraph:
    return Paragraph([(part, "hit" if is_it else "text") for part, is_it in pieces(hit.text, hit.marks)], hang=2)
