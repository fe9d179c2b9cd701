"""JSON lines that agents write, read in part: what is needed of each, and where it stands.

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
from functools import cache
from typing import Any, BinaryIO, Generic, TypeVar, cast

import msgspec
from msgspec import Raw, Struct, UnsetType
from msgspec.inspect import ListType, StructType, UnionType, type_info

BUFFER = 256 << 10
"""Bytes that a file of lines is read ahead."""
LONGEST = 64 << 20
"""Bytes of the longest line that is read: a longer one is told and passed over, so that no file can take all memory."""
TOO_LONG = f"the line is longer than {LONGEST >> 20} MB"

_FAILURES = (msgspec.DecodeError, RecursionError)
_SURROGATE = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD_BYTES = 2048
_QUOTE = ord('"')
_FEED = ord("\n")

T = TypeVar("T", bound=Struct)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line, or what is left of one, that is no record."""

    why: str
    number: int
    """Of the line, from 1."""
    last: bool = False
    """It has no line feed: perhaps it is still being written."""


@dataclass(slots=True)
class Reached:
    """How far a file was read: up to its last line feed. What stands behind it may still be being written."""

    offset: int = 0
    lines: int = 0


_any = msgspec.json.Decoder().decode
_text = msgspec.json.Decoder(str).decode
_patient = json.JSONDecoder(strict=False)


class Records(Generic[T]):
    """Reads the records of one schema from files of lines."""

    def __init__(self, schema: type[T], starts: tuple[bytes, ...], skipped: bytes = b"") -> None:
        """`starts` are the ways in which a record begins, by which one is found inside of a broken line; lines that
        begin with `skipped` are passed over unread.
        """
        self._schema = schema
        self._starts = starts
        self._skipped = skipped
        self._decode = msgspec.json.Decoder(schema).decode

    def read(self, file: BinaryIO, reached: Reached | None = None) -> Iterator[tuple[int, int, T | Unreadable]]:
        """Offset, length and record of every line that is not skipped; the length is without the line feed.

        Goes on from where `reached` is, and moves it before a line is given: one that begins behind it has no end yet.
        """
        decode, skipped = self._decode, self._skipped
        reached = Reached() if reached is None else reached
        number = reached.lines
        for offset, data, length, ended in _lines(file, reached.offset):
            number += 1
            if ended:
                reached.offset, reached.lines = offset + length, number
            if data is None:
                yield offset, length - ended, Unreadable(TOO_LONG, number, not ended)
                continue
            if skipped and data.startswith(skipped):
                continue
            try:
                yield offset, length - ended, decode(data)
            except _FAILURES:
                yield from self._recover(offset, data[:-1] if ended else data, number, ended)

    def _recover(self, offset: int, data: bytes, number: int, ended: bool) -> Iterator[tuple[int, int, T | Unreadable]]:
        """What can be saved of a line that is not one record as expected."""
        before = len(data) - len(data.lstrip(b"\0 \t\r\xef\xbb\xbf"))
        data = data[before:].rstrip(b"\0 \t\r")
        offset += before
        if not data:
            return
        position = 0
        while position < len(data):
            length, record = self._first(data[position:])
            if record is not None:
                yield offset + position, length, record
                position += length
                position += len(data) - position - len(data[position:].lstrip(b"\0 \t\r"))
                continue
            again = self._next_record(data, position + 1)
            end = len(data) if again < 0 else again
            why = "the line is not finished" if not ended and again < 0 else "the line is not a record"
            yield offset + position, end - position, Unreadable(why, number, not ended and again < 0)
            position = end

    def _first(self, data: bytes) -> tuple[int, T | None]:
        """The record that data begins with and its length in bytes, or None."""
        try:
            return len(data), self._decode(data)
        except _FAILURES:
            pass
        text = data.decode("utf-8", "surrogateescape")
        try:
            found, end = _patient.raw_decode(text)
        except (ValueError, RecursionError):
            return 0, None
        if not isinstance(found, dict):
            return 0, None
        record = self._fitting(cast("dict[str, Any]", found))
        return (0, None) if record is None else (len(text[:end].encode("utf-8", "surrogateescape")), record)

    def _next_record(self, data: bytes, start: int) -> int:
        """Where the next record begins that reaches to the end of the line or to another record; -1 when none does."""
        while start < len(data):
            places = [place for place in (data.find(mark, start) for mark in self._starts) if place >= 0]
            if not places:
                return -1
            start = min(places)
            length, record = self._first(data[start:])
            if record is not None:
                rest = data[start + length :].lstrip(b"\0 \t\r")
                if not rest or rest.startswith(b"{"):
                    return start
            start += 1
        return -1

    def _fitting(self, plain: dict[str, Any]) -> T | None:
        """A record from plain data; what does not have the expected type counts as absent."""
        try:
            return self._decode(_encoded(_reduced(self._schema, plain)))
        except _FAILURES:
            return None


def lines(file: BinaryIO, reached: Reached | None = None) -> Iterator[tuple[int, bytes, bool]]:
    """Offset and bytes of every line that is not too long, split on LF only, and whether it has its line feed.

    Goes on from where `reached` is, and moves it as `Records.read` does.
    """
    reached = Reached() if reached is None else reached
    for offset, data, length, ended in _lines(file, reached.offset):
        if ended:
            reached.offset, reached.lines = offset + length, reached.lines + 1
        if data is not None:
            yield offset, data[:-1] if ended else data, ended


def _lines(file: BinaryIO, start: int) -> Iterator[tuple[int, bytes | None, int, bool]]:
    """Offset, bytes, length and whether there is a line feed, which counts; no bytes of a line that is too long."""
    readline, offset = file.readline, start
    if start:
        file.seek(start)
    while data := readline(LONGEST):
        length = len(data)
        ended = data[-1] == _FEED
        if ended or length < LONGEST:
            yield offset, data, length, ended
        else:
            while not ended and (data := readline(BUFFER)):
                length += len(data)
                ended = data[-1] == _FEED
            yield offset, None, length, ended
        offset += length


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


def _reduced(kind: type[Struct], plain: dict[str, Any]) -> dict[str, Any]:
    """The items of plain data that a schema takes, looking into structures inside of it and lists of them."""
    kept: dict[str, Any] = {}
    types = _types(kind)
    for key, value in plain.items():
        if not _fits(kind, key, value):
            inner = _structure(types.get(key), value)
            if inner is None:
                continue
            if isinstance(value, list):
                items = cast("list[object]", value)
                value = [_reduced(inner, cast("dict[str, Any]", item)) for item in items if isinstance(item, dict)]
            else:
                value = _reduced(inner, cast("dict[str, Any]", value))
        kept[key] = value
    return kept


@cache
def _types(kind: type[Struct]) -> dict[str, object]:
    """The types of a structure's fields by their names in JSON; finding them out takes milliseconds."""
    return {field.encode_name: field.type for field in cast("StructType", type_info(kind)).fields}


def _structure(expected: object, value: object) -> type[Struct] | None:
    """The structure that a value, or each item of it, was to be; None where none was expected."""
    for kind in expected.types if isinstance(expected, UnionType) else (expected,):
        if isinstance(value, dict) and isinstance(kind, StructType):
            return kind.cls
        if isinstance(value, list) and isinstance(kind, ListType) and isinstance(kind.item_type, StructType):
            return kind.item_type.cls
    return None


def _fits(kind: type[Struct], key: str, value: object) -> bool:
    try:
        msgspec.json.decode(_encoded({key: value}), type=kind)
    except _FAILURES:
        return False
    return True


def _encoded(plain: dict[str, Any]) -> bytes:
    """JSON that the fast decoder takes: what is not Unicode has become U+FFFD."""
    return _SURROGATE.sub("\ufffd", json.dumps(plain, ensure_ascii=False)).encode()
