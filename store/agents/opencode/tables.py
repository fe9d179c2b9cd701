"""The tables of an OpenCode database, read while it runs: never written, and never taken for one that stands still.

It is SQLite with a write-ahead log. A reader opens it with mode=ro (not immutable, which would pass over the log) and
holds one transaction, so that what it reads is of one moment.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

import msgspec

from .records import Json, dumped, message_line, part_line

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
_MOMENTS = ("created", "updated", "compacting", "archived")
_TOKENS = ("input", "output", "reasoning")
_in_vain: dict[str, float] = {}
"""When a database was last waited for in vain, by the steady clock."""


class Unread(Exception):
    """Why a database cannot be read, in words."""


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
            self.columns[table] = [text(row[1]) for row in found]
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
        return {text(session): count for session, count in rows}

    def beginning(self, session: str) -> tuple[bytes, bytes]:
        """The first message of a session and its first part."""
        first = self.connection.execute(
            f"SELECT id, data FROM message WHERE session_id = ? ORDER BY {self._order} LIMIT 1", (session,)
        ).fetchone()
        if first is None:
            return b"", b""
        part = self.connection.execute(
            "SELECT data FROM part WHERE message_id = ? ORDER BY id LIMIT 1", (text(first[0]),)
        ).fetchone()
        return data_of(first[1]), data_of(part[0]) if part else b""

    def messages(self, session: str) -> list[tuple[str, bytes]]:
        """Id and JSON of a session's messages, in OpenCode's own order."""
        return [(text(uid), data_of(data)) for uid, data in self.message_rows(session)]

    def message_rows(self, session: str) -> list[tuple[object, object]]:
        """The same as the database gives it."""
        query = f"SELECT id, data FROM message WHERE session_id = ? ORDER BY {self._order}"
        return self.connection.execute(query, (session,)).fetchall()

    def parts(self, message: str) -> Iterator[tuple[str, bytes]]:
        """Id and JSON of a message's parts, in order."""
        rows = self.connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message,))
        return ((text(uid), data_of(data)) for uid, data in rows)

    def part_lines(self, session: str) -> Iterator[tuple[str, str, bytes]]:
        """Message, id and line of every part of a session, in the order of `messages`.

        The database puts the lines together: that and one query for all takes half of the time.
        """
        for message, uid, line in self._of_parts(_PART_LINE, session):
            if not _is_line(line) or not _is_word(uid) or not _is_word(message):
                query = "SELECT data FROM part WHERE id = CAST(? AS TEXT)"
                row = self.connection.execute(query, (uid,)).fetchone()
                line = part_line(text(uid), text(message), data_of(row[0] if row else None))
            yield text(message), text(uid), line

    def part_rows(self, session: str) -> Iterator[tuple[Any, Any, Any]]:
        """Message, id and JSON of every part of a session as the database gives them, in the order of `messages`."""
        return self._of_parts("p.data", session)

    def _of_parts(self, what: str, session: str) -> Iterator[tuple[Any, Any, Any]]:
        order = ", ".join(f"m.{column}" for column in self._order.split(", "))
        # Behind the row's own number the order is that of the indices, so that nothing is sorted.
        return self.connection.execute(
            f"SELECT p.message_id, p.id, {what} FROM message m CROSS JOIN part p ON p.message_id = m.id"
            f" WHERE m.session_id = ? ORDER BY {order}, m.rowid, p.id",
            (session,),
        )

    def line(self, uid: str) -> bytes:
        """The line of one row, a message with all its parts; b"" when it is not there."""
        row = self.connection.execute("SELECT message_id, data FROM part WHERE id = ?", (uid,)).fetchone()
        if row is not None:
            return part_line(uid, text(row[0]), data_of(row[1]))
        row = self.connection.execute("SELECT data FROM message WHERE id = ?", (uid,)).fetchone()
        if row is None:
            return b""
        parts = (part_line(part, uid, data) for part, data in self.parts(uid))
        return b"".join((message_line(uid, data_of(row[0])), *parts))

    def events(self, session: str) -> Iterator[tuple[str, bytes]]:
        """Type and JSON of what happened to a session's messages, oldest first; none in versions without a log."""
        if not {"aggregate_id", "seq", "type", "data"} <= set(self.columns["event"]):
            return iter(())
        rows = self.connection.execute(
            "SELECT type, data FROM event WHERE aggregate_id = ? AND type LIKE 'message.%' ORDER BY seq", (session,)
        )
        return ((text(kind), data_of(data)) for kind, data in rows)

    def removals(self, session: str) -> bool:
        """Whether OpenCode ever removed a message or a part of a session."""
        if not {"aggregate_id", "seq", "type", "data"} <= set(self.columns["event"]):
            return False
        # Asked one by one, each is found in the index.
        query = "SELECT 1 FROM event WHERE aggregate_id = ? AND type GLOB ? LIMIT 1"
        kinds = ("message.removed*", "message.part.removed*")
        return any(self.connection.execute(query, (session, kind)).fetchone() is not None for kind in kinds)

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


def _info(row: dict[str, Any]) -> Json:
    """A session's record as OpenCode's own export gives it."""
    info: Json = {
        "id": text(row.get("id")),
        "slug": text(row.get("slug")),
        "projectID": text(row.get("project_id")),
        "directory": text(row.get("directory")),
        "title": text(row.get("title")),
        "version": text(row.get("version")),
    }
    for name, column in (("path", "path"), ("parentID", "parent_id"), ("workspaceID", "workspace_id")):
        if row.get(column) is not None:
            info[name] = text(row[column])
    if row.get("agent"):
        info["agent"] = text(row["agent"])
    for name in ("model", "metadata", "permission", "revert"):
        value = _plain(row.get(name))
        if value is not None:
            info[name] = value
    if row.get("summary_files") is not None:
        info["summary"] = {name: number(row.get(f"summary_{name}")) for name in ("additions", "deletions", "files")}
    if "cost" in row:
        cache = {name: number(row.get(f"tokens_cache_{name}")) for name in ("read", "write")}
        info["cost"] = row["cost"] if isinstance(row["cost"], int | float) else 0
        info["tokens"] = {**{name: number(row.get(f"tokens_{name}")) for name in _TOKENS}, "cache": cache}
    info["time"] = {name: number(row[f"time_{name}"]) for name in _MOMENTS if row.get(f"time_{name}") is not None}
    return info


def _plain(data: object) -> object:
    """JSON of a column; None when it is none."""
    try:
        found: object = msgspec.json.decode(cast("bytes", data)) if isinstance(data, bytes | str) else None
        dumped(found)  # what is nested too deeply can be read and not be written
    except (msgspec.DecodeError, RecursionError):
        return None
    return found


_PART_LINE = (
    "CASE WHEN typeof(p.data) IN ('text', 'blob') THEN "
    """'{"kind":"part","id":"' || p.id || '","message":"' || p.message_id || '","data":' || p.data || '}' || char(10)"""
    " END"
)


def _is_word(uid: object) -> bool:
    """Whether an id stands in JSON as it is."""
    return isinstance(uid, bytes) and uid.replace(b"_", b"").isalnum()


def _is_line(line: object) -> bool:
    """Whether there is one line end, and that at the end."""
    return isinstance(line, bytes) and line.find(b"\n") == len(line) - 1 and b"\r" not in line


def text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def data_of(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "replace") if isinstance(value, str) else b"null"


def number(value: object) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 1 << 62 else 0
