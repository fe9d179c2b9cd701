"""All checkpoints and operations of a workspace in the order of time, told without reading any conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .. import roots
from ..conversation import tree
from ..hook import session_key
from ..model import Moment, SessionInfo
from ..naming import RUN, shortened, title
from ..resolve import FILES

if TYPE_CHECKING:
    from ..catalog.content import Row
    from ..operations import Record
    from ..workspace import Workspace


def moments(workspace: Workspace) -> list[Moment]:
    """The newest first."""
    place, content = workspace.place, workspace.content()
    if place is None:
        return []
    those = {other.root.id: other.root.path for other in roots.places(place.home) if other.workspace == place.workspace}
    sessions = {key: info for info in workspace.known_sessions() for key in info.keys}
    found = [
        _of_row(row, those[row.stored.checkpoint.root], sessions)
        for row in content.rows
        if row.stored.checkpoint.root in those
    ]
    found += [_of_act(act, those[act.root], sessions) for act in content.operations if act.root in those]
    labels = {
        point: text
        for root in those
        for point, text in tree.marks(content.rows, content.operations, root).labels.items()
    }
    return sorted(
        (_labelled(moment, labels.get(moment.id, "")) for moment in found), key=lambda item: item.time, reverse=True
    )


def _labelled(moment: Moment, label: str) -> Moment:
    return replace(moment, text=f'"{label}" · {moment.text}') if label else moment


def _of_row(row: Row, root: str, sessions: dict[str, SessionInfo]) -> Moment:
    point = row.stored.checkpoint
    key = session_key(point.agent, point.session) if point.session else ""
    info = sessions.get(key)
    (bare,) = tree.bare([row])
    words = title(bare, None)
    if point.reason in RUN and point.text and not point.session:
        words = f'{RUN[point.reason]} "{shortened(point.text)}"'
    return Moment(
        point.id,
        "point",
        point.time,
        root,
        info.key if info else key or FILES,
        info.title if info else "",
        words,
        point.before or point.previous,
        row.added,
        row.removed,
        point.complete,
    )


def _of_act(act: Record, root: str, sessions: dict[str, SessionInfo]) -> Moment:
    info = sessions.get(act.session)
    return Moment(
        act.id,
        "operation",
        act.time,
        root,
        info.key if info else act.session or FILES,
        info.title if info else "",
        act.summary,
    )
