"""What stands behind the row under the cursor: read once the cursor rests on it, and shown beside the tree."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from textual import work

from ...store.errors import ForkpointError
from ...store.model import Diff, Point
from .. import detail
from ..outline import Outline
from ..rows import Row
from ..widgets.diffpane import DiffPane
from ..widgets.difftext import DiffText
from ..widgets.lines import Lines
from ..widgets.sheet import Paragraph, Sheet, text
from .page import in_words
from .welcome import Welcome

if TYPE_CHECKING:
    from ...store.api import Store

REST = 0.06
"""Seconds that the cursor must rest on a row before it is read."""
KEPT_DIFFS = 24


class Looking(Welcome):
    """Fills the detail, the preview and the strip."""

    def __init__(self) -> None:
        super().__init__()
        self._diffs: OrderedDict[tuple[str, str], DiffText] = OrderedDict()

    def on_lines_moved(self, message: Lines.Moved) -> None:
        if message.lines is self.timeline:
            self.look()
            self.show_status()

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
                    ends = outline.ends(row)
                    authors = store.authors(ends[0].id, ends[1].id, outline.tree) if ends else None
                    paragraphs += detail.files_changed(diff, signs, authors)
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
