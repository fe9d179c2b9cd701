"""How much a checkpoint changes against the one before it: worked out once, then kept in the catalog."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from ..diff import count
from ..errors import StoreDamaged
from ..git.compare import Nodes, compare
from ..git.reader import Objects, Stored
from ..states import Node

COUNTED = 400
"""Points that change more files than this are not counted line by line."""
Counts = tuple[int | None, int | None, int | None]
"""Lines that came, lines that went, paths; None for what has nothing to be compared with, or was not counted."""


def counted(objects: Objects, stored: Stored, have: Mapping[str, Stored]) -> Counts:
    """What changed since the checkpoint before, found in `have` by its id."""
    checkpoint = stored.checkpoint
    base = have.get(checkpoint.before or checkpoint.previous)
    changed: int | None = None
    lines: tuple[int | None, int | None] = (None, None)
    if base is not None and checkpoint.complete:
        with suppress(StoreDamaged):
            pairs = compare(objects, base, stored) | _outside(objects, base, stored)
            changed = len(pairs)
            if changed <= COUNTED:
                lines = _lines(objects, pairs)
    return lines[0], lines[1], changed


def _outside(objects: Objects, base: Stored, stored: Stored) -> Nodes:
    """What differs of the files outside of the root of which both know: as `sides.outside_pairs` tells a diff."""
    if (base.outside, base.outside_modes) == (stored.outside, stored.outside_modes):
        return {}
    old, new = objects.outside(base), objects.outside(stored)
    both = {os.fsencode(path) for path in base.checkpoint.outside} & set(map(os.fsencode, stored.checkpoint.outside))
    return {path: (old.get(path), new.get(path)) for path in both if old.get(path) != new.get(path)}


def _lines(objects: Objects, pairs: dict[bytes, tuple[Node | None, Node | None]]) -> tuple[int, int]:
    def read(_: bytes, node: Node) -> bytes:
        return objects.text(node.oid)

    added = removed = 0
    for path, (old, new) in pairs.items():
        came, went = count(path, old, new, read, read) or (0, 0)
        added, removed = added + came, removed + went
    return added, removed
