"""What stands behind the row under the cursor: read once the cursor rests on it, and shown beside the tree."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work

from ...store.errors import ForkpointError
from ...store.model import Diff, Point
from ..detail.asked import Asked, Mode, Tab, after
from ..detail.heading import glance, heading
from ..outline import Outline
from ..rows import Row
from ..widgets.diffpane import DiffPane
from ..widgets.difftext import DiffText
from ..widgets.flow import Laid, Part, Stale, laid
from ..widgets.lines import Lines
from ..widgets.reading import Reading
from ..widgets.sheet import Sheet, text
from .page import in_words
from .welcome import Welcome

if TYPE_CHECKING:
    from ...store.api import Store

REST = 0.06
"""Seconds that the cursor must rest on a row before it is read."""
KEPT_DIFFS = 24


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of a row, laid out for the pane's width."""

    changed: DiffText | None
    parts: Sequence[Part]
    laid: Laid


class Looking(Welcome):
    """Fills the detail, the preview and the strip."""

    mode: Mode = "row"
    """Which changes of files the detail tells."""

    def __init__(self) -> None:
        super().__init__()
        self._diffs: OrderedDict[tuple[str, str], DiffText] = OrderedDict()
        self._opened: frozenset[str] = frozenset()
        self._look = 0
        """Number of the newest look: the answers of all others are stale."""
        self._seen = ("", "")
        """The row and the tab that the detail shows."""

    @property
    def reading(self) -> Reading:
        return self.query_one("#detail", Reading)

    def on_lines_moved(self, message: Lines.Moved) -> None:
        if message.lines is self.timeline:
            self.look()
            self.show_status()
        elif message.lines is self.reading:
            self.show_keys()

    @work(exclusive=True, group="look")
    async def look(self, *, at_once: bool = False) -> None:
        """Reads what stands behind the row, once the cursor rests on it."""
        row, outline, tab = self.timeline.row, self.timeline.outline, self.tab
        self._look += 1
        if row is None or outline is None:
            self._show_nothing()
            return
        number, now, signs, width = self._look, self.app.now(), self.app.signs, self.reading.text_width
        opened, mode = self._opened, self.mode
        if not at_once:
            await asyncio.sleep(REST)

        def read(store: Store) -> Seen:
            asked = Asked(store, outline, row, now, signs, opened, mode, lambda: number == self._look)
            return self._read(asked, tab, width)

        try:
            seen = await self.ask(read)
        except Stale:
            return
        self._show(seen, outline, row, now)

    def _read(self, asked: Asked, tab: Tab, width: int) -> Seen:
        """Everything that is shown of a row; called in a worker. What cannot be read is told where it would stand."""
        changed: DiffText | None = None
        trouble: ForkpointError | None = None
        asked.check()
        try:
            changed = self.changed(asked)
        except ForkpointError as error:
            trouble = error if tab == "files" else None
        parts: list[Part] = [*heading(asked, tab)]
        try:
            parts += _told(asked, tab, changed) if trouble is None else ()
        except ForkpointError as error:
            trouble = error
        if trouble is not None:
            parts += [text(in_words(trouble), "attention"), text(trouble.todo, "muted")]
        return Seen(changed, parts, laid(parts, width, asked.wanted))

    def _show(self, seen: Seen, outline: Outline, row: Row, now: int) -> None:
        shown = (row.key, self.tab)
        self.reading.show(seen.parts, seen.laid, keep_place=shown == self._seen)
        self._seen = shown
        diff = seen.changed.diff if seen.changed else None
        strip = self.query_one("#strip", Sheet)
        strip.show(glance(outline, row, diff, now, self.app.signs, strip.size.width - 1))
        preview = self.query_one("#preview", DiffPane)
        preview.empty = "No file changed here." if row.kind != "operation" else ""
        preview.show(seen.changed or DiffText(Diff("", "", ())))
        self.set_class(not (diff and diff.files), "-unchanged")

    def changed(self, asked: Asked) -> DiffText | None:
        """What a row changed: an operation what it did, all others what lies between the two checkpoints around them.

        None where there are none. Call it in a worker.
        """
        if asked.row.operation is not None:
            return DiffText(asked.store.done_by(asked.row.operation.id))
        ends = asked.outline.ends(asked.row)
        return self.difference(asked.store, ends) if ends is not None else None

    def difference(self, store: Store, ends: tuple[Point, Point]) -> DiffText:
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
        self.reading.show((), Laid())
        self.query_one("#strip", Sheet).show([])
        self.query_one("#preview", DiffPane).show(DiffText(Diff("", "", ())))

    # Keys of the detail, while it has them

    def on_descendant_focus(self) -> None:
        self.show_keys()

    def offers(self, action: str) -> bool:
        if action == "follow":
            return self.is_mounted and self.reading.has_focus and self.reading.link is not None
        if action == "enter" and self.is_mounted and self.reading.has_focus:
            return False
        return super().offers(action)

    # What a line of the detail leads to

    def on_reading_followed(self, message: Reading.Followed) -> None:
        link = message.link
        if link.kind == "part":
            self._opened ^= {link.name}
            self.look(at_once=True)
        elif link.kind == "mode":
            self.mode = link.name  # type: ignore[assignment]
            self.look(at_once=True)
        elif self.timeline.outline is not None:
            from .filehistory import FileHistoryScreen

            self.open(FileHistoryScreen(link.path, self.timeline.outline), self._chosen)

    def on_reading_left(self, message: Reading.Left) -> None:
        self.remove_class("-detail")
        self.timeline.focus()

    def action_show_files(self) -> None:
        """The files; where they are shown already, the next of the three ways to look at them."""
        if self.tab == "files" and (not self.has_class("-narrow") or self.has_class("-detail")):
            self.mode = after(self.mode)
        self._show_tab("files")


def _told(asked: Asked, tab: Tab, changed: DiffText | None) -> Iterator[Part]:
    """What a tab tells; what it takes is imported with the first row that is read, after the tree is on the screen."""
    if tab == "conversation":
        from ..detail.conversation import conversation

        return conversation(asked)
    if tab == "files":
        from ..detail.files import files

        return files(asked, changed.diff if changed else None)
    from ..detail.facts import facts

    return facts(asked)
