"""What happened to the files of a root, one recorded moment after the other, and whose doing it was (rule 15)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from .. import operations
from ..catalog.catalog import Row
from ..errors import StoreDamaged
from ..git.compare import Nodes, compare
from ..git.reader import RAW_FOLDER, Objects, Stored
from ..hook import session_key
from ..model import Who
from ..operations import Record
from ..restore.paths import parents
from ..restore.scope import Author, Transition
from ..states import Node
from ..walk import named
from ..walk.ignore import RuleBook
from .authors import FAMILY, Interval, Proof, Verdict, ends_call, nothing_proven, open_runs
from .points import Checkpoint

__all__ = ["FAMILY", "Told", "of_root"]

LOOKED_BACK = 2_000
"""Checkpoints in which it is looked up whether a content had stood at a path."""

_compared: dict[tuple[str, ...], Nodes] = {}
"""Differences of two stored checkpoints, by the ids of their parts: they never change."""
_books: dict[tuple[str, str], tuple[RuleBook, named.Named]] = {}
"""Ignore rules and named paths of stored checkpoints, by the ids of their blobs."""


@dataclass(frozen=True, slots=True)
class Told:
    """What else is known of a root, beside its checkpoints, by which changes are told apart."""

    proof: Proof = nothing_proven
    strangers: Callable[[int, int], bool] = lambda since, until: False
    """Whether an agent that tells us nothing by hooks was at work between two times."""


def of_root(
    objects: Objects,
    rows: Sequence[Row],
    acts: Sequence[Record],
    root: str,
    family: Sequence[str] = (),
    *,
    told: Told | None = None,
    since: int = 0,
    until: int | None = None,
    only: bytes = b"",
) -> list[Transition]:
    """The transitions of a root, the oldest first; the sessions of `family`, by their keys, are one: FAMILY.

    A change that was found between the pair of checkpoints around a call is that call's step, whatever else took a
    checkpoint meanwhile; `authors` tells calls apart that were open together. Everything that was found between calls
    is somebody else's, or unsure. So is what merely came into sight or went out of it, since ignore rules changed:
    nobody knows since when it had been there. `since` and `until` are times of checkpoints: only what happened between.
    With `only`, changes elsewhere than at this path, or in this folder, may be missing.
    """
    told = told or Told()
    mine = (row.stored for row in rows if row.stored.checkpoint.root == root)
    every = [_keyed(stored) for stored in mine if stored.checkpoint.complete]
    inside = [item for item in every if since <= item.checkpoint.time <= (until or item.checkpoint.time)]
    stored = _readable(objects, inside)
    first = stored[0].checkpoint.time if stored else since
    moved = [act for act in acts if act.root == root and act.changes and act.time > (first if since else 0)]
    moved = [act for act in moved if until is None or act.time <= until]
    intervals = _intervals([item.checkpoint for item in every], frozenset(family), told)
    found: list[Transition] = []
    previous: Stored | None = None
    stood = _Stood(objects, [item for item in every if item.checkpoint.time <= first])
    overlay: Nodes = {}
    begun: set[str] = set()
    place = _Place(objects, only)
    for item in stored:
        checkpoint = item.checkpoint
        while moved and moved[0].time <= checkpoint.time:
            overlay |= _restored(moved.pop(0), found)
        if previous is not None and (overlay or not place.is_same(previous, item)):
            changes = _since(objects, previous, item, overlay)
            unseen = _unseen(objects, previous, item, changes)
            found += _transitions(intervals[checkpoint.id], changes, unseen, stood)
            stood.add(changes)
        if previous is None or checkpoint.session not in begun:
            # After what was found when a session began: that stood there when it did.
            found.append(Transition(checkpoint.id, checkpoint.time, "base", checkpoint.session, {}))
            begun.add(checkpoint.session)
        previous, overlay = item, {}
    for act in moved:
        _restored(act, found)
    return [replace(item, session=FAMILY) if item.session in family else item for item in found] if family else found


def _keyed(stored: Stored) -> Stored:
    """Its session called by its key: ids of two agents may be equal."""
    checkpoint = stored.checkpoint
    key = session_key(checkpoint.agent, checkpoint.session)
    return stored if key == checkpoint.session else stored._replace(checkpoint=checkpoint._replace(session=key))


def _intervals(checkpoints: Sequence[Checkpoint], family: frozenset[str], told: Told) -> dict[str, Interval]:
    """For each checkpoint what was under way since the one before it."""
    found: dict[str, Interval] = {}
    before, sessions = 0, False
    during, runs = _calls_during(checkpoints), open_runs(checkpoints)
    for number, checkpoint in enumerate(checkpoints):
        # Hooks that know of no session, though one has been here, have lost what they knew.
        hooked = checkpoint.quiet == "idle" or (checkpoint.quiet == "none" and not sessions)
        quiet = partial(_quiet, hooked, told, before, checkpoint.time)
        found[checkpoint.id] = Interval(checkpoint, during[number], family, quiet, runs[number], told.proof)
        before, sessions = checkpoint.time, sessions or bool(checkpoint.session)
    return found


def _quiet(hooked: bool, told: Told, since: int, until: int) -> bool:
    return hooked and not told.strangers(since, until)


def _calls_during(checkpoints: Sequence[Checkpoint]) -> list[list[Checkpoint]]:
    """For each checkpoint the calls (by the one that ends them) that were open since the checkpoint before it."""
    places = {checkpoint.id: place for place, checkpoint in enumerate(checkpoints)}
    begun: dict[int, list[Checkpoint]] = {}
    for place, checkpoint in enumerate(checkpoints):
        before = places.get(checkpoint.before, place)
        if ends_call(checkpoint) and before < place:
            begun.setdefault(before, []).append(checkpoint)
    found: list[list[Checkpoint]] = []
    running: list[Checkpoint] = []
    for place, checkpoint in enumerate(checkpoints):
        found.append(running)
        running = [call for call in running if call is not checkpoint] + begun.get(place, [])
    return found


def _restored(act: Record, found: list[Transition]) -> Nodes:
    try:
        changes = operations.pairs_of(act)
    except StoreDamaged:
        return {}  # then what it did counts as somebody else's work: that is kept
    merged = {os.fsencode(path) for path in act.merged}
    who = Who("person", session=act.session, text=act.summary, operation=act.id)
    shares: list[tuple[Author, Nodes]] = [
        ("restore", {path: pair for path, pair in changes.items() if path not in merged}),
        # Somebody else's lines are in it: it is theirs as much as ours.
        ("outside", {path: pair for path, pair in changes.items() if path in merged}),
    ]
    found += [
        Transition(act.guard or act.id, act.time, author, act.session, share, who=who)
        for author, share in shares
        if share
    ]
    return {path: (None, new) for path, (_, new) in changes.items()}


class _Place:
    """One path or folder, and whether it is the same in two checkpoints: a few trees tell, without comparing all."""

    def __init__(self, objects: Objects, path: bytes) -> None:
        self._objects, self._parts = objects, path.split(b"/") if path else []
        self._known = ("", "")

    def is_same(self, old: Stored, new: Stored) -> bool:
        if (old.modes, old.empty) != (new.modes, new.empty):
            return False
        try:
            return self._mark(old.files) == self._mark(new.files)
        except StoreDamaged:
            return False

    def _mark(self, tree: str) -> str:
        """What stands there: its git mode and id, "" for nothing."""
        if self._known[0] != tree:
            mode, oid = RAW_FOLDER, tree
            for part in self._parts:
                entries = self._objects.raw_entries(oid) if mode == RAW_FOLDER else []
                mode, oid = next(((mode, oid.hex()) for mode, name, oid in entries if name == part), (b"", ""))
            self._known = (tree, f"{mode.decode()} {oid}")
        return self._known[1]


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


class _Stood:
    """What stood at each path before; in the checkpoints before the first one only looked up when somebody asks."""

    def __init__(self, objects: Objects, before: Sequence[Stored]) -> None:
        self._objects = objects
        self._before = {item.files: item for item in before[-LOOKED_BACK:]}.values()
        self._seen: dict[bytes, set[str]] = {}
        self._looked: set[bytes] = set()

    def add(self, changes: Nodes) -> None:
        for path, pair in changes.items():
            self._seen.setdefault(path, set()).update(map(_content, pair))

    def at(self, changes: Nodes, path: bytes) -> bool:
        """Whether what one of the changes brought to a path stood there at any moment so far."""
        if path not in self._looked:
            self._look(changes.keys() - self._looked)
        return _content(changes[path][1]) in self._seen.get(path, ())

    def _look(self, paths: Set[bytes]) -> None:
        self._looked |= paths
        for item in self._before:
            with suppress(StoreDamaged):
                nodes = self._objects.nodes(item, paths)
                for path in paths:
                    self._seen.setdefault(path, set()).add(_content(nodes.get(path)))


def _content(node: Node | None) -> str:
    return node.oid if node is not None else ""


def _transitions(interval: Interval, changes: Nodes, unseen: Nodes, stood: _Stood) -> list[Transition]:
    """Whose the changes up to a checkpoint are; those of nobody that is known come first."""
    shares: dict[Verdict, Nodes] = {}
    for path, pair in changes.items():
        verdict = (
            interval.unseen() if path in unseen else interval.verdict(path, pair[1], partial(stood.at, changes, path))
        )
        shares.setdefault(verdict, {})[path] = pair
    checkpoint = interval.checkpoint
    ordered = sorted(shares.items(), key=lambda share: share[0].author == "step")
    return [
        Transition(checkpoint.id, checkpoint.time, author, session, own, who=who)
        for (author, session, who), own in ordered
    ]
