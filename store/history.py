"""Where a path changed, and who changed what: the record of a root, told from one conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from . import diff, operations
from .checkpoints.authors import seen_from
from .conversation import tree
from .hook import session_key
from .model import Diff, Point, SessionTree, Touch, Who
from .states import Node

if TYPE_CHECKING:
    from .git.reader import Objects
    from .workspace import Workspace


def authors(workspace: Workspace, left: str, right: str | None, family: tuple[str, ...]) -> dict[bytes, list[Who]]:
    """Path → who changed it between two checkpoints, who did so last first; `right` None: up to now.

    Empty where one of the two is not stored, or knows some paths only.
    """
    old = workspace.stored(left)
    new = workspace.stored(right) if right is not None else None
    if old is None or not old.checkpoint.complete or (right is not None and new is None):
        return {}
    until = new.checkpoint.time if new is not None else None
    found: dict[bytes, list[Who]] = {}
    for transition in workspace.transitions(since=old.checkpoint.time, until=until):
        who = seen_from(transition.who, family)
        for path in transition.changes:
            those = found.setdefault(path, [])
            if who in those:
                those.remove(who)
            those.insert(0, who)
    return found


def touches(workspace: Workspace, path: bytes, built: SessionTree, *, placed: bool = False) -> list[Touch]:
    """The moments at which a path, or what is in a folder, changed, the oldest first; of all sessions of the root.

    `placed`: the branches of other sessions are told too, for which these are read.
    """
    content = workspace.content()
    points = {point.id: point for point in tree.bare(content.rows)} | {point.id: point for point in built.points}
    sessions = {
        record.id: session_key(record.agent, record.session) if record.session else ""
        for record in (row.stored.checkpoint for row in content.rows)
    }
    objects = workspace.objects() if workspace.place is not None else None
    found: list[Touch] = []
    for transition in workspace.transitions(only=path):
        # A restore's guard holds what was there before it: no checkpoint was made of what it left.
        point = None if transition.author == "restore" else points.get(transition.point)
        who = seen_from(transition.who, built.info.keys)
        for name, pair in sorted(transition.changes.items()):
            if _is_in(name, path) and objects is not None:
                touch = _touch(objects, name, pair, transition.time, who, point)
                session = sessions.get(transition.point, "") if point is not None else who.session
                found.append(replace(touch, session=session, branch=point.branch if point is not None else ""))
    return _placed(workspace, found, built) if placed else found


def _placed(workspace: Workspace, found: list[Touch], built: SessionTree) -> list[Touch]:
    """The same, with the branches of all sessions."""
    others = {touch.session for touch in found if touch.session and touch.session not in built.info.keys}
    points: dict[str, Point] = {}
    for info in workspace.known_sessions():
        if others.intersection(info.keys):
            points |= {point.id: point for point in workspace.tree_of(info).points}
    return [
        replace(touch, point=points[touch.point.id], branch=points[touch.point.id].branch)
        if touch.point is not None and touch.point.id in points
        else touch
        for touch in found
    ]


def between(workspace: Workspace, changes: Mapping[bytes, tuple[Node | None, Node | None]]) -> Diff:
    """How paths differ whose two contents are known: what was seen at one moment, or done by one operation."""
    if workspace.place is None:
        return Diff("", "", ())
    objects = workspace.objects()

    def read(_: bytes, node: Node) -> bytes:
        return objects.text(node.oid)

    return Diff("", "", tuple(diff.in_full(changes, read, read, diff.exact_renames(changes))))


def unrecorded(workspace: Workspace, paths: Sequence[bytes], *, hunks: bool = True) -> Diff:
    """How these paths differ from what was last recorded of them. Raises Busy while a save is under way."""
    found = workspace.unrecorded()
    if found is None:
        return Diff("", "", ())
    pairs, now = found
    objects = workspace.objects()
    wanted = frozenset(paths)
    chosen = {path: pair for path, pair in pairs.items() if path in wanted}
    compare = diff.in_full if hunks else diff.summarise
    return Diff("", "", tuple(compare(chosen, lambda path, node: objects.text(node.oid), now.read, {})))


def done_by(workspace: Workspace, operation: str) -> Diff:
    """What a restore, an undo or a redo did to files."""
    act = next((act for act in workspace.acts() if act.id == operation), None)
    return between(workspace, operations.pairs_of(act) if act is not None else {})


def _is_in(name: bytes, path: bytes) -> bool:
    return not path or name == path or name.startswith(path + b"/")


def _touch(
    objects: Objects, path: bytes, pair: tuple[Node | None, Node | None], time: int, who: Who, point: Point | None
) -> Touch:
    def read(_: bytes, node: Node) -> bytes:
        return objects.text(node.oid)

    lines = diff.count(path, *pair, read, read)
    return Touch(path, _status(*pair), time, who, point, *(lines or (0, 0)), old=pair[0], new=pair[1])


def _status(old: Node | None, new: Node | None) -> Literal["added", "deleted", "modified", "mode", "type"]:
    if old is None or new is None:
        return "added" if old is None else "deleted"
    if old.kind != new.kind:
        return "type"
    return "mode" if old.oid == new.oid else "modified"


def last(found: Mapping[bytes, list[Who]], path: bytes, old_path: bytes | None = None) -> Who | None:
    """Who changed a path last, of what `authors` gives; of a rename whoever put it there."""
    those = found.get(path) or (found.get(old_path) if old_path is not None else None)
    return those[0] if those else None
