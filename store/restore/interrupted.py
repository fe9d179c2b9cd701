"""A restore that was interrupted, as every command sees it: which one it was, and how each of its paths stands.

It is over once its operation is recorded: what it wrote was made durable before that, and only its journal is left.
"""

from __future__ import annotations

import os

from .. import operations
from ..errors import Busy, StoreDamaged, StoreUnwritable
from ..git.reader import Objects
from ..roots import Place
from . import journal
from .journal import Journal
from .recovery import judge


def interrupted(place: Place) -> Journal | None:
    """The restore that was interrupted; None also while one is under way. Raises StoreDamaged for a bad journal."""
    if not place.journal_file.exists():
        return None
    try:
        with place.locked("look", 0.0):
            return unfinished(place)
    except Busy:
        return None
    except StoreUnwritable:
        # Then no restore can be under way either.
        return unfinished(place)


def unfinished(place: Place) -> Journal | None:
    """The same for whoever holds the root."""
    begun = journal.pending(place.journal_file)
    return None if begun is None or _is_recorded(place, begun) else begun


def sentence(place: Place) -> str:
    """What was interrupted, and what to do; "" for nothing."""
    try:
        begun = interrupted(place)
    except StoreDamaged as error:
        return str(error)
    if begun is None:
        return ""
    record = operations.decode(begun.about.encode(), str(begun.file)) if begun.about else None
    what = f" ({record.summary})" if record else ""
    return f"a restore was interrupted{what}: forkpoint recover"


def standing(place: Place) -> tuple[tuple[bytes, str], ...]:
    """Every path of an interrupted restore, and how it stands; empty where none was interrupted."""
    try:
        begun = interrupted(place)
        if begun is None:
            return ()
        found = judge(begun)
    except (OSError, StoreDamaged):
        return ()
    told = {path: "as before" for path in found.before} | {path: "as asked" for path in found.after}
    told |= {path: "neither as before nor as asked: it stays" for path in found.other}
    return tuple(sorted(told.items(), key=lambda item: os.fsdecode(item[0])))


def _is_recorded(place: Place, begun: Journal) -> bool:
    try:
        return any(record.id == begun.operation for _, record in operations.newest_first(Objects(place.git_dir)))
    except StoreDamaged:
        return False
