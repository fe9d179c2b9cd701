"""What OpenCode removed from a session, from its event log: the messages that a prompt after a revert deleted.

The log has every state of every message and part, and says when one was removed. What stands now was there then as
well when it comes before in the session's order, whether the log reaches back to it or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Raw, Struct

from .records import message_line, part_line, past_line

Events = Callable[[], Iterator[tuple[str, bytes]]]


class _Time(Struct, gc=False):
    created: float = 0


class _Known(Struct, gc=False):
    id: str = ""
    message: str = msgspec.field(name="messageID", default="")
    time: _Time | None = None


class _Event(Struct, gc=False):
    info: _Known | None = None
    part: _Known | None = None
    message: str = msgspec.field(name="messageID", default="")
    part_id: str = msgspec.field(name="partID", default="")


class _Whole(Struct, gc=False):
    info: Raw = Raw(b"null")
    part: Raw = Raw(b"null")


class _Created(Struct, gc=False):
    time: _Time | None = None


_event = msgspec.json.Decoder(_Event).decode
_whole = msgspec.json.Decoder(_Whole).decode
_created = msgspec.json.Decoder(_Created).decode
_FAILURES = (msgspec.DecodeError, RecursionError)


class Removed:
    """Replays the log of one session."""

    def __init__(self) -> None:
        self._created: dict[str, float] = {}
        """Every message that stands or stood → when it began."""
        self._parts: dict[str, set[str]] = {}
        self._now: set[str] = set()
        """Messages and parts that stand now."""

    def stands(self, message: str, data: bytes) -> None:
        """A message that is there now."""
        try:
            time = _created(data).time
        except _FAILURES:
            time = None
        self._created[message] = time.created if time is not None else 0
        self._parts.setdefault(message, set())
        self._now.add(message)

    def stands_in(self, message: str, part: str) -> None:
        """A part of it."""
        self._parts[message].add(part)
        self._now.add(part)

    def lines(self, events: Events) -> Iterator[bytes]:
        """The lines of all that was removed and is not there again, then how it stood, the newest removal first."""
        past = list(self._replayed(events()))
        wanted = {row for _, rows in past for row in rows}
        newest: dict[str, bytes] = {}
        for kind, data in events():
            if "removed" in kind:
                continue
            try:
                event, whole = _event(data), _whole(data)
            except _FAILURES:
                continue
            for known, raw in ((event.info, whole.info), (event.part, whole.part)):
                if known is not None and known.id in wanted:
                    newest[known.id] = part_line(known.id, known.message, bytes(raw), gone=True)
                    if known is event.info:
                        newest[known.id] = message_line(known.id, bytes(raw), gone=True)
        yield from newest.values()
        for after, rows in reversed(past):
            kept = [row for row in rows if row in newest]
            if kept:
                yield past_line(after, kept)

    def _replayed(self, events: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str | None, list[str]]]:
        """Of each removal: the row that stands before what was removed, and that in order."""
        present = set(self._now)
        batch: list[str] = []
        for kind, data in events:
            try:
                event = _event(data)
            except _FAILURES:
                continue
            if "removed" in kind:
                row = event.part_id or event.message
                batch += [row, *sorted(self._parts.get(row, ()))]
                continue
            if batch:
                yield self._place(batch, present)
                batch = []
            if event.info is not None:
                self._created[event.info.id] = event.info.time.created if event.info.time is not None else 0
                self._parts.setdefault(event.info.id, set())
                present.add(event.info.id)
            elif event.part is not None:
                self._parts.setdefault(event.part.message, set()).add(event.part.id)
                present.add(event.part.id)
        if batch:
            yield self._place(batch, present)

    def _place(self, batch: list[str], present: set[str]) -> tuple[str | None, list[str]]:
        gone = set(batch) - self._now
        order = [
            row
            for message in sorted(self._created, key=lambda uid: (self._created[uid], uid))
            for row in (message, *sorted(self._parts[message]))
            if row in present
        ]
        rows = [row for row in order if row in gone]
        present -= gone
        before = order[: order.index(rows[0])] if rows else []
        return (before[-1] if before else None), rows
