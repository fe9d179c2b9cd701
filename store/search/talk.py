"""What was said and done: the texts of all entries of the sessions, taken into the index as the sessions grow."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .. import agents
from ..conversation import tree
from ..errors import StoreDamaged
from ..model import Conversation, Entry, SessionInfo, SessionTree
from .index import Cancelled, has_words, writing
from .wanted import fold

if TYPE_CHECKING:
    from ..agents.base import Agent, Source
    from ..workspace import Workspace

AT_ONCE = 4 << 20
"""Letters of texts that are written in one go: others who write wait for no longer than that takes."""
PLAIN = 200
"""Letters up to which a text is kept as it is, uncompressed."""


@dataclass(frozen=True, slots=True)
class _Text:
    """An entry that is new, or another one than it was."""

    entry: Entry
    sign: bytes
    text: str


def take(workspace: Workspace, connection: sqlite3.Connection, info: SessionInfo, cancelled: Callable[[], bool]) -> int:
    """Brings what the index has of a session to what the session is now; gives how many texts came or changed."""
    with workspace.lock:
        sources = workspace.sources(info)
        acts = [act for act in workspace.acts() if act.session in info.keys]
        place = workspace.place
    stamp = _stamp(info, sources, [act.id for act in acts])
    known = connection.execute("SELECT id, stamp FROM sessions WHERE key = ?", (info.key,)).fetchone()
    if known is not None and known[1] == stamp:
        return 0
    conversation = workspace.held(info, sources) or agents.get(info.agent).read(info, sources)
    branch_of = _branches(tree.build(conversation, (), acts, (), place.root.id if place else ""))
    if known is None:
        connection.execute("INSERT OR IGNORE INTO sessions (key, stamp) VALUES (?, '')", (info.key,))
    (session,) = connection.execute("SELECT id FROM sessions WHERE key = ?", (info.key,)).fetchone()
    had = {
        entry: (number, sign, branch)
        for number, entry, sign, branch in connection.execute(
            "SELECT id, entry, sign, branch FROM said WHERE session = ?", (session,)
        )
    }
    there = {entry.id for entry in conversation.entries}
    with writing(connection):
        _let_go(connection, [number for entry, (number, _, _) in had.items() if entry not in there])
    came = 0
    for batch in _batches(_changed(workspace, conversation, sources, had, cancelled)):
        with writing(connection):
            _let_go(connection, [had[item.entry.id][0] for item in batch if item.entry.id in had])
            _add(connection, session, batch, branch_of)
        came += len(batch)
    moved = [
        (branch_of.get(entry, ""), number)
        for entry, (number, _, branch) in had.items()
        if branch != branch_of.get(entry, "")
    ]
    with writing(connection):
        connection.executemany("UPDATE said SET branch = ? WHERE id = ?", moved)
        connection.execute("UPDATE sessions SET stamp = ? WHERE id = ?", (stamp, session))
    return came


def indexed(connection: sqlite3.Connection) -> set[str]:
    """Keys of the sessions that were taken in."""
    return {key for (key,) in connection.execute("SELECT key FROM sessions WHERE stamp != ''")}


def let_go_of_others(connection: sqlite3.Connection, infos: Sequence[SessionInfo]) -> None:
    """Lets sessions go that are not there any more."""
    keys = {info.key for info in infos}
    for session, key in connection.execute("SELECT id, key FROM sessions").fetchall():
        if key not in keys:
            numbers = [number for (number,) in connection.execute("SELECT id FROM said WHERE session = ?", (session,))]
            with writing(connection):
                _let_go(connection, numbers)
                connection.execute("DELETE FROM sessions WHERE id = ?", (session,))
    for (key,) in connection.execute("SELECT key FROM told").fetchall():
        if key not in keys:
            connection.execute("DELETE FROM told WHERE key = ?", (key,))


def unpacked(data: bytes | str) -> str:
    """A text as it is kept in the index."""
    return data if isinstance(data, str) else zlib.decompress(data).decode()


def _changed(
    workspace: Workspace,
    conversation: Conversation,
    sources: Sequence[Source],
    had: Mapping[str, tuple[int, bytes, str]],
    cancelled: Callable[[], bool],
) -> Iterator[_Text]:
    """The entries that the index has not, or has otherwise. What only grows is known by its place, without reading."""
    module = agents.get(conversation.info.agent)
    grows = {source.name for source in sources if source.grows}
    with _Files(workspace, sources) as files:
        for entry in conversation.entries:
            if cancelled():
                raise Cancelled
            told = had.get(entry.id)
            sign = _sign(repr((entry.kind, entry.text, entry.span)))
            if entry.span is None or entry.span.file in grows:
                if told is None or told[1] != sign:
                    yield _Text(entry, sign, _whole(module, entry, files))
                continue
            text = _whole(module, entry, files)
            sign = _sign(entry.kind + text)
            if told is None or told[1] != sign:
                yield _Text(entry, sign, text)


def _branches(built: SessionTree) -> dict[str, str]:
    """The branch of each entry; what a sub-agent did is on that of the call which started it."""
    found = dict(built.branch_of)
    calls = {
        name: entry for entry in built.entries if entry.kind == "tool_call" for name in (entry.id, entry.call) if name
    }
    for entry in built.entries:
        above, seen = entry, {entry.id}
        while above.id not in found and above.under in calls and calls[above.under].id not in seen:
            above = calls[above.under]
            seen.add(above.id)
        if above.id in found:
            found[entry.id] = found[above.id]
    return found


def _whole(module: Agent, entry: Entry, files: _Files) -> str:
    """All the text of an entry, as the detail shows it."""
    if entry.span is None:
        return entry.text
    with suppress(OSError, StoreDamaged):
        blocks = [block for block in module.blocks(entry, files.open) if block.kind != "image"]
        return "\n".join(part for block in blocks for part in (block.title, block.text) if part) or entry.text
    return entry.text


def _sign(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _stamp(info: SessionInfo, sources: Sequence[Source], acts: Sequence[str]) -> str:
    told = repr((info.keys, [(source.name, *source.stamp()) for source in sources], acts))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _batches(texts: Iterator[_Text]) -> Iterator[list[_Text]]:
    batch: list[_Text] = []
    length = 0
    for item in texts:
        batch.append(item)
        length += len(item.text)
        if length > AT_ONCE:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _add(connection: sqlite3.Connection, session: int, batch: Sequence[_Text], branch_of: Mapping[str, str]) -> None:
    words = has_words(connection)
    for item in batch:
        entry = item.entry
        branch = branch_of.get(entry.id, "")
        told = (entry.id, entry.kind, entry.flavour, entry.tool, entry.time, entry.turn, branch, item.sign)
        done = connection.execute(
            "INSERT OR IGNORE INTO said (session, entry, kind, flavour, tool, time, turn, branch, sign, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (session, *told, _packed(item.text)),
        )
        if words and done.rowcount == 1:
            connection.execute("INSERT INTO said_words (rowid, text) VALUES (?, ?)", (done.lastrowid, fold(item.text)))


def _packed(text: str) -> bytes | str:
    return text if len(text) <= PLAIN else zlib.compress(text.encode(), 1)


def _let_go(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Deletes texts, from the index of letters as well, which must be told what stood there."""
    words = has_words(connection)
    for number in numbers:
        if words:
            (text,) = connection.execute("SELECT text FROM said WHERE id = ?", (number,)).fetchone()
            connection.execute(
                "INSERT INTO said_words (said_words, rowid, text) VALUES ('delete', ?, ?)",
                (number, fold(unpacked(text))),
            )
        connection.execute("DELETE FROM said WHERE id = ?", (number,))


class _Files:
    """The files of a session while their entries are read: each is opened once, not once an entry."""

    def __init__(self, workspace: Workspace, sources: Sequence[Source]) -> None:
        self._workspace = workspace
        self._sources = {source.name: source for source in sources}
        self._open: dict[str, BinaryIO] = {}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._open.values():
            stream.close()

    def open(self, name: str) -> BinaryIO:
        """A file by the name that a span gives."""
        if name not in self._open:
            source = self._sources.get(name)
            if source is None:
                with self._workspace.lock:
                    return self._workspace.open_file(name)
            self._open[name] = source.open()
        stream = self._open[name]
        stream.seek(0)
        return cast("BinaryIO", _Lasting(stream))


class _Lasting:
    """A stream that whoever was handed it may close, and that stays open."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __enter__(self) -> BinaryIO:
        return cast("BinaryIO", self)

    def __exit__(self, *_: object) -> None:
        return None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        """Leaves it open."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
