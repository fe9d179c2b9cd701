"""Lines of a Claude Code session file, read in part: what the tree needs, and where each line stands.

A line is decoded by a schema, so that what is not needed is skipped without being built. Lines that do not fit are
tried again with patience: NULs around a record, several records on one line, a record cut off by a crash, escaped lone
surrogates, fields of another type. What stays unreadable is told as such and hides nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

CHUNK = 4 << 20
WIRE_LOG = b'{"type":"api-request'
"""How lines of the wire log begin: half of a file's bytes, and nothing of the conversation."""

_STARTS = (b'{"parentUuid":', b'{"type":', b'{"logicalParentUuid":')
_FAILURES = (msgspec.DecodeError, RecursionError)
_SURROGATE = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD_BYTES = 2048
_QUOTE = ord('"')


class Part(Struct, gc=False):
    """A content block of a message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw | UnsetType = UNSET
    tool_use_id: str = ""
    content: Raw | UnsetType = UNSET
    is_error: bool | None = None


class Message(Struct, gc=False):
    """The API's message inside of a user or assistant record."""

    id: str = ""
    model: str = ""
    content: str | list[Part] = ""
    stop_reason: str | None = None


class Origin(Struct, gc=False):
    """Where a record came from; a copy's own message, or who sent a prompt."""

    kind: str = ""
    session: str = field(name="sessionId", default="")
    message: str = field(name="messageUuid", default="")


class Line(Struct, gc=False):
    """What is read of a record; absent fields have their defaults."""

    parent: str | None = field(name="parentUuid", default=None)
    logical_parent: str | None = field(name="logicalParentUuid", default=None)
    sidechain: bool | None = field(name="isSidechain", default=None)
    prompt: str | None = field(name="promptId", default=None)
    agent: str | None = field(name="agentId", default=None)
    message: Message | None = None
    attachment: Raw | UnsetType = UNSET
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    timestamp: str = ""
    result: Raw | UnsetType = field(name="toolUseResult", default=UNSET)
    content: Raw | UnsetType = UNSET
    meta: bool | None = field(name="isMeta", default=None)
    summary: bool | None = field(name="isCompactSummary", default=None)
    api_error: bool | None = field(name="isApiErrorMessage", default=None)
    compaction: Raw | UnsetType = field(name="compactMetadata", default=UNSET)
    origin: Origin | None = None
    prompt_source: str | None = field(name="promptSource", default=None)
    forked: Origin | None = field(name="forkedFrom", default=None)
    hook_errors: list[Any] | None = field(name="hookErrors", default=None)
    prevented: bool | None = field(name="preventedContinuation", default=None)
    team: str | None = field(name="teamName", default=None)
    cwd: str = ""
    title: str = field(name="customTitle", default="")
    session: str = field(name="sessionId", default="")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line, or what is left of one, that is no record."""

    why: str
    number: int
    """Of the line, from 1."""
    last: bool = False
    """It has no line feed: perhaps it is still being written."""


_decode = msgspec.json.Decoder(Line).decode
_any = msgspec.json.Decoder().decode
_text = msgspec.json.Decoder(str).decode
_patient = json.JSONDecoder(strict=False)


def records(file: BinaryIO) -> Iterator[tuple[int, int, Line | Unreadable]]:
    """Offset, length and record of every line that is not of the wire log; the length is without the line feed."""
    decode = _decode
    number = 0
    for offset, data, ended in lines(file):
        number += 1
        if data.startswith(WIRE_LOG):
            continue
        try:
            yield offset, len(data), decode(data)
        except _FAILURES:
            yield from _recover(offset, data, number, ended)


def lines(file: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """Offset and bytes of every line, split on LF only, and whether it has its line feed."""
    offset = 0
    rest: list[bytes] = []
    while chunk := file.read(CHUNK):
        parts = chunk.split(b"\n")
        if len(parts) == 1:
            rest.append(chunk)
            continue
        if rest:
            parts[0] = b"".join((*rest, parts[0]))
        tail = parts.pop()
        rest = [tail] if tail else []
        for part in parts:
            yield offset, part, True
            offset += len(part) + 1
    if rest:
        yield offset, b"".join(rest), False


def parse(data: bytes) -> dict[str, Any]:
    """A whole record as plain data, for one that is shown or written; {} when it is none."""
    try:
        found = _any(data)
    except _FAILURES:
        try:
            found = _patient.decode(data.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def from_raw(raw: Raw | UnsetType) -> object:
    """Any value that was left undecoded; None when it is absent."""
    if isinstance(raw, UnsetType):
        return None
    try:
        return _any(raw)
    except _FAILURES:
        try:
            return _patient.decode(bytes(raw).decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            return None


def beginning(raw: Raw | UnsetType) -> str:
    """The beginning of an undecoded string of any size, enough for one line; "" when it is no string."""
    if isinstance(raw, UnsetType):
        return ""
    data = memoryview(raw)
    if not data or data[0] != _QUOTE:
        return ""
    if len(data) > _HEAD_BYTES:
        return _cut(bytes(data[:_HEAD_BYTES]))
    found = from_raw(raw)
    return found if isinstance(found, str) else ""


def nanoseconds(stamp: str) -> int:
    """An ISO 8601 time as nanoseconds since the epoch; 0 when it is none."""
    minute = stamp[:17]
    base = _minutes.get(minute)
    try:
        if base is None:
            start = datetime.fromisoformat(minute + "00+00:00")
            base = _minutes[minute] = int((start - _EPOCH).total_seconds()) * 1_000_000_000
        if len(stamp) == 24 and stamp[23] == "Z":
            return base + int(stamp[17:19] + stamp[20:23]) * 1_000_000
        other = datetime.fromisoformat(stamp)
    except ValueError:
        return 0
    other = other.replace(tzinfo=UTC) if other.tzinfo is None else other
    whole = other - _EPOCH
    return (whole.days * 86400 + whole.seconds) * 1_000_000_000 + whole.microseconds * 1000


_minutes: dict[str, int] = {}


def _cut(head: bytes) -> str:
    """Decodes the beginning of a JSON string that was cut anywhere, an escape or a character included."""
    for less in range(13):
        try:
            return _text(head[: len(head) - less] + b'"')
        except _FAILURES:
            continue
    text = head[1:].decode("utf-8", "replace")
    while text:
        try:
            return cast("str", _patient.decode(f'"{text}"'))
        except ValueError:
            text = text[:-1]
    return ""


def _recover(offset: int, data: bytes, number: int, ended: bool) -> Iterator[tuple[int, int, Line | Unreadable]]:
    """What can be saved of a line that is not one record as expected."""
    before = len(data) - len(data.lstrip(b"\0 \t\r\xef\xbb\xbf"))
    data = data[before:].rstrip(b"\0 \t\r")
    offset += before
    if not data:
        return
    position = 0
    while position < len(data):
        length, record = _first(data[position:])
        if record is not None:
            yield offset + position, length, record
            position += length
            position += len(data) - position - len(data[position:].lstrip(b"\0 \t\r"))
            continue
        again = _next_record(data, position + 1)
        end = len(data) if again < 0 else again
        why = "the line is not finished" if not ended and again < 0 else "the line is not a record"
        yield offset + position, end - position, Unreadable(why, number, not ended and again < 0)
        position = end


def _first(data: bytes) -> tuple[int, Line | None]:
    """The record that data begins with and its length in bytes, or None."""
    try:
        return len(data), _decode(data)
    except _FAILURES:
        pass
    text = data.decode("utf-8", "surrogateescape")
    try:
        found, end = _patient.raw_decode(text)
    except (ValueError, RecursionError):
        return 0, None
    if not isinstance(found, dict):
        return 0, None
    record = _fitting(cast("dict[str, Any]", found))
    return (0, None) if record is None else (len(text[:end].encode("utf-8", "surrogateescape")), record)


def _next_record(data: bytes, start: int) -> int:
    """Where the next record begins that reaches to the end of the line or to another record; -1 when none does."""
    while start < len(data):
        places = [place for place in (data.find(mark, start) for mark in _STARTS) if place >= 0]
        if not places:
            return -1
        start = min(places)
        length, record = _first(data[start:])
        if record is not None:
            rest = data[start + length :].lstrip(b"\0 \t\r")
            if not rest or rest.startswith(b"{"):
                return start
        start += 1
    return -1


def _fitting(plain: dict[str, Any]) -> Line | None:
    """A record from plain data; what does not have the expected type counts as absent."""
    fitting = _reduced(Line, plain)
    try:
        return _decode(_encoded(fitting))
    except _FAILURES:
        return None


def _reduced(kind: type[Struct], plain: dict[str, Any]) -> dict[str, Any]:
    """The items of plain data that a schema takes, looking into messages and their parts."""
    kept: dict[str, Any] = {}
    for key, value in plain.items():
        if not _fits(kind, key, value):
            if kind is Line and key == "message" and isinstance(value, dict):
                value = _reduced(Message, cast("dict[str, Any]", value))
            elif kind is Message and key == "content" and isinstance(value, list):
                items = cast("list[object]", value)
                value = [_reduced(Part, cast("dict[str, Any]", item)) for item in items if isinstance(item, dict)]
            else:
                continue
        kept[key] = value
    return kept


def _fits(kind: type[Struct], key: str, value: object) -> bool:
    try:
        msgspec.json.decode(_encoded({key: value}), type=kind)
    except _FAILURES:
        return False
    return True


def _encoded(plain: dict[str, Any]) -> bytes:
    """JSON that the fast decoder takes: what is not Unicode has become U+FFFD."""
    return _SURROGATE.sub("\ufffd", json.dumps(plain, ensure_ascii=False)).encode()
