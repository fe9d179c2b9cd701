"""What happened to the files of a root, one recorded moment after the other, and whose doing it was (rule 15)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from . import operations
from .catalog import Row
from .git.compare import Nodes, compare
from .git.reader import Objects, Stored
from .operations import Record
from .points import Checkpoint
from .restore.scope import Transition

FAMILY = "family"
"""Stands for the sessions of one conversation: a fork goes on with what the first one did."""

_compared: dict[tuple[str, ...], Nodes] = {}
"""Differences of two stored checkpoints, by the ids of their parts: they never change."""


def of_root(
    objects: Objects, rows: Sequence[Row], acts: Sequence[Record], root: str, family: Sequence[str] = ()
) -> list[Transition]:
    """The transitions of a root, the oldest first; the sessions of `family` are one and are called FAMILY.

    A change inside of a bracketed call is that call's step, unless another session had a call open meanwhile: then
    only what the call's own input names is. Everything that was found between calls is somebody else's, or unsure.
    """
    stored = [row.stored for row in rows if row.stored.checkpoint.root == root and row.stored.checkpoint.complete]
    moved = [act for act in acts if act.root == root and act.changes]
    by_id = {item.checkpoint.id: item for item in stored}
    found: list[Transition] = []
    previous: Stored | None = None
    overlay: Nodes = {}
    for item in stored:
        checkpoint = item.checkpoint
        while moved and moved[0].time <= checkpoint.time:
            overlay |= _restored(moved.pop(0), found)
        if previous is None:
            found.append(Transition(checkpoint.id, checkpoint.time, "base", checkpoint.session, {}, frozenset()))
        else:
            changes = _since(objects, previous, item, overlay)
            found += _transitions(checkpoint, changes, checkpoint.before in by_id)
        previous, overlay = item, {}
    for act in moved:
        _restored(act, found)
    return [replace(item, session=FAMILY) if item.session in family else item for item in found] if family else found


def _restored(act: Record, found: list[Transition]) -> Nodes:
    changes = operations.pairs_of(act)
    found.append(Transition(act.guard or act.id, act.time, "restore", act.session, changes, frozenset()))
    return {path: (None, new) for path, (_, new) in changes.items()}


def _since(objects: Objects, previous: Stored, item: Stored, overlay: Nodes) -> Nodes:
    """What changed from one checkpoint to the next, apart from what our own restores in between did."""
    key = (previous.files, previous.modes, previous.empty, item.files, item.modes, item.empty)
    if key not in _compared:
        _compared[key] = compare(objects, previous, item)
    changes = dict(_compared[key])
    if overlay:
        state = objects.state(item)
        for path, (_, put) in overlay.items():
            now = state.get(path)
            if put == now:
                changes.pop(path, None)
            else:
                changes[path] = (put, now)
    return changes


def _transitions(checkpoint: Checkpoint, changes: Nodes, bracketed: bool) -> list[Transition]:
    named = frozenset(os.fsencode(path) for path in checkpoint.named)
    if checkpoint.reason != "tool" or checkpoint.side != "after":
        # Also without any change: it tells what stood there when the session began.
        return [_one(checkpoint, "outside", changes, named)]
    if bracketed and not checkpoint.shared:
        return [_one(checkpoint, "step", changes, named)]
    # Without the checkpoint before the call, or with another session's call open, only the call's own word counts.
    own = {path: pair for path, pair in changes.items() if path in named}
    others = {path: pair for path, pair in changes.items() if path not in named}
    found = [_one(checkpoint, "outside", others, frozenset())] if others else []
    return [*found, _one(checkpoint, "step", own, named)] if own else found


def _one(checkpoint: Checkpoint, author: str, changes: Nodes, named: frozenset[bytes]) -> Transition:
    return Transition(
        checkpoint.id,
        checkpoint.time,
        author,  # type: ignore[arg-type]
        checkpoint.session,
        changes,
        named,
    )
