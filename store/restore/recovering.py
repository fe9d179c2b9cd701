"""A restore that was interrupted: noticed by every command, settled only when a person asks for it (rule 3)."""

from __future__ import annotations

import os
from dataclasses import replace

from .. import agents, operations
from ..conversation import forking
from ..durable import sweep
from ..errors import Interrupted, Refused, storing
from ..operations import Record
from ..proof.finding import Finding
from ..roots import Place
from ..status import former
from ..workspace import Workspace
from . import journal
from .apply import Outcome, in_words
from .interrupted import interrupted, unfinished
from .recovery import finish_or_roll_back
from .restoring import locked

__all__ = ["interrupted", "recover"]


def recover(workspace: Workspace, back: bool) -> list[Finding]:
    """Settles an interrupted restore: back to what was, or on to what was asked (rule 3); says what became of it."""
    place = workspace.need_place()
    with locked(place, "recover"):
        begun = unfinished(place)
        _sweep(workspace, place)
        if begun is None:
            with storing(place.journal_file):
                place.journal_file.unlink(missing_ok=True)
            return [Finding(True, "no restore was interrupted here"), *_former(workspace)]
        objects = workspace.objects()
        try:
            outcome = finish_or_roll_back(begun, objects, finish=not back)
        except OSError as error:
            raise Interrupted(
                f"the restore could not be settled ({in_words(error)})", path=place.root.path, todo="try again"
            ) from None
        if outcome.left or outcome.passing:
            return _not_yet(outcome)
        left = [Finding(False, f"{os.fsdecode(path)}: {why}", "look at it yourself") for path, why in _left(outcome)]
        record = _record(place, begun, outcome, back)
        left += _branch(workspace, place, record, back)
        record = replace(record, fork={}) if back else record
        if record.changes or record.fork:
            operations.append(place, objects, record)
        with storing(place.journal_file):
            journal.close(begun)
    words = "rolled back: as before" if back else "finished: as asked"
    paths = len(outcome.done) + len(_left(outcome))
    return [Finding(True, f"the interrupted restore is {words}, {len(outcome.done)} of {paths} paths"), *left]


def _former(workspace: Workspace) -> list[Finding]:
    """What else may be meant by recovering: the record of a folder that stood here before a hook began another."""
    words = former(workspace)
    return [Finding(True, words, "forkpoint recover --former goes on with it")] if words else []


def _not_yet(outcome: Outcome) -> list[Finding]:
    """What is to be told where the disk is full or takes nothing: the rest is settled when that is over."""
    again = [
        Finding(False, f"{os.fsdecode(path)}: {why}", "then again: forkpoint recover") for path, why in _left(outcome)
    ]
    return [Finding(False, f"the interrupted restore is not settled yet: {len(again)} paths are left", ""), *again]


def _sweep(workspace: Workspace, place: Place) -> None:
    """Removes the files that killed processes were writing: they stand under names that nothing else has."""
    for folder in (place.workspace, place.folder, place.git_dir, forking.trash_of(place)):
        sweep(folder)
    for name in agents.names():
        for folder in agents.get(name).written(workspace.root):
            sweep(folder)


def _left(outcome: Outcome) -> list[tuple[bytes, str]]:
    return [*outcome.failed, *outcome.conflicts]


def _record(place: Place, begun: journal.Journal, outcome: Outcome, back: bool) -> Record:
    """The operation as it is to be recorded: what it was to be, and what has become of it."""
    if begun.about:
        record = operations.decode(begun.about.encode(), str(begun.file))
    else:
        record = Record(
            begun.operation, "restore", 0, place.root.id, summary="went back", point=begun.target, scope="files"
        )
    if back and record.of:
        # An undo that was rolled back took nothing back.
        record = replace(record, kind="restore", of="")
    return replace(
        record,
        time=max(operations.moment(), record.time),
        summary=f"{record.summary}, interrupted and {'rolled back' if back else 'finished'}",
        guard=begun.guard,
        changes=operations.changes_of(dict(outcome.changed)),
        failed=len(outcome.failed),
    )


def _branch(workspace: Workspace, place: Place, record: Record, back: bool) -> list[Finding]:
    """Does with the branch what belongs to the operation; says what could not be done."""
    of = next((act for act in workspace.acts() if act.id == record.of), None)
    try:
        if back and record.fork:
            forking.to_trash(place, record)
        elif of is not None and of.fork:
            (forking.from_trash if record.kind == "redo" else forking.to_trash)(place, of)
    except Refused as refused:
        return [Finding(False, str(refused), "look at it yourself")]
    return []
