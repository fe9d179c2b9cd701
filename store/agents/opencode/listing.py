"""Which sessions of OpenCode belong to a root, and what each is read from.

A session stands in a database ("<database>#<session>"), in the JSON storage of earlier versions (its file), or it is a
fork of ours that OpenCode has not imported yet (its export). Forks have no pointer to their source: sessions that begin
with the same message, written at the same millisecond, are one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import msgspec

from ...model import SessionInfo
from ...text import clean, first_line
from ..base import Source
from ..forms.belonging import Belonging
from ..forms.jsonl import parse
from ..forms.plain import items, string, table
from ..forms.regular import names_in, open_regular
from . import NAME, data_home, database, storage
from .faces import prompt_text
from .places import databases, is_pending, pending_folder, split
from .records import Data, Json, decode_data, dumped, ids_in, nanoseconds, session_of
from .stored import Stored
from .tables import Unread, reading

UNREAD = "unread-"
"""Beginning of the id of the entry that stands for a database that cannot be read."""
_DEFAULT_TITLES = ("New session - ", "Child session - ")


@dataclass(slots=True)
class Found:
    """One session, as a list needs it."""

    file: str
    info: Json
    first: bytes
    text: bytes
    bytes: int

    @property
    def id(self) -> str:
        return string(self.info, "id") or session_of(self.file)

    @property
    def parent(self) -> str:
        return string(self.info, "parentID")

    @property
    def created(self) -> int:
        return nanoseconds(_time(self.info).get("created"))

    @property
    def updated(self) -> int:
        return nanoseconds(_time(self.info).get("updated")) or self.created or _written(self.file)


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, not under a nested root; the newest first.

    A database that cannot be read is told as one, at the end, without time.
    """
    problems: list[SessionInfo] = []
    found = list(_here(Belonging(root, nested), problems))
    here = {item.id for item in found}
    infos = [_info(family) for family in _families([item for item in found if item.parent not in here])]
    return [*sorted(infos, key=lambda info: (-info.updated, info.id)), *problems]


def has(file: str) -> bool:
    """Whether OpenCode still has what a session was read from."""
    path, session = split(file)
    return database.has(path, session) if session else os.path.exists(file)


def sources(info: SessionInfo) -> list[Source]:
    """A session's own sources, then those of its sub-agents."""
    main = [source_of(file) for file in info.files if not info.id.startswith(UNREAD)]
    if not main:
        return []
    below = _Below()
    wanted, children = list(zip(info.files, info.ids, strict=False)), dict[str, None]()
    for file, session in wanted:
        for child in below.of(file, session):
            if child not in children and child not in info.files:
                children[child] = None
                wanted.append((child, session_of(child)))
    return [*main, *(source_of(file) for file in children)]


class _Below:
    """Finds the sessions that a session started: those of its sub-agents."""

    def __init__(self) -> None:
        self._in_files: dict[str, list[str]] | None = None

    def of(self, file: str, session: str) -> list[str]:
        """What they are read from, in the same place as the session itself."""
        path, inside = split(file)
        if inside:
            return [f"{path}#{child}" for child in database.children(path, session)]
        if is_pending(file):
            # Its sub-agents' sessions are those of the session that it was forked from.
            return []
        if self._in_files is None:
            self._in_files = {}
            for other in storage.session_files(data_home()):
                if parent := string(storage.session_info(other), "parentID"):
                    self._in_files.setdefault(parent, []).append(other)
        return self._in_files.get(session, [])


def source_of(file: str) -> Source:
    """What a name of `SessionInfo.files` stands for."""
    path, session = split(file)
    if session:
        stored, stamper = Stored(path, session), partial(database.stamp, path, session)
        return Source(file, stored, grows=False, stamper=stamper, ids=ids_in)
    stamper = None
    if not is_pending(file):
        stamper = partial(storage.stamp, file)
    return Source(file, partial(open_file, file), grows=False, stamper=stamper, ids=ids_in)


def open_file(file: str) -> BinaryIO:
    """Opens the lines of a session. Raises OSError."""
    path, session = split(file)
    if session:
        return database.content(path, session)
    return storage.exported(file) if is_pending(file) else storage.content(file)


def _everything(problems: list[SessionInfo]) -> Iterator[tuple[str, Json]]:
    """Name and record of every session, each once: databases first, then older files, then forks that wait."""
    seen: set[str] = set()
    for path in databases():
        try:
            for info in database.sessions(path):
                if (session := string(info, "id")) not in seen:
                    seen.add(session)
                    yield f"{path}#{session}", info
        except Unread as error:
            problems.append(_problem(path, str(error)))
    for file in storage.session_files(data_home()):
        if session_of(file) not in seen:
            seen.add(session_of(file))
            yield file, {"id": session_of(file), **storage.session_info(file)}
    for file in _pending():
        if session_of(file) not in seen:
            yield file, _exported_info(file)


def _here(belonging: Belonging, problems: list[SessionInfo]) -> Iterator[Found]:
    """Sessions of a root, with their beginnings."""
    in_database: dict[str, dict[str, Json]] = {}
    for file, info in _everything(problems):
        path, session = split(file)
        folder = string(info, "directory") or ("" if session else storage.folder_of(file))
        if not belonging.has(folder):
            continue
        info = {**info, "directory": folder}
        if session:
            in_database.setdefault(path, {})[session] = info
        elif is_pending(file):
            yield Found(file, info, *_exported_beginning(file), os.path.getsize(file))
        else:
            yield Found(file, info, *storage.beginning(file), storage.size(file))
    for path, chosen in in_database.items():
        try:
            size = os.path.getsize(path)
            for item in database.listed(path, chosen):
                yield Found(f"{path}#{item.id}", item.info, item.first, item.text, int(size * item.share))
        except Unread as error:
            problems.append(_problem(path, str(error)))


def _families(found: list[Found]) -> list[list[Found]]:
    """Sessions that begin with the same message, each family with its oldest first."""
    families: dict[str, list[Found]] = {}
    for item in found:
        families.setdefault(_origin(item), []).append(item)
    return [sorted(family, key=lambda item: (_is_fork(item), item.created, item.id)) for family in families.values()]


def _origin(item: Found) -> str:
    """What copies of a history have in common: when their first message was written, and what it says.

    A fork of ours carries it along: one that begins before the first message has nothing else.
    """
    told = ours(item.info).get("origin")
    if isinstance(told, str) and told:
        return told
    message, part = _decoded(item.first), _decoded(item.text)
    if message.time is None or not message.time.created:
        return item.id
    told = dumped([message.role, message.time.created, part.type, part.text or part.prompt])
    return hashlib.sha256(told).hexdigest()


def _is_fork(item: Found) -> bool:
    """Whether a session was made by copying another one: of equally old ones it comes later."""
    return bool(ours(item.info)) or is_pending(item.file) or "(fork #" in string(item.info, "title")


def ours(info: Json) -> Json:
    """What a fork of ours says of itself, in its session's metadata."""
    return table(table(info.get("metadata")).get("forkpoint"))


def origin(file: str) -> str:
    """What a session has in common with copies of its history. Raises OSError."""
    path, session = split(file)
    if not session:
        info, (first, text) = storage.session_info(file), storage.beginning(file)
        if is_pending(file):
            info, (first, text) = _exported_info(file), _exported_beginning(file)
        return _origin(Found(file, info, first, text, 0))
    try:
        with reading(path) as tables:
            return _origin(Found(file, tables.session(session) or {}, *tables.beginning(session), 0))
    except Unread as error:
        raise OSError(5, str(error), file) from None


def _info(family: list[Found]) -> SessionInfo:
    oldest = family[0]
    title = string(oldest.info, "title")
    if not title or title.startswith(_DEFAULT_TITLES):
        title = prompt_text([_decoded(oldest.text)]) or title or oldest.id
    return SessionInfo(
        id=oldest.id,
        agent=NAME,
        title=first_line(title),
        updated=max(item.updated for item in family),
        bytes=sum(item.bytes for item in family),
        files=tuple(item.file for item in family),
        ids=tuple(item.id for item in family),
        cwd=string(oldest.info, "directory"),
    )


def _problem(path: str, why: str) -> SessionInfo:
    name = os.path.basename(path)
    uid = f"{UNREAD}{name}"
    return SessionInfo(uid, NAME, f"OpenCode's {name}", 0, 0, (path,), (uid,), problem=clean(why))


def _pending() -> list[str]:
    folder = pending_folder()
    return [os.path.join(folder, name) for name in names_in(folder) if name.endswith(storage.ENDING)]


def _export(file: str) -> Json:
    try:
        with open_regular(file) as stream:
            return parse(stream.read())
    except OSError:
        return {}


def _exported_info(file: str) -> Json:
    return {**table(_export(file).get("info")), "id": session_of(file)}


def _exported_beginning(file: str) -> tuple[bytes, bytes]:
    first = next(map(table, items(_export(file).get("messages"))), Json())
    part = next(map(table, items(first.get("parts"))), Json())
    return dumped(table(first.get("info"))), dumped(part)


def _written(file: str) -> int:
    """When a file was written; 0 for what is none."""
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0


def _decoded(data: bytes) -> Data:
    try:
        return decode_data(data) if data else Data()
    except (msgspec.DecodeError, RecursionError):
        return Data()


def _time(info: Json) -> Json:
    return table(info.get("time"))
