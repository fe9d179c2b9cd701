"""What each line of a session's file tells, noted once: a file that grew is read on from where it was.

A note stands for a line by itself. What it means for the tree, the lines before it tell: that is `replay`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from ...model import Problem
from ..base import Source
from ..forms.jsonl import Reached
from .faces import Face, look
from .records import Brief, Line, Unreadable, messages_in, nanoseconds, read_json, records


@dataclass(slots=True)
class Message:
    """A message where it stands in a file."""

    id: str
    type: str
    time: int
    offset: int
    length: int
    faces: tuple[Face, ...]
    answers: tuple[tuple[str, Face | None], ...] = ()
    """Calls that it gives the model an answer to, each with what it shows where the call itself does not."""
    said: bool = True
    """Whether it is a part of the conversation, not only what the program tells the model of the folder."""
    calls: tuple[str, ...] = ()
    """Calls that are recorded in it, with what they gave."""


@dataclass(slots=True)
class Rewind:
    """The list ends before a message."""

    to: str


@dataclass(slots=True)
class Restated:
    """A whole new list."""

    briefs: Sequence[Brief]
    read: Callable[[], Sequence[Message]]
    """Its messages, read when they are first asked for: mostly the list is the old one."""


Note = Message | Rewind | Restated


@dataclass
class Notes:
    """One file."""

    source: Source
    cwd: str
    """Paths inside of it are shown relative."""
    notes: list[Note] = field(default_factory=list[Note])
    problems: list[Problem] = field(default_factory=list[Problem])
    recorded: set[str] = field(default_factory=set[str])
    """Calls that are recorded in it."""
    session: str = ""
    """As its first header tells."""
    unknown: int = 0
    """Lines of kinds that are not known here."""
    loose: list[Note] = field(default_factory=list[Note])
    """Of a line that has no end yet …"""
    loose_problems: list[Problem] = field(default_factory=list[Problem])
    loose_unknown: int = 0

    def all(self) -> Iterator[Note]:
        """In the order of the file."""
        yield from self.notes
        yield from self.loose

    def troubles(self) -> list[Problem]:
        """What could not be read as it should."""
        found = [*self.problems, *self.loose_problems]
        if unknown := self.unknown + self.loose_unknown:
            what = "a record is of a kind" if unknown == 1 else f"{unknown} records are of a kind"
            found.append(Problem(f"{what} that is not known here", self.source.name))
        return found

    def read_on(self, file: BinaryIO, reached: Reached) -> None:
        """Notes what stands behind the place that was reached; what was read of a line without end is forgotten."""
        self.loose, self.loose_problems, self.loose_unknown = [], [], 0
        if self.source.file.endswith(".json"):
            self._read_whole(file)
            return
        for offset, length, line in records(file, reached):
            ended = offset < reached.offset
            notes, problems = (self.notes, self.problems) if ended else (self.loose, self.loose_problems)
            if isinstance(line, Unreadable):
                problems.append(Problem(line.why, self.source.name, line.number))
                if not line.last:
                    notes.append(self._unreadable(offset, length, line))
            elif (found := self._noted(file, offset, length, line)) is not None:
                notes += found
            elif ended:
                self.unknown += 1
            else:
                self.loose_unknown += 1

    def _noted(self, file: BinaryIO, offset: int, length: int, line: Line) -> list[Note] | None:
        """What a line tells; None for a kind that is not known here."""
        if line.rewind is not None:
            return [Rewind(line.rewind)]
        if line.id is not None:
            return [self.message(line, offset, length)]
        if line.set is not None:
            told = line.set.messages
            return [Restated(told, _Later(self, offset, length))] if isinstance(told, list) else []
        if line.session and line.project:
            self.session = self.session or line.session
            return list(self._inside(file, offset, length)) if isinstance(line.messages, list) else []
        return None

    def message(self, line: Line, offset: int, length: int) -> Message:
        """What a message tells by itself."""
        calls = tuple(call.id for call in line.calls)
        self.recorded.update(calls)
        time = nanoseconds(line.timestamp)
        return Message(line.id or "", line.type, time, offset, length, *look(line, self.cwd, self.recorded), calls)

    def messages(self, offset: int, length: int) -> list[Message]:
        """The messages in a line's list, read again."""
        try:
            with self.source.open() as file:
                return list(self._inside(file, offset, length))
        except OSError:
            return []

    def _inside(self, file: BinaryIO, offset: int, length: int) -> Iterator[Message]:
        """The messages in a line's list. The file stands afterwards where it stood."""
        at = file.tell()
        file.seek(offset)
        data = file.read(length)
        file.seek(at)
        for inside, size, line in messages_in(data):
            if line.id:
                yield self.message(line, offset + inside, size)

    def _read_whole(self, file: BinaryIO) -> None:
        """A session of the old form, which is written anew at each change."""
        self.notes, self.problems = [], []
        found = read_json(file.read())
        if found is None:
            self.problems.append(Problem("the file is not a session", self.source.name))
            return
        self.session = found[0].session
        self.notes += [self.message(line, offset, length) for offset, length, line in found[1] if line.id]

    @staticmethod
    def _unreadable(offset: int, length: int, line: Unreadable) -> Message:
        face = Face.unreadable(line.number, length)
        return Message("", "unreadable", 0, offset, length, (face,))


class _Later:
    """The messages of a list, read once when they are asked for."""

    def __init__(self, notes: Notes, offset: int, length: int) -> None:
        self._notes, self._offset, self._length = notes, offset, length
        self._read: list[Message] | None = None

    def __call__(self) -> list[Message]:
        if self._read is None:
            self._read = self._notes.messages(self._offset, self._length)
        return self._read
