"""What is asked of the detail: a row of a tree, seen now, with these parts of it open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..outline import Outline
from ..rows import Row
from ..theme import Signs
from ..widgets.flow import Stale, always

if TYPE_CHECKING:
    from ...store.api import Store

Tab = Literal["conversation", "files", "facts"]
Mode = Literal["row", "since", "now"]

MODES: Mapping[Mode, str] = {"row": "by this row", "since": "since here", "now": "against now"}


def after(mode: Mode) -> Mode:
    """The next of the three ways to look at files."""
    names = list(MODES)
    return names[(names.index(mode) + 1) % len(names)]


@dataclass(frozen=True, slots=True)
class Asked:
    """One look at a row. It is answered on another thread, piece by piece."""

    store: Store
    outline: Outline
    row: Row
    now: int
    signs: Signs
    opened: frozenset[str] = frozenset()
    """Names of the parts that a person opened."""
    mode: Mode = "row"
    """Which changes of files are told."""
    wanted: Callable[[], bool] = always

    def check(self) -> None:
        """Raises Stale once nobody waits for the answer any more."""
        if not self.wanted():
            raise Stale
