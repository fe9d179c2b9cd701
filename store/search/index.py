"""The index of a workspace: texts and where they are from, in SQLite. A cache: it may be deleted, and is made anew.

Of each text the index proper holds which three letters follow each other in it (FTS5's trigrams without their places:
half the size, and a third of the time to make, of one with places). That finds candidates; whether the words stand in
them is asked of the text itself. Where this Python's SQLite has no such index, every text is looked through.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from ..errors import Busy, StoreUnwritable

FILE = "search.db"
VERSION = "2"
PATIENCE = 5.0
"""Seconds that one process waits for another's few milliseconds of writing."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What SQLite answers, by the lowest eight bits, for a file that is not as we left it."""
UNWRITABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}
)

TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE sessions (id INTEGER PRIMARY KEY, key TEXT UNIQUE, stamp TEXT);
CREATE TABLE told (key TEXT PRIMARY KEY, stamp TEXT, told BLOB) WITHOUT ROWID;
CREATE TABLE said (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER, entry TEXT, kind TEXT, flavour TEXT, tool TEXT,
    time INTEGER, turn INTEGER, branch TEXT, sign BLOB, text BLOB, UNIQUE (session, entry));
CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB, oid BLOB, UNIQUE (path, oid));
CREATE TABLE stays (file INTEGER, root TEXT, first INTEGER, last INTEGER);
CREATE INDEX stays_by_file ON stays (file);
CREATE INDEX stays_open ON stays (root, file) WHERE last IS NULL;
CREATE TABLE points (id TEXT PRIMARY KEY, root TEXT) WITHOUT ROWID;
CREATE TABLE line (name TEXT PRIMARY KEY, root TEXT, time INTEGER, tree TEXT) WITHOUT ROWID;
"""
WORDS = """
CREATE VIRTUAL TABLE {}_words USING fts5 (text, content = '', detail = none, tokenize = 'trigram case_sensitive 1');
"""
"""Of texts whose capital letters were made small by `wanted.fold`, which knows more of them than SQLite does."""


class Cancelled(Exception):
    """Nobody waits for the answer any more."""


class Damaged(StoreUnwritable):
    """The index was not as we left it; it was deleted, and is made anew by the next one who keeps it."""


class Index:
    """The index of one workspace: a file, or in memory where nothing is recorded."""

    def __init__(self, folder: Path | None) -> None:
        self.file = folder / FILE if folder is not None else None
        self._lock = threading.RLock()
        self._memory: sqlite3.Connection | None = None
        self.told: dict[str, tuple[str, bytes]] = {}
        """What reading sessions told of them, by key, each with its stamp of then; in the file, too."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever indexed."""
        return self.file.exists() if self.file is not None else self._memory is not None

    @contextmanager
    def open(self, cancelled: Callable[[], bool] | None = None) -> Generator[sqlite3.Connection]:
        """The index for the time of the block. Raises Cancelled when `cancelled` says so, Busy, StoreUnwritable.

        One that was damaged, or that another version made, is begun anew.
        """
        try:
            with self._connected() as connection:
                if cancelled is not None and self.file is not None:
                    connection.set_progress_handler(lambda: int(cancelled()), 5_000)
                yield connection
        except sqlite3.DatabaseError as error:
            raise self._told(error) from error

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        if self.file is None:
            with self._lock:
                if self._memory is None:
                    self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                    _make(self._memory)
                memory = self._memory
            # One connection for all threads: SQLite lets them in one after the other, statement by statement.
            with nullcontext() if sqlite3.threadsafety == 3 else self._lock:
                yield memory
            return
        connection = self._connect()
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        assert self.file is not None
        for _ in range(2):
            connection: sqlite3.Connection | None = None
            try:
                # SQLite gives the files that it makes beside it the same permissions.
                os.close(os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
                connection = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                if _is_ours(connection):
                    return connection
                _make(connection)
                return connection
            except OSError as error:
                raise StoreUnwritable("the index cannot be written", path=str(self.file), todo=str(error)) from None
            except sqlite3.DatabaseError as error:
                if connection is not None:
                    connection.close()
                if error.sqlite_errorcode & 0xFF not in DAMAGED | {sqlite3.SQLITE_ERROR}:
                    raise self._told(error) from None
                self.forget()
        raise StoreUnwritable("the index cannot be made", path=str(self.file), todo="forkpoint doctor")

    def _told(self, error: sqlite3.DatabaseError) -> Exception:
        code = error.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            return Cancelled()
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return Busy("another forkpoint is writing the index", todo="try again in a moment")
        if code in UNWRITABLE:
            return StoreUnwritable("the index cannot be written", path=str(self.file or ""), todo=str(error))
        if code in DAMAGED:
            self.forget()
            return Damaged("the index was damaged", path=str(self.file or ""), todo="it is made anew: try again")
        return error

    def forget(self) -> None:
        """Deletes all of it; the next one who searches makes it anew."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None
        if self.file is not None:
            for ending in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    os.unlink(f"{self.file}{ending}")


def has_words(connection: sqlite3.Connection) -> bool:
    """Whether there is an index of three letters, or texts are all that there is."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'said_words'").fetchone() is not None


def about(connection: sqlite3.Connection, name: str) -> str:
    """Something that was noted of the index; "" where it was not."""
    found = connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
    return str(found[0]) if found else ""


def note(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Notes something of the index."""
    connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))


@contextmanager
def writing(connection: sqlite3.Connection) -> Generator[None]:
    """All that is written in the block, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether it was made by this version; False for a new file. Raises DatabaseError for any other one."""
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        return False
    if about(connection, "version") != VERSION:
        error = sqlite3.DatabaseError("another version's")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
    return True


def _make(connection: sqlite3.Connection) -> None:
    with writing(connection):
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
            return  # another process was quicker
        for statement in TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        with suppress(sqlite3.OperationalError):  # without FTS5, or from before there were trigrams
            connection.execute(WORDS.format("said"))
            connection.execute(WORDS.format("files"))
        note(connection, "version", VERSION)
