"""The main screen: the tree of a session, and what stands behind the row under the cursor."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widgets import Input

from ...store.errors import ForkpointError
from ...store.model import Diff, Point
from .. import detail
from ..actions import Where
from ..messages import TreeRead
from ..outline import Outline, Row
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.choices import Told
from ..widgets.diffpane import DiffPane
from ..widgets.difftext import DiffText
from ..widgets.lines import Lines, Span, bindings
from ..widgets.sheet import Paragraph, Sheet, text
from ..widgets.timeline import Timeline
from ..words import count, duration, one_line, size
from .page import in_words
from .welcome import Welcome

if TYPE_CHECKING:
    from ...store.api import Status, Store

POLL = 0.35
"""Seconds between two looks at whether anything came."""
REST = 0.06
"""Seconds that the cursor must rest on a row before it is read."""
AGES = 20.0
"""Seconds between two looks at the clock."""
KEPT_DIFFS = 24
TABS = ("conversation", "files", "facts")
TAB_KEYS = {"conversation": "1", "files": "2", "facts": "4"}


class MainScreen(Welcome):
    """Shows a tree that follows what is recorded while it is looked at."""

    PLACES: ClassVar[tuple[Where, ...]] = ("tree",)
    BINDINGS: ClassVar[list[Binding]] = bindings("tree")  # type: ignore[assignment]
    AUTO_FOCUS = "#tree"

    def __init__(self, session: str | None) -> None:
        super().__init__()
        self.session = session
        """What is shown: the beginning of a session's id; None for the newest."""
        self.status: Status | None = None
        self.tab = "conversation"
        self._token = ""
        self._reading = False
        self._polling = False
        self._diffs: OrderedDict[tuple[str, str], DiffText] = OrderedDict()
        self._go_when_read = ""
        self._asking = ""

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        yield Told(ident="welcome")
        with Horizontal(id="panes"):
            yield Timeline(ident="tree")
            with Vertical(id="side"):
                yield Bar(ident="tabs")
                yield Sheet(ident="detail")
                yield DiffPane(ident="preview")
        yield Sheet(ident="strip")
        yield Input(id="line", select_on_focus=False)
        yield Notice(ident="notice")
        yield Bar(ident="status")
        yield KeyBar(ident="keys")
        yield Told([text("forkpoint needs 40 columns and 10 rows")], ident="small")

    def begin(self) -> None:
        super().begin()
        self.query_one("#strip").can_focus = False
        self.query_one("#header", Bar).show([("Reading …", "muted")])
        self._show_tabs()
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
        session = self.session
        self._reading = True

        def read(store: Store) -> TreeRead:
            token = store.token()
            return TreeRead(session, Outline(store.tree(session)), store.status(), token)

        try:
            self.post_message(await self.ask(read))
        except ForkpointError as error:
            self.failed(error)
        finally:
            self._reading = False

    def on_tree_read(self, message: TreeRead) -> None:
        if message.session != self.session:
            return
        first = self._token == ""
        self._token, self.status = message.token, message.status
        self.timeline.fill(message.outline)
        self._show_header()
        self._show_status()
        self.show_keys()
        if self._go_when_read:
            self.go_to_name(self._go_when_read)
            self._go_when_read = ""
        if first and message.status.interrupted:
            self.notice.say(message.status.interrupted, "attention", then="ctrl+p Recover… settles it")
        if self.nothing_recorded:
            self.look_for_history()
        else:
            self.query_one("#welcome").remove_class("-on")
        self.look()

    def _follow(self) -> None:
        if self._token and not self._reading and not self._polling:
            self._poll()

    @work(group="poll")
    async def _poll(self) -> None:
        self._polling = True
        try:
            token = await self.ask(lambda store: store.token())
        except ForkpointError as error:
            self.failed(error)
            return
        finally:
            self._polling = False
        if token != self._token and not self._reading:
            self.read_tree()

    def _tick(self) -> None:
        self.timeline.repaint()
        self._show_header()

    def open_session(self, session: str | None, go_to: str = "") -> None:
        """Shows another session, and in it a row."""
        self._go_when_read = go_to
        if session == self.session and go_to and self.timeline.outline is not None:
            self._go_when_read = ""
            self.go_to_name(go_to)
            return
        self.session = session
        self.read_tree()

    def go_to_name(self, name: str) -> bool:
        """Puts the cursor on an entry, checkpoint, operation or branch of this tree."""
        outline = self.timeline.outline
        if outline is None or name not in outline.index:
            return False
        self.timeline.go_to_row(outline.index[name])
        return True

    # What is told of the row under the cursor

    def on_lines_moved(self, message: Lines.Moved) -> None:
        if message.lines is self.timeline:
            self.look()
            self._show_status()

    @work(exclusive=True, group="look")
    async def look(self) -> None:
        """Reads what stands behind the row, once the cursor rests on it."""
        row, outline, tab = self.timeline.row, self.timeline.outline, self.tab
        if row is None or outline is None:
            self._show_nothing()
            return
        await asyncio.sleep(REST)
        now, signs = self.app.now(), self.app.signs

        def read(store: Store) -> tuple[DiffText | None, list[Paragraph]]:
            try:
                changed = self.changed(store, outline, row)
                diff = changed.diff if changed else None
                paragraphs = detail.heading(outline, row, now, signs)
                if tab == "conversation":
                    paragraphs = detail.headed(row, paragraphs) + detail.conversation(store, outline, row, signs)
                elif tab == "files":
                    paragraphs += detail.files_changed(diff, signs)
                else:
                    paragraphs += detail.facts(store, outline, row, now)
                return changed, paragraphs
            except ForkpointError as error:
                return None, [text(in_words(error), "attention"), text(error.todo, "muted")]

        changed, paragraphs = await self.ask(read)
        self.query_one("#detail", Sheet).show(paragraphs)
        diff = changed.diff if changed else None
        strip = self.query_one("#strip", Sheet)
        strip.show(detail.glance(outline, row, diff, now, signs, strip.size.width - 1))
        preview = self.query_one("#preview", DiffPane)
        preview.empty = "No file changed here." if row.kind != "operation" else ""
        preview.show(changed or DiffText(Diff("", "", ())))
        self.set_class(not (diff and diff.files), "-unchanged")

    def changed(self, store: Store, outline: Outline, row: Row) -> DiffText | None:
        """What a row changed, between the two checkpoints around it; None where there are none. Call it in a worker."""
        ends = outline.ends(row)
        if ends is None:
            return None
        return self.difference(store, outline, ends)

    def difference(self, store: Store, outline: Outline, ends: tuple[Point, Point]) -> DiffText:
        """Two checkpoints compared; they never change, so the answer is kept."""
        key = (ends[0].id, ends[1].id)
        found = self._diffs.get(key)
        if found is None:
            found = DiffText(store.diff(*key))
            self._diffs[key] = found
            while len(self._diffs) > KEPT_DIFFS:
                self._diffs.popitem(last=False)
        return found

    def _show_nothing(self) -> None:
        for name in ("#detail", "#strip"):
            self.query_one(name, Sheet).show([])
        self.query_one("#preview", DiffPane).show(DiffText(Diff("", "", ())))

    # Bars

    def _show_header(self) -> None:
        outline = self.timeline.outline
        if outline is None:
            return
        info, signs = outline.tree.info, self.app.signs
        prompts = sum(1 for row in outline.rows if row.kind == "prompt")
        title = one_line(info.title) or "No session yet"
        folder = home_relative(info.cwd or self.app.store.root)
        whole = sum(1 for point in outline.tree.points if point.complete)
        partial = len(outline.tree.points) - whole
        counted = f"{whole} {signs.checkpoint}" + (f" {partial} {signs.partial}" if partial else "")
        is_talk = info.id != "files"
        facts = ["", folder, counted]
        if is_talk:
            facts = [one_line(info.agent), folder, f"{count(prompts, 'prompt')}, {counted}"]
        if len(title) + sum(len(fact) + 3 for fact in facts) > self.size.width:
            facts[1] = f"{signs.more}/{folder.rpartition('/')[2]}"
        told = f" {signs.dot} ".join(fact for fact in facts if fact)
        left: list[Span] = [(title, "strong"), (f"  {told}", "muted")]
        right: list[Span] = []
        if self.timeline.filter != "all":
            right.append((f"only {self.timeline.filter}  ", "attention"))
        right += self._live_spans()
        self.query_one("#header", Bar).show(left, right)

    def _live_spans(self) -> list[Span]:
        live = list(self.status.live) if self.status else []
        if not live:
            return []
        since = duration(self.app.now() - live[0].doing_since)
        doing = f"{one_line(live[0].doing)}, {since}" if live[0].doing else "open"
        more = f", {len(live) - 1} more" if len(live) > 1 else ""
        return [(f"{self.app.signs.checkpoint} {one_line(live[0].agent)} is here: {doing}{more}", "attention")]

    def _show_status(self) -> None:
        outline, status, signs = self.timeline.outline, self.status, self.app.signs
        if outline is None or status is None:
            return
        left: list[Span] = []
        if status.recording:
            left += [(f"{signs.checkpoint} ", "added"), (f"recording {' '.join(status.agents)}", "text")]
        else:
            left.append((f"{signs.idle} not recording", "attention"))
        stored = f", {size(status.bytes)}" if status.bytes else ""
        left.append((f" {signs.dot} {count(status.checkpoints, 'checkpoint')}{stored}", "muted"))
        branch = next((branch.name for branch in outline.tree.branches if branch.state == "active"), "")
        if branch:
            left.append((f" {signs.dot} branch {one_line(branch)}", "muted"))
        if not status.recording:
            left.append((f" {signs.dot} {one_line(status.why)}", "muted"))
        right: list[Span] = []
        if self.timeline.needle:
            number = f"{self.timeline.hit_number} of " if self.timeline.hit_number else ""
            right.append((f"/{self.timeline.needle}  {number}{count(len(self.timeline.hits), 'hit')}", "muted"))
        if self.timeline.marked:
            right.append((f"  {signs.mark} marked", "muted"))
        if self.timeline.unseen:
            right.append((f"  {self.timeline.unseen} new below, G goes there", "attention"))
        self.query_one("#status", Bar).show(left, right)

    def _show_tabs(self) -> None:
        spans: list[Span] = []
        for tab in TABS:
            ground = " row-idle" if tab == self.tab else ""
            ink = "strong" if tab == self.tab else "muted"
            spans += [(f" {TAB_KEYS[tab]}", f"key{ground}"), (f" {tab.capitalize()} ", f"{ink}{ground}"), (" ", "text")]
        self.query_one("#tabs", Bar).show(spans)

    # Keys that look and move

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "record":
            return self.status is not None and not self.status.recording
        if action == "recover":
            return bool(self.status and self.status.interrupted)
        if action in ("next_hit", "previous_hit"):
            return bool(self.timeline.needle) if self.is_mounted else False
        return True

    def _seek(self, by: int, wanted: str) -> None:
        tests = {
            "prompt": lambda row: row.kind == "prompt",
            "checkpoint": lambda row: bool(row.points),
            "fork": lambda row: row.kind == "branch",
        }
        far = wanted == "checkpoint" and self.timeline.filter == "all"
        seek = self.timeline.seek_anywhere if far else self.timeline.seek
        if not seek(by, tests[wanted]):
            self.notice.say(f"No {wanted} {'below' if by > 0 else 'above'}.")

    def action_next_prompt(self) -> None:
        self._seek(1, "prompt")

    def action_previous_prompt(self) -> None:
        self._seek(-1, "prompt")

    def action_next_checkpoint(self) -> None:
        self._seek(1, "checkpoint")

    def action_previous_checkpoint(self) -> None:
        self._seek(-1, "checkpoint")

    def action_next_fork(self) -> None:
        self._seek(1, "fork")

    def action_previous_fork(self) -> None:
        self._seek(-1, "fork")

    def action_here(self) -> None:
        if not self.timeline.go_here():
            self.notice.say("Where files and talk are is not known here.")

    def action_fold(self) -> None:
        self.timeline.fold()

    def action_unfold(self) -> None:
        self.timeline.unfold()

    def action_fold_all(self) -> None:
        self.timeline.fold_all(False)

    def action_unfold_all(self) -> None:
        self.timeline.fold_all(True)

    def action_enter(self) -> None:
        row = self.timeline.row
        if row is not None and self.timeline.folds(row) and not self.timeline.is_open(row):
            self.timeline.unfold()
        else:
            self.open_detail()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        if message.lines is self.timeline:
            self.action_enter()

    def open_detail(self) -> None:
        """The detail pane takes the keys; where there is room for the tree only, it takes its place."""
        self.add_class("-detail")
        self.query_one("#detail").focus()

    def action_filter(self) -> None:
        name = self.timeline.next_filter()
        self._show_header()
        self.notice.say("Everything is shown." if name == "all" else f"Shown: {name}, and what they stand in.")

    def action_clock(self) -> None:
        self.timeline.clocks = not self.timeline.clocks
        self.timeline.repaint()

    def action_mark(self) -> None:
        row = self.timeline.row
        if row is not None and row.target:
            self.timeline.marked = "" if self.timeline.marked == row.key else row.key
            self.timeline.repaint()
            self._show_status()

    def _show_tab(self, tab: str) -> None:
        self.tab = tab
        self._show_tabs()
        self.look()
        if self.has_class("-narrow"):
            self.open_detail()

    def action_show_conversation(self) -> None:
        self._show_tab("conversation")

    def action_show_files(self) -> None:
        self._show_tab("files")

    def action_show_facts(self) -> None:
        self._show_tab("facts")

    def action_next_pane(self) -> None:
        panes = [pane for pane in ("#tree", "#detail", "#preview") if self.query_one(pane).is_on_screen]
        if self.has_class("-narrow"):
            panes = ["#tree", "#detail"]
        focused = f"#{self.focused.id}" if self.focused else ""
        chosen = panes[(panes.index(focused) + 1) % len(panes)] if focused in panes else panes[0]
        self.set_class(chosen == "#detail", "-detail")
        self.query_one(chosen).focus()

    def action_clear(self) -> None:
        """One thing after the other: notice, detail, search, filter, mark."""
        if self.notice.hush():
            return
        if self.focused is not self.timeline:
            self.remove_class("-detail")
            self.timeline.focus()
        elif self.timeline.needle:
            self.timeline.search("")
            self._show_status()
        elif self.timeline.filter != "all":
            self.timeline.filter = "labelled"
            self.timeline.next_filter()
            self._show_header()
        elif self.timeline.marked:
            self.timeline.marked = ""
            self.timeline.repaint()
            self._show_status()

    # The line: search, and going to a name

    def _open_line(self, kind: str, hint: str, value: str = "") -> None:
        line = self.query_one("#line", Input)
        self._asking = kind
        line.value = value
        line.placeholder = hint
        line.add_class("-on")
        line.focus()

    def _close_line(self) -> None:
        self.query_one("#line").remove_class("-on")
        self._asking = ""
        self.timeline.focus()

    def action_search(self) -> None:
        self._open_line("search", "search the tree")

    def action_go_to(self) -> None:
        self._open_line("go", "id, label, branch or time (@14:30, @yesterday)")

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._asking == "search":
            self.timeline.search(event.value)
            self._show_status()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        asking, value = self._asking, event.value.strip()
        self._close_line()
        if asking == "search":
            if value and not self.timeline.next_hit(1, stay=True):
                self.notice.say(f"Nothing holds “{value}”.")
            self.show_keys()
            self._show_status()
        elif value:
            self._resolve(value)

    def on_key(self, event: object) -> None:
        if getattr(event, "key", "") == "escape" and self._asking:
            if self._asking == "search":
                self.timeline.search("")
                self._show_status()
            self._close_line()
            event.stop()  # type: ignore[attr-defined]
            event.prevent_default()  # type: ignore[attr-defined]

    @work(exclusive=True, group="resolve")
    async def _resolve(self, name: str) -> None:
        try:
            found = await self.ask(lambda store: store.resolve(name))
        except ForkpointError as error:
            self.failed(error)
            return
        target = found.point or found.entry or ""
        if not target:
            self.action_here()
        elif not self.go_to_name(target):
            self.open_session(found.session, target)

    def _hit(self, by: int) -> None:
        self.timeline.next_hit(by)
        self._show_status()

    def action_next_hit(self) -> None:
        self._hit(1)

    def action_previous_hit(self) -> None:
        self._hit(-1)

    def action_quit_app(self) -> None:
        self.app.exit()


def home_relative(folder: str) -> str:
    """A folder as people write it."""
    from pathlib import Path

    home = str(Path.home())
    shown = "~" + folder[len(home) :] if folder == home or folder.startswith(home + "/") else folder
    return one_line(shown)
