"""What a restore would do, told before it does it: plan and inventory (rule 3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .. import agents, diff, live, naming
from ..agents.base import Evidence
from ..checkpoints import timeline
from ..contents import TooLarge
from ..conversation import forking
from ..conversation.forking import ForkPlan
from ..errors import Refused, StoreDamaged, UsageError
from ..git.compare import compare, merge
from ..git.reader import Stored
from ..model import Discarded, Inventory, OnConflict, PathChange, Scope
from ..sides import Side, outside_pairs, read_in
from ..states import Node
from ..walk import outside
from ..walk.secrets import MARK, path_looks_secret
from ..walk.walks import Look
from ..workspace import Workspace
from . import sharing
from .below import Nearby, ignores_case, opened_root, standing
from .coverage import Coverage, Pair, differences
from .goal import Goal, leaving, moved_on
from .paths import folded
from .plan import Plan
from .plan import plan as plan_paths
from .scope import Decision, decide

NOTHING = Plan((), (), (), (), ())


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What was shown, and all that is needed to carry exactly that out."""

    goal: Goal
    inventory: Inventory
    plan: Plan
    then: Side | None
    fork: ForkPlan | None
    same: Stored | None = None
    """Parts of a checkpoint that hold the files as they were when they were looked at, where there is one."""
    look: Look | None = None
    """How that was seen: the guard's own walk, where nobody was asked in between."""


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
    name: str = "",
) -> RestorePlan:
    """Looks at the folder and says what going back would do; `name` is the branch's. Raises UsageError, Refused."""
    if scope in ("conversation", "both") and not goal.talks:
        raise UsageError("this checkpoint belongs to no conversation", todo="restore its files: --files")
    files, found = None, NOTHING
    asked, fork = goal, forking.plan(workspace, goal, name) if scope in ("conversation", "both") else None
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
    if files is None:
        return RestorePlan(goal, inventory, found, None, fork)
    return RestorePlan(goal, inventory, found, files.then, fork, files.now.same, files.now.look)


def _files(workspace: Workspace, goal: Goal) -> Files:
    then = workspace.side(goal.need_point(), goal.built, later=True)
    now = workspace.now()
    pairs = _by_trees(workspace, then, now)
    if pairs is None:
        pairs = differences(then.state, coverage(then), now.state, coverage(now))
    return Files(then, now, pairs)


def _by_trees(workspace: Workspace, then: Side, now: Side) -> dict[bytes, Pair] | None:
    """What differs, by git's trees, which tell at once what two folders have in common.

    None where that does not tell all: nothing may have changed since the newest checkpoint, and nothing may come or
    go, since folders come and go with it. That nothing at all differs is worth a look at every file.
    """
    if then.stored is None or then.known is not None or now.same is None:
        return None
    try:
        found = compare(workspace.objects(), then.stored, now.same)
    except StoreDamaged:
        return None
    if not found or any(old is None or new is None for old, new in found.values()):
        return None
    return {path: Pair(*found[path]) for path in sorted(found)}


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
    whole = everything or not goal.session
    # What happened to each path matters only where it decides whose it is.
    told = Evidence() if whole else _evidence(workspace, goal)
    decisions = decide(
        files.pairs,
        None if whole else workspace.recorded(),
        [] if whole else workspace.transitions(goal.built.info.keys),
        timeline.FAMILY if goal.session else "",
        left=told.left,
        touched=told.touched.keys(),
        everything=everything,
        paths=paths,
    )
    return planned(workspace, files, decisions, choices)


def _evidence(workspace: Workspace, goal: Goal) -> Evidence:
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
    refuse_unanswered(files.now.unanswered)

    def count(path: bytes, old: Node | None, new: Node | None) -> tuple[int, int] | None:
        return diff.count(path, old, new, read_now, files.then.read)

    def merged(path: bytes, base: Node, mine: Node, theirs: Node) -> bytes | None:
        try:
            return merge(workspace.objects().text(base.oid), files.now.read(path, mine), files.then.read(path, theirs))
        except TooLarge:
            return None

    with opened_root(workspace.root) as top, Nearby(top) as nearby:
        read_now = _reader(nearby)
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
            share=sharing.each,
        )


def _reader(nearby: Nearby) -> Callable[[bytes, Node], bytes]:
    return lambda path, node: read_in(*nearby.of(path), node)


def refuse_unanswered(unanswered: Mapping[str, str]) -> None:
    """Raises Refused when nobody can say which files are ignored: then none is touched (rule 2)."""
    for source, why in sorted(unanswered.items()):
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
            notes.append(f"Recorded by the agent, {naming.known(point)}.")
        elif goal.time - point.time > 60 * 10**9:
            notes.append(f"Files as of {(goal.time - point.time) // (60 * 10**9)} min before this row.")
    if fork is not None and fork.note:
        notes.append(fork.note)
    return " ".join(notes)


def chosen(path: bytes, paths: Sequence[bytes]) -> bool:
    """Whether a path, or a folder above it, is among those that a person named."""
    return any(path == wanted.rstrip(b"/") or path.startswith(wanted.rstrip(b"/") + b"/") for wanted in paths)
