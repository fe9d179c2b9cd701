"""Tables and rules, laid out at a width: columns give way where they are widest, and their cells are wrapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..theme import Signs
from ..widgets.flow import Line
from ..widgets.lines import Span, spans_length
from ..widgets.sheet import Paragraph, wrapped

NARROWEST = 6
"""Cells below which no column is pressed; a table that would need it is told row by row."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""

    sign: str
    lead: Sequence[Span] = ()
    follow: Sequence[Span] = ()

    def lines(self, width: int) -> Iterator[Line]:
        yield Line([*self.lead, (self.sign * max(width - spans_length(self.lead), 1), "faint")])


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first row names the columns."""

    rows: Sequence[Sequence[Sequence[Span]]]
    aligns: Sequence[str]
    """"left" or "right" for each column."""
    signs: Signs
    lead: Sequence[Span] = ()
    follow: Sequence[Span] = ()

    def lines(self, width: int) -> Iterator[Line]:
        prefix, room = self.lead, width - spans_length(self.lead)
        widths = self._widths(room)
        for number, row in enumerate(self.rows):
            made = self._row(row, widths, head=number == 0) if widths else self._told(row, room, head=number == 0)
            for spans in made:
                yield Line([*prefix, *spans])
                prefix = self.follow
            if number == 0 and widths:
                rules = [self.signs.rule * (cells + 2) for cells in widths]
                yield Line([*prefix, (self.signs.crossing.join(rules), "faint")])

    def _widths(self, room: int) -> list[int]:
        """Cells of each column; none where they do not fit beside each other."""
        columns = len(self.aligns)
        widths = [max((_longest(row[n]) for row in self.rows if n < len(row)), default=0) for n in range(columns)]
        spare = room - (3 * columns - 1) - sum(widths)
        if spare < 0 and (NARROWEST + 3) * columns - 1 > room:
            return []
        if spare < 0:
            widths = _pressed(widths, -spare)
        return [max(cells, 1) for cells in widths]

    def _row(self, row: Sequence[Sequence[Span]], widths: Sequence[int], *, head: bool) -> Iterator[list[Span]]:
        """A row, as high as its highest cell."""
        cells = [
            wrapped(Paragraph([(words, f"strong {ink}" if head else ink) for words, ink in row[n]]), widths[n])
            if n < len(row)
            else [[]]
            for n in range(len(widths))
        ]
        for height in range(max(map(len, cells), default=0)):
            line: list[Span] = []
            for n, cell in enumerate(cells):
                spans = cell[height] if height < len(cell) else []
                blanks = (" " * max(widths[n] - spans_length(spans), 0), "text")
                line += [(f"{self.signs.line} " if n else " ", "faint")]
                line += [blanks, *spans] if self.aligns[n] == "right" else [*spans, blanks]
                line.append((" ", "text"))
            yield line

    def _told(self, row: Sequence[Sequence[Span]], room: int, *, head: bool) -> Iterator[list[Span]]:
        """A row as a line for each cell, where there is no room for columns."""
        if head:
            return
        for n, cell in enumerate(row[: len(self.aligns)]):
            name = "".join(words for words, _ in self.rows[0][n])
            yield from wrapped(Paragraph([(f"{name}: ", "strong"), *cell], hang=2), room)
        yield []


def _longest(cell: Sequence[Span]) -> int:
    """Cells of the longest line of a cell."""
    words = "".join(words for words, _ in cell)
    return max(spans_length([(line, "")]) for line in words.split("\n"))


def _pressed(widths: Sequence[int], over: int) -> list[int]:
    """The widest columns give way first, none below the narrowest."""
    found = list(widths)
    while over > 0:
        widest = max(found)
        wide = [n for n, cells in enumerate(found) if cells == widest]
        next_widest = max((cells for cells in found if cells < widest), default=NARROWEST)
        step = min(widest - max(next_widest, NARROWEST), -(-over // len(wide)))
        if step <= 0:
            break
        for n in wide:
            taken = min(step, over)
            found[n] -= taken
            over -= taken
    return found
