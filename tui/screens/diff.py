"""The diff screen: two moments compared, file by file."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message

from ...store.errors import ForkpointError
from ...store.model import Diff
from ...store.text import path_text
from ..actions import Where
from ..running import edit_file
from ..widgets.bars import Bar, KeyBar, Notice
from ..widgets.diffpaint import lines_of
from ..widgets.diffpane import NARROWEST_SPLIT, DiffPane
from ..widgets.difftext import FILE, DiffText
from ..widgets.filelist import FileList, file_items
from ..widgets.lines import Lines, Span, bindings, clip_title, spans_length
from ..widgets.listing import Item
from ..words import count, one_line
from .diffsearch import DiffSearch
from .outcomes import Outcomes

if TYPE_CHECKING:
    from ...store.api import Store
    from .ways import Done

CONTEXTS = (0, 1, 3, 6, 12, 25, 1_000_000)
"""Lines around a change that { and } go through; the last shows whole files."""
MANY = 20_000
"""Lines that the collector of garbage is told not to look through."""
PATIENCE = 0.3
"""Seconds for which the rest of a diff waits until its beginning is on the screen."""


class DiffScreen(DiffSearch):
    """What differs between a checkpoint and another one, or the files as they are."""

    PLACES: ClassVar[tuple[Where, ...]] = ("diff",)
    BINDINGS: ClassVar[list[Binding]] = [*bindings("diff"), Binding("tab", "next_pane", show=False)]  # type: ignore[assignment]
    AUTO_FOCUS = "#diff"

    @dataclass
    class Compared(Message):
        """A comparison, or its beginning, is ready to be shown."""

        content: DiffText
        items: Sequence[Item]
        asked: int
        """Which question it answers."""
        painted: Event = field(default_factory=Event)
        """Set when it is on the screen."""

    def __init__(
        self,
        left: str,
        right: str | None,
        *,
        older: str = "",
        in_dialog: bool = False,
        paths: Sequence[bytes] = (),
    ) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.paths = paths
        """Only these are compared; all where none is named."""
        self.older = older or left
        """The side to which one goes back."""
        self.in_dialog = in_dialog
        """Opened by a dialog, to which it goes back."""
        self.context = 3
        self.ignore_space = False
        self.content: DiffText | None = None
        self._asked = 0
        self._begun = False

    def compose(self) -> ComposeResult:
        yield Bar(ident="header")
        with Horizontal(id="panes"):
            yield FileList(ident="files")
            yield DiffPane(ident="diff")
        yield self.search_line()
        yield Notice(ident="notice")
        yield KeyBar(ident="keys")

    def begin(self) -> None:
        self._begun = True
        super().begin()
        self.query_one("#header", Bar).show([("Comparing …", "muted")])
        self.pane.always_marks = True
        self.read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key that comes before there is anything for it does nothing."""
        return self._begun and super().check_action(action, parameters)

    def resized(self, size: Size) -> None:
        super().resized(size)
        self.show_header()

    @property
    def pane(self) -> DiffPane:
        return self.query_one("#diff", DiffPane)

    @property
    def files(self) -> FileList:
        return self.query_one("#files", FileList)

    # Comparing

    @work(exclusive=True, group="read")
    async def read(self) -> None:
        """Compares, in a worker; the beginning of a long diff comes before the rest of it."""
        self._asked += 1
        left, right, context, ignore_space, asked = self.left, self.right, self.context, self.ignore_space, self._asked
        minus = self.app.signs.minus

        def made(diff: Diff) -> DiffScreen.Compared:
            content = DiffText(diff)
            if diff.whole:
                # Worked out here, since keys should not wait for them.
                _ = content.widest, content.side_of
            if len(content) > MANY:
                # Else the collector of garbage looks through all of these lines between two keys.
                gc.freeze()
            return self.Compared(content, file_items(content, minus), asked)

        def compare(store: Store) -> DiffScreen.Compared:
            def begin(diff: Diff) -> None:
                begun = made(diff)
                if self.post_message(begun):
                    # Two threads at work take turns: the screen comes first.
                    begun.painted.wait(PATIENCE)

            found = store.diff(left, right, context=context, ignore_space=ignore_space, paths=self.paths, begin=begin)
            return made(found)

        try:
            self.post_message(await self.ask(compare))
        except ForkpointError as error:
            self.query_one("#header", Bar).show([("Diff", "strong")])
            self.failed(error)

    def on_diff_screen_compared(self, message: Compared) -> None:
        if message.asked != self._asked:
            return
        begun = self.content is not None and not self.content.diff.whole
        keep = None if begun else self.pane.place()
        self.content = message.content
        self.pane.empty = "The files are the same on both sides."
        self.pane.show(self.content, keep=keep, grown=begun)
        self.files.fill(message.items, at=str(max(self.pane.file, 0)))
        self.show_header()
        self.call_after_refresh(message.painted.set)

    def show_header(self) -> None:
        if self.content is None:
            return
        diff, signs = self.content.diff, self.app.signs
        right = self._facts(diff)
        only = f"of {', '.join(map(path_text, self.paths))}  " if self.paths else ""
        ends = [one_line(diff.left), one_line(diff.right)]
        room = self.size.width - 12 - spans_length([*right, (only, "strong")])
        if sum(map(cell_len, ends)) > room:
            # The shorter end leaves its room to the other one.
            first = min(cell_len(ends[0]), max(room // 2, room - cell_len(ends[1])))
            ends = [clip_title(ends[0], first, signs.more), clip_title(ends[1], room - first, signs.more)]
        named: list[Span] = [("Diff  ", "strong"), (only, "strong")]
        left = [*named, (ends[0], "text"), (f" {signs.arrow} ", "muted"), (ends[1], "text")]
        self.query_one("#header", Bar).show(left, right)

    def _facts(self, diff: Diff) -> list[Span]:
        """What is searched for and left out, and how much differs; less of it where there is little room."""
        right: list[Span] = []
        if looked := self.looked_for():
            right.append((f"{looked}  ", "attention"))
        if self.ignore_space:
            right.append(("no white space  ", "attention"))
        if not diff.whole:
            return [*right, ("reading on …", "muted")]
        if self.size.width >= 80 and diff.files:
            right.append((count(len(diff.files), "file"), "muted"))
        added, removed = sum(file.added for file in diff.files), sum(file.removed for file in diff.files)
        return [*right, *lines_of(added, removed, self.app.signs.minus)]

    # The files

    def on_diff_pane_turned(self, event: DiffPane.Turned) -> None:
        if self.files.items and not self.files.has_focus and event.file >= 0:
            self.files.follow(event.file)

    def on_lines_moved(self, event: Lines.Moved) -> None:
        files = self.files
        if event.lines is not files or not files.has_focus or files.item is None or self.content is None:
            return
        if int(files.item.key) != self.pane.file:
            self.pane.go_to(self.content.files[int(files.item.key)])

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        if event.lines is self.files:
            self._to_the_diff()

    def _to_the_diff(self) -> None:
        if self.has_class("-narrow"):
            self.remove_class("-files")
        self.pane.focus()

    def action_files(self) -> None:
        """The list comes and takes the keys, or goes."""
        files = self.files
        shown = files.display and files.region.width > 0
        if shown and not files.has_focus:
            files.focus()
            return
        self.set_class(not shown, "-files")
        self.set_class(shown, "-no-files")
        (self.pane if shown else files).focus()

    def action_next_pane(self) -> None:
        files = self.files
        if self.pane.has_focus and files.display and files.region.width > 0:
            files.focus()
        else:
            self._to_the_diff()

    # Jumps and views

    def _jump(self, what: str, by: int) -> None:
        if self.content is None:
            return
        starts = self.content.hunks if what == "hunk" else self.content.files
        if not self.pane.jump(starts, by):
            self.notice.say(f"No {what} {'below' if by > 0 else 'above'}.")
        elif self.files.has_focus:
            self.files.follow(self.pane.file)

    def action_next_hunk(self) -> None:
        self._jump("hunk", 1)

    def action_previous_hunk(self) -> None:
        self._jump("hunk", -1)

    def action_next_file(self) -> None:
        self._jump("file", 1)

    def action_previous_file(self) -> None:
        self._jump("file", -1)

    def action_slide_left(self) -> None:
        self.pane.action_scroll_left()

    def action_slide_right(self) -> None:
        self.pane.action_scroll_right()

    def action_side_by_side(self) -> None:
        if not self.pane.split and self.pane.size.width < NARROWEST_SPLIT:
            self.notice.say(f"Side by side needs {NARROWEST_SPLIT} columns, here are {self.pane.size.width}.")
            return
        self.pane.turn(split=not self.pane.split)

    def action_wrap(self) -> None:
        self.pane.turn(wrap=not self.pane.wrap)
        cut = "Long lines are cut; the arrows go sideways."
        self.notice.say("Long lines are wrapped." if self.pane.wrap else cut)

    def action_numbers(self) -> None:
        self.pane.turn(numbers=not self.pane.numbers)

    def action_space_changes(self) -> None:
        self.ignore_space = not self.ignore_space
        self.notice.say("White space is ignored." if self.ignore_space else "White space counts.")
        self.read()

    def _set_context(self, by: int) -> None:
        at = max(0, min(CONTEXTS.index(self.context) + by, len(CONTEXTS) - 1))
        changed = self.context != CONTEXTS[at]
        self.context = CONTEXTS[at]
        whole = at == len(CONTEXTS) - 1
        self.notice.say("Whole files." if whole else f"{count(self.context, 'line')} around a change.")
        if changed:
            self.read()

    def action_less_context(self) -> None:
        self._set_context(-1)

    def action_more_context(self) -> None:
        self._set_context(1)

    # Acts

    def action_edit(self) -> None:
        """Opens the file as it is now, at the line under the cursor."""
        place = self.pane.place(older=self.left == "now")
        if place is None:
            self.notice.say("There is no file under the cursor.")
            return
        path, line = place
        full = os.path.join(self.app.store.root, os.fsdecode(path))
        problem = edit_file(self.app, full, line)
        if problem:
            self.notice.say(problem, "attention")
        elif self.right is None or "now" in (self.left, self.right):
            self.read()

    def action_copy_hunk(self) -> None:
        """The hunk under the cursor as a patch; at a file's heading and in the list of files its path."""
        content, pane = self.content, self.pane
        if content is None or pane.file < 0:
            self.notice.say("There is nothing to copy.")
            return
        hunk = content.hunk_of(pane.row)
        name = path_text(content.diff.files[pane.file].path)
        if self.files.has_focus or hunk is None or content.kinds[pane.row] == FILE:
            self.app.copy_to_clipboard(name)
            self.notice.say(f"Copied the path {name}.", then=self.app.copied_how)
        else:
            self.app.copy_to_clipboard(content.patch(*hunk))
            self.notice.say(
                f"Copied this hunk of {name}, {count(hunk[1] - hunk[0], 'line')}.", then=self.app.copied_how
            )

    def action_restore_file(self) -> None:
        """Goes back to the older side; from a dialog, back to it."""
        from .restore import RestoreDialog
        from .ways import GoBack

        if self.in_dialog:
            self.leave(None)
        else:
            self.open(RestoreDialog(GoBack(self.older, 0)), self._went_back)

    def _went_back(self, done: Done | None) -> None:
        """Leaves it to the screen over which things are done; what stands between tells it too."""
        if done is None:
            return
        beneath = next(screen for screen in reversed(self.app.screen_stack) if isinstance(screen, Outcomes))
        self.leave(None)
        beneath.call_later(beneath.acted, done)

    def action_close(self) -> None:
        """One thing after the other: the notice, the search, the list of files, the screen."""
        if self.notice.hush() or self.stop_searching():
            return
        if self.files.has_focus:
            self._to_the_diff()
        else:
            self.leave(None)
