"""Where a path changed, and who changed what: the record of a root, told from one conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from . import diff
from .checkpoints.authors import seen_from
from .conversation import tree
from .model import Point, SessionTree, Touch, Who
from .states import Node

if TYPE_CHECKING:
    from .git.reader import Objects
    from .workspace import Workspace

UNRECORDED = Who("unsure", maybe=("since the newest checkpoint",))


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


def touches(workspace: Workspace, path: bytes, built: SessionTree) -> list[Touch]:
    """The moments at which a path, or what is in a folder, changed, the oldest first; of all sessions of the root."""
    content = workspace.content()
    points = {point.id: point for point in tree.bare(content.rows)} | {point.id: point for point in built.points}
    objects = workspace.objects() if workspace.place is not None else None
    found: list[Touch] = []
    for transition in workspace.transitions(only=path):
        # A restore's guard holds what was there before it: no checkpoint was made of what it left.
        point = None if transition.author == "restore" else points.get(transition.point)
        who = seen_from(transition.who, built.info.keys)
        for name, pair in sorted(transition.changes.items()):
            if _is_in(name, path) and objects is not None:
                found.append(_touch(objects, name, pair, transition.time, who, point))
    return found


def _is_in(name: bytes, path: bytes) -> bool:
    return not path or name == path or name.startswith(path + b"/")


def _touch(
    objects: Objects, path: bytes, pair: tuple[Node | None, Node | None], time: int, who: Who, point: Point | None
) -> Touch:
    def read(_: bytes, node: Node) -> bytes:
        return objects.text(node.oid)

    lines = diff.count(path, *pair, read, read)
    return Touch(path, _status(*pair), time, who, point, *(lines or (0, 0)))


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
