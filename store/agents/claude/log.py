"""The records of one session's file by id, and which of them a fork keeps: the line up to its end, batches whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from ...errors import ForkpointError
from ..forms.newfile import BATCH
from .records import Line, Unreadable, records


@dataclass(slots=True)
class Record:
    """A record of the chain."""

    offset: int
    length: int
    parent: str | None
    type: str
    sidechain: bool
    boundary: bool
    message: str = ""
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(slots=True)
class Besides:
    """A record without a place in the tree."""

    offset: int
    length: int
    type: str


@dataclass
class Log:
    """The records of one session's file, by id and in their order."""

    file: BinaryIO
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    besides: list[Besides] = field(default_factory=list[Besides])
    note: str = ""
    """What a person should know of the path that was asked for."""

    def __post_init__(self) -> None:
        self._children: dict[str, list[str]] = {}
        self._message_of: dict[str, str] = {}
        last: str | None = None
        for offset, length, line in records(self.file):
            if isinstance(line, Unreadable):
                continue
            if line.uuid is None:
                self.besides.append(Besides(offset, length, line.type))
            elif line.uuid not in self.records:
                self._add(offset, length, line, line.uuid, last)
                last = last if line.sidechain else line.uuid

    def _add(self, offset: int, length: int, line: Line, uid: str, last: str | None) -> None:
        boundary = line.type == "system" and line.subtype == "compact_boundary"
        parent = line.parent
        if boundary:
            parent = line.logical_parent if line.logical_parent in self.records else last
        found = Record(offset, length, parent, line.type, bool(line.sidechain), boundary)
        if line.message is not None and not isinstance(line.message.content, str):
            parts = line.message.content
            if line.type == "assistant":
                found.message = line.message.id
                found.calls = tuple(part.id for part in parts if part.type == "tool_use")
                self._message_of.update(dict.fromkeys(found.calls, found.message))
            elif line.type == "user":
                found.answers = tuple(part.tool_use_id for part in parts if part.type == "tool_result")
        self.records[uid] = found
        if parent is not None:
            self._children.setdefault(parent, []).append(uid)

    def read(self, uid: str) -> bytes:
        """A record's own bytes."""
        found = self.records[uid]
        return self.read_at(found.offset, found.length)

    def read_at(self, offset: int, length: int) -> bytes:
        self.file.seek(offset)
        return self.file.read(length)

    def ending(self, uid: str, *, leave_out: bool) -> str | None:
        """The record that the fork ends with; None when it would be empty. Raises ForkpointError."""
        if uid not in self.records:
            raise ForkpointError("the record of this row is not in its file any more", todo="choose another row")
        if not leave_out:
            return uid
        found = self.records[uid]
        at = found.parent
        if found.type == "assistant" and found.message:
            # Before a call means before all that runs in parallel with it.
            while at in self.records and self.records[at].message == found.message and self.records[at].calls:
                at = self.records[at].parent
        return at if at in self.records else None

    def path(self, end: str) -> list[str]:
        """Ids of the records to keep, in the order of the file: the line up to the end, with every batch whole."""
        kept: set[str] = set()
        at: str | None = end
        while at is not None and at in self.records and at not in kept:
            kept.add(at)
            at = self.records[at].parent
        inside = kept.copy()
        self._gather(kept)
        if self.records[end].calls or self.records[end].answers:
            more = sum(len(self.records[uid].calls) for uid in kept - inside)
            if more:
                self.note = BATCH
        kept = {uid for uid in kept if not self.records[uid].sidechain}
        return [uid for uid in self.records if uid in kept]

    def _gather(self, kept: set[str]) -> None:
        """Adds the other calls of messages on the path, the results of all, and what hangs at the side of these."""
        waiting = [uid for uid in kept if self.records[uid].calls or self.records[uid].answers]
        answered = {call for uid in kept for call in self.records[uid].answers}
        while waiting:
            uid = waiting.pop()
            found = self.records[uid]
            for child in self._children.get(uid, ()):
                below = self.records[child]
                together = bool(below.calls) and bool(found.message) and below.message == found.message
                result = bool(found.calls) and any(call in found.calls for call in below.answers)
                if child in kept or not (together or (result and answered.isdisjoint(below.answers))):
                    continue
                kept.add(child)
                waiting.append(child)
                answered.update(below.answers)
                if result:
                    self._gather_sides(child, kept)
            # A call can hang on a result of the same message, or on hidden records below it.
            if found.answers:
                self._gather_later_calls(uid, kept, waiting)

    def _gather_later_calls(self, uid: str, kept: set[str], waiting: list[str]) -> None:
        messages = {self._message_of.get(call, "") for call in self.records[uid].answers}
        below = list(self._children.get(uid, ()))
        passed: list[str] = []
        while below:
            child = below.pop()
            found = self.records[child]
            if found.type in ("attachment", "progress", "system") and not found.boundary:
                passed.append(child)
                below.extend(self._children.get(child, ()))
            elif found.calls and found.message in messages and child not in kept:
                kept.add(child)
                kept.update(self._up_to(child, kept))
                waiting.append(child)

    def _up_to(self, uid: str, kept: set[str]) -> Iterator[str]:
        at = self.records[uid].parent
        while at is not None and at in self.records and at not in kept:
            yield at
            at = self.records[at].parent

    def _gather_sides(self, uid: str, kept: set[str]) -> None:
        """Attachments that hang on a gathered result, as long as nothing else hangs on them."""
        for child in self._children.get(uid, ()):
            found = self.records[child]
            if found.type == "attachment" and child not in self._children and child not in kept:
                kept.add(child)
