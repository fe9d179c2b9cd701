"""Lines of a Gemini CLI session file, read in part: what the tree needs, and where each message stands.

A session is a log that is replayed: a header, messages (a later one of the same id takes the place of the earlier),
`$set` with what changes of the header or with a whole new list of messages, `$rewindTo` (formats 3.2). Before 0.40 it
was one JSON object that is written anew at each change.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from ..forms.jsonl import Reached, Records, Unreadable, beginning, from_raw, nanoseconds, parse
from ..forms.plain import items, string, table

__all__ = [
    "Brief",
    "Call",
    "Content",
    "Line",
    "Part",
    "Told",
    "Unreadable",
    "beginning",
    "from_raw",
    "messages_in",
    "nanoseconds",
    "parse",
    "parts_of",
    "read_json",
    "records",
]

_STARTS = (b'{"id":', b'{"$set":', b'{"$rewindTo":', b'{"sessionId":')
_FAILURES = (msgspec.DecodeError, RecursionError)


class Response(Struct, gc=False):
    """What a call gave, as the model was told it; undecoded, since it may be a whole file."""

    output: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET


class Told(Struct, gc=False):
    """A call, or the answer to one, among the parts of a message."""

    id: str = ""
    name: str = ""
    args: Raw | UnsetType = UNSET
    response: Response | None = None


class Part(Struct, gc=False):
    """A part of a message's content."""

    text: str = ""
    thought: bool = False
    call: Told | None = field(name="functionCall", default=None)
    answer: Told | None = field(name="functionResponse", default=None)
    data: Raw | UnsetType = field(name="inlineData", default=UNSET)


Content = str | list[str | Part] | Part | None
"""A text, a part, or a list of both."""


class Call(Struct, gc=False):
    """A tool call, recorded when it has ended."""

    id: str = ""
    name: str = ""
    args: Raw | UnsetType = UNSET
    result: Content = None
    status: str = ""
    timestamp: str = ""
    shown: Raw | UnsetType = field(name="resultDisplay", default=UNSET)
    agent: str = field(name="agentId", default="")


class Thought(Struct, gc=False):
    subject: str = ""
    description: str = ""


class Brief(Struct, gc=False):
    """What is looked at first of a message in a list: nearly all of them are known."""

    id: str | None = None
    type: str = ""


class Set(Struct, gc=False):
    """Changes of the header, or a new list of messages."""

    messages: list[Brief] | UnsetType = UNSET
    session: str = field(name="sessionId", default="")
    summary: str = ""


class Line(Struct, gc=False):
    """What is read of a line; absent fields have their defaults."""

    id: str | None = None
    timestamp: str = ""
    type: str = ""
    content: Content = None
    display: Content = field(name="displayContent", default=None)
    calls: list[Call] = field(name="toolCalls", default_factory=list[Call])
    thoughts: list[Thought] | None = None
    set: Set | None = field(name="$set", default=None)
    rewind: str | None = field(name="$rewindTo", default=None)
    session: str = field(name="sessionId", default="")
    project: str = field(name="projectHash", default="")
    messages: list[Brief] | UnsetType = UNSET
    summary: str = ""
    kind: str = ""


class Whole(Struct, gc=False):
    """A session of the old form."""

    session: str = field(name="sessionId", default="")
    summary: str = ""
    messages: list[Raw] = field(default_factory=list[Raw])


_lines = Records(Line, _STARTS)
_message = msgspec.json.Decoder(Line).decode
_whole = msgspec.json.Decoder(Whole).decode
_lists = msgspec.json.Decoder(dict[str, Raw]).decode
_raws = msgspec.json.Decoder(list[Raw]).decode


def records(file: BinaryIO, reached: Reached | None = None) -> Iterator[tuple[int, int, Line | Unreadable]]:
    """Offset, length and record of every line, from where `reached` is; the length is without the line feed."""
    return _lines.read(file, reached)


def messages_in(data: bytes) -> Iterator[tuple[int, int, Line]]:
    """Offset in the line, length and record of every message in a line's list: that of a `$set`, or of a header."""
    try:
        outer = _lists(data)
        if "$set" in outer:
            outer = _lists(outer["$set"])
        raws = _raws(outer["messages"])
    except (*_FAILURES, KeyError):
        raws = []
    yield from _placed(data, raws)


def read_json(data: bytes) -> tuple[Line, list[tuple[int, int, Line]]] | None:
    """Header and messages of a session of the old form, each with its place; None for what is none."""
    try:
        found = _whole(data)
    except _FAILURES:
        plain = parse(data)
        if "sessionId" not in plain and "messages" not in plain:
            return None
        # Its places cannot be told apart: each message is found again by its own bytes, or not at all.
        header = Line(session=string(plain, "sessionId"), summary=string(plain, "summary"))
        told = map(_patient, map(table, items(plain.get("messages"))))
        return header, [(0, 0, line) for line in told if line is not None]
    return Line(session=found.session, summary=found.summary), list(_placed(data, found.messages))


def _placed(data: bytes, raws: list[Raw]) -> Iterator[tuple[int, int, Line]]:
    at = 0
    for raw in raws:
        text = bytes(raw)
        found = data.find(text, at)
        at = found + len(text)
        try:
            yield found, len(text), _message(text)
        except _FAILURES:
            for _, _, line in _lines.read(BytesIO(text)):
                if not isinstance(line, Unreadable):
                    yield found, len(text), line


def _patient(item: dict[str, Any]) -> Line | None:
    data = msgspec.json.encode(_clean(item))
    return next((line for _, _, line in _lines.read(BytesIO(data)) if not isinstance(line, Unreadable)), None)


def _clean(value: object) -> object:
    """The value without half surrogate pairs, which cannot be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {str(_clean(name)): _clean(item) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_clean(item) for item in cast("list[object]", value)]
    return value


def parts_of(content: Content) -> list[Part]:
    """The parts of a content."""
    if not content:
        return []
    if isinstance(content, str):
        return [Part(content)]
    if isinstance(content, Part):
        return [content]
    return [Part(item) if isinstance(item, str) else item for item in content]
