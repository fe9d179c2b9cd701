"""Searching in a diff: as one types, and from hit to hit."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input

from ..widgets.diffpane import DiffPane
from .page import Page


class DiffSearch(Page):
    """A page with a diff and a line in which one types what is searched for."""

    _from = 0
    """The cursor's line when the search began."""
    _hit = 0

    @property
    def pane(self) -> DiffPane:
        raise LookupError

    def show_header(self) -> None:
        """Draws where one is."""

    def search_line(self) -> Input:
        """The line, to be composed."""
        return Input(id="line", placeholder="search in the diff", select_on_focus=False)

    def looked_for(self) -> str:
        """Which hit one is at, in words."""
        pane = self.pane
        if not pane.needle:
            return ""
        return f"hit {self._hit} of {len(pane.hits)}" if pane.hits else "no hit"

    def action_diff_search(self) -> None:
        line = self.query_one("#line", Input)
        self._from = self.pane.cursor
        line.value = ""
        line.add_class("-on")
        line.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if not event.input.has_class("-on"):
            return
        self.pane.search(event.value)
        self.pane.cursor = self._from
        self._hit = self.pane.next_hit(1, stay=True)
        self.show_header()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_line()
        if self.pane.needle and not self.pane.hits:
            self.notice.say(f"Nothing holds “{self.pane.needle}”.")
            self.stop_searching()

    def on_key(self, event: Key) -> None:
        if event.key == "escape" and self.query_one("#line").has_class("-on"):
            self._close_line()
            self.stop_searching()
            self.pane.cursor = self._from
            event.stop()
            event.prevent_default()

    def _close_line(self) -> None:
        self.query_one("#line").remove_class("-on")
        self.pane.focus()

    def stop_searching(self) -> bool:
        """Forgets what was searched for; False where nothing was."""
        was_on = bool(self.pane.needle)
        self.pane.search("")
        self.show_header()
        return was_on

    def _next_hit(self, by: int) -> None:
        if not self.pane.needle:
            self.notice.say("Nothing is searched for yet.", then="/ searches")
            return
        self._hit = self.pane.next_hit(by)
        self.show_header()

    def action_diff_next_hit(self) -> None:
        self._next_hit(1)

    def action_diff_previous_hit(self) -> None:
        self._next_hit(-1)
