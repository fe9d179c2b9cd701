"""The main screen: the tree of a session, and what stands behind the row under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widgets import Input

from ...store.errors import ForkpointError
from ..actions import Where
from ..messages import TreeRead
from ..outline import Outline
from ..widgets.bars import Bar, KeyBar, Notice, Tabs
from ..widgets.choices import Told
from ..widgets.diffpane import DiffPane
from ..widgets.lines import bindings
from ..widgets.reading import Reading
from ..widgets.sheet import Sheet, text
from ..widgets.timeline import Timeline
from . import headline
from .looking import Looking
from .page import in_words

if TYPE_CHECKING:
    from ...store.api import Status, Store

POLL = 0.35
"""Seconds between two looks at whether anything came."""
AGES = 20.0
"""Seconds between two looks at the clock."""


class MainScreen(Looking):
    """Shows a tree that follows what is recorded while it is looked at."""

    PLACES: ClassVar[tuple[Where, ...]] = ("tree", "detail")
    BINDINGS: ClassVar[list[Binding]] = bindings("tree")  # type: ignore[assignment]
    AUTO_FOCUS = "#tree"

    def __init__(self, session: str | None, outline: Outline | None = None) -> None:
        """`outline`: the tree as it was read at a glance, shown until it was read as a whole."""
        super().__init__()
        self._glanced = outline
        self.session = session
        """What is shown: the beginning of a session's id; None for the newest."""
        self.status: Status | None = None
        self._token = ""
        self._reading = False
        self._polling = False
        self._go_when_read = ""
        self._told_kept: tuple[int, int] | None = None
        self._trouble = ""
        """What went wrong when something was read last: it is told once, not at every look."""
        self._former: tuple[str | None] | None = None
        """The session that is still shown while another one is read."""

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        yield Told(ident="welcome")
        with Horizontal(id="panes"):
            yield Timeline(ident="tree")
            with Vertical(id="side"):
                yield Tabs(ident="tabs")
                yield Reading(ident="detail")
                yield DiffPane(ident="preview")
        yield Sheet(ident="strip")
        yield Input(id="line", select_on_focus=False)
        yield Notice(ident="notice")
        yield Bar(ident="status")
        yield KeyBar(ident="keys")

    def begin(self) -> None:
        super().begin()
        self.query_one("#strip").can_focus = False
        self.query_one("#header", Bar).show([("Reading …", "muted")])
        self.show_tabs()
        if self._glanced is not None:
            self.timeline.fill(self._glanced)
            self.show_header()
            self.look()
        self.read_tree()
        self.set_interval(POLL, self._follow)
        self.set_interval(AGES, self._tick)

    @property
    def timeline(self) -> Timeline:
        return self.query_one("#tree", Timeline)

    def resized(self, size: Size) -> None:
        super().resized(size)
        if self.timeline.outline is not None:
            self.look()

    # The tree, and following it

    @work(exclusive=True, group="tree")
    async def read_tree(self) -> None:
        """Reads the tree and how recording stands."""
        session, shown = self.session, self.timeline.outline
        self._reading = True

        token = ""

        def read(store: Store) -> TreeRead:
            nonlocal token
            token = store.token()
            tree = store.tree(session)
            outline = shown.grown(tree) if shown is not None else Outline(tree)
            return TreeRead(session, outline, store.status(), token, store.conversations)

        try:
            self.post_message(await self.ask(read))
        except ForkpointError as error:
            self._token = token  # read again when something has changed
            self._not_read(error)
        finally:
            self._reading = False

    def _not_read(self, error: ForkpointError) -> None:
        """Tells it where the tree would be, or below the one that is still shown."""
        if self.timeline.outline is None:
            welcome = self.query_one("#welcome", Told)
            welcome.show([text(in_words(error), "attention"), text(error.todo, "muted")])
            welcome.add_class("-on")
            self.query_one("#header", Bar).show([("Nothing could be read", "attention")])
            return
        self.stop_reading()
        if (trouble := str(error)) != self._trouble:
            self._trouble = trouble
            self.failed(error)

    def stop_reading(self) -> bool:
        """Stays with the session that is shown while another one is read; False where none is."""
        if self._former is None:
            return False
        (self.session,), self._former = self._former, None
        self.workers.cancel_group(self, "tree")
        self.show_header()
        return True

    def on_tree_read(self, message: TreeRead) -> None:
        if message.session != self.session:
            return
        first = self.status is None
        self._token, self.status = message.token, message.status
        self._former, self._trouble = None, ""
        self.timeline.fill(message.outline)
        self.show_header()
        self.show_status()
        self.show_keys()
        if self._go_when_read:
            self.go_to_name(self._go_when_read)
            self._go_when_read = ""
        if first and message.status.interrupted:
            self.notice.say(message.status.interrupted, "attention", then="ctrl+p Recover… settles it")
        elif first and message.status.problems and not self.notice.words:
            self.notice.say(message.status.problems[0], "attention")
        if self.nothing_recorded:
            self.look_for_history()
        elif first and self.session is None and message.sessions > 1 and self.app.screen is self:
            # Which of them went wrong is the person's to say; the newest is under the cursor, one Enter away.
            self.action_sessions()
        if not self.nothing_recorded:
            self.query_one("#welcome").remove_class("-on")
        self.look()
        self.app.keep_index()
        self.app.keep_conversations()

    def _follow(self) -> None:
        if self.app.kept != self._told_kept:
            self.show_status()
        if self._token and not self._reading and not self._polling:
            self._poll()

    @work(group="poll")
    async def _poll(self) -> None:
        self._polling = True
        try:
            token = await self.ask(lambda store: store.token())
        except ForkpointError as error:
            self._not_read(error)
            return
        finally:
            self._polling = False
        if token != self._token and not self._reading:
            self.read_tree()

    def _tick(self) -> None:
        self.timeline.repaint()
        self.show_header()

    def open_session(self, session: str | None, go_to: str = "") -> None:
        """Shows another session, and in it a row."""
        self._go_when_read = go_to
        if session == self.session and go_to and self.timeline.outline is not None:
            self._go_when_read = ""
            self.go_to_name(go_to)
            return
        if session != self.session and self.timeline.outline is not None:
            self._former = self._former or (self.session,)
            self.query_one("#header", Bar).show([("Reading …", "strong"), ("  esc stays here", "muted")])
        self.session = session
        self.read_tree()

    def go_to_name(self, name: str) -> bool:
        """Puts the cursor on an entry, checkpoint, operation or branch of this tree."""
        outline = self.timeline.outline
        if outline is None or name not in outline.index:
            return False
        self.timeline.go_to_row(outline.index[name])
        return True

    # Bars

    def show_header(self) -> None:
        outline, signs = self.timeline.outline, self.app.signs
        if outline is None:
            return
        only = headline.filtered(self.timeline)
        live = headline.at_work(self.status.live if self.status else (), signs, self.app.now())
        told = headline.header(outline, self.app.store.root, signs, self.size.width)
        self.query_one("#header", Bar).show(told, [*only, *live])

    def show_status(self) -> None:
        outline, signs = self.timeline.outline, self.app.signs
        if outline is not None and self.status is not None:
            told = headline.recording(outline, self.status, signs)
            beside = headline.looked_for(self.timeline, signs)
            self._told_kept = self.app.kept
            if self._told_kept is not None:
                beside.append(("  storing conversations, {:,} of {:,}".format(*self._told_kept), "muted"))
            self.query_one("#status", Bar).show(told, beside)

    def show_tabs(self) -> None:
        self.query_one("#tabs", Bar).show(headline.tabs(self.tab))
