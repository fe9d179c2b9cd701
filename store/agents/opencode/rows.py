"""Reads one source of an OpenCode session as a line of rows: messages of the person, and parts of answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Raw, Struct

from ...model import Problem
from ..base import Source
from ..forms.face import Face
from ..forms.jsonl import Unreadable
from .faces import AGENT_TOOL, HIDDEN, answered, asked, failed
from .records import MESSAGE, PART, PAST, PROBLEM, SESSION, Data, Line, Message, nanoseconds, session_of
from .records import reading as records
from .stored import Placed, Stored

_TRUE = Raw(b"true")


class Row(Struct, gc=False):
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


class _Reading:
    """Turns the lines of one source into rows."""

    def __init__(self, source: Source, cwd: str) -> None:
        self.found = Read(source.name, source.file, session_of(source.file), Data())
        self.cwd = cwd
        self._open: Message | None = None
        self._late: list[tuple[str, str, int, int]] = []
        """What could not be read inside of the open message: it is told behind it, and its other parts stay its own."""

    def read(self, source: Source) -> Read:
        found = self.found
        try:
            for offset, length, line in _placed(source):
                if isinstance(line, Message):
                    self._close()
                    self._open = line
                elif isinstance(line, Unreadable):
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
            elif opened is not None and opened.id == line.message and opened.gone == line.gone:
                opened.parts.append((line.id, data, offset, length))
            elif line.gone:
                # Of a message that stands: only a part of it was removed.
                faces = answered(data, self.cwd, summary=False)
                made = [_row(line.id, data, faces, offset, length, line.message, 0)] if faces else []
                self.found.gone[line.id] = made
        elif kind == MESSAGE:
            self._close()
            if data is None:
                self._odd(line.id, offset, length)
            else:
                self._open = Message(line.id, data, offset, length, line.gone)
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
        found = self.found
        if message.gone:
            found.gone[message.id] = rows = list[Row]()
            self._rows_of(message, rows, {})
        else:
            self._rows_of(message, found.rows, found.places)
        late, self._late = self._late, []
        for told in late:
            self._notice(*told)

    def _rows_of(self, message: Message, rows: list[Row], places: dict[str, int]) -> None:
        """Adds a message's rows; each id has its place once its row, if it has one, is there."""
        data = message.data
        if data.role == "user":
            rows.append(self._asked(message))
            place = len(rows)
            places[message.id] = place
            for part in message.parts:
                places[part[0]] = place
            return
        places[message.id] = len(rows)
        created, is_summary = _created(data), data.summary == _TRUE
        for uid, part, offset, length in message.parts:
            if part.type not in HIDDEN and (faces := answered(part, self.cwd, summary=is_summary)):
                rows.append(_row(uid, part, faces, offset, length, message.id, created))
            places[uid] = len(rows)
        if data.error is not None and data.error.name:
            time = nanoseconds(data.time.completed or data.time.created) if data.time is not None else 0
            key = (created, "error", data.error.name)
            rows.append(
                Row(message.id, key, (failed(data.error),), time, time, message.offset, message.length, message.id)
            )

    def _asked(self, message: Message) -> Row:
        data, parts = message.data, message.parts
        faces, text = asked([part[1] for part in parts])
        time = nanoseconds(data.time.created) if data.time is not None else 0
        # The lines of its parts follow that of the message.
        _, _, offset, length = parts[-1] if parts else ("", data, message.offset, message.length)
        key = (_created(data), "user", hash(text))
        return Row(message.id, key, faces, time, time, message.offset, offset + length - message.offset, message.id)

    def _odd(self, uid: str, offset: int, length: int) -> None:
        """A line without anything in it that can be shown."""
        self.found.problems.append(Problem("a record cannot be read", self.found.name))
        self._notice(uid, f"a record cannot be read ({length:,} bytes)", offset, length)

    def _unreadable(self, offset: int, length: int, line: Unreadable) -> None:
        self.found.problems.append(Problem(line.why, self.found.name, line.number))
        if not line.last:
            said = f"line {line.number} cannot be read ({length:,} bytes)"
            self._notice(f"{self.found.id}@{offset}", said, offset, length)

    def _notice(self, uid: str, said: str, offset: int, length: int) -> None:
        if self._open is not None:
            self._late.append((uid, said, offset, length))
            return
        rows = self.found.rows
        time = rows[-1].end if rows else 0
        rows.append(Row(uid, (uid,), (Face("notice", said, "unreadable"),), time, time, offset, length))
        self.found.places[uid] = len(rows)


def _placed(source: Source) -> Iterator[Placed]:
    """What a source tells, and where: from its lines, or from the database that they would be made of."""
    if isinstance(source.opener, Stored):
        yield from source.opener.records()
        return
    with source.open() as stream:
        yield from records.read(stream)


def _row(uid: str, part: Data, faces: tuple[Face, ...], offset: int, length: int, message: str, created: float) -> Row:
    """The row of a part of an answer."""
    begun, child, state = part.time, "", part.state
    # Whole texts would be held for as long as the session is read: their hash tells them apart.
    said = hash(faces[0].text if part.type == "tool" else part.text)
    if state is not None:
        begun = state.time or begun
        if part.tool == AGENT_TOOL and state.metadata is not None:
            child = state.metadata.session
    key = (created, part.type, part.call, said)
    if begun is None:
        time = end = nanoseconds(created)
    else:
        time = nanoseconds(begun.start or created)
        end = nanoseconds(begun.end) or time
    return Row(uid, key, faces, time, end, offset, length, message, child)


def _created(message: Data) -> float:
    return message.time.created if message.time is not None else 0


def read_source(source: Source, cwd: str) -> Read:
    """One source."""
    return _Reading(source, cwd).read(source)
