"""The files of the checkpoints, taken into the index: every version of every path once, and from when to when it stood.

A root's complete checkpoints are gone through in the order of time; of each only what differs from the one before is
looked at. What a partial checkpoint knows, or one that came late, stands at its own moment.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..catalog.content import Row
from ..errors import StoreDamaged
from ..git.compare import is_binary, tree_changes
from ..git.reader import LINK, Objects
from ..git.stream import EMPTY_TREE
from ..text import path_text
from .index import Cancelled, has_words, writing
from .wanted import fold

LARGEST = 8 << 20
"""Bytes of the largest file that is looked into."""
AT_ONCE = 500
"""Versions that are written in one go."""


class Stay(NamedTuple):
    """When a version of a path stood in the checkpoints of a root."""

    root: str
    first: int
    last: int | None
    """Time of the last checkpoint that has it; None while the newest one does."""


def take(
    connection: sqlite3.Connection,
    objects: Objects,
    rows: Sequence[Row],
    cancelled: Callable[[], bool],
    progress: Callable[[int], None],
) -> int:
    """Takes in the checkpoints that are new; gives how many versions of files came."""
    _refuse_lost(connection, objects)
    known = {name for (name,) in connection.execute("SELECT id FROM points")}
    there = {row.stored.checkpoint.id for row in rows}
    gone = [name for name in known if name not in there]
    if gone:
        with writing(connection):
            connection.executemany("DELETE FROM points WHERE id = ?", [(name,) for name in gone])
    came = 0
    for number, row in enumerate(rows):
        if row.stored.checkpoint.id not in known:
            progress(number)
            with suppress(StoreDamaged):
                came += _take_point(connection, objects, row, cancelled)
    if gone:
        _let_go(connection, rows)
    return came


def behind(connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
    """How many checkpoints are not taken in yet."""
    known = {name for (name,) in connection.execute("SELECT id FROM points")}
    return sum(1 for row in rows if row.stored.checkpoint.id not in known)


def _take_point(connection: sqlite3.Connection, objects: Objects, row: Row, cancelled: Callable[[], bool]) -> int:
    point, tree = row.stored.checkpoint, row.stored.files
    newest = connection.execute("SELECT time, tree FROM line WHERE root = ?", (point.root,)).fetchone()
    in_line = point.complete and (newest is None or newest[0] < point.time)
    before = newest[1] if in_line and newest is not None else EMPTY_TREE
    changes = [
        (path, old[1] if old else "", new[1] if new and new[0] != LINK else "")
        for path, old, new in tree_changes(objects, before, tree)
    ]
    new = [(path, oid) for path, _, oid in changes if oid]
    came = sum(_add(connection, objects, part) for part in _parts(new, cancelled))
    with writing(connection):
        if connection.execute("SELECT 1 FROM points WHERE id = ?", (point.id,)).fetchone() is None:
            last = None if in_line else point.time
            if in_line and newest is not None:
                _end(connection, point.root, [(path, old) for path, old, _ in changes if old], newest)
            if in_line:
                connection.execute("INSERT OR REPLACE INTO line VALUES (?, ?, ?)", (point.root, point.time, tree))
            _begin(connection, new, Stay(point.root, point.time, last))
            connection.execute("INSERT INTO points VALUES (?, ?)", (point.id, point.root))
    return came


def _refuse_lost(connection: sqlite3.Connection, objects: Objects) -> None:
    """Begins a root anew whose newest files are stored no longer: what came since cannot be told from what was."""
    for root, tree in connection.execute("SELECT root, tree FROM line").fetchall():
        try:
            objects.raw_entries(tree)
        except StoreDamaged:
            with writing(connection):
                for table in ("line", "points", "stays"):
                    connection.execute(f"DELETE FROM {table} WHERE root = ?", (root,))


def _parts(found: Sequence[tuple[bytes, str]], cancelled: Callable[[], bool]) -> Iterator[Sequence[tuple[bytes, str]]]:
    for at in range(0, len(found), AT_ONCE):
        if cancelled():
            raise Cancelled
        yield found[at : at + AT_ONCE]


def _add(connection: sqlite3.Connection, objects: Objects, found: Iterable[tuple[bytes, str]]) -> int:
    """Takes in versions that are new."""
    words, came = has_words(connection), 0
    with writing(connection):
        for path, oid in found:
            done = connection.execute(
                "INSERT OR IGNORE INTO files (path, oid) VALUES (?, ?)", (path, bytes.fromhex(oid))
            )
            if done.rowcount == 1:
                came += 1
                if words:
                    connection.execute(
                        "INSERT INTO files_words (rowid, text) VALUES (?, ?)",
                        (done.lastrowid, fold(text_of(objects, path, oid))),
                    )
    return came


def text_of(objects: Objects, path: bytes, oid: str) -> str:
    """What is searched of a version: its path on a line, then its text, where it has one that is not too large."""
    return f"{path_text(path)}\n{content(objects, oid) or ''}"


def content(objects: Objects, oid: str) -> str | None:
    """The text of a file; None of what is binary, too large or not there any more."""
    with suppress(StoreDamaged):
        if objects.size(oid) <= LARGEST:
            data = objects.read(oid)
            if not is_binary(data):
                return data.decode("utf-8", "replace").replace("\0", "\u2400")
    return None


def _end(connection: sqlite3.Connection, root: str, old: Iterable[tuple[bytes, str]], newest: tuple[int, str]) -> None:
    connection.executemany(
        "UPDATE stays SET last = ? WHERE root = ? AND last IS NULL"
        " AND file = (SELECT id FROM files WHERE path = ? AND oid = ?)",
        [(newest[0], root, path, bytes.fromhex(oid)) for path, oid in old],
    )


def _begin(connection: sqlite3.Connection, new: Iterable[tuple[bytes, str]], stay: Stay) -> None:
    connection.executemany(
        "INSERT INTO stays SELECT id, ?, ?, ? FROM files WHERE path = ? AND oid = ?",
        [(*stay, path, bytes.fromhex(oid)) for path, oid in new],
    )


class Moments:
    """The checkpoints that there are, by root and time."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._points: dict[str, list[Row]] = {}
        for row in rows:
            self._points.setdefault(row.stored.checkpoint.root, []).append(row)
        self._times: Mapping[str, list[int]] = {
            root: [row.stored.checkpoint.time for row in those] for root, those in self._points.items()
        }

    def of(self, stay: Stay) -> list[Row]:
        """The checkpoints in which a version stands: what was deleted is none of them."""
        times = self._times.get(stay.root, [])
        end = len(times) if stay.last is None else bisect_right(times, stay.last)
        found = self._points.get(stay.root, [])[bisect_left(times, stay.first) : end]
        if stay.first == stay.last:
            return found
        return [row for row in found if row.stored.checkpoint.complete]


def _let_go(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Forgets versions that stood in deleted checkpoints alone. Their letters stay until the index is made anew, which
    a purge does at once."""
    moments = Moments(rows)
    kept: set[int] = set()
    over: set[int] = set()
    for file, root, first, last in connection.execute("SELECT file, root, first, last FROM stays"):
        (kept if moments.of(Stay(root, first, last)) else over).add(file)
    with writing(connection):
        numbers = [(file,) for file in over - kept]
        connection.executemany("DELETE FROM stays WHERE file = ?", numbers)
        connection.executemany("DELETE FROM files WHERE id = ?", numbers)
