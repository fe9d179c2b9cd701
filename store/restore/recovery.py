"""What a crash left of a restore: judged by its journal, then finished or rolled back (rule 3).

Only paths whose present content is one of those that the journal names are touched; any other is left and named. No
bytes that exist nowhere else are lost: what stands under a spare name is removed only when it is what the journal names
as before (the guard holds it) or after (the store holds it), and otherwise goes back to its path or is named.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from ..git.stream import blob_id
from ..states import Node
from .apply import Outcome, Run, chained, sync
from .below import GONE, Sight, look_in, opened_parent, opened_root
from .build import Blobs, Place, discard
from .change import Change
from .journal import Journal
from .paths import refused, spare_name
from .rename import CannotExchange, exchange, move
from .swap import TAKEN, Changed, came_out

NO_BYTES = blob_id(b"")
STRANGE = "it is neither what it was nor what the restore writes"


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an interrupted restore got, seen without changing anything."""

    before: tuple[bytes, ...]
    """Paths that are as they were."""
    after: tuple[bytes, ...]
    """Paths that are as was asked."""
    other: tuple[bytes, ...]
    """Paths that are neither: somebody's work since, or in the middle of being changed."""


def judge(journal: Journal) -> Standing:
    """Looks at every path of an interrupted restore."""
    before: list[bytes] = []
    after: list[bytes] = []
    other: list[bytes] = []
    with opened_root(journal.root) as root:
        sight = Sight(root, [change.path for change in journal.changes])
        for path, numbers in chained(journal.changes).items():
            changes = [journal.changes[number] for number in numbers]
            position = _position(sight, changes)
            place = before if position == 0 else after if position == len(changes) else other
            place.append(path)
    return Standing(tuple(before), tuple(after), tuple(other))


def finish_or_roll_back(journal: Journal, blobs: Blobs, *, finish: bool) -> Outcome:
    """Brings every path of an interrupted restore to what was asked (finish) or back to what it was.

    Can itself be interrupted and repeated. `changed` of the outcome says what differs from before the restore, `done`
    which paths are now as wanted. Closing the journal is the caller's.
    """
    with opened_root(journal.root) as root:
        run = Run(root, blobs, journal)
        # Folders before what is in them: one may come to its place only now.
        for number, change in sorted(enumerate(journal.changes), key=lambda item: item[1].path.count(b"/")):
            if not refused(change.path):
                _settle(run, number, change)
        _go_on(run, finish)
        _shut_again(run)
        return _outcome(run, finish)


def _go_on(run: Run, finish: bool) -> None:
    """Carries out what is left to do, in the order of the plan or against it."""
    changes = run.journal.changes
    positions: dict[bytes, int] = {}
    for path, numbers in chained(changes).items():
        position = _position(run.sight, [changes[number] for number in numbers])
        if position is not None:
            positions[path] = numbers[position] if position < len(numbers) else len(changes)
    order = list(enumerate(changes))
    for number, change in order if finish else reversed(order):
        if change.path in positions and (number >= positions[change.path]) == finish:
            run.step(number, change if finish else _reversed(change))


def _shut_again(run: Run) -> None:
    """Gives folders that were opened up their mode back where what was to follow did not happen."""
    changes = run.journal.changes
    for numbers in chained(changes).values():
        position = _position(run.sight, [changes[number] for number in numbers])
        if position and position < len(numbers):
            number = numbers[position - 1]
            with suppress(Changed, OSError):
                run.swapper.carry(number, _reversed(changes[number]))


def _outcome(run: Run, finish: bool) -> Outcome:
    done: list[bytes] = []
    changed: dict[bytes, tuple[Node | None, Node | None]] = {}
    for path, numbers in chained(run.journal.changes).items():
        changes = [run.journal.changes[number] for number in numbers]
        if changes[0].implied:
            continue
        position = _position(run.sight, changes)
        if position == len(changes):
            changed[path] = changes[0].before, changes[-1].after
        if not run.is_named(path):
            if position == (len(changes) if finish else 0):
                done.append(path)
            else:
                run.conflicts[path] = STRANGE
    sync(run.root, [change.path for change in run.journal.changes])
    return run.outcome(done, changed)


def _reversed(change: Change) -> Change:
    """The change that takes a change back; what was there before is in the store, so it needs no bytes of its own."""
    return Change(change.path, change.after, change.before, None, change.implied)


def _position(sight: Sight, changes: list[Change]) -> int | None:
    """How many of a path's changes are done; None when what stands there is none of theirs."""
    try:
        found = sight.look(changes[0].path)
    except OSError:
        return None
    nodes = [changes[0].before, *(change.after for change in changes)]
    return nodes.index(found) if found in nodes else None


def _settle(run: Run, number: int, change: Change) -> None:
    """Clears away the spare names of one change without losing what exists nowhere else."""
    try:
        with opened_parent(run.root, change.path) as (folder, name):
            place = Place(folder, name, spare_name(run.journal.token, number))
            if not discard(place, place.new) and not _moved(place, place.new):
                run.conflicts[change.path] = f"a part of it is beside it as {os.fsdecode(place.new)}"
            for spare in (place.old, place.spare):
                if look_in(folder, spare) is not None and not _cleared(place, spare, change):
                    run.conflicts[change.path] = f"one version of it is kept beside it as {os.fsdecode(spare)}"
    except OSError as error:
        if error.errno not in GONE:
            run.fail(change.path, error)


def _cleared(place: Place, spare: bytes, change: Change) -> bool:
    """Puts back, or removes, what stands under a spare name; False when neither can be done without a loss."""
    found = came_out(place, spare)
    if found is None:
        return False
    standing = look_in(place.folder, place.name)
    ours = found in (change.before, change.after)
    if standing is None and (not ours or _is_only_copy(place, spare, found, change)):
        return _moved(place, spare)
    if (ours or found.oid == NO_BYTES) and discard(place, spare):
        return True
    if standing is None and found.kind == "folder":
        return _moved(place, spare)
    if standing != change.after or not _exchanged(place, spare):
        return False
    return came_out(place, spare) == change.after and discard(place, spare)


def _is_only_copy(place: Place, spare: bytes, found: Node, change: Change) -> bool:
    """Whether it was us who took the path away: it came out, and nothing had gone in or was to go in."""
    return spare == place.old or (change.after is None and found == change.before)


def _moved(place: Place, spare: bytes) -> bool:
    """Gives a version its place, if that is free: a folder that holds something was in it before the power went."""
    try:
        move(place.folder, spare, place.name)
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        return False
    return True


def _exchanged(place: Place, spare: bytes) -> bool:
    try:
        exchange(place.folder, spare, place.name)
    except CannotExchange:
        return False
    return True
