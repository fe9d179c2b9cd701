"""A restore from end to end: plan → inventory → guard → apply → verify → close the journal → operation (rule 3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from . import agents, capture, diff, forking, imports, live, operations, outside, timeline, walks
from .agents.base import Evidence
from .capture import Wanted
from .errors import ForkpointError, Interrupted, Refused, UsageError, storing
from .forking import ForkPlan
from .git.compare import Nodes, merge
from .goal import Goal, leaving, moved_on
from .interrupted import unfinished
from .model import Discarded, ForkResult, Inventory, OnConflict, PathChange, RestoreResult, Scope
from .operations import Record
from .points import Checkpoint
from .restore import apply, journal
from .restore.below import ignores_case, look, opened_root, standing
from .restore.coverage import Coverage, Pair, differences
from .restore.paths import folded
from .restore.plan import Plan
from .restore.plan import plan as plan_paths
from .restore.scope import Decision, decide
from .roots import Place, places
from .secrets import MARK, path_looks_secret
from .sides import Side, outside_pairs
from .states import Node, State
from .workspace import Workspace

NOTHING = Plan((), (), (), (), ())
Besides = Callable[[Record], Record]
"""Does something else that belongs to an operation; gives its record with what there is to say of it."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What was shown, and all that is needed to carry exactly that out."""

    goal: Goal
    inventory: Inventory
    plan: Plan
    then: Side | None
    fork: ForkPlan | None


@dataclass(frozen=True, slots=True)
class Files:
    """Two sides of a root and what differs between them."""

    then: Side
    now: Side
    pairs: Mapping[bytes, Pair]


def plan(
    workspace: Workspace,
    goal: Goal,
    scope: Scope,
    everything: bool = False,
    paths: Sequence[bytes] = (),
    choices: Mapping[bytes, OnConflict] | OnConflict = "keep",
) -> RestorePlan:
    """Looks at the folder and says what going back would do. Raises UsageError, Refused."""
    if scope in ("conversation", "both") and not goal.talks:
        raise UsageError("this checkpoint belongs to no conversation", todo="restore its files: --files")
    files, found = None, NOTHING
    asked, fork = goal, forking.plan(workspace, goal) if scope in ("conversation", "both") else None
    if scope in ("files", "both"):
        if fork is not None:
            # A fork carries calls that ran in parallel whole, so the files are those of their common end as well.
            goal = moved_on(goal, fork.fork.last)
        goal.need_point()
        files = _files(workspace, goal)
        _refuse_unknown(files, paths, workspace.root)
        found = _paths(workspace, goal, files, everything, paths, choices)
        found = replace(found, kept=(*found.kept, *_outside(files)))
    inventory = Inventory(
        target=goal.target(),
        scope=scope,
        everything=everything,
        restored=found.restored,
        kept=found.kept,
        conflicts=found.conflicts,
        discarded=_discarded(goal, found, scope),
        live=live.at_work(workspace),
        uncaptured=len(files.then.uncaptured or ()) if files else 0,
        note=_note(asked, goal, scope, fork),
        failed=found.failed,
    )
    return RestorePlan(goal, inventory, found, files.then if files else None, fork)


def _files(workspace: Workspace, goal: Goal) -> Files:
    then = workspace.side(goal.need_point(), goal.built)
    now = workspace.now()
    return Files(then, now, differences(then.state, coverage(then), now.state, coverage(now)))


def _outside(files: Files) -> Iterable[PathChange]:
    """Files outside of the folder that differ: told, and left alone."""
    for path in sorted(outside_pairs(files.then, files.now)):
        yield PathChange(path, outside.WHY, "none", note=MARK if path_looks_secret(path) else "")


def _refuse_unknown(files: Files, paths: Sequence[bytes], root: str) -> None:
    """Raises UsageError for a path that was named but is nowhere: not then, not now, not even ignored."""
    for path in paths:
        wanted = path.rstrip(b"/")
        there = wanted in (b"", b".") or os.path.lexists(os.path.join(os.fsencode(root), wanted))
        if not there and not any(chosen(found, [wanted]) for found in (*files.then.state, *files.now.state)):
            raise UsageError(
                "there is no such path, neither in the checkpoint nor now",
                path=os.fsdecode(wanted),
                todo="paths are relative to the project's top folder",
            )


def coverage(side: Side) -> Coverage:
    """What a side can speak of, for the plan."""
    known = side.known if side.known is not None else frozenset[bytes]()
    return Coverage(
        side.known is None,
        known,
        side.uncaptured or {},
        side.ignores,
        side.moving,
        side.inferred,
        side.holding,
        side.unanswered,
    )


def _paths(
    workspace: Workspace,
    goal: Goal,
    files: Files,
    everything: bool,
    paths: Sequence[bytes],
    choices: Mapping[bytes, OnConflict] | OnConflict,
) -> Plan:
    told = _evidence(workspace, goal)
    decisions = decide(
        files.pairs,
        files.now.state,
        workspace.transitions(goal.built.info.ids),
        timeline.FAMILY if goal.session else "",
        left=told.left,
        touched=told.touched.keys(),
        everything=everything,
        paths=paths,
    )
    return planned(workspace, files, decisions, choices)


def _evidence(workspace: Workspace, goal: Goal) -> Evidence:
    if not goal.session:
        return Evidence()
    info = goal.built.info
    read = workspace.conversation(info)
    return agents.get(info.agent).evidence(read.conversation, workspace.root, workspace.sources(info))


def planned(
    workspace: Workspace,
    files: Files,
    decisions: Mapping[bytes, Decision],
    choices: Mapping[bytes, OnConflict] | OnConflict = "keep",
) -> Plan:
    """The plan for decided paths, counted against what is on the disk. Raises Refused."""
    refuse_unanswered(files.now)

    def count(path: bytes, old: Node | None, new: Node | None) -> tuple[int, int] | None:
        return diff.count(path, old, new, files.now.read, files.then.read)

    def merged(path: bytes, base: Node, mine: Node, theirs: Node) -> bytes | None:
        return merge(workspace.objects().read(base.oid), files.now.read(path, mine), files.then.read(path, theirs))

    with opened_root(workspace.root) as top:
        return plan_paths(
            files.pairs,
            coverage(files.then),
            files.now.state,
            coverage(files.now),
            decisions,
            choices=choices,
            count=count,
            merge=merged,
            standing=lambda path: standing(top, path),
            fold=folded if ignores_case(top) else None,
        )


def refuse_unanswered(now: Side) -> None:
    """Raises Refused when nobody can say which files are ignored: then none is touched (rule 2)."""
    for source, why in sorted(now.unanswered.items()):
        raise Refused(
            "what is ignored here cannot be told, so no file is restored",
            path=f"{source} ({why})",
            todo="make it readable, then try again",
        )


def _discarded(goal: Goal, found: Plan, scope: Scope) -> Discarded:
    changed = (*found.restored, *(item for item in found.conflicts if item.action != "none"))
    files = tuple(item for item in changed if item.action == "delete" or (item.action == "write" and item.removed != 0))
    left = leaving(goal) if scope in ("conversation", "both") else []
    prompts = [entry for entry in left if entry.kind == "prompt"]
    active = next((branch.name for branch in goal.built.branches if branch.state == "active"), "")
    return Discarded(
        files,
        len(prompts),
        tuple(entry.text for entry in prompts),
        min((entry.time for entry in left), default=None),
        active if left else "",
    )


def _note(asked: Goal, goal: Goal, scope: Scope, fork: ForkPlan | None) -> str:
    notes: list[str] = []
    point = goal.point
    if point is not asked.point:
        notes.append("Files as of the end of the calls that ran in parallel.")
    if scope in ("files", "both") and point is not None:
        if not point.complete:
            notes.append(f"Recorded by the agent, knows {point.known} files; what the shell did is not known here.")
        elif goal.time - point.time > 60 * 10**9:
            notes.append(f"Files as of {(goal.time - point.time) // (60 * 10**9)} min before this row.")
    if fork is not None and fork.note:
        notes.append(fork.note)
    return " ".join(notes)


def carry_out(workspace: Workspace, shown: RestorePlan, live_too: bool = False) -> RestoreResult:
    """Does exactly what was shown. Raises Refused when somebody changed a path since, or while an agent's call runs."""
    place = workspace.adopted()
    goal, inventory = shown.goal, shown.inventory
    record = Record(
        operations.new_id(),
        "restore",
        operations.moment(),
        place.root.id,
        session=goal.session,
        summary=f"went back to {inventory.target.title}",
        point=inventory.target.checkpoint or "",
        entry=goal.built.here.talk or goal.entry or "",
        scope=inventory.scope,
        text=shown.fork.name if shown.fork else "",
    )
    if shown.then is not None and shown.plan.changes:
        store_import(workspace, goal.need_point())

    def forked(record: Record) -> Record:
        if shown.fork is None:
            return record
        agents.get(shown.fork.agent).write_fork(shown.fork.fork)
        return replace(record, fork=forking.describe(shown.fork, switch=True))

    # The fork first: where it cannot be written, no file has changed.
    record, outcome = change_files(workspace, record, shown.plan, live_too, first=forked)
    result = forking.result(shown.fork, record.id) if shown.fork else None
    return told(record, inventory, outcome, result)


def change_files(
    workspace: Workspace,
    record: Record,
    wanted: Plan,
    live_too: bool,
    *,
    check: Callable[[], None] = lambda: None,
    first: Besides = lambda record: record,
    last: Besides = lambda record: record,
) -> tuple[Record, apply.Outcome]:
    """Guard, journal, apply, verify, record, close: an operation under the locks of all roots it touches.

    `check` refuses it before anything is done. What else belongs to the operation is done by `first`, when the guard
    is there and no file has been changed, or by `last`, once the files are done. The operation is recorded before the
    journal is closed, so that a crash leaves one or the other.
    """
    place = workspace.need_place()
    with locked(place, record.kind):
        workspace.objects().ref(operations.REF)  # damaged, nothing could be recorded: better now than afterwards
        _refuse_interrupted(place)
        if wanted.changes and not live_too:
            live.refuse_open_call(place)
        check()
        must_store = _as_shown(workspace, place, wanted)
        taken = capture.take(
            place,
            Wanted(
                Checkpoint(
                    reason="guard",
                    agent=_agent_of(workspace, record.session),
                    session=record.session,
                    entry=record.entry,
                    text=f"before it {record.summary}",
                    operation=record.id,
                )
            ),
            locked=True,
            must_store=must_store,
        )
        # Later than its guard: a reader lays the operation's changes over the guard, not the other way round.
        record = replace(record, guard=taken.id, time=max(operations.moment(), taken.time + 1))
        record = first(record)
        objects = workspace.objects()
        if not wanted.changes:
            return operations.append(place, objects, last(record)), apply.Outcome()
        begun = journal.begin(
            place.journal_file,
            operation=record.id,
            guard=taken.id,
            target=record.point,
            root=workspace.root,
            changes=wanted.changes,
            about=operations.encode(record).decode(),
        )
        with _told_as_interrupted(place):
            guard = workspace.stored(taken.id)
            assert guard is not None
            outcome = apply.carry_out(begun, objects, objects.state(guard))
            refuse_left(outcome)
            changes: Nodes = dict(outcome.changed)
            merged = tuple(sorted(os.fsdecode(item.path) for item in wanted.changes if item.content is not None))
            record = replace(record, changes=operations.changes_of(changes), merged=merged, failed=len(outcome.failed))
            record = operations.append(place, objects, last(record))
        with suppress(OSError):  # it is recorded, hence over, whether its journal goes now or later
            journal.close(begun)
        return record, outcome


def _refuse_interrupted(place: Place) -> None:
    """Raises Refused while an interrupted restore waits to be settled; the journal of one that is over goes."""
    if unfinished(place) is not None:
        raise Refused("a restore was interrupted here", path=place.root.path, todo="forkpoint recover")
    over = journal.pending(place.journal_file)
    if over is not None:
        with storing(place.journal_file):
            journal.close(over)


@contextmanager
def _told_as_interrupted(place: Place) -> Generator[None]:
    """Files were changed: whatever goes wrong from then on has to say so. Raises Interrupted."""
    try:
        yield
    except (OSError, ForkpointError) as error:
        why = apply.in_words(error) if isinstance(error, OSError) else str(error)
        raise Interrupted(
            f"the restore stopped in the middle ({why})", path=place.root.path, todo="forkpoint recover settles it"
        ) from error


def refuse_left(outcome: apply.Outcome) -> None:
    """Raises Interrupted where something was left under a spare name: its path is not settled yet."""
    if outcome.left:
        why = dict(outcome.failed)[outcome.left[0]]
        raise Interrupted(f"{os.fsdecode(outcome.left[0])} is half done: {why}", todo="forkpoint recover")


def _as_shown(workspace: Workspace, place: Place, wanted: Plan) -> list[tuple[bytes, Node]]:
    """Looks at the folder once more: what is carried out is what was shown (rule 3). Gives what the guard must hold."""
    before: dict[bytes, Node | None] = {}
    for change in wanted.changes:
        before.setdefault(change.path, change.before)
    present = workspace.now(locked=True)
    refuse_unanswered(present)
    now = seen_too(workspace, present, before).state
    for path, node in before.items():
        found = now.get(path)
        if found != node and not _is_folder(node) and not _is_folder(found):
            raise Refused(
                "a file changed since this was shown",
                path=os.fsdecode(path),
                todo="look at it again: nothing was changed",
            )
    return [(path, node) for path, node in before.items() if node is not None and node.kind != "folder"]


def seen_too(workspace: Workspace, now: Side, paths: Iterable[bytes]) -> Side:
    """The folder as it is, with the files at some paths that are ignored now, or too large to be captured."""
    found: dict[bytes, Node] = {}
    with opened_root(workspace.root) as top:
        for path in paths:
            if path not in now.state and standing(top, path) == "other":
                with suppress(OSError):
                    node = look(top, path)
                    if node is not None and node.kind != "special":
                        found[path] = node
    uncaptured = {path: why for path, why in (now.uncaptured or {}).items() if path not in found}
    return replace(now, state={**now.state, **found}, uncaptured=uncaptured) if found else now


def _is_folder(node: Node | None) -> bool:
    return node is not None and node.kind == "folder"


def _agent_of(workspace: Workspace, session: str) -> str:
    return next((info.agent for info in workspace.known_sessions() if session in info.ids), "") if session else ""


@contextmanager
def locked(place: Place, who: str) -> Generator[None]:
    """Holds a root and every root above and below it, in one order for everybody."""
    path = place.root.path
    around = [
        other
        for other in places(place.home)
        if other.root.path == path or other.root.path.startswith(path + "/") or path.startswith(other.root.path + "/")
    ]
    with ExitStack() as stack:
        for other in sorted(around, key=lambda item: item.root.path):
            if os.path.isdir(other.root.path):
                stack.enter_context(other.locked(who))
                walks.forget(other)
        yield


def told(record: Record, inventory: Inventory, outcome: apply.Outcome, fork: ForkResult | None = None) -> RestoreResult:
    """What happened, path by path, in the words of the inventory."""
    shown = {item.path: item for item in (*inventory.restored, *inventory.conflicts)}

    def those(named: Sequence[tuple[bytes, str]]) -> tuple[PathChange, ...]:
        return tuple(
            replace(shown[path], why=why) if path in shown else PathChange(path, why, "none") for path, why in named
        )

    return RestoreResult(
        record.id,
        record.guard,
        inventory,
        tuple(shown[path] for path in outcome.done if path in shown),
        (*inventory.failed, *those(outcome.failed)),
        (*those(outcome.conflicts), *those([item for item in outcome.kept if item[0] in shown])),
        fork,
    )


def store_import(workspace: Workspace, point: str) -> None:
    """Stores a checkpoint that only the agent's own backups know, now that it is used."""
    if workspace.stored(point) is not None:
        return
    found = workspace.partial(point)
    if found is not None:
        imports.store(workspace.adopted(), *found)


def chosen(path: bytes, paths: Sequence[bytes]) -> bool:
    """Whether a path, or a folder above it, is among those that a person named."""
    return any(path == wanted.rstrip(b"/") or path.startswith(wanted.rstrip(b"/") + b"/") for wanted in paths)


def state_after(guard: State, changes: Nodes) -> State:
    """A state with changes laid over it."""
    state = dict(guard)
    for path, (_, new) in changes.items():
        if new is None:
            state.pop(path, None)
        else:
            state[path] = new
    return state
