"""A file as it was at a checkpoint, at the line that a search found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding

from ...store.errors import ForkpointError
from ...store.model import FileText, Hit
from ..actions import Where
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.colouring import coloured, lexer_for, overlaid
from ..widgets.lines import Lines, Span, bindings
from ..words import count, moment
from .page import Page


class FileLines(Lines):
    """Numbered lines of a file, with colours and what was looked for marked."""

    def __init__(self, *, ident: str | None = None) -> None:
        super().__init__(ident=ident)
        self.lines: Sequence[str] = ()
        self.empty = "Reading …"
        self._marks: dict[int, tuple[tuple[int, int], ...]] = {}
        self._name = ""

    @property
    def line_count(self) -> int:
        return len(self.lines) or 1

    def show(self, name: str, content: FileText, at: int) -> None:
        """Shows a file, with the cursor on a line of it."""
        self._name, self.lines, self._marks = name, content.lines, content.marks
        self.empty = "It is empty."
        self.set_reactive(Lines.cursor, self.validate_cursor(at))
        self.repaint()
        self.call_after_refresh(self._show_cursor)

    def _show_cursor(self) -> None:
        self.scroll_to(y=max(0, self.cursor - self.page // 3), animate=False, force=True)

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        if not self.lines:
            return [(" " + self.empty, "muted")], ""
        digits = len(str(len(self.lines)))
        parts = overlaid(coloured(lexer_for(self._name), self.lines[at]), list(self._marks.get(at, ())), "hit")
        return [(f" {at + 1:>{digits}}  ", "faint"), *parts], ""

    def plain(self, at: int) -> str:
        return self.lines[at] if at < len(self.lines) else ""


class FileScreen(Page):
    """Answers with the session and the checkpoint of the file, when its row is wanted."""

    PLACES: ClassVar[tuple[Where, ...]] = ("file",)
    BINDINGS: ClassVar[list[Binding]] = bindings("file")  # type: ignore[assignment]
    AUTO_FOCUS = "#list"

    def __init__(self, hit: Hit, words: str = "") -> None:
        super().__init__()
        self.hit, self.words = hit, words

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        yield FileLines(ident="list")
        yield Notice(ident="notice")
        yield KeyBar(ident="keys")

    def begin(self) -> None:
        super().begin()
        self.show_header("")
        self.load()

    @property
    def lines(self) -> FileLines:
        return self.query_one("#list", FileLines)

    def show_header(self, about: str) -> None:
        now = self.app.now()
        when = f"as it was at {moment(self.hit.time, now)}"
        left = [(self.hit.name, "strong"), (f"  {when}{about}", "muted")]
        self.query_one("#header", Bar).show(left)

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        hit = self.hit
        try:
            content = await self.ask(lambda store: store.file_text(hit.point, hit.path, self.words))
        except ForkpointError as error:
            self.failed(error)
            return
        self.lines.show(hit.name, content, max(hit.line - 1, 0))
        self.show_header(f", {count(len(content.lines), 'line')}")

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        self.action_file_row()

    def action_file_row(self) -> None:
        self.leave((self.hit.session, self.hit.point))

    def action_file_diff(self) -> None:
        from .diff import DiffScreen

        self.open(DiffScreen(self.hit.point, None))

    def action_file_copy(self) -> None:
        self.app.copy_to_clipboard(self.lines.plain(self.lines.cursor))
        self.notice.say("Copied 1 line.", then=self.app.copied_how)

    def action_file_back(self) -> None:
        if not self.notice.hush():
            self.leave(None)
