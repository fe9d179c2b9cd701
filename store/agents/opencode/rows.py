"""Reads one source of an OpenCode session as a line of rows: messages of the person, and parts of answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...model import Problem
from ..base import Source
from ..forms.face import Face
from ..forms.jsonl import Unreadable
from .faces import AGENT_TOOL, HIDDEN, answered, asked, failed, prompt_text
from .records import MESSAGE, PART, PAST, PROBLEM, SESSION, Data, Line, nanoseconds, session_of
from .records import reading as records

_TRUE = b"true"


@dataclass(slots=True)
class Row:
    """A message of the person, a part of an answer, or why an answer ended: what becomes entries."""

    id: str
    key: tuple[object, ...]
    """What copies of it in forks have as well."""
    faces: tuple[Face, ...]
    time: int
    end: int
    offset: int
    length: int
    message: str = ""
    """Id of the message that it is, or is a part of."""
    child: str = ""
    """The session of the sub-agent that this call started."""


@dataclass(slots=True)
class Read:
    """One source, read."""

    name: str
    file: str
    """The name of the newest version, where this is a former one."""
    id: str
    data: Data
    rows: list[Row] = field(default_factory=list[Row])
    places: dict[str, int] = field(default_factory=dict[str, int])
    """Id of every message and part, hidden ones included → how many rows come up to it, itself included."""
    gone: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    """Message or part that was removed → its rows."""
    pasts: list[tuple[str | None, tuple[str, ...]]] = field(default_factory=list[tuple[str | None, tuple[str, ...]]])
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def is_former(self) -> bool:
        """Whether the session is otherwise by now: it is read for what was removed since."""
        return self.file != self.name


@dataclass(slots=True)
class _Message:
    """A message whose parts are being read."""

    id: str
    data: Data
    offset: int
    length: int
    gone: bool
    parts: list[tuple[str, Data, int, int]] = field(default_factory=list[tuple[str, Data, int, int]])


class _Reading:
    """Turns the lines of one source into rows."""

    def __init__(self, source: Source, cwd: str) -> None:
        self.found = Read(source.name, source.file, session_of(source.file), Data())
        self.cwd = cwd
        self._open: _Message | None = None

    def read(self, source: Source) -> Read:
        found = self.found
        try:
            with source.open() as stream:
                for offset, length, line in records.read(stream):
                    if isinstance(line, Unreadable):
                        self._unreadable(offset, length, line)
                    else:
                        self._line(offset, length, line)
        except OSError as error:
            found.problems.append(Problem(f"the session cannot be read ({error.strerror})", found.name))
        self._close()
        return found

    def _line(self, offset: int, length: int, line: Line) -> None:
        kind, data = line.kind, line.data
        if kind == PART:
            opened = self._open
            if data is None:
                self._odd(line.id, offset, length)
            elif opened is not None and opened.id == line.message:
                opened.parts.append((line.id, data, offset, length))
            elif line.gone:
                # Of a message that stands: only a part of it was removed.
                self._close()
                self.found.gone[line.id] = self._part(line.id, data, offset, length, line.message, Data())
        elif kind == MESSAGE:
            self._close()
            if data is None:
                self._odd(line.id, offset, length)
            else:
                self._open = _Message(line.id, data, offset, length, line.gone)
        elif kind == SESSION:
            self._close()
            self.found.id = line.id or self.found.id
            self.found.data = data or Data()
        elif kind == PAST:
            self._close()
            self.found.pasts.append((line.after, line.rows))
        elif kind == PROBLEM:
            self._close()
            self.found.problems.append(Problem(line.what, self.found.name))
        else:
            self._odd(f"{self.found.id}@{offset}", offset, length)

    def _close(self) -> None:
        """The message whose parts were read is whole."""
        message = self._open
        if message is None:
            return
        self._open = None
        if message.gone:
            rows: list[Row] = []
            self.found.gone[message.id] = rows
            for _ in self._rows_of(message, rows):
                pass
            return
        found = self.found
        for uid in self._rows_of(message, found.rows):
            found.places[uid] = len(found.rows)

    def _rows_of(self, message: _Message, rows: list[Row]) -> Iterable[str]:
        """Adds a message's rows; gives each id once its row, if it has one, is there."""
        data = message.data
        if data.role == "user":
            rows += self._asked(message)
            yield message.id
            for uid, *_ in message.parts:
                yield uid
            return
        yield message.id
        for uid, part, offset, length in message.parts:
            if part.type not in HIDDEN:
                rows += self._part(uid, part, offset, length, message.id, data)
            yield uid
        if data.error is not None and data.error.name:
            time = nanoseconds(data.time.completed or data.time.created) if data.time is not None else 0
            key = (_created(data), "error", data.error.name)
            rows.append(
                Row(message.id, key, (failed(data.error),), time, time, message.offset, message.length, message.id)
            )

    def _asked(self, message: _Message) -> list[Row]:
        data = message.data
        parts = [part for _, part, _, _ in message.parts]
        face = asked(parts)
        time = nanoseconds(data.time.created) if data.time is not None else 0
        # The lines of its parts follow that of the message.
        end = max((offset + length for _, _, offset, length in message.parts), default=message.offset + message.length)
        key = (_created(data), "user", prompt_text(parts))
        faces = () if face is None else (face,)
        return [Row(message.id, key, faces, time, time, message.offset, end - message.offset, message.id)]

    def _part(self, uid: str, part: Data, offset: int, length: int, message: str, head: Data) -> list[Row]:
        faces = answered(part, self.cwd, summary=bytes(head.summary) == _TRUE)
        if not faces:
            return []
        begun = part.time
        child = ""
        if part.state is not None:
            begun = part.state.time or begun
            if part.tool == AGENT_TOOL and part.state.metadata is not None:
                child = part.state.metadata.session
        time = nanoseconds((begun.start if begun is not None else 0) or _created(head))
        end = nanoseconds(begun.end) if begun is not None else 0
        key = (_created(head), part.type, part.call, faces[0].text if part.type == "tool" else part.text)
        return [Row(uid, key, faces, time, end or time, offset, length, message, child)]

    def _odd(self, uid: str, offset: int, length: int) -> None:
        """A line without anything in it that can be shown."""
        self._close()
        self.found.problems.append(Problem("a record cannot be read", self.found.name))
        self._notice(uid, f"a record cannot be read ({length:,} bytes)", offset, length)

    def _unreadable(self, offset: int, length: int, line: Unreadable) -> None:
        self._close()
        self.found.problems.append(Problem(line.why, self.found.name, line.number))
        if not line.last:
            said = f"line {line.number} cannot be read ({length:,} bytes)"
            self._notice(f"{self.found.id}@{offset}", said, offset, length)

    def _notice(self, uid: str, said: str, offset: int, length: int) -> None:
        rows = self.found.rows
        time = rows[-1].end if rows else 0
        rows.append(Row(uid, (uid,), (Face("notice", said, "unreadable"),), time, time, offset, length))
        self.found.places[uid] = len(rows)


def _created(message: Data) -> float:
    return message.time.created if message.time is not None else 0


def read_source(source: Source, cwd: str) -> Read:
    """One source."""
    return _Reading(source, cwd).read(source)
