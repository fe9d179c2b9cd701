"""What a person means by an ID: a checkpoint, entry, branch or label, "now", or a time (design.md section 6)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .catalog.catalog import Row
from .conversation.tree import Marks
from .errors import AmbiguousId, UnknownId, UsageError
from .hook import session_key
from .model import Point, SessionTree

FILES = "files"
"""The id of the workspace's own session: saves and guards that belong to no agent's session."""
LONG = 7
"""So many digits of a checkpoint's id are taken for it without looking at the ids of entries."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True, slots=True)
class Resolved:
    """What was meant. "now" is neither point nor entry."""

    point: str | None = None
    entry: str | None = None
    session: str = ""


def resolve(name: str, trees: Iterable[SessionTree]) -> Resolved:
    """Finds the one thing that `name` stands for; the trees are asked in order, a whole match before a beginning.

    Raises UnknownId, AmbiguousId, UsageError.
    """
    if name == "now":
        return Resolved()
    if not name.strip():
        raise UsageError("an id is missing", todo="forkpoint log lists ids, labels and branches")
    trees = list(trees)
    if name.startswith("@"):
        return _at_time(name, trees)
    exact = {match for built in trees for match in _matches(built, name, whole=True)}
    found = exact or {match for built in trees for match in _matches(built, name, whole=False)}
    if not found:
        raise UnknownId(f'nothing is called "{name}"', todo="forkpoint log lists ids, labels and branches")
    if len(found) > 1:
        names = ", ".join(sorted(item.point or item.entry or "" for item in found)[:5])
        raise AmbiguousId(f'"{name}" could be {len(found)} things: {names}', todo="give more of the id")
    return next(iter(found))


def quick(name: str, rows: Sequence[Row], held: Marks, root: str) -> Resolved | None:
    """What the stored checkpoints alone answer: a long enough id, a label, a time; None when all must be asked.

    Raises UnknownId for a time before the oldest checkpoint, when there is any.
    """
    mine = [row.stored.checkpoint for row in rows if row.stored.checkpoint.root == root]
    if name.startswith("@") and mine:
        moment = parse_time(name[1:], time.time()) * 10**9
        chosen = [item for item in mine if item.time <= moment]
    elif len(name) >= LONG:
        chosen = [item for item in mine if item.id.startswith(name)]
    else:
        chosen = []
    if name.startswith("@"):
        chosen = chosen[-1:]
    else:
        # As in `resolve`: a whole match before a beginning.
        chosen = [item for item in mine if name and name in (item.id, held.labels.get(item.id))] or chosen
    if len(chosen) != 1:
        return None
    return Resolved(chosen[0].id, None, session_key(chosen[0].agent, chosen[0].session) or FILES)


def _matches(built: SessionTree, name: str, whole: bool) -> set[Resolved]:
    def fits(text: str) -> bool:
        return text == name if whole else len(name) >= 2 and text.startswith(name)

    session = built.info.key
    points = (*built.points, *built.gone)
    found = {Resolved(point.id, point.entry, session) for point in points if fits(point.id)}
    found |= {Resolved(point.id, point.entry, session) for point in built.points if fits(point.label)}
    found |= {Resolved(None, branch.head, session) for branch in built.branches if fits(branch.name)}
    found |= {Resolved(None, entry.id, session) for entry in built.entries if fits(entry.id)}
    return found


def _at_time(name: str, trees: list[SessionTree]) -> Resolved:
    moment = parse_time(name[1:], time.time())
    candidates: list[tuple[Point, str]] = [
        (point, built.info.key) for built in trees for point in built.points if point.time <= moment * 10**9
    ]
    if not candidates:
        raise UnknownId(f"there is no checkpoint at or before {name}", todo="forkpoint log shows the oldest")
    point, session = max(candidates, key=lambda pair: pair[0].time)
    return Resolved(point.id, point.entry, session)


def parse_time(text: str, now: float) -> float:
    """Seconds since the epoch of "14:30", "yesterday", "2h", "2026-11-30", "2026-11-30 14:30"."""
    year, month, day = time.localtime(now)[:3]
    if text == "yesterday":
        return time.mktime((year, month, day, 0, 0, 0, 0, 0, -1)) - 1
    if text == "today":
        return now
    if match := re.fullmatch(r"([0-9]{1,9})([smhdw])", text):
        return now - int(match[1]) * UNITS[match[2]]
    if match := re.fullmatch(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?", text):
        hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 59)
        if hours < 24 and minutes < 60 and seconds < 60:
            # Not 86,400 s apart where the clocks are changed in between.
            today, before = (time.mktime((year, month, at, hours, minutes, seconds, 0, 0, -1)) for at in (day, day - 1))
            return today if today <= now + 60 else before
    for pattern, days, end in (("%Y-%m-%d %H:%M", 0, 59), ("%Y-%m-%dT%H:%M", 0, 59), ("%Y-%m-%d", 1, -1)):
        try:
            found = time.strptime(text, pattern)
            return time.mktime((*found[:2], found.tm_mday + days, *found[3:6], 0, 0, -1)) + end
        except (ValueError, OverflowError):
            continue
    raise UsageError(f'"@{text}" is not a time', todo="try @14:30, @yesterday, @2h or @2026-11-30")


def point_for(built: SessionTree, entry: str) -> Point | None:
    """The point that a row without a checkpoint stands for: the newest at or before it on its branch."""
    index = {item.id: item for item in built.entries}
    at = index.get(entry)
    by_entry: dict[str, list[Point]] = {}
    for point in built.points:
        if point.entry is None or point.reason == "guard":
            continue
        # To go to a prompt is to go to before it: what was saved while it was being answered is too late.
        late = at is not None and at.kind == "prompt" and point.side == "after" and point.time > at.time
        if not (late and point.entry == entry):
            by_entry.setdefault(point.entry, []).append(point)
    while at is not None:
        if at.id in by_entry:
            return max(by_entry[at.id], key=lambda point: point.time)
        at = index.get(at.parent or at.under)
    return None
