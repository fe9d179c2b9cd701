"""What happened to the files of a root, one recorded moment after the other, and whose doing it was (rule 15)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from .. import operations
from ..catalog.catalog import Row
from ..errors import StoreDamaged
from ..git.compare import Nodes, compare
from ..git.reader import Objects, Stored
from ..operations import Record
from ..restore.paths import parents
from ..restore.scope import Author, Transition
from ..walk import named
from ..walk.ignore import RuleBook
from .points import Checkpoint

FAMILY = "family"
"""Stands for the sessions of one conversation: a fork goes on with what the first one did."""

_compared: dict[tuple[str, ...], Nodes] = {}
"""Differences of two stored checkpoints, by the ids of their parts: they never change."""
_books: dict[tuple[str, str], tuple[RuleBook, named.Named]] = {}
"""Ignore rules and named paths of stored checkpoints, by the ids of their blobs."""


def of_root(
    objects: Objects, rows: Sequence[Row], acts: Sequence[Record], root: str, family: Sequence[str] = ()
) -> list[Transition]:
    """The transitions of a root, the oldest first; the sessions of `family` are one and are called FAMILY.

    A change that was found between the pair of checkpoints around a call is that call's step, whatever else took a
    checkpoint meanwhile. While another session had a call open too, only what a call's own input names is. Everything
    that was found between calls is somebody else's, or unsure. So is what merely came into sight or went out of it,
    since ignore rules changed: nobody knows since when it had been there.
    """
    stored = _readable(
        objects, [row.stored for row in rows if row.stored.checkpoint.root == root and row.stored.checkpoint.complete]
    )
    moved = [act for act in acts if act.root == root and act.changes]
    found: list[Transition] = []
    previous: Stored | None = None
    overlay: Nodes = {}
    begun: set[str] = set()
    for item, during in zip(stored, _calls_during([item.checkpoint for item in stored]), strict=True):
        checkpoint = item.checkpoint
        while moved and moved[0].time <= checkpoint.time:
            overlay |= _restored(moved.pop(0), found)
        if previous is not None:
            changes = _since(objects, previous, item, overlay)
            unseen = _unseen(objects, previous, item, changes)
            found += _transitions(checkpoint, changes, unseen, during, frozenset(family))
        if previous is None or checkpoint.session not in begun:
            # After what was found when a session began: that stood there when it did.
            found.append(Transition(checkpoint.id, checkpoint.time, "base", checkpoint.session, {}))
            begun.add(checkpoint.session)
        previous, overlay = item, {}
    for act in moved:
        _restored(act, found)
    return [replace(item, session=FAMILY) if item.session in family else item for item in found] if family else found


def _calls_during(checkpoints: Sequence[Checkpoint]) -> list[list[Checkpoint]]:
    """For each checkpoint the calls (by the one that ends them) that were open since the checkpoint before it."""
    places = {checkpoint.id: place for place, checkpoint in enumerate(checkpoints)}
    begun: dict[int, list[Checkpoint]] = {}
    for place, checkpoint in enumerate(checkpoints):
        before = places.get(checkpoint.before, place)
        if _ends_call(checkpoint) and before < place:
            begun.setdefault(before, []).append(checkpoint)
    found: list[list[Checkpoint]] = []
    running: list[Checkpoint] = []
    for place, checkpoint in enumerate(checkpoints):
        found.append(running)
        running = [call for call in running if call is not checkpoint] + begun.get(place, [])
    return found


def _ends_call(checkpoint: Checkpoint) -> bool:
    return checkpoint.reason == "tool" and checkpoint.side == "after"


def _restored(act: Record, found: list[Transition]) -> Nodes:
    changes = operations.pairs_of(act)
    merged = {os.fsencode(path) for path in act.merged}
    shares: list[tuple[Author, Nodes]] = [
        ("restore", {path: pair for path, pair in changes.items() if path not in merged}),
        # Somebody else's lines are in it: it is theirs as much as ours.
        ("outside", {path: pair for path, pair in changes.items() if path in merged}),
    ]
    found += [
        Transition(act.guard or act.id, act.time, author, act.session, share, frozenset())
        for author, share in shares
        if share
    ]
    return {path: (None, new) for path, (_, new) in changes.items()}


def _since(objects: Objects, previous: Stored, item: Stored, overlay: Nodes) -> Nodes:
    """What changed from one checkpoint to the next, apart from what our own restores in between did."""
    changes = dict(_difference(objects, previous, item) or {})
    if overlay:
        state = objects.state(item)
        for path, (_, put) in overlay.items():
            now = state.get(path)
            if put == now:
                changes.pop(path, None)
            else:
                changes[path] = (put, now)
    return changes


def _unseen(objects: Objects, previous: Stored, item: Stored, changes: Nodes) -> Nodes:
    """Those of the changes of which one checkpoint could not speak: it would not hold the path if it had been there."""
    found: Nodes = {}
    blind: dict[bool, Callable[[bytes, bool], bool]] = {}
    for path, pair in changes.items():
        if pair[0] is not None and pair[1] is not None:
            continue
        came = pair[0] is None
        if came not in blind:
            blind[came] = _blind(objects, previous if came else item)
        if blind[came](path, any(node is not None and node.kind == "folder" for node in pair)):
            found[path] = pair
    return found


def _blind(objects: Objects, stored: Stored) -> Callable[[bytes, bool], bool]:
    """Which paths a checkpoint leaves out (is it a folder?): ignored or not captured; all when that cannot be read."""
    key = (stored.rules, stored.named)
    try:
        if key not in _books:
            kept = named.joined({}, map(os.fsdecode, objects.named(stored)))
            _books[key] = RuleBook(objects.sources(stored)), kept
    except StoreDamaged:
        return lambda path, is_folder: True
    book, kept = _books[key]
    uncaptured = stored.checkpoint.uncaptured

    def leaves_out(path: bytes, is_folder: bool) -> bool:
        text = os.fsdecode(path)
        if uncaptured and any(os.fsdecode(place) in uncaptured for place in (path, *parents(path))):
            return True
        return not named.holds(kept, text, is_folder) and book.ignores(text, is_folder)

    return leaves_out


def _readable(objects: Objects, stored: Sequence[Stored]) -> list[Stored]:
    """The checkpoints whose files can be read: a damaged one says nothing, and keeps nobody from going back."""
    found: list[Stored] = []
    for item in stored:
        if found and _difference(objects, found[-1], item) is None:
            try:
                objects.state(item)
            except StoreDamaged:
                continue
        found.append(item)
    return found


def _difference(objects: Objects, previous: Stored, item: Stored) -> Nodes | None:
    """How two checkpoints differ; None when one of them is damaged."""
    key = (previous.files, previous.modes, previous.empty, item.files, item.modes, item.empty)
    if key not in _compared:
        try:
            _compared[key] = compare(objects, previous, item, as_listed=True)
        except StoreDamaged:
            return None
    return _compared[key]


def _transitions(
    checkpoint: Checkpoint, changes: Nodes, unseen: Nodes, during: Sequence[Checkpoint], family: frozenset[str]
) -> list[Transition]:
    """Whose the changes up to a checkpoint are, given the calls that were open since the one before it."""
    found = [_one(checkpoint, "outside", checkpoint.session, unseen)] if unseen else []
    changes = {path: pair for path, pair in changes.items() if path not in unseen}
    calls = during if checkpoint in during or not _ends_call(checkpoint) else [*during, checkpoint]
    sessions = {FAMILY if session in family else session for call in calls for session in (call.session, *call.shared)}
    if during and len(sessions) == 1:
        return [*found, _one(checkpoint, "step", calls[-1].session, changes)]
    # Without the checkpoint before the call, or with another session's call open, only a call's own word counts.
    owners = _owners(checkpoint, calls)
    shares: dict[str, Nodes] = {}
    for path, pair in changes.items():
        shares.setdefault(owners.get(path, ""), {})[path] = pair
    others = shares.pop("", {})
    found += [_one(checkpoint, "outside", checkpoint.session, others)] if others else []
    return found + [_one(checkpoint, "step", session, own) for session, own in shares.items()]


def _owners(checkpoint: Checkpoint, calls: Sequence[Checkpoint]) -> dict[bytes, str]:
    """Path → the one session whose calls name it; of several the one whose call ends here, else none."""
    named: dict[bytes, set[str]] = {}
    for call in calls:
        for path in call.named:
            named.setdefault(os.fsencode(path), set()).add(call.session)
    own = checkpoint.session if _ends_call(checkpoint) else ""
    mine = {os.fsencode(path) for path in checkpoint.named} if own else set[bytes]()
    single = {path: next(iter(sessions)) for path, sessions in named.items() if len(sessions) == 1}
    return single | dict.fromkeys(mine, own)


def _one(checkpoint: Checkpoint, author: Author, session: str, changes: Nodes) -> Transition:
    return Transition(checkpoint.id, checkpoint.time, author, session, changes, frozenset())
