"""The keys of the main screen that look and move: rows, folds, panes, search, and going to a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import work
from textual.events import Key
from textual.widgets import Input

from ...store.errors import ForkpointError
from ..detail.asked import Tab
from ..marking import Mark
from ..rows import Row
from ..widgets.lines import Lines
from ..words import one_line
from .acting import Acting

WANTED: dict[str, Callable[[Row], bool]] = {
    "prompt": lambda row: row.kind == "prompt",
    "checkpoint": lambda row: bool(row.points),
    "fork": lambda row: row.kind == "branch",
}

ROW_ACTIONS = frozenset({"enter", "diff", "mark", "restore", "fork", "label", "pin", "copy", "copy_id", "compare_now"})
"""What is done with a row, and not offered where there is none."""


class Moving(Acting):
    """Moves through the tree and between the panes; changes nothing."""

    tab: Tab = "conversation"
    """What the detail tells."""
    _asking = ""
    """What the line at the bottom asks for now: search, go, or nothing."""

    if TYPE_CHECKING:

        def look(self) -> object: ...

        def show_header(self) -> None: ...

        def show_status(self) -> None: ...

        def show_tabs(self) -> None: ...

        def stop_reading(self) -> bool: ...

    def offers(self, action: str) -> bool:
        if action == "record":
            return self.status is not None and not self.status.recording
        if action == "recover":
            return bool(self.status and self.status.interrupted)
        if action in ("next_hit", "previous_hit"):
            return bool(self.timeline.needle) if self.is_mounted else False
        if action in ROW_ACTIONS:
            return bool(self.timeline.shown) if self.is_mounted else False
        return super().offers(action)

    def _seek(self, by: int, wanted: str) -> None:
        far = wanted != "prompt" and self.timeline.filter == "all"
        seek = self.timeline.seek_anywhere if far else self.timeline.seek
        if not seek(by, WANTED[wanted]):
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
        timeline = self.timeline
        inside = row is not None and timeline.folds(row) and not timeline.holds_a_result(row)
        if row is not None and inside and not timeline.is_open(row):
            timeline.unfold()
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
        self.timeline.next_filter()
        self.notice.hush()
        self.show_header()

    def action_clock(self) -> None:
        self.timeline.clocks = not self.timeline.clocks
        self.timeline.repaint()

    def action_mark(self) -> None:
        row, outline = self.timeline.row, self.timeline.outline
        if row is None or outline is None or not row.target:
            return
        point = outline.checkpoint_at(row)
        if self.timeline.marked == row.key:
            self.unmark()
        elif point is None:
            self.notice.say("No checkpoint stands at or before this row.")
        else:
            self.app.marked = Mark(point.id, point.time, self.app.store.root)
            self.timeline.marked = row.key
            self.timeline.repaint()
            self.show_status()

    def unmark(self) -> None:
        """Takes the mark away, wherever it was set."""
        self.app.marked = None
        self.timeline.marked = ""
        self.timeline.repaint()
        self.show_status()

    def _show_tab(self, tab: Tab) -> None:
        self.tab = tab
        self.show_tabs()
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
        """One thing after the other: what is being read, notice, detail, search, filter, mark."""
        if self.stop_reading() or self.notice.hush():
            return
        if self.focused is not self.timeline:
            self.remove_class("-detail")
            self.timeline.focus()
        elif self.timeline.needle:
            self.timeline.search("")
            self.show_status()
        elif self.timeline.filter != "all":
            self.timeline.show_only("all")
            self.show_header()
        elif self.app.marked:
            self.unmark()

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
        self.timeline.begin_search()

    def action_go_to(self) -> None:
        self._open_line("go", "id, label, branch or time (@14:30, @yesterday)")

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._asking == "search":
            self.timeline.search(event.value)
            self.show_status()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        asking, value = self._asking, event.value.strip()
        self._close_line()
        if asking == "search":
            self.timeline.end_search(stay=bool(self.timeline.hits))
            if value and not self.timeline.hits:
                self.notice.say(f"Nothing holds “{one_line(value)}”.", then="S searches everything")
            self.show_keys()
            self.show_status()
        elif value:
            self._resolve(value)

    def on_key(self, event: Key) -> None:
        if event.key == "escape" and self._asking:
            if self._asking == "search":
                self.timeline.end_search(stay=False)
                self.show_status()
            self._close_line()
            event.stop()
            event.prevent_default()

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
        if not self.timeline.needle:
            self.notice.say("Nothing is searched for yet.", then="/ searches")
            return
        self.timeline.next_hit(by)
        self.show_status()

    def action_next_hit(self) -> None:
        self._hit(1)

    def action_previous_hit(self) -> None:
        self._hit(-1)

    def action_quit_app(self) -> None:
        self.app.exit()
