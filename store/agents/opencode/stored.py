"""A session that stands in a database, read without its lines: what they would tell, and where they would stand.

Rows are decoded as they come. Only of what does not fit is the line made after all, so that it is judged as every
other line is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from errno import EIO, ENOENT
from io import BytesIO
from typing import Any, BinaryIO

import msgspec

from ..forms.jsonl import LONGEST, Unreadable
from .database import content
from .records import (
    MESSAGE_LENGTH,
    PART_LENGTH,
    Data,
    Json,
    Line,
    Message,
    decode_data,
    message_line,
    part_line,
    problem_line,
    session_line,
)
from .records import reading as lines
from .removed import Removed
from .tables import Tables, Unread, data_of, reading, text

Placed = tuple[int, int, Message | Line | Unreadable]
"""Offset and length of a record among the lines of a session, the length without the line feed."""
_FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError, TypeError)
"""What no plain row raises: a value of the database may be of any type."""
_NO_PART: tuple[Any, Any, Any] = (object(), b"", b"")


@dataclass(frozen=True, slots=True)
class Stored:
    """Opens a session of a database: as its lines, or record by record."""

    path: str
    session: str

    def __call__(self) -> BinaryIO:
        return content(self.path, self.session)

    def records(self) -> Iterator[Placed]:
        """What its lines would tell; what breaks off is told. Raises OSError when nothing of it can be read."""
        walk = _Walk(self.session)
        try:
            with reading(self.path) as tables:
                info = tables.session(self.session)
                if info is None:
                    raise FileNotFoundError(ENOENT, "OpenCode has no such session", f"{self.path}#{self.session}")
                yield from walk.all(tables, info)
        except Unread as error:
            if not walk.offset:
                raise OSError(EIO, str(error), f"{self.path}#{self.session}") from None
            if (message := walk.open) is not None:
                yield message.offset, message.length, message
            yield from walk.made(problem_line(str(error)))


class _Walk:
    """Goes through the rows of one session, and counts the lines that they would be."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.offset = 0
        self.number = 0
        self.open: Message | None = None
        """The message whose parts are being read."""

    def all(self, tables: Tables, info: Json) -> Iterator[Placed]:
        """All of the session, in the order of its lines."""
        yield from self.made(session_line(info))
        removed = Removed() if tables.removals(self.session) else None
        messages, parts = tables.message_rows(self.session), tables.part_rows(self.session)
        part = next(parts, _NO_PART)
        for key, head in messages:
            uid, data = text(key), data_of(head)
            if removed is not None:
                removed.stands(uid, data)
            self.open = message = self._message(uid, data)
            if message is None:
                yield from self.made(message_line(uid, data))
            frame = PART_LENGTH + len(uid)
            # Each of very many parts comes through here, so as little as can be is called.
            while part[0] == key:
                _, name, inner = part
                own: str
                decoded: Data | None
                try:
                    own, decoded, length = name.decode(), decode_data(inner), len(inner)
                except _FAILURES:
                    own, decoded, length = text(name), None, 0
                if removed is not None:
                    removed.stands_in(uid, own)
                length += frame + len(own)
                if (
                    message is not None
                    and decoded is not None
                    and own.isidentifier()
                    and own.isascii()
                    and length < LONGEST
                ):
                    message.parts.append((own, decoded, self.offset, length))
                    self.offset += length + 1
                    self.number += 1
                else:
                    if message is not None:
                        self.open = None
                        yield message.offset, message.length, message
                        message = None
                    yield from self.made(part_line(own, uid, data_of(inner)))
                part = next(parts, _NO_PART)
            if message is not None:
                self.open = None
                yield message.offset, message.length, message
        if removed is not None:
            for line in removed.lines(lambda: tables.events(self.session)):
                yield from self.made(line)

    def made(self, line: bytes) -> Iterator[Placed]:
        """What a line tells that was made after all."""
        offset, number = self.offset, self.number
        self._passed(len(line) - 1)
        for at, length, record in lines.read(BytesIO(line)):
            found = replace(record, number=number + record.number) if isinstance(record, Unreadable) else record
            yield offset + at, length, found

    def _message(self, uid: str, data: bytes) -> Message | None:
        """A message without its parts yet; None where its line has to tell."""
        length = MESSAGE_LENGTH + len(uid) + len(data)
        if not (uid.isidentifier() and uid.isascii() and length < LONGEST):
            return None
        try:
            made = Message(uid, decode_data(data), self.offset, length)
        except _FAILURES:
            return None
        self._passed(length)
        return made

    def _passed(self, length: int) -> None:
        self.offset += length + 1
        self.number += 1
