"""The JSON documents of the commands; their keys are stable (design.md section 6)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...store import naming
from ...store.model import (
    Branch,
    Covered,
    Diff,
    Discarded,
    Entry,
    FileDiff,
    ForkResult,
    Inventory,
    Live,
    Operation,
    PathChange,
    Point,
    RestoreResult,
    SessionInfo,
    SessionTree,
    Who,
)
from ..values import iso, path_keys

if TYPE_CHECKING:
    from ...store.api import ResumePlan

Document = dict[str, Any]


def moment(time: int | None) -> str | None:
    """A time, or null."""
    return None if time is None else iso(time)


def session_document(info: SessionInfo) -> Document:
    return {
        "id": info.id,
        "agent": info.agent,
        "title": info.title,
        "updated": iso(info.updated),
        "entries": info.entries if info.branches else None,
        "branches": info.branches or None,
        "bytes": info.bytes,
        "live": info.live,
        "problem": info.problem,
    }


def tree_document(tree: SessionTree) -> Document:
    return {
        "session": tree.info.id,
        "entries": [entry_document(entry) for entry in tree.entries],
        "checkpoints": [point_document(point) for point in tree.points],
        "branches": [branch_document(branch) for branch in tree.branches],
        "here": {"files": tree.here.files, "talk": tree.here.talk, "dirty": tree.here.dirty},
        "operations": [operation_document(operation) for operation in tree.operations],
        "problems": [{"what": this.what, "file": this.file, "line": this.line} for this in tree.problems],
        "gone": [gone_document(point) for point in tree.gone],
    }


def gone_document(point: Point) -> Document:
    """A checkpoint whose files were deleted."""
    return {**point_document(point), "gone": iso(point.gone), "gone_by": point.gone_by}


def who_document(who: Who) -> Document:
    """Who changed a path."""
    return {
        "kind": who.kind,
        "agent": who.agent,
        "session": who.session,
        "subagent": who.subagent,
        "call": who.call,
        "tool": who.tool,
        "shell": who.shell,
        "text": who.text,
        "operation": who.operation,
        "maybe": list(who.maybe),
        "words": naming.who(who),
    }


def authored_document(diff: Diff, authors: Mapping[bytes, list[Who]]) -> Document:
    """What changed, each file with who changed it last, and who else did."""
    document = diff_document(diff)
    for file, told in zip(diff.files, document["files"], strict=True):
        those = authors.get(file.path) or authors.get(file.old_path or b"") or [Who("unsure")]
        told |= {"who": who_document(those[0]), "also": [who_document(who) for who in those[1:]]}
    return document


def entry_document(entry: Entry) -> Document:
    return {
        "id": entry.id,
        "parent": entry.parent,
        "kind": entry.kind,
        "time": iso(entry.time),
        "text": entry.text,
        "turn": entry.turn,
        "tool": entry.tool,
        "error": entry.error,
    }


def point_document(point: Point) -> Document:
    return {
        "id": point.id,
        "entry": point.entry,
        "branch": point.branch,
        "side": point.side,
        "reason": point.reason,
        "label": point.label,
        "pinned": point.pinned,
        "time": iso(point.time),
        "added": point.added,
        "removed": point.removed,
        "files": point.files,
        "complete": point.complete,
        "inferred": point.inferred,
        "uncaptured": point.uncaptured,
    }


def covered_document(covered: Covered) -> Document:
    """Paths of a checkpoint that are not as all the others."""

    def reasons(paths: Sequence[tuple[str, str]]) -> list[Document]:
        return [{**path_keys(os.fsencode(path)), "why": why} for path, why in paths]

    def bare(paths: Sequence[str]) -> list[Document]:
        return [path_keys(os.fsencode(path)) for path in paths]

    return {
        "uncaptured": reasons(covered.uncaptured),
        "moving": bare(covered.moving),
        "outside": bare(covered.outside),
        "secrets": bare(covered.secrets),
        "unanswered": reasons(covered.unanswered),
    }


def branch_document(branch: Branch) -> Document:
    return {
        "name": branch.name,
        "head": branch.head,
        "state": branch.state,
        "origin": branch.origin,
        "fork": branch.fork,
        "session": branch.session,
        "title": branch.title,
        "updated": iso(branch.updated),
    }


def operation_document(operation: Operation) -> Document:
    return {
        "id": operation.id,
        "kind": operation.kind,
        "time": iso(operation.time),
        "undoable": operation.undoable,
        "until": moment(operation.until),
        "why": operation.why,
        "summary": operation.summary,
    }


def diff_document(diff: Diff) -> Document:
    return {
        "left": diff.left,
        "right": diff.right,
        "unknown": diff.unknown,
        "files": [file_document(file) for file in diff.files],
    }


def file_document(file: FileDiff) -> Document:
    old = path_keys(file.old_path, "old_path") if file.old_path is not None else {"old_path": None}
    hunks = [
        {
            "header": hunk.header,
            "lines": [{"kind": line.kind, "text": line.text, "old": line.old, "new": line.new} for line in hunk.lines],
        }
        for hunk in file.hunks
    ]
    return {
        **path_keys(file.path),
        **old,
        "status": file.status,
        "added": file.added,
        "removed": file.removed,
        "notes": list(file.notes),
        "problem": file.problem,
        "hunks": hunks,
    }


def change_document(change: PathChange) -> Document:
    return {
        **path_keys(change.path),
        "why": change.why,
        "added": change.added,
        "removed": change.removed,
        "action": change.action,
        "note": change.note,
    }


def changes_document(changes: Sequence[PathChange]) -> list[Document]:
    return [change_document(change) for change in changes]


def discarded_document(discarded: Discarded) -> Document:
    return {
        "files": changes_document(discarded.files),
        "turns": discarded.turns,
        "prompts": list(discarded.prompts),
        "branch": discarded.branch,
    }


def live_document(live: Live) -> Document:
    return {
        "agent": live.agent,
        "session": live.session,
        "pid": live.pid,
        "since": iso(live.since),
        "doing": live.doing,
    }


def inventory_document(inventory: Inventory) -> Document:
    """What would be done: `operation` and `guard` are null."""
    target = inventory.target
    return {
        "operation": None,
        "guard": None,
        "target": {
            "checkpoint": target.checkpoint,
            "entry": target.entry,
            "side": target.side,
            "files_as_of": moment(target.files_as_of or None),
        },
        "scope": inventory.scope,
        "restored": changes_document(inventory.restored),
        "kept": changes_document(inventory.kept),
        "conflicts": changes_document(inventory.conflicts),
        "discarded": discarded_document(inventory.discarded),
        "effects": list(inventory.effects),
        "failed": [],
        "live": [live_document(live) for live in inventory.live],
        "note": inventory.note,
    }


def result_document(result: RestoreResult) -> Document:
    """What was done; a path that turned out otherwise than planned is named once, under what became of it."""
    failed = {change.path for change in result.failed}
    late = {change.path for change in result.late_conflicts}
    done = {change.path for change in result.done}
    settled = [change for change in result.inventory.conflicts if change.path not in failed | late | done]
    document = inventory_document(result.inventory)
    document |= {
        "operation": result.operation,
        "guard": result.guard,
        "restored": changes_document(result.done),
        "conflicts": changes_document([*settled, *result.late_conflicts]),
        "failed": changes_document(result.failed),
    }
    if result.fork is not None:
        document["fork"] = fork_document(result.fork)
    return document


def resume_document(planned: ResumePlan, ready: ResumePlan) -> Document:
    return {
        "branch": ready.branch,
        "session": ready.session,
        "agent": ready.agent,
        "command": list(ready.command),
        "cwd": ready.cwd,
        "forked": planned.fork is not None,
        "note": planned.note,
        "live": [live_document(live) for live in ready.live],
    }


def fork_document(fork: ForkResult) -> Document:
    return {
        "branch": fork.branch,
        "session": fork.session,
        "agent": fork.agent,
        "command": list(fork.command),
        "cwd": fork.cwd,
        "prompt": fork.prompt_text,
        "operation": fork.operation,
    }
