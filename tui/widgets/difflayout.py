"""Which lines of a diff stand at which lines of the screen: one below the other or side by side, wrapped or cut."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

from .difftext import BLANK, CODE, FILE, HUNK, NOTE, PROBLEM, DiffText

WHOLE = (BLANK, FILE, NOTE, PROBLEM, HUNK)
"""Kinds of lines that go over both sides."""


@dataclass
class Layout:
    """A diff in a width; numbers of "lines" are the screen's, those of "rows" the text's."""

    content: DiffText
    width: int
    split: bool = False
    wrap: bool = False
    numbers: bool = True
    _tops: list[int] = field(default_factory=list[int], init=False)
    """First line of each drawn row; only when wrapping, where one can take several."""

    def __post_init__(self) -> None:
        if self.wrap:
            self._tops = [0, *accumulate(self._heights())]

    # Measures

    @property
    def digits(self) -> int:
        return len(str(self.content.highest))

    @property
    def lead(self) -> int:
        """Cells before the text: a mark, the numbers and a sign."""
        shown = (self.digits + 1) * (1 if self.split else 2) if self.numbers else 0
        return 1 + shown + 2

    @property
    def halves(self) -> tuple[int, int]:
        """Cells of the two sides; a line stands between them."""
        left = (self.width - 1) // 2
        return left, self.width - left - 1

    @property
    def room(self) -> int:
        """Cells of the text; the last one is kept for what is cut, or for a wide character that sticks out."""
        width = self.halves[0] if self.split else self.width
        return max(width - self.lead - 1, 4)

    @property
    def drawn(self) -> int:
        """Rows before wrapping: of the text, or of its two sides."""
        return len(self.content.sides) if self.split else len(self.content)

    @property
    def height(self) -> int:
        """All lines."""
        return self._tops[-1] if self.wrap else self.drawn

    def parts(self, row: int) -> int:
        """Lines that a row takes."""
        if not self.wrap or self.content.kinds[row] not in CODE:
            return 1
        return max(1, -(-self.content.lengths[row] // self.room))

    def _heights(self) -> list[int]:
        room, kinds = self.room, self.content.kinds
        rows = [
            max(1, -(-length // room)) if kinds[at] in CODE else 1 for at, length in enumerate(self.content.lengths)
        ]
        if not self.split:
            return rows
        rows.append(1)  # for -1: a gap
        return [rows[old] if rows[old] > rows[new] else rows[new] for old, new in self.content.sides]

    # From one to the other

    def at(self, line: int) -> tuple[int, int]:
        """Which drawn row stands at a line, and which part of it."""
        if not self.wrap:
            return line, 0
        drawn = bisect_right(self._tops, line) - 1
        return drawn, line - self._tops[drawn]

    def rows_at(self, line: int) -> tuple[int, int]:
        """The old and the new row at a line, -1 for a gap; the same one where there are no sides."""
        drawn, _ = self.at(line)
        return self.content.sides[drawn] if self.split else (drawn, drawn)

    def row_at(self, line: int) -> int:
        """The row at a line, on two sides the newer one."""
        old, new = self.rows_at(min(line, self.height - 1))
        return new if new >= 0 else old

    def line_of(self, row: int) -> int:
        """The line at which a row begins."""
        drawn = self.content.side_of[row] if self.split else row
        return self._tops[drawn] if self.wrap else drawn
