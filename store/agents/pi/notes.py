"""What is noted of each record of one file, on its own: how the records of all files belong together comes later.

Notes are a function of the file's lines alone, so they are kept while the file grows and only new lines are read.
"""

from __future__ import annotations

from typing import BinaryIO

from msgspec import Struct

from ..base import Source
from ..forms.face import Face
from ..forms.jsonl import Reached
from ..forms.links import HIDDEN
from .faces import faces
from .records import NEWEST, Line, Unreadable, nanoseconds, old_id, records

SHOWN, ASIDE = 1, 2
"""Kinds of what is shown; what stands aside is no reason for a fork."""

_ASIDE = frozenset({"custom", "context-edit", "unknown", "unreadable", "shell", "shell-output"})


def kind_of(shown: tuple[Face, ...]) -> int:
    """Whether what is shown stands aside."""
    # Most records show texts without a flavour.
    return ASIDE if shown[0].flavour and all(face.flavour in _ASIDE for face in shown) else SHOWN


class Noted(Struct, gc=False):
    """One record, as far as its own line tells."""

    offset: int
    length: int
    type: str = ""
    uid: str = ""
    parent: str | None = None
    time: int = 0
    faces: tuple[Face, ...] = ()
    kind: int = HIDDEN
    prompt: str = ""
    """A prompt's own time, by which our extension names it."""
    target: str = ""
    """Of a label: the record that it is on."""
    text: str = ""
    """A label; the session's name."""
    unreadable: Unreadable | None = None


class Notes:
    """Of one file, in its order."""

    def __init__(self, source: Source, cwd: str) -> None:
        self.name = source.name
        self.file = source.file
        self.former = bool(source.former)
        self.cwd = cwd
        self.version = NEWEST
        self.headed = False
        """Whether it begins with a header, as Pi wants it."""
        self.noted: list[Noted] = []
        self.tail: list[Noted] = []
        """Of a last line without its line feed: it may still be being written."""
        self.nameless = False
        """Whether a record has no id where each should have one."""
        self._count = 0
        self._before: str | None = None

    def read_on(self, file: BinaryIO, reached: Reached) -> None:
        """Notes what stands behind the place."""
        self.tail = []
        count, before = self._count, self._before
        for offset, length, line in records(file, reached):
            whole = offset < reached.offset
            keep = self.noted if whole else self.tail
            if isinstance(line, Unreadable):
                keep.append(Noted(offset, length, unreadable=line))
                continue
            if line.type == "session":
                self._header(line, first=not count)
                continue
            count += 1
            noted = self._record(offset, length, line, count, before)
            before = noted.uid
            keep.append(noted)
            if whole:
                self._count, self._before = count, before

    def _header(self, line: Line, *, first: bool) -> None:
        if first and not self.headed:
            self.headed = True
            self.version = line.version if line.version is not None else 1
            self.cwd = line.cwd or self.cwd

    def _record(self, offset: int, length: int, line: Line, number: int, before: str | None) -> Noted:
        uid, above = line.id or "", line.parent
        if not uid:
            self.nameless |= self.version > 1
            uid, above = old_id(number), before
        shown = faces(line, self.cwd)
        time = nanoseconds(line.timestamp)
        noted = Noted(offset, length, line.type, uid, above, time, shown, kind_of(shown) if shown else HIDDEN)
        message = line.message
        if message is not None and message.role == "user" and message.timestamp is not None:
            noted.prompt = str(int(message.timestamp))
        elif line.type == "label":
            noted.target, noted.text = line.target or "", line.label or ""
        elif line.type == "session_info":
            noted.text = line.name or ""
        return noted


def told(file: BinaryIO) -> frozenset[str]:
    """Names of all records of a file that stay when Pi brings it to a newer form: their times and kinds."""
    return frozenset(
        f"{line.timestamp} {line.type} {line.message.timestamp if line.message is not None else ''}"
        for _, _, line in records(file)
        if not isinstance(line, Unreadable) and line.type != "session"
    )
