"""A restore that was interrupted: noticed by every command, settled only when a person asks for it (rule 3)."""

from __future__ import annotations

import os

from . import operations
from .errors import Busy, StoreUnwritable
from .health import Finding
from .operations import Record
from .restore import journal
from .restore.recovery import finish_or_roll_back
from .restoring import locked
from .roots import Place
from .workspace import Workspace


def interrupted(place: Place) -> journal.Journal | None:
    """A restore that was interrupted; None also while one is under way."""
    if not place.journal_file.exists():
        return None
    try:
        with place.locked("look", 0.0):
            return journal.pending(place.journal_file)
    except Busy:
        return None
    except StoreUnwritable:
        # Then no restore can be under way either.
        return journal.pending(place.journal_file)


def recover(workspace: Workspace, back: bool) -> list[Finding]:
    """Settles an interrupted restore: back to what was, or on to what was asked (rule 3); says what became of it."""
    place = workspace.need_place()
    with locked(place, "recover"):
        begun = journal.pending(place.journal_file)
        if begun is None:
            return [Finding(True, "no restore was interrupted here")]
        objects = workspace.objects()
        outcome = finish_or_roll_back(begun, objects, finish=not back)
        if outcome.changed and begun.operation not in {act.id for act in workspace.acts()}:
            record = Record(
                begun.operation,
                "restore",
                operations.moment(),
                place.root.id,
                summary="went back, interrupted and " + ("rolled back" if back else "finished"),
                point=begun.target,
                scope="files",
                guard=begun.guard,
                changes=operations.changes_of(dict(outcome.changed)),
                failed=len(outcome.failed),
            )
            operations.append(place, objects, record)
        journal.close(begun)
    words = "rolled back: as before" if back else "finished: as asked"
    left = [*outcome.failed, *outcome.conflicts]
    found = [
        Finding(
            True, f"the interrupted restore is {words}, {len(outcome.done)} of {len(outcome.done) + len(left)} paths"
        )
    ]
    return found + [Finding(False, f"{os.fsdecode(path)}: {why}", "look at it yourself") for path, why in left]
