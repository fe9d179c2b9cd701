"""Sessions in OpenCode's databases, asked for one by one; answers are known while the files look the same."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from errno import EIO, ENOENT
from hashlib import blake2b
from io import BytesIO
from typing import NamedTuple

import msgspec

from .records import Data, Json, decode_data, message_line, problem_line, session_line
from .removed import Removed
from .tables import Tables, Unread, data_of, number, reading, text

FRESH = 1_000_000_000
"""Nanoseconds after which the time of a file tells that it was not written again."""
Looks = tuple[tuple[int, int], ...]


class Listed(NamedTuple):
    """What a list needs of a session."""

    id: str
    info: Json
    first: bytes
    """The session's first message …"""
    text: bytes
    """… and its first part: what copies of a history have in common."""
    share: float
    """Its share of all parts of the database."""


def sessions(path: str) -> list[Json]:
    """The records of all sessions of a database. Raises Unread."""
    with reading(path) as tables:
        return list(tables.sessions())


def listed(path: str, chosen: Mapping[str, Json]) -> list[Listed]:
    """What a list needs of the chosen sessions. Raises Unread."""
    with reading(path) as tables:
        counts = tables.counts() if chosen else {}
        all_parts = sum(counts.values()) or 1
        return [
            Listed(session, info, *tables.beginning(session), counts.get(session, 0) / all_parts)
            for session, info in chosen.items()
        ]


def content(path: str, session: str) -> BytesIO:
    """A session as lines (`records.py`); what breaks off is told. Raises OSError when nothing of it can be read."""
    made = BytesIO()
    try:
        with reading(path) as tables:
            info = tables.session(session)
            if info is None:
                raise FileNotFoundError(ENOENT, "OpenCode has no such session", f"{path}#{session}")
            _write(made, tables, session, info)
    except Unread as error:
        if not made.tell():
            raise OSError(EIO, str(error), f"{path}#{session}") from None
        made.write(problem_line(str(error)))
    made.seek(0)
    return made


_NO_PART = ("", "", b"")


def _write(made: BytesIO, tables: Tables, session: str, info: Json) -> None:
    made.write(session_line(info))
    removed = Removed() if tables.removals(session) else None
    messages = tables.messages(session)
    parts = tables.part_lines(session)
    message, part, line = next(parts, _NO_PART)
    for uid, data in messages:
        made.write(message_line(uid, data))
        if removed is not None:
            removed.stands(uid, data)
        while line and message == uid:
            made.write(line)
            if removed is not None:
                removed.stands_in(uid, part)
            message, part, line = next(parts, _NO_PART)
    if removed is not None:
        for line in removed.lines(lambda: tables.events(session)):
            made.write(line)


_stamps: dict[tuple[str, str], tuple[Looks, tuple[int, int]]] = {}


def stamp(path: str, session: str) -> tuple[int, int]:
    """Two numbers that change when a session does; zeros when it is not there, or cannot be read now.

    The database is asked only when its files changed since, or so lately that they could have changed unseen.
    """
    looks = _looks(path)
    settled = max(written for _, written in looks) < time.time_ns() - FRESH
    held = _stamps.get((path, session))
    if held is not None and settled and held[0] == looks:
        return held[1]
    found = _stamp(path, session)
    if settled and found != (0, 0):
        _stamps[path, session] = looks, found
    return found


def _looks(path: str) -> Looks:
    """Size and time of a database and of its log; zeros for what is not there."""
    found: list[tuple[int, int]] = []
    for file in (path, f"{path}-wal"):
        try:
            told = os.stat(file)
            found.append((told.st_size, told.st_mtime_ns))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def _stamp(path: str, session: str) -> tuple[int, int]:
    with suppress(Unread), reading(path) as tables:
        info = tables.session(session)
        if info is not None:
            told = repr((sorted(info.items(), key=lambda item: item[0]), tables.marks(session))).encode()
            return int.from_bytes(blake2b(told, digest_size=7).digest(), "big"), number(info["time"].get("updated"))
    return (0, 0)


class _Known(NamedTuple):
    """Which sessions a database has, as of how its files looked."""

    looks: Looks
    sessions: frozenset[str]
    below: dict[str, list[str]]
    """Session → those that it started."""


_known: dict[str, _Known] = {}


def has(path: str, session: str) -> bool:
    """Whether a database has a session; one that cannot be read now is not taken for one without it."""
    try:
        if session in _sessions_of(path).sessions:
            return True
        with reading(path) as tables:
            return tables.has(session)
    except Unread:
        return os.path.exists(path)


def children(path: str, session: str) -> list[str]:
    """The sessions that a session started; [] when the database cannot be read."""
    try:
        return _sessions_of(path).below.get(session, [])
    except Unread:
        return []


def _sessions_of(path: str) -> _Known:
    """Asked for each of many sessions at a look, so it is remembered while the files look the same. Raises Unread."""
    looks = _looks(path)
    held = _known.get(path)
    if held is not None and held.looks == looks:
        return held
    below: dict[str, list[str]] = {}
    with reading(path) as tables:
        parent = "parent_id" if "parent_id" in tables.columns["session"] else "NULL"
        rows = tables.connection.execute(f"SELECT id, {parent} FROM session ORDER BY id").fetchall()
    for uid, above in rows:
        if above is not None:
            below.setdefault(text(above), []).append(text(uid))
    _known[path] = _Known(looks, frozenset(text(uid) for uid, _ in rows), below)
    return _known[path]


def line(path: str, uid: str) -> bytes:
    """The line of one row, a message with all its parts; b"" when it is not there or cannot be read."""
    with suppress(Unread), reading(path) as tables:
        return tables.line(uid)
    return b""


def call_has_ended(transcript: str, call: str) -> bool:
    """Whether a database's session ("<database>#<session>") tells how a tool call ended."""
    path, _, session = transcript.rpartition("#")
    with suppress(Unread), reading(path) as tables:
        query = "SELECT data FROM part WHERE session_id = ? AND instr(data, ?) ORDER BY id DESC"
        for (data,) in tables.connection.execute(query, (session, f'"{call}"')):
            part = _decoded(data_of(data))
            if part.call == call and part.state is not None and part.state.status in ("completed", "error"):
                return True
    return False


def _decoded(data: bytes) -> Data:
    try:
        return decode_data(data)
    except (msgspec.DecodeError, RecursionError):
        return Data()
