"""Sessions in OpenCode's database, read while it runs: never written, and never taken for one that stands still.

It is SQLite with a write-ahead log. A reader opens it with mode=ro (not immutable, which would pass over the log) and
holds one transaction, so that what it reads is of one moment.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EIO, ENOENT
from hashlib import blake2b
from io import BytesIO
from typing import Any, NamedTuple, cast
from urllib.parse import quote

import msgspec

from .records import Data, Json, decode_data, dumped, message_line, part_line, problem_line, session_line
from .removed import Removed

FRESH = 1_000_000_000
"""Nanoseconds after which the time of a file tells that it was not written again."""
PATIENCE = 2.0
"""Seconds that a reader waits for a database that somebody holds …"""
HURRY = 0.05
"""… and while one waited in vain so lately: many sessions are asked for one after the other."""
NEEDED = {
    "session": {"id", "directory"},
    "message": {"id", "session_id", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}
"""Tables and columns without which nothing can be read; whatever else is there is used when it is."""
Looks = tuple[tuple[int, int], ...]
_MOMENTS = ("created", "updated", "compacting", "archived")
_TOKENS = ("input", "output", "reasoning")


_in_vain: dict[str, float] = {}
"""When a database was last waited for in vain, by the steady clock."""


class Unread(Exception):
    """Why a database cannot be read, in words."""


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


@contextmanager
def reading(path: str) -> Generator[Tables]:
    """The database at one moment. Raises Unread."""
    with suppress(OSError):
        if os.stat(path).st_size == 0:
            raise Unread("the database is empty")
    try:
        with _connected(path) as connection:
            _in_vain.pop(path, None)
            yield Tables(connection)
    except (sqlite3.Error, OverflowError, ValueError) as error:
        if "locked" in str(error):
            _in_vain[path] = time.monotonic()
        raise Unread(f"the database cannot be read ({error})") from None
    except OSError as error:
        raise Unread(f"the database cannot be read ({error.strerror})") from None


@contextmanager
def _connected(path: str) -> Generator[sqlite3.Connection]:
    try:
        connection = _open(path)
    except sqlite3.OperationalError:
        # Where the folder cannot be written, no reader may join the log: a copy of both is read instead.
        if not os.path.exists(f"{path}-wal") or os.access(os.path.dirname(path), os.W_OK):
            raise
        with tempfile.TemporaryDirectory(prefix="forkpoint-") as folder:
            copy = os.path.join(folder, "copy.db")
            for ending in ("", "-wal"):
                shutil.copyfile(path + ending, copy + ending)
            connection = _open(copy)
            try:
                yield connection
            finally:
                connection.close()
        return
    try:
        yield connection
    finally:
        connection.close()


def _open(path: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=ro"
    lately = time.monotonic() - _in_vain.get(path, float("-inf")) < PATIENCE
    timeout = min(HURRY, PATIENCE) if lately else PATIENCE
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = bytes
        connection.execute("PRAGMA query_only = 1")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


@dataclass
class Tables:
    """The tables of a database of any version."""

    connection: sqlite3.Connection

    def __post_init__(self) -> None:
        """Looks at which columns are there. Raises Unread."""
        self.columns: dict[str, list[str]] = {}
        for table in (*NEEDED, "event", "event_sequence"):
            found = self.connection.execute(f"PRAGMA table_info({table})").fetchall()
            self.columns[table] = [_text(row[1]) for row in found]
        for table, needed in NEEDED.items():
            if missing := needed - set(self.columns[table]):
                what = f"no {table}.{sorted(missing)[0]}" if self.columns[table] else f"no table {table}"
                raise Unread(f"the database is of a version that is not known here ({what})")

    def sessions(self) -> Iterator[Json]:
        """The records of all sessions."""
        for row in self.connection.execute("SELECT * FROM session"):
            yield _info(dict(zip(self.columns["session"], row, strict=False)))

    def session(self, session: str) -> Json | None:
        """The record of one session."""
        row = self.connection.execute("SELECT * FROM session WHERE id = ?", (session,)).fetchone()
        return _info(dict(zip(self.columns["session"], row, strict=False))) if row else None

    def has(self, session: str) -> bool:
        """Whether there is such a session."""
        return self.connection.execute("SELECT 1 FROM session WHERE id = ?", (session,)).fetchone() is not None

    def counts(self) -> dict[str, int]:
        """How many parts each session has."""
        rows = self.connection.execute("SELECT session_id, count(*) FROM part GROUP BY session_id")
        return {_text(session): count for session, count in rows}

    def beginning(self, session: str) -> tuple[bytes, bytes]:
        """The first message of a session and its first part."""
        first = self.connection.execute(
            f"SELECT id, data FROM message WHERE session_id = ? ORDER BY {self._order} LIMIT 1", (session,)
        ).fetchone()
        if first is None:
            return b"", b""
        part = self.connection.execute(
            "SELECT data FROM part WHERE message_id = ? ORDER BY id LIMIT 1", (_text(first[0]),)
        ).fetchone()
        return _bytes(first[1]), _bytes(part[0]) if part else b""

    def messages(self, session: str) -> list[tuple[str, bytes]]:
        """Id and JSON of a session's messages, in OpenCode's own order."""
        query = f"SELECT id, data FROM message WHERE session_id = ? ORDER BY {self._order}"
        return [(_text(uid), _bytes(data)) for uid, data in self.connection.execute(query, (session,))]

    def parts(self, message: str) -> Iterator[tuple[str, bytes]]:
        """Id and JSON of a message's parts, in order."""
        rows = self.connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message,))
        return ((_text(uid), _bytes(data)) for uid, data in rows)

    def line(self, uid: str) -> bytes:
        """The line of one row, a message with all its parts; b"" when it is not there."""
        row = self.connection.execute("SELECT message_id, data FROM part WHERE id = ?", (uid,)).fetchone()
        if row is not None:
            return part_line(uid, _text(row[0]), _bytes(row[1]))
        row = self.connection.execute("SELECT data FROM message WHERE id = ?", (uid,)).fetchone()
        if row is None:
            return b""
        parts = (part_line(part, uid, data) for part, data in self.parts(uid))
        return b"".join((message_line(uid, _bytes(row[0])), *parts))

    def events(self, session: str) -> Iterator[tuple[str, bytes]]:
        """Type and JSON of what happened to a session's messages, oldest first; none in versions without a log."""
        if not {"aggregate_id", "seq", "type", "data"} <= set(self.columns["event"]):
            return iter(())
        rows = self.connection.execute(
            "SELECT type, data FROM event WHERE aggregate_id = ? AND type LIKE 'message.%' ORDER BY seq", (session,)
        )
        return ((_text(kind), _bytes(data)) for kind, data in rows)

    def removals(self, session: str) -> bool:
        """Whether OpenCode ever removed a message or a part of a session."""
        if not {"aggregate_id", "seq", "type", "data"} <= set(self.columns["event"]):
            return False
        query = "SELECT 1 FROM event WHERE aggregate_id = ? AND type LIKE 'message.%removed%' LIMIT 1"
        return self.connection.execute(query, (session,)).fetchone() is not None

    def marks(self, session: str) -> tuple[object, ...]:
        """What is another one whenever something of a session changed."""
        found: list[object] = []
        for table in ("message", "part"):
            newest = "max(time_updated)" if "time_updated" in self.columns[table] else "max(rowid)"
            query = f"SELECT count(*), {newest}, max(id) FROM {table} WHERE session_id = ?"
            found += self.connection.execute(query, (session,)).fetchone()
        if {"aggregate_id", "seq"} <= set(self.columns["event_sequence"]):
            query = "SELECT seq FROM event_sequence WHERE aggregate_id = ?"
            found.append(self.connection.execute(query, (session,)).fetchone())
        return tuple(found)

    @property
    def _order(self) -> str:
        return "time_created, id" if "time_created" in self.columns["message"] else "id"


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


def _write(made: BytesIO, tables: Tables, session: str, info: Json) -> None:
    made.write(session_line(info))
    removed = Removed() if tables.removals(session) else None
    for uid, data in tables.messages(session):
        made.write(message_line(uid, data))
        if removed is not None:
            removed.stands(uid, data)
        for part, inner in tables.parts(uid):
            made.write(part_line(part, uid, inner))
            if removed is not None:
                removed.stands_in(uid, part)
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
            return int.from_bytes(blake2b(told, digest_size=7).digest(), "big"), _number(info["time"].get("updated"))
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
            below.setdefault(_text(above), []).append(_text(uid))
    _known[path] = _Known(looks, frozenset(_text(uid) for uid, _ in rows), below)
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
            part = _decoded(_bytes(data))
            if part.call == call and part.state is not None and part.state.status in ("completed", "error"):
                return True
    return False


def _decoded(data: bytes) -> Data:
    try:
        return decode_data(data)
    except (msgspec.DecodeError, RecursionError):
        return Data()


def _info(row: dict[str, Any]) -> Json:
    """A session's record as OpenCode's own export gives it."""
    info: Json = {
        "id": _text(row.get("id")),
        "slug": _text(row.get("slug")),
        "projectID": _text(row.get("project_id")),
        "directory": _text(row.get("directory")),
        "title": _text(row.get("title")),
        "version": _text(row.get("version")),
    }
    for name, column in (("path", "path"), ("parentID", "parent_id"), ("workspaceID", "workspace_id")):
        if row.get(column) is not None:
            info[name] = _text(row[column])
    if row.get("agent"):
        info["agent"] = _text(row["agent"])
    for name in ("model", "metadata", "permission", "revert"):
        value = _plain(row.get(name))
        if value is not None:
            info[name] = value
    if row.get("summary_files") is not None:
        info["summary"] = {name: _number(row.get(f"summary_{name}")) for name in ("additions", "deletions", "files")}
    if "cost" in row:
        cache = {name: _number(row.get(f"tokens_cache_{name}")) for name in ("read", "write")}
        info["cost"] = row["cost"] if isinstance(row["cost"], int | float) else 0
        info["tokens"] = {**{name: _number(row.get(f"tokens_{name}")) for name in _TOKENS}, "cache": cache}
    info["time"] = {name: _number(row[f"time_{name}"]) for name in _MOMENTS if row.get(f"time_{name}") is not None}
    return info


def _plain(data: object) -> object:
    """JSON of a column; None when it is none."""
    try:
        found: object = msgspec.json.decode(cast("bytes", data)) if isinstance(data, bytes | str) else None
        dumped(found)  # what is nested too deeply can be read and not be written
    except (msgspec.DecodeError, RecursionError):
        return None
    return found


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "replace") if isinstance(value, str) else b"null"


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 1 << 62 else 0
