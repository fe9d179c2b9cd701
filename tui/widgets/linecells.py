"""Which characters of a line stand at which cells: cut at once out of lines of any length."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from rich.cells import get_character_cell_size as cells_of

STEP = 512
"""Characters between two places whose cell is remembered."""


def character_at(text: str, cell: int) -> tuple[int, int]:
    """The first character that begins at a cell or behind it, and the cell where it does."""
    if text.isascii():
        at = min(max(cell, 0), len(text))
        return at, at
    if cell <= 0:
        return 0, 0
    at, begin = (0, 0) if len(text) <= STEP else _near(text, cell)
    while begin < cell and at < len(text):
        begin += cells_of(text[at])
        at += 1
    return at, begin


def cell_at(text: str, character: int) -> int:
    """The cell at which a character begins."""
    if text.isascii():
        return character
    places = _places(text) if len(text) > STEP else (0,)
    mark = min(character // STEP, len(places) - 1)
    return places[mark] + sum(map(cells_of, text[mark * STEP : character]))


def window(text: str, start: int, cells: int) -> tuple[int, int, int]:
    """The characters that stand wholly within so many cells from a start, and the blanks before the first of them."""
    first, begin = character_at(text, start)
    last, end = character_at(text, start + cells)
    while last > first and end > start + cells:
        last -= 1
        end -= cells_of(text[last])
    return first, last, begin - start if last > first else 0


def _near(text: str, cell: int) -> tuple[int, int]:
    places = _places(text)
    mark = bisect_right(places, cell) - 1
    return mark * STEP, places[mark]


@lru_cache(maxsize=8)
def _places(text: str) -> tuple[int, ...]:
    """The cell of every so manieth character."""
    places = [0]
    for at in range(0, len(text) - STEP, STEP):
        places.append(places[-1] + sum(map(cells_of, text[at : at + STEP])))
    return tuple(places)
