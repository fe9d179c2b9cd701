"""`forkpoint usage`: what holds most of the store, and what would stop it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...store.naming import title
from .. import words
from ..output import Cell, Row, painted, shortened
from ..values import iso, path_keys
from .call import Call, command

if TYPE_CHECKING:
    from ...store.api import Usage

SHOWN = 10
"""Lines of each list; a document holds more."""


@command("usage")
def usage(call: Call) -> int:
    """What takes most of the store: paths, checkpoints and sessions, and the line that would stop each path."""
    found = call.need_workspace().usage()
    if call.json:
        call.output.document(_document(found))
        return 0
    call.say_root()
    own, total, free = (words.size(number) for number in (found.workspace, found.total, found.free))
    call.output.say(f"The store of this folder takes {own}, all stores {total}; {free} are free.")
    _list(call, "Paths, each with the line for .forkpointignore that leaves it out from now on", _paths(found))
    _list(call, "Checkpoints, by what would be freed if only this one went", _points(found))
    _list(call, "Conversations", _sessions(found))
    return 0


def _list(call: Call, heading: str, rows: list[Row]) -> None:
    if rows:
        call.output.say("", painted(heading, "bold", call.terminal))
        call.output.table(rows)


def _paths(found: Usage) -> list[Row]:
    return [
        Row(
            (
                Cell(words.size(item.alone), right=True),
                Cell(words.count(item.versions, "version"), "dim", right=True),
            ),
            (Cell(item.ignore_line, "cyan"),),
            (Cell(f"{words.size(item.bytes)} with what other paths hold too", "dim"),)
            if item.bytes > item.alone
            else (),
            wraps=True,
        )
        for item in found.paths[:SHOWN]
    ]


def _points(found: Usage) -> list[Row]:
    shown = [item for item in found.points[:SHOWN] if item.frees]
    short, now = shortened(item.point.id for item in found.points), time.time_ns()
    return [
        Row(
            (
                Cell(words.size(item.frees), right=True),
                Cell(short[item.point.id], "cyan"),
                Cell(words.moment(item.point.time, now), "dim", right=True),
            ),
            (Cell(words.one_line(title(item.point, None))),),
            (Cell("pinned" if item.point.pinned else "", "yellow"),),
        )
        for item in shown
    ]


def _sessions(found: Usage) -> list[Row]:
    short = shortened(item.id for item in found.sessions)
    return [
        Row(
            (Cell(words.size(item.bytes), right=True), Cell(short[item.id], "cyan"), Cell(words.agent(item.agent))),
            (Cell(words.one_line(item.title)),),
        )
        for item in found.sessions[:SHOWN]
    ]


def _document(found: Usage) -> dict[str, object]:
    return {
        "total": found.total,
        "workspace": found.workspace,
        "free": found.free,
        "paths": [
            {
                **path_keys(item.path),
                "folder": item.is_folder,
                "bytes": item.bytes,
                "alone": item.alone,
                "versions": item.versions,
                "ignore_line": item.ignore_line,
            }
            for item in found.paths
        ],
        "points": [
            {
                "id": item.point.id,
                "frees": item.frees,
                "time": iso(item.point.time),
                "reason": item.point.reason,
                "label": item.point.label,
                "pinned": item.point.pinned,
            }
            for item in found.points
        ],
        "sessions": [
            {"id": item.id, "agent": item.agent, "title": item.title, "bytes": item.bytes} for item in found.sessions
        ],
    }
