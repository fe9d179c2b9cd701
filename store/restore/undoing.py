"""Undo and redo: restores of exactly the paths that an operation changed, and the marks and forks that it made."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .. import live, operations
from ..conversation import forking, tree
from ..errors import Refused
from ..git.reader import Stored
from ..model import Discarded, ForkResult, Inventory, Operation, RestoreResult, Target
from ..naming import clock
from ..operations import MARKS, Record, taken_back
from ..roots import Place
from ..sides import Side
from ..states import State
from ..walk.walks import Look
from ..workspace import Workspace
from .apply import Outcome
from .coverage import Coverage, differences
from .plan import Plan
from .planning import NOTHING, Files, coverage, planned
from .restoring import change_files, locked, seen_too, state_after, told
from .scope import take_back


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What taking an operation back, or doing it again, would do."""

    operation: Operation
    inventory: Inventory
    record: Record
    plan: Plan
    redo: bool
    same: Stored | None = None
    look: Look | None = None
    """As in `RestorePlan`, with `same`."""


def plan(workspace: Workspace, *, redo: bool) -> UndoPlan:
    """Finds the newest act to take back (or to do again), and what that changes. Raises Refused when there is none."""
    place = workspace.need_place()
    acts = workspace.acts()
    done, undone = taken_back(acts, place.root.id)
    record = next(iter((undone if redo else done)[-1:]), None)
    if record is None:
        raise Refused(
            "there is nothing to redo" if redo else "there is nothing to undo",
            todo="forkpoint operations lists what was done here",
        )
    operation = next(item for item in tree.shown(acts, place.root.id, (record.session,)) if item.id == record.id)
    found, now = _paths(workspace, record, redo) if record.changes else (NOTHING, None)
    verb = "redo" if redo else "undo"
    target = Target(record.point if redo else record.guard, None, "before", record.time, f"{verb} of: {record.summary}")
    inventory = Inventory(
        target=target,
        scope="files" if not record.fork else ("both" if record.changes else "conversation"),
        everything=False,
        restored=found.restored,
        kept=found.kept,
        conflicts=found.conflicts,
        discarded=Discarded(),
        live=live.at_work(workspace),
        failed=found.failed,
        note=_note(record, redo),
    )
    if now is None:
        return UndoPlan(operation, inventory, record, found, redo)
    return UndoPlan(operation, inventory, record, found, redo, now.same, now.look)


def _note(record: Record, redo: bool) -> str:
    if record.kind in MARKS:
        return "Only a mark changes; no file does."
    if record.fork:
        verb = "comes back" if redo else "goes to the trash, as long as the agent has not gone on with it"
        return f'The session file of branch "{record.text}" {verb}.'
    return ""


def _paths(workspace: Workspace, record: Record, redo: bool) -> tuple[Plan, Side]:
    """Back to what each path was before the operation (or, for redo, to what it was after), and the folder as it is."""
    objects = workspace.objects()
    changes = operations.pairs_of(record)
    wanted_nodes = [pair[1] if redo else pair[0] for pair in changes.values()]
    kept = workspace.stored(_guard_of(workspace, record, redo)) is not None
    if not kept or not all(objects.holds(node.oid) for node in wanted_nodes if node is not None and node.oid):
        raise Refused(
            "what this needs is kept no longer, so it is past undoing",
            todo="forkpoint operations lists what was done here",
        )
    # What the operation put there is taken back also where it is ignored now, or larger than what is captured.
    now = seen_too(workspace, workspace.now(), changes)
    around = _state_around(workspace, record, redo)
    wanted = state_after(
        now.state if around is None else around,
        {path: (None, pair[1] if redo else pair[0]) for path, pair in changes.items()},
    )
    then = Side(
        f"{record.summary} · {clock(record.time)}",
        record.time,
        wanted,
        lambda path, node: objects.text(node.oid),
        uncaptured=now.uncaptured,
        sources=now.sources,
        named=now.named,
    )
    pairs = differences(then.state, Coverage(), now.state, coverage(now))
    left = {path: (pair[0] if redo else pair[1]) for path, pair in changes.items()}
    return planned(workspace, Files(then, now, pairs), take_back(pairs, left)), now


def _state_around(workspace: Workspace, record: Record, redo: bool) -> State | None:
    """The whole folder as it is to be: it tells folders that were empty from those that came with the files in them.

    That is what the operation's own guard holds, and for redo the guard of the undo; None when it is kept no longer.
    """
    stored = workspace.stored(_guard_of(workspace, record, redo))
    return workspace.objects().state(stored) if stored is not None else None


def _guard_of(workspace: Workspace, record: Record, redo: bool) -> str:
    """The guard that holds what an operation's undo, or its redo, brings back."""
    if not redo:
        return record.guard
    return next((act.guard for act in reversed(workspace.acts()) if act.kind == "undo" and act.of == record.id), "")


def carry_out(workspace: Workspace, shown: UndoPlan, live_too: bool = False, *, at_once: bool = False) -> RestoreResult:
    """Takes the operation back, or does it again; that is an operation too, with a guard of its own.

    `at_once` as in `restoring.carry_out`.
    """
    place = workspace.need_place()
    kind = "redo" if shown.redo else "undo"
    record = Record(
        operations.new_id(),
        kind,
        time.time_ns(),
        place.root.id,
        session=shown.record.session,
        summary=f"{kind} of: {shown.record.summary}",
        point=shown.record.point if shown.redo else shown.record.guard,
        entry=shown.record.entry,
        scope=shown.record.scope,
        of=shown.record.id,
    )

    def check() -> None:
        _still_newest(workspace, place, shown)
        if shown.record.fork and not shown.redo:
            forking.refuse_continued(shown.record)

    def moved(record: Record) -> Record:
        if shown.record.fork:
            (forking.from_trash if shown.redo else forking.to_trash)(place, shown.record)
        return record

    if shown.record.changes:
        look = shown.look if at_once else None
        record, outcome = change_files(
            workspace, record, shown.plan, live_too, check=check, last=moved, same=shown.same, look=look
        )
        return told(record, shown.inventory, outcome, _back_again(shown, record))
    with locked(place, kind):
        check()
        record = operations.append(place, workspace.objects(), moved(record))
        return told(record, shown.inventory, Outcome(), _back_again(shown, record))


def _back_again(shown: UndoPlan, record: Record) -> ForkResult | None:
    """The branch that a redo brought back, with the command to go on with it."""
    fork = shown.record.fork
    if not fork or not shown.redo:
        return None
    command = tuple(str(word) for word in fork["command"])
    return ForkResult(record.id, shown.record.text, fork["session"], fork["agent"], command, str(fork["cwd"]))


def _still_newest(workspace: Workspace, place: Place, shown: UndoPlan) -> None:
    """Raises Refused when something else was done, or taken back, since this was shown."""
    done, undone = taken_back(workspace.acts(), place.root.id)
    newest = (undone if shown.redo else done)[-1:]
    if [act.id for act in newest] != [shown.record.id]:
        raise Refused("something else was done since this was shown", todo="look at it again: nothing was changed")
