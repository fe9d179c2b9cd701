"""One step of a restore, as data."""

from __future__ import annotations

from typing import NamedTuple

from ..states import Node


class Change(NamedTuple):
    """What a path is before and after; the same path may come twice when a folder has to be opened up first."""

    path: bytes
    before: Node | None
    after: Node | None
    content: bytes | None = None
    """The bytes of `after` when no checkpoint holds them: the result of a merge."""
    implied: bool = False
    """A folder that comes or goes with its files, or is opened up for them: it is no row of an inventory."""
