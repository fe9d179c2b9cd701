"""Lists in columns: sessions, branches, operations, files, keys; with headings, a filter and a cursor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from ..words import one_line
from .lines import Lines, Span, clip


@dataclass(frozen=True, slots=True)
class Column:
    """How the cells of one column stand."""

    name: str
    right: bool = False
    grows: bool = False
    """Takes what room is left, and is cut first."""
    least: int = 0
    """Columns of the list below which it is left out."""
    ink: str = "text"


@dataclass(frozen=True, slots=True)
class Item:
    """One row: a cell for each column, or a heading."""

    key: str
    cells: tuple[str, ...]
    inks: tuple[str, ...] = ()
    """Inks of the cells, where they differ from their column's."""
    heading: bool = False
    about: str = ""
    """Further words that the filter finds."""
    counts: bool = True
    """Whether it is one of what the list counts."""


class Listing(Lines):
    """Rows of cells; the widths of the columns follow from what stands in them."""

    def __init__(self, columns: Sequence[Column], *, ident: str | None = None, head: bool = True) -> None:
        super().__init__(ident=ident)
        self.columns = list(columns)
        self.items: list[Item] = []
        self.shown: list[int] = []
        self.needle = ""
        self.empty = ""
        """What is said where there is nothing."""
        self._head = head
        self._widths = [0] * len(self.columns)

    @property
    def line_count(self) -> int:
        return len(self.shown) + self._top if self.shown else self._top + (1 if self.empty else 0)

    @property
    def _top(self) -> int:
        return 1 if self._head else 0

    @property
    def item(self) -> Item | None:
        """The row under the cursor."""
        at = self.cursor - self._top
        return self.items[self.shown[at]] if 0 <= at < len(self.shown) else None

    def fill(self, items: Iterable[Item], *, at: str = "") -> None:
        """Shows other rows; the cursor stays on its row, or goes to the one named."""
        keep = at or (self.item.key if self.item else "")
        self.items = list(items)
        self._choose(keep)

    def filter(self, needle: str) -> int:
        """Shows the rows that hold these words only; returns how many."""
        self.needle = needle
        self._choose(self.item.key if self.item else "")
        return sum(1 for at in self.shown if not self.items[at].heading)

    def _choose(self, keep: str) -> None:
        words = self.needle.lower().split()
        self.shown = list(range(len(self.items))) if not words else list(self._holding(words))
        self._measure()
        place = next((n for n, at in enumerate(self.shown) if self.items[at].key == keep and keep), 0)
        self.set_reactive(Lines.cursor, self.validate_cursor(place + self._top))
        self.repaint()
        if self.is_attached:
            self.show_line(self.cursor)
            self.post_message(self.Moved(self, self.cursor))

    def _holding(self, words: list[str]) -> Iterator[int]:
        """The rows that hold these words, and the headings above them."""
        heading = -1
        for at, item in enumerate(self.items):
            if item.heading:
                heading = at
                continue
            text = f"{' '.join(item.cells)} {item.about}".lower()
            if all(word in text for word in words):
                if heading >= 0:
                    yield heading
                    heading = -1
                yield at

    def validate_cursor(self, value: int) -> int:
        """Headings are passed over, in the direction of the move."""
        value = max(self._top, min(value, self._top + len(self.shown) - 1)) if self.shown else self._top
        step = -1 if value < self.cursor else 1
        for way in (step, -step):
            at = value
            while 0 <= at - self._top < len(self.shown):
                if not self.items[self.shown[at - self._top]].heading:
                    return at
                at += way
        return value

    def show_line(self, at: int) -> None:
        above = self.shown[: max(at - self._top, 0)]
        if all(self.items[number].heading for number in above):
            # The names of the columns and the first heading have no line that the cursor could go to.
            super().show_line(0)
        super().show_line(at)

    def _measure(self) -> None:
        """Columns in which nothing stands get no room."""
        self._widths = [0] * len(self.columns)
        for at in self.shown:
            item = self.items[at]
            if item.heading:
                continue
            for number, cell in enumerate(item.cells):
                self._widths[number] = max(self._widths[number], cell_len(cell))
        if self._head:
            names = [cell_len(column.name) for column in self.columns]
            self._widths = [
                max(width, name) if width or not self.shown else 0
                for width, name in zip(self._widths, names, strict=True)
            ]

    def _columns(self, width: int) -> list[tuple[int, int]]:
        """Numbers and widths of the columns that fit."""
        chosen = [n for n, column in enumerate(self.columns) if width >= column.least and self._widths[n]]
        fixed = sum(self._widths[n] + 2 for n in chosen if not self.columns[n].grows)
        growing = [n for n in chosen if self.columns[n].grows]
        room = max(width - 1 - fixed, 8)
        widths: list[tuple[int, int]] = []
        for n in chosen:
            if not self.columns[n].grows:
                widths.append((n, self._widths[n]))
            else:
                share = min(self._widths[n], max(room // len(growing) - 2, 4))
                share = max(share, room - 2 - sum(self._widths[o] + 2 for o in growing if o != n))
                widths.append((n, min(share, self._widths[n])))
        return widths

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        if at < self._top:
            return self._row([column.name for column in self.columns], ["chip"] * len(self.columns), width), "bar"
        if not self.shown:
            return [(" " + self.empty, "muted")], ""
        item = self.items[self.shown[at - self._top]]
        if item.heading:
            return self._heading(item.cells, width), ""
        inks = [*item.inks, *[column.ink for column in self.columns[len(item.inks) :]]]
        inks = [ink or column.ink for ink, column in zip(inks, self.columns, strict=True)]
        return self._row([one_line(cell) for cell in item.cells], inks, width), ""

    def _heading(self, cells: Sequence[str], width: int) -> list[Span]:
        """A name, of which the end counts most where it is cut, and what is told of it."""
        name, *about = map(one_line, cells)
        room = max(width - 1 - sum(cell_len(more) + 2 for more in about), 8)
        if cell_len(name) > room:
            name = self.signs.more + name[len(name) - room + 1 :]
        return [(f" {name}", "strong"), *((f"  {more}", "muted") for more in about)]

    def _row(self, cells: Sequence[str], inks: Sequence[str], width: int) -> list[Span]:
        spans: list[Span] = [(" ", "text")]
        for n, room in self._columns(width):
            text = clip(cells[n], room, self.signs.more)
            blanks = " " * (room - cell_len(text))
            cell: list[Span] = [(text, inks[n]), (blanks, "text")]
            spans += [*(reversed(cell) if self.columns[n].right else cell), ("  ", "text")]
        return spans

    def plain(self, at: int) -> str:
        item = self.items[self.shown[at - self._top]] if 0 <= at - self._top < len(self.shown) else None
        return "  ".join(cell for cell in item.cells if cell) if item else ""
