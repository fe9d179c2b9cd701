"""The diff screen: two moments compared, file by file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.geometry import Size

from ...store.errors import ForkpointError
from ...store.model import RestoreResult
from ..actions import Where
from ..running import edit_file
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.choices import Told
from ..widgets.diffpane import NARROWEST_SPLIT, DiffPane, lines_of
from ..widgets.difftext import LETTERS, DiffText, file_name
from ..widgets.lines import Lines, Span, bindings, clip_title, spans_length
from ..widgets.listing import Column, Item, Listing
from ..widgets.sheet import text
from ..words import count, one_line, short
from .page import Page

if TYPE_CHECKING:
    from ...store.api import Store
    from .acting import Acting
    from .restore import GoBack

CONTEXTS = (0, 1, 3, 6, 12, 25, 1_000_000)
"""Lines around a change that { and } go through; the last shows whole files."""
COLUMNS = (
    Column("", ink="chip"),
    Column("", grows=True),
    Column("", right=True, ink="added"),
    Column("", right=True, ink="removed"),
)


class DiffScreen(Page):
    """What differs between a checkpoint and another one, or the files as they are."""

    PLACES: ClassVar[tuple[Where, ...]] = ("diff",)
    BINDINGS: ClassVar[list[Binding]] = [*bindings("diff"), Binding("tab", "next_pane", show=False)]  # type: ignore[assignment]
    AUTO_FOCUS = "#diff"

    def __init__(self, left: str, right: str | None, *, in_dialog: bool = False) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.in_dialog = in_dialog
        """Opened by a dialog, to which it goes back."""
        self.context = 3
        self.ignore_space = False
        self.content: DiffText | None = None

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        with Horizontal(id="panes"):
            yield Listing(COLUMNS, ident="files", head=False)
            yield DiffPane(ident="diff")
        yield Notice(ident="notice")
        yield KeyBar(ident="keys")
        yield Told([text("forkpoint needs 40 columns and 10 rows")], ident="small")

    def begin(self) -> None:
        super().begin()
        self.query_one("#header", Bar).show([("Comparing …", "muted")])
        self.pane.always_marks = True
        self.read()

    def resized(self, size: Size) -> None:
        super().resized(size)
        self._show_header()

    @property
    def pane(self) -> DiffPane:
        return self.query_one("#diff", DiffPane)

    @work(exclusive=True, group="read")
    async def read(self) -> None:
        """Compares, in a worker."""
        left, right, context, ignore_space = self.left, self.right, self.context, self.ignore_space

        def compare(store: Store) -> DiffText:
            content = DiffText(store.diff(left, right, context=context, ignore_space=ignore_space))
            # Worked out here, since the first frame needs them.
            _ = content.lengths
            return content

        try:
            content = await self.ask(compare)
        except ForkpointError as error:
            self.query_one("#header", Bar).show([("Diff", "strong")])
            self.failed(error)
            return
        keep = self.pane.place()
        self.content = content
        self.pane.empty = "The files are the same on both sides."
        self.pane.show(content, keep=keep)
        self._list_files()
        self._show_header()

    def _list_files(self) -> None:
        assert self.content is not None
        minus = self.app.signs.minus
        items = [
            Item(
                str(number),
                (
                    LETTERS[file.status],
                    file_name(file),
                    f"+{short(file.added)}" if file.added else "",
                    f"{minus}{short(file.removed)}" if file.removed else "",
                ),
            )
            for number, file in enumerate(self.content.diff.files)
        ]
        self.query_one("#files", Listing).fill(items)

    def _show_header(self) -> None:
        if self.content is None:
            return
        diff, signs = self.content.diff, self.app.signs
        added, removed = sum(file.added for file in diff.files), sum(file.removed for file in diff.files)
        right: list[Span] = [("no white space  ", "attention")] if self.ignore_space else []
        if diff.unknown:
            right.append((f"{count(diff.unknown, 'path')} not compared  ", "muted"))
        number = (
            f"file {self.pane.file + 1} of {len(diff.files)}" if self.pane.file >= 0 and len(diff.files) > 1 else ""
        )
        if self.size.width >= 100:
            right.append((number or count(len(diff.files), "file"), "muted"))
        right += lines_of(added, removed, signs.minus)
        ends = [one_line(diff.left), one_line(diff.right)]
        room = self.size.width - 12 - spans_length(right)
        if sum(map(cell_len, ends)) > room:
            # The shorter end leaves its room to the other one.
            first = min(cell_len(ends[0]), max(room // 2, room - cell_len(ends[1])))
            ends = [clip_title(ends[0], first, signs.more), clip_title(ends[1], room - first, signs.more)]
        left = [("Diff  ", "strong"), (ends[0], "text"), (f" {signs.arrow} ", "muted"), (ends[1], "text")]
        self.query_one("#header", Bar).show(left, right)

    # The files

    def on_diff_pane_turned(self, event: DiffPane.Turned) -> None:
        files = self.query_one("#files", Listing)
        if files.items and not files.has_focus and event.file >= 0:
            files.fill(files.items, at=str(event.file))
        self._show_header()

    def on_lines_moved(self, event: Lines.Moved) -> None:
        files = self.query_one("#files", Listing)
        if event.lines is files and files.has_focus and files.item is not None and self.content is not None:
            self.pane.go_to(self.content.files[int(files.item.key)])

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        if event.lines is self.query_one("#files"):
            self.pane.focus()

    def key_enter(self) -> None:
        self.pane.focus()

    def action_files(self) -> None:
        """The list comes and takes the keys, or goes."""
        files = self.query_one("#files", Listing)
        shown = files.display and files.region.width > 0
        if shown and not files.has_focus:
            files.focus()
            return
        self.set_class(not shown, "-files")
        self.set_class(shown, "-no-files")
        (self.pane if shown else files).focus()

    def action_next_pane(self) -> None:
        files = self.query_one("#files", Listing)
        if self.pane.has_focus and files.display and files.region.width > 0:
            files.focus()
        else:
            self.pane.focus()

    # Jumps and views

    def _jump(self, what: str, by: int) -> None:
        if self.content is None:
            return
        starts = self.content.hunks if what == "hunk" else self.content.files
        if not self.pane.jump(starts, by):
            self.notice.say(f"No {what} {'below' if by > 0 else 'above'}.")

    def action_next_hunk(self) -> None:
        self._jump("hunk", 1)

    def action_previous_hunk(self) -> None:
        self._jump("hunk", -1)

    def action_next_file(self) -> None:
        self._jump("file", 1)

    def action_previous_file(self) -> None:
        self._jump("file", -1)

    def action_side_by_side(self) -> None:
        if not self.pane.split and self.pane.size.width < NARROWEST_SPLIT:
            self.notice.say(f"Side by side needs {NARROWEST_SPLIT} columns, here are {self.pane.size.width}.")
            return
        self.pane.turn(split=not self.pane.split)

    def action_wrap(self) -> None:
        self.pane.turn(wrap=not self.pane.wrap)
        cut = "Long lines are cut; the arrows scroll sideways."
        self.notice.say("Long lines are wrapped." if self.pane.wrap else cut)

    def action_numbers(self) -> None:
        self.pane.turn(numbers=not self.pane.numbers)

    def action_space_changes(self) -> None:
        self.ignore_space = not self.ignore_space
        self.notice.say("White space is ignored." if self.ignore_space else "White space counts.")
        self.read()

    def _set_context(self, by: int) -> None:
        at = max(0, min(CONTEXTS.index(self.context) + by, len(CONTEXTS) - 1))
        self.context = CONTEXTS[at]
        whole = at == len(CONTEXTS) - 1
        self.notice.say("Whole files." if whole else f"{count(self.context, 'line')} around a change.")
        self.read()

    def action_less_context(self) -> None:
        self._set_context(-1)

    def action_more_context(self) -> None:
        self._set_context(1)

    # Acts

    def action_edit(self) -> None:
        """Opens the file as it is now, at the line under the cursor."""
        place = self.pane.place()
        if place is None:
            return
        path, line = place
        full = os.path.join(self.app.store.root, os.fsdecode(path))
        problem = edit_file(self.app, full, line)
        if problem:
            self.notice.say(problem, "attention")
        elif self.right is None:
            self.read()

    def action_copy_hunk(self) -> None:
        if self.content is None or not len(self.content):
            return
        row = self.pane.row_at(self.pane.cursor)
        start, end = self.content.hunk_of(row) or (row, row + 1)
        self.app.copy_to_clipboard(self.content.patch(start, end))
        self.notice.say(f"Copied {count(end - start, 'line')}.")

    def action_restore_file(self) -> None:
        """Goes back to the older side; from a dialog, back to it."""
        from .restore import GoBack, RestoreDialog

        if self.in_dialog:
            self.leave(None)
        else:
            self.open(RestoreDialog(GoBack(self.left, 0)), self._went_back)

    def _went_back(self, done: tuple[GoBack, RestoreResult] | None) -> None:
        if done is None:
            return
        beneath: Acting = self.app.screen_stack[-2]  # type: ignore[assignment]
        self.leave(None)
        beneath.call_later(beneath._went_back, done)

    def action_close(self) -> None:
        if not self.notice.hush():
            self.leave(None)
