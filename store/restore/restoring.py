"""Carrying out what was shown: guard → journal → apply → verify → operation → close the journal (rule 3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from .. import calls, live, operations
from ..checkpoints import capture, imports
from ..checkpoints.capture import Taken, Wanted
from ..checkpoints.points import Checkpoint
from ..conversation import forking, intended
from ..errors import ForkpointError, GitFailed, Interrupted, Refused, StoreUnwritable, storing
from ..git.compare import Nodes
from ..git.reader import Objects, Stored
from ..model import ForkResult, Inventory, PathChange, RestoreResult
from ..operations import Record
from ..roots import Place, places
from ..sides import Side
from ..states import Node, State
from ..walk import walks
from ..walk.scan import Scan
from ..walk.walks import Look
from ..workspace import Workspace
from . import apply, journal
from .below import look, opened_root, standing
from .interrupted import unfinished
from .plan import Plan
from .planning import RestorePlan, refuse_unanswered

Besides = Callable[[Record], Record]
"""Does something else that belongs to an operation; gives its record with what there is to say of it."""


def carry_out(
    workspace: Workspace, shown: RestorePlan, live_too: bool = False, *, at_once: bool = False
) -> RestoreResult:
    """Does exactly what was shown. Raises Refused when somebody changed a path since, or while an agent's call runs.

    With `at_once` nobody was asked since it was planned: what was seen then is the guard's. A path that changed since
    becomes a conflict when its turn comes.
    """
    place = workspace.adopted()
    goal, inventory = shown.goal, shown.inventory
    record = Record(
        operations.new_id(),
        "restore",
        operations.moment(),
        place.root.id,
        session=goal.key,
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
        record = replace(record, fork=forking.describe(shown.fork, switch=True))
        forking.write(place, shown.fork, record)
        return record

    look = shown.look if at_once else None
    with intended.settled(place):
        # The fork first: where it cannot be written, no file has changed.
        done = change_files(workspace, record, shown.plan, live_too, first=forked, same=shown.same, look=look)
    record, outcome = done
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
    same: Stored | None = None,
    look: Look | None = None,
) -> tuple[Record, apply.Outcome]:
    """Guard, journal, apply, verify, record, close: an operation under the locks of all roots it touches.

    `check` refuses it before anything is done. What else belongs to the operation is done by `first`, when the guard
    is there and no file has been changed, or by `last`, once the files are done. The operation is recorded before the
    journal is closed, so that a crash leaves one or the other. `look` serves the guard, unless somebody saved or did
    something since.
    """
    place = workspace.need_place()
    with locked(place, record.kind):
        workspace.objects().ref(operations.REF)  # damaged, nothing could be recorded: better now than afterwards
        _refuse_interrupted(place)
        if wanted.changes and not live_too:
            live.refuse_open_call(place)
        check()
        before: dict[bytes, Node | None] = {}
        for change in wanted.changes:
            before.setdefault(change.path, change.before)
        with _told_as_unchanged():
            taken = _guard(workspace, place, record, before, look)
            # Later than its guard: a reader lays the operation's changes over the guard, not the other way round.
            record = replace(record, guard=taken.id, time=max(operations.moment(), taken.time + 1))
            record = first(record)
        objects = workspace.objects()
        if not wanted.changes:
            return operations.append(place, objects, last(record)), apply.Outcome()
        with _told_as_unchanged():
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
            outcome = apply.carry_out(begun, objects, _held(objects, guard, before, same))
            _refuse_left(outcome)
            changes: Nodes = dict(outcome.changed)
            merged = tuple(sorted(os.fsdecode(item.path) for item in wanted.changes if item.content is not None))
            record = replace(record, changes=operations.changes_of(changes), merged=merged, failed=len(outcome.failed))
            record = operations.append(place, objects, last(record))
        with suppress(OSError):  # it is recorded, hence over, whether its journal goes now or later
            journal.close(begun)
        return record, outcome


def _guard(
    workspace: Workspace, place: Place, record: Record, before: Mapping[bytes, Node | None], look: Look | None
) -> Taken:
    """Takes the checkpoint of the present that undo goes back to: it holds all that stands where something changes."""
    agent, session = _agent_and_id(workspace, record.session)
    draft = Checkpoint(
        reason="guard",
        agent=agent,
        session=session,
        entry=record.entry,
        text=f"before {'the' if record.kind in ('undo', 'redo') else 'it'} {record.summary}",
        operation=record.id,
        quiet=calls.quiet(calls.load(place.open_calls_file)),
    )
    serves = look is not None and look.moment == workspace.moment()
    return capture.take(
        place,
        Wanted(draft, seen=look.walk if look is not None and serves else None),
        locked=True,
        must_store=[(path, node) for path, node in before.items() if node is not None and node.kind != "folder"],
        check=lambda found, held: _refuse_unlike(workspace.root, found, held, before),
    )


@contextmanager
def _told_as_unchanged() -> Generator[None]:
    """Says of what stops a restore before its first change that nothing was changed."""
    try:
        yield
    except (StoreUnwritable, GitFailed) as error:
        raise type(error)(f"nothing was changed: {error.what}", path=error.path, todo=error.todo) from None


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
    except (Exception, KeyboardInterrupt) as error:
        raise Interrupted(
            f"the restore stopped in the middle ({_why(error)})",
            path=place.root.path,
            todo="forkpoint recover settles it",
        ) from error


def _why(error: BaseException) -> str:
    if isinstance(error, OSError):
        return apply.in_words(error)
    if isinstance(error, ForkpointError):
        return str(error)
    return "it was told to stop" if isinstance(error, KeyboardInterrupt) else repr(error)


def _refuse_left(outcome: apply.Outcome) -> None:
    """Raises Interrupted where something was left under a spare name: its path is not settled yet."""
    if outcome.left:
        why = dict(outcome.failed)[outcome.left[0]]
        raise Interrupted(f"{os.fsdecode(outcome.left[0])} is half done: {why}", todo="forkpoint recover")


def _held(objects: Objects, guard: Stored, before: Mapping[bytes, Node | None], same: Stored | None) -> State:
    """What the guard holds at the paths that change.

    Where its trees are the very ones that the plan was made of, that is known without reading them again.
    """
    if same is not None and (guard.files, guard.modes) == (same.files, same.modes):
        return {path: node for path, node in before.items() if node is not None}
    return objects.nodes(guard, before)


def _refuse_unlike(root: str, found: Scan, held: State, before: Mapping[bytes, Node | None]) -> None:
    """Raises Refused when a path is no more what it was when it was shown (rule 3), by the guard's own walk."""
    refuse_unanswered(found.unanswered)
    captured = {**held, **found.nodes(path for path in before if path not in held)}
    now = {**captured, **_looked_at(root, captured, before)}
    for path, node in before.items():
        stands = now.get(path)
        if stands != node and not _is_folder(node) and not _is_folder(stands):
            raise Refused(
                "a file changed since this was shown",
                path=os.fsdecode(path),
                todo="look at it again: nothing was changed",
            )


def seen_too(workspace: Workspace, now: Side, paths: Iterable[bytes]) -> Side:
    """The folder as it is, with the files at some paths that are ignored now, or too large to be captured."""
    found = _looked_at(workspace.root, now.state, paths)
    uncaptured = {path: why for path, why in (now.uncaptured or {}).items() if path not in found}
    return replace(now, state={**now.state, **found}, uncaptured=uncaptured) if found else now


def _looked_at(root: str, state: State, paths: Iterable[bytes]) -> dict[bytes, Node]:
    """What stands at those of some paths that a walk does not tell of."""
    found: dict[bytes, Node] = {}
    with opened_root(root) as top:
        for path in paths:
            if path not in state and standing(top, path) == "other":
                with suppress(OSError):
                    node = look(top, path)
                    if node is not None and node.kind != "special":
                        found[path] = node
    return found


def _is_folder(node: Node | None) -> bool:
    return node is not None and node.kind == "folder"


def _agent_and_id(workspace: Workspace, key: str) -> tuple[str, str]:
    """The agent and the agent's own id of a session that an operation names."""
    for info in workspace.known_sessions() if key else ():
        if key in info.keys:
            return info.agent, info.ids[info.keys.index(key)]
    return "", key


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
        with _told_as_unchanged():
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


def state_after(guard: State, changes: Nodes) -> State:
    """A state with changes laid over it."""
    state = dict(guard)
    for path, (_, new) in changes.items():
        if new is None:
            state.pop(path, None)
        else:
            state[path] = new
    return state
