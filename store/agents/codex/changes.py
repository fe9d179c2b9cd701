"""What Codex CLI's records tell of files: the changes of its patch tool, and texts with a change made or taken back.

An added or deleted file stands there in full, an updated one as a unified diff of what really
changed (formats 2.6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from ..forms.jsonl import from_raw
from .records import EVENT, Line, body_of, kind_of

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DONE = (None, "completed", "success")


@dataclass(frozen=True, slots=True)
class Change:
    """What one patch did to one file."""

    call: str
    path: str
    """Absolute, as the machine wrote it that ran the agent."""
    kind: str
    """add, delete or update."""
    text: str
    """The content that was added or deleted, or the unified diff."""
    to: str = ""
    """The path that an updated file was moved to."""


def changes_of(line: Line) -> Iterator[Change]:
    """The changes that a record tells; only of patches that succeeded."""
    if kind_of(line) != EVENT:
        return
    body = body_of(line)
    if body.type == "item_completed" and body.item is not None and body.item.type == "FileChange":
        if body.item.status in _DONE:
            yield from _changes(body.item.id or "", from_raw(body.item.changes))
    elif body.type == "patch_apply_end" and body.success is not False and body.status in _DONE:
        yield from _changes(body.call or "", from_raw(body.changes))


def _changes(call: str, told: object) -> Iterator[Change]:
    if not isinstance(told, dict):
        return
    for path, change in cast("dict[str, object]", told).items():
        plain = cast("dict[str, Any]", change) if isinstance(change, dict) else {}
        kind = plain.get("type")
        if kind is None and len(plain) == 1:
            # An older form has the kind for a key.
            kind, inner = next(iter(plain.items()))
            plain = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        text = plain.get("unified_diff" if kind == "update" else "content")
        to = plain.get("move_path")
        if kind in ("add", "delete", "update") and isinstance(text, str):
            yield Change(call, path, kind, text, to if isinstance(to, str) else "")


def applied(text: str, diff: str) -> str | None:
    """A text with a unified diff made; None when it does not fit line by line."""
    return _walked(text, diff, forward=True)


def taken_back(text: str, diff: str) -> str | None:
    """A text as it was before a unified diff was made; None when it does not fit line by line."""
    return _walked(text, diff, forward=False)


def _walked(text: str, diff: str, *, forward: bool) -> str | None:
    before = _lines(text)
    after: list[str] = []
    at = 0
    for start, hunk in _hunks(diff, forward=forward):
        if start < at or start > len(before):
            return None
        after += before[at:start]
        at = start
        for sign, line in hunk:
            if sign in " -":
                if at >= len(before) or before[at] != line:
                    return None
                at += 1
            if sign in " +":
                after.append(line)
    return "".join(after) + "".join(before[at:])


def _lines(text: str) -> list[str]:
    """Lines by their line feeds alone, each with its own."""
    found = [f"{line}\n" for line in text.split("\n")]
    last = found.pop()[:-1]
    return [*found, last] if last else found


def _hunks(diff: str, *, forward: bool) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Where each hunk begins in the text that it is made in, and its lines; signs are turned round to take it back."""
    start = -1
    found: list[tuple[str, str]] = []
    turned = {"+": "-", "-": "+"}
    for line in _lines(diff):
        head = _HUNK.match(line)
        if head is not None:
            if start >= 0:
                yield start, found
            place, count = (head[1], head[2]) if forward else (head[3], head[4])
            start, found = int(place) - (0 if count == "0" else 1), []
        elif start < 0:
            continue
        elif line.startswith("\\"):
            if found:
                sign, last = found[-1]
                found[-1] = (sign, last.removesuffix("\n"))
        elif line[:1] in ("+", "-", " "):
            sign = line[0] if forward else turned.get(line[0], " ")
            found.append((sign, line[1:]))
        elif line == "\n":
            found.append((" ", "\n"))
    if start >= 0:
        yield start, found
