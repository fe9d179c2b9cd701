"""What stands over a screen that has too little room: how much it needs; what is beneath stays as it is."""

from __future__ import annotations

from typing import Any

from textual.geometry import Size
from textual.screen import Screen

from .choices import Told
from .sheet import text

COLUMNS, ROWS = 60, 15
"""The smallest size that screens are laid out for."""


class TooSmall(Told):
    """Says so, and what to do."""

    def __init__(self, size: Size) -> None:
        super().__init__([])
        self.tell(size)

    def tell(self, size: Size) -> None:
        """Another size that is too small."""
        needs = f"forkpoint needs {COLUMNS} columns and {ROWS} rows; here are {size.width} and {size.height}."
        self.show([text(needs, "strong"), text("Make the window larger or its letters smaller; ctrl+q leaves.")])


def cover(screen: Screen[Any], size: Size) -> None:
    """Covers a screen that is too small, and uncovers it when it no longer is."""
    standing = screen.query(TooSmall)
    if size.width >= COLUMNS and size.height >= ROWS:
        standing.remove()
    elif standing:
        standing.first().tell(size)
    else:
        screen.mount(TooSmall(size))


def is_covered(screen: Screen[Any]) -> bool:
    """Whether what a person would act on cannot be seen."""
    return bool(screen.query(TooSmall))
