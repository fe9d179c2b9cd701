"""The list of a diff's files: a letter for what became of each, its name, and its lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding

from ...store.text import path_text
from ..words import short
from .diffpaint import clip_start
from .difftext import LETTERS, DiffText
from .lines import Lines, Span
from .listing import Column, Item, Listing

COLUMNS = (
    Column("", ink="chip"),
    Column("", grows=True),
    Column("", right=True, ink="added"),
    Column("", right=True, ink="removed"),
)
INKS = {"A": "added", "D": "removed", "T": "attention"}


class FileList(Listing):
    """Names give way at their beginning: the end of a path tells most."""

    BINDINGS: ClassVar[list[Binding]] = [Binding("enter", "pick", show=False)]  # type: ignore[assignment]

    def __init__(self, *, ident: str | None = None) -> None:
        super().__init__(COLUMNS, ident=ident, head=False)

    def follow(self, number: int) -> None:
        """Puts the cursor on a file, while another pane has the keys."""
        self.cursor = number

    def action_pick(self) -> None:
        """Goes to the file in the diff."""
        self.post_message(self.Chosen(self, self.cursor))

    def validate_cursor(self, value: int) -> int:
        return Lines.validate_cursor(self, value)

    def _row(self, cells: Sequence[str], inks: Sequence[str], width: int) -> list[Span]:
        names = [n for n, _ in self._columns(width) if self.columns[n].grows]
        room = dict(self._columns(width))
        cut = [clip_start(cell, room[n], self.signs.more) if n in names else cell for n, cell in enumerate(cells)]
        return super()._row(cut, inks, width)


def file_items(content: DiffText, minus: str) -> list[Item]:
    """A row for each file."""
    return [
        Item(
            str(number),
            (
                LETTERS[file.status],
                path_text(file.path),
                f"+{short(file.added)}" if file.added else "",
                f"{minus}{short(file.removed)}" if file.removed else "",
            ),
            (INKS.get(LETTERS[file.status], ""), "", "", ""),
        )
        for number, file in enumerate(content.diff.files)
    ]
