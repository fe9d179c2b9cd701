"""Looking for words in the index, the newest first, and showing where they stand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..catalog.content import Row
from ..git.compare import is_binary
from ..git.reader import Objects
from ..hook import session_key
from ..model import FileText, Hit, SessionInfo
from ..resolve import FILES
from ..text import clean
from . import versions
from .index import Cancelled, has_words
from .talk import unpacked
from .versions import Moments, Stay
from .wanted import Wanted, wanted

BEFORE, EXCERPT = 60, 240
"""Letters of a line that are shown before the words, and in all."""
LINES = 8
"""Lines around it that are shown where there is room."""
COLUMNS = "sessions.key, entry, kind, flavour, tool, time, turn, branch, said.text"


def in_talk(
    connection: sqlite3.Connection,
    looked_for: Wanted,
    kinds: Sequence[str],
    infos: Mapping[str, SessionInfo],
    cancelled: Callable[[], bool],
) -> Generator[Hit]:
    """Entries that hold all the words, those that were indexed last first."""
    match = looked_for.match if has_words(connection) else ""
    among = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
    if match:
        query = (
            f"SELECT {COLUMNS} FROM said_words JOIN said ON said.id = said_words.rowid"
            f" JOIN sessions ON sessions.id = said.session WHERE said_words MATCH ?{among}"
            " ORDER BY said_words.rowid DESC"
        )
    else:
        query = (
            f"SELECT {COLUMNS} FROM said JOIN sessions ON sessions.id = said.session WHERE 1{among}"
            " ORDER BY said.id DESC"
        )
    for key, *told, data in connection.execute(query, (*([match] if match else []), *kinds)):
        if cancelled():
            raise Cancelled
        text = unpacked(data)
        info = infos.get(key)
        if info is not None and looked_for.held_by(text):
            yield _of_entry(looked_for, info, told, text)


def _of_entry(looked_for: Wanted, info: SessionInfo, told: Sequence[Any], text: str) -> Hit:
    entry, kind, flavour, tool, time, turn, branch = told
    return Hit(
        kind=kind,
        time=time,
        session=info.key,
        agent=info.agent,
        title=info.title,
        entry=entry,
        branch=branch,
        flavour=flavour,
        tool=tool,
        turn=turn,
        **_shown(looked_for, text),
    )


def in_files(
    connection: sqlite3.Connection,
    looked_for: Wanted,
    objects: Objects,
    rows: Sequence[Row],
    infos: Mapping[str, SessionInfo],
    cancelled: Callable[[], bool],
) -> Generator[Hit]:
    """Files of checkpoints that hold all the words, in their names or inside; of each path the newest version."""
    match = looked_for.match if has_words(connection) else ""
    query = "SELECT id, path, oid FROM files ORDER BY id DESC"
    if match:
        query = (
            "SELECT id, path, oid FROM files_words JOIN files ON files.id = files_words.rowid"
            " WHERE files_words MATCH ? ORDER BY files_words.rowid DESC"
        )
    moments, seen = Moments(rows), set[bytes]()
    stays = connection.cursor()
    for number, path, oid in connection.execute(query, (match,) if match else ()):
        if cancelled():
            raise Cancelled
        if path in seen:
            continue
        text = versions.text_of(objects, path, oid.hex())
        if looked_for.held_by(text):
            found = stays.execute("SELECT root, first, last FROM stays WHERE file = ?", (number,)).fetchall()
            points = [row for stay in found for row in moments.of(Stay(*stay))]
            if points:
                seen.add(path)
                yield _of_file(looked_for, path, points, text, infos)


def _of_file(
    looked_for: Wanted, path: bytes, points: Sequence[Row], text: str, infos: Mapping[str, SessionInfo]
) -> Hit:
    """The version at the checkpoint that saw it first."""
    first = min((row.stored.checkpoint for row in points), key=lambda point: point.time)
    key = session_key(first.agent, first.session) if first.session else ""
    info = next((info for info in infos.values() if key and key in info.keys), None)
    name, _, inside = text.partition("\n")
    shown = _shown(looked_for, inside, whole=looked_for.first(inside) >= 0)
    return Hit(
        kind="file",
        time=first.time,
        session=info.key if info else key or FILES,
        agent=info.agent if info else "",
        title=info.title if info else "",
        branch="",
        path=path,
        name=name,
        name_marks=tuple(looked_for.places(name)),
        point=first.id,
        until=max(row.stored.checkpoint.time for row in points),
        **shown,
    )


def _shown(looked_for: Wanted, text: str, *, whole: bool = True) -> dict[str, Any]:
    """The line on which the words stand, with the lines around it."""
    place = looked_for.first(text)
    if not whole or place < 0:
        return {"line": 0, "text": "", "marks": (), "before": (), "after": ()}
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    end = len(text) if end < 0 else end
    line = text.count("\n", 0, start) + 1
    left = start if place - start <= BEFORE or end - start <= EXCERPT else place - BEFORE
    right = min(end, left + EXCERPT)
    excerpt = ("…" if left > start else "") + text[left:right] + ("…" if right < end else "")
    shown, marks = cleaned(excerpt, looked_for)
    above = text[max(0, start - LINES * EXCERPT) : max(0, start - 1)].split("\n")[-LINES:] if start else []
    below = text[end + 1 : end + LINES * EXCERPT].split("\n")[:LINES] if end < len(text) else []
    return {
        "line": line,
        "text": shown,
        "marks": marks,
        "before": tuple(clean(item[:EXCERPT]) for item in above),
        "after": tuple(clean(item[:EXCERPT]) for item in below),
    }


def cleaned(text: str, looked_for: Wanted) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line that can be shown, and where the words stand in it then: what is made visible takes more room."""
    shown, marks, at = "", list[tuple[int, int]](), 0
    for start, end in looked_for.places(text):
        shown += clean(text[at:start])
        inside = clean(text[start:end])
        marks.append((len(shown), len(shown) + len(inside)))
        shown += inside
        at = end
    return shown + clean(text[at:]), tuple(marks)


def file_text(data: bytes, query: str) -> FileText:
    """The bytes of a file as lines to be shown, with the words of a query marked."""
    if is_binary(data):
        return FileText((f"binary, {len(data):,} bytes",), {})
    looked_for = wanted(query)
    lines: list[str] = []
    marks: dict[int, tuple[tuple[int, int], ...]] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines()):
        shown, found = cleaned(line.expandtabs(4), looked_for)
        lines.append(shown)
        if found:
            marks[number] = found
    return FileText(tuple(lines), marks)


def first(hits: Iterator[Hit], limit: int) -> tuple[list[Hit], bool]:
    """So many hits, and whether there are more."""
    found = list(islice(hits, limit + 1))
    return found[:limit], len(found) > limit
