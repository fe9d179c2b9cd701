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
OUTSIDE = "/outside"
"""Behind a root's id: the line of the files outside of it that agents' edit tools named."""
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
    point, came = row.stored.checkpoint, 0
    parts = [_part(connection, objects, row, key, tree, base) for key, tree, base in _trees(row)]
    for part in parts:
        came += sum(_add(connection, objects, some) for some in _some(part.new, cancelled))
    with writing(connection):
        if connection.execute("SELECT 1 FROM points WHERE id = ?", (point.id,)).fetchone() is None:
            for part in parts:
                _set_down(connection, part, point.root, point.time)
            connection.execute("INSERT INTO points VALUES (?, ?)", (point.id, point.root))
    return came


def _trees(row: Row) -> list[tuple[str, str, bytes]]:
    """What a checkpoint holds: a name for its line, the tree, and how paths in it begin."""
    stored = row.stored
    return [
        (stored.checkpoint.root, stored.files, b""),
        (stored.checkpoint.root + OUTSIDE, stored.outside or EMPTY_TREE, b"/"),
    ]


class _Part(NamedTuple):
    """What differs in a checkpoint from the one before."""

    line: str
    tree: str
    before: int
    """Time of the checkpoint that it was compared with; 0 where there was none."""
    in_line: bool
    """Whether it is the newest one of its root, and complete: later ones are compared with it."""
    old: list[tuple[bytes, str]]
    new: list[tuple[bytes, str]]


def _part(connection: sqlite3.Connection, objects: Objects, row: Row, line: str, tree: str, base: bytes) -> _Part:
    point = row.stored.checkpoint
    time, before = connection.execute("SELECT time, tree FROM line WHERE name = ?", (line,)).fetchone() or (
        0,
        EMPTY_TREE,
    )
    changes = list(tree_changes(objects, before if point.complete else EMPTY_TREE, tree))
    return _Part(
        line,
        tree,
        time,
        point.complete and time < point.time,
        [(base + path, old[1]) for path, old, _ in changes if old],
        [(base + path, new[1]) for path, _, new in changes if new and new[0] != LINK],
    )


def _set_down(connection: sqlite3.Connection, part: _Part, root: str, time: int) -> None:
    if part.in_line:
        _end(connection, root, part.old, part.before)
        connection.execute("INSERT OR REPLACE INTO line VALUES (?, ?, ?, ?)", (part.line, root, time, part.tree))
    _begin(connection, part.new, Stay(root, time, None if part.in_line else time))


def _refuse_lost(connection: sqlite3.Connection, objects: Objects) -> None:
    """Begins a root anew whose newest files are stored no longer: what came since cannot be told from what was."""
    for root, tree in connection.execute("SELECT root, tree FROM line").fetchall():
        try:
            objects.raw_entries(tree)
        except StoreDamaged:
            with writing(connection):
                for table in ("line", "points", "stays"):
                    connection.execute(f"DELETE FROM {table} WHERE root = ?", (root,))


def _some(found: Sequence[tuple[bytes, str]], cancelled: Callable[[], bool]) -> Iterator[Sequence[tuple[bytes, str]]]:
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


def _end(connection: sqlite3.Connection, root: str, old: Iterable[tuple[bytes, str]], last: int) -> None:
    connection.executemany(
        "UPDATE stays SET last = ? WHERE root = ? AND last IS NULL"
        " AND file = (SELECT id FROM files WHERE path = ? AND oid = ?)",
        [(last, root, path, bytes.fromhex(oid)) for path, oid in old],
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
