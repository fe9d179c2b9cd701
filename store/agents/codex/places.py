"""Where Codex CLI keeps its sessions, and which of them belong to a root.

Its folders are those of days, not of projects, so every file's beginning tells whose it is. Listing is cheap: of each
file only the first and the last 64 KiB are looked at, and a beginning that was seen is not looked at again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO

import msgspec

from ...model import SessionInfo
from ...text import clean, first_line
from ..base import Source
from ..forms.jsonl import Unreadable, from_raw, lines, nanoseconds
from ..forms.regular import on_disk, open_regular
from .faces import face
from .filenames import rollout
from .home import config_home
from .records import META, Base, body_of, kind_of, records

AGENT = "codex"
WINDOW = 64 << 10
_LARGEST_FIRST_RECORD = 64 << 20
_CWD = re.compile(rb"(?:<cwd>|Current working directory: )([^<\n\\\"]+)")
_STAMP = b'"timestamp":"'


def folders() -> tuple[str, str]:
    """The folder of sessions, with a folder for each day in it, and that of sessions that were put away."""
    return os.path.join(config_home(), "sessions"), os.path.join(config_home(), "archived_sessions")


def watched() -> tuple[str, ...]:
    """Folders whose times change when a session begins: that of all, and the newest year, month and day."""
    found = [folders()[0]]
    while inner := _folders_in(found[-1]):
        found.append(inner[-1])
    return tuple(found)


@dataclass(slots=True)
class Head:
    """What the beginning of a session's file tells; it never changes."""

    file: str
    id: str
    """Of the file: what a `history_base` calls it."""
    thread: str
    """The session that the file belongs to."""
    stamp: str
    inode: int = 0
    cwd: str = ""
    parent: str = ""
    """The thread that started this one as a sub-agent."""
    forked_from: str = ""
    base: str = ""
    """Id of the file that it goes on from."""
    first: str = ""
    """Id of its first item: what copies of a history have in common."""
    prompt: str = ""
    whole: bool = False
    """Nothing more can be learned from the beginning."""

    @property
    def name(self) -> str:
        return os.path.basename(self.file)


@dataclass(slots=True)
class _Heads:
    """The beginnings that were seen in this process."""

    known: dict[str, Head] = field(default_factory=dict[str, Head])


_heads = _Heads()


def heads() -> list[Head]:
    """The beginnings of all session files, the oldest file first; one that tells nothing is left out."""
    found: list[Head] = []
    for file, inode in _files():
        head = _heads.known.get(file)
        if head is None or head.inode != inode or not head.whole:
            head = _look(file, inode)
            if head is None:
                continue
            _heads.known[file] = head
        found.append(head)
    # After a crash a file can stand in both folders: the first one counts.
    unique = {head.name: head for head in reversed(found)}
    return sorted(unique.values(), key=lambda head: (head.stamp, head.name))


def day_of(moment: datetime | None = None) -> str:
    """The folder of the sessions that begin on a day, by default today; local time, as the names of files are."""
    day = moment or datetime.now()
    return os.path.join(folders()[0], f"{day:%Y}", f"{day:%m}", f"{day:%d}")


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, not under a nested root; the newest first."""
    real = os.path.realpath(root)
    inner = [folder for folder in map(os.path.realpath, nested) if is_under(folder, real)]
    known = heads()
    threads = {head.thread for head in known}
    mine = [
        head for head in known if _belongs(head.cwd, real, inner) and (not head.parent or head.parent not in threads)
    ]
    names = _names_given()
    files = {head.id for head in known}
    infos = [info for family in _families(mine) if (info := _info(family, names, files)) is not None]
    return sorted(infos, key=lambda info: (-info.updated, info.id))


def sources_of(info: SessionInfo) -> list[Source]:
    """Every file of a session: those it goes on from, wherever they were begun, its own, and its sub-agents'."""
    known = heads()
    by_id = {head.id: head for head in known}
    wanted = dict.fromkeys(info.files)
    threads = set(info.ids)
    before: dict[str, None] = {}
    waiting = [head for head in known if head.file in wanted]
    while waiting:
        head = waiting.pop()
        base = by_id.get(head.base)
        if base is not None and base.file not in wanted and base.file not in before:
            before[base.file] = None
            threads.add(base.thread)
            waiting.append(base)
    inside: dict[str, None] = {}
    for head in known:  # a sub-agent begins after the one that started it
        if head.parent in threads and head.file not in wanted:
            inside[head.file] = None
            threads.add(head.thread)
    return [on_disk(file) for file in dict.fromkeys((*sorted(before), *wanted, *inside))]


def is_under(path: str, root: str) -> bool:
    """Whether a path is a folder or lies under it; both are taken as they are written."""
    return bool(path) and (path == root or path.startswith(root.rstrip(os.sep) + os.sep))


def cwd_of(thread: str) -> str:
    """The folder that a thread was started in; "" when none of its files is there."""
    return next((head.cwd for head in heads() if head.thread == thread), "")


def _belongs(cwd: str, root: str, nested: list[str]) -> bool:
    if not cwd:
        return False
    real = os.path.realpath(cwd)
    return is_under(real, root) and not any(is_under(real, folder) for folder in nested)


def _files() -> Iterator[tuple[str, int]]:
    """Every session file with its inode."""
    days, away = folders()
    for folder in (*_days(days), away):
        for item in _scan(folder):
            if item.name.endswith(".jsonl") and rollout(item.name) is not None:
                try:
                    yield item.path, item.inode()
                except OSError:
                    continue


def _days(top: str) -> Iterator[str]:
    """The folders of days: year, month, day."""
    for year in _folders_in(top):
        for month in _folders_in(year):
            yield from _folders_in(month)


def _folders_in(folder: str) -> list[str]:
    return sorted(item.path for item in _scan(folder) if item.name.isdigit() and item.is_dir())


def _scan(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            yield from items
    except OSError:
        return


# ---- the beginning of a file


def _look(file: str, inode: int) -> Head | None:
    """What the first 64 KiB tell; more is read only when the first record alone is larger. None for an empty file."""
    name = rollout(file)
    if name is None:
        return None
    head = Head(file, name.id, name.thread, name.stamp, inode)
    try:
        with open_regular(file) as opened:
            data = opened.read(WINDOW)
            while b"\n" not in data and (more := opened.read(len(data))) and len(data) < _LARGEST_FIRST_RECORD:
                data += more
    except OSError:
        return None
    if not data.strip(b"\0 \t\r\n"):
        return None
    _read_head(head, data)
    head.whole = bool(head.cwd and head.prompt) or len(data) >= WINDOW
    return head


def _read_head(head: Head, data: bytes) -> None:
    cut = data.rfind(b"\n") + 1
    own = False
    for _, _, line in records(BytesIO(data[:cut] or data)):
        if isinstance(line, Unreadable):
            continue
        kind, body = kind_of(line), body_of(line)
        if kind == META:
            # A fork repeats the first line of its source: the first one is the file's own.
            if not own:
                _read_meta(head, body.cwd, body.parent, body.forked_from, body.base, from_raw(body.source))
            own = True
        head.cwd = head.cwd or body.cwd or ""
        shown = face(kind, body, "")
        if shown is None:
            continue
        head.first = head.first or body.id or body.call or ""
        if shown.kind == "prompt":
            head.prompt = shown.text
            break
    if not head.cwd:
        found = _CWD.search(data)
        head.cwd = found[1].decode("utf-8", "surrogateescape").strip() if found else ""


def _read_meta(
    head: Head, cwd: str | None, parent: str | None, forked: str | None, base: Base | None, source: object
) -> None:
    head.cwd = cwd or ""
    head.parent = parent or ""
    head.forked_from = forked or ""
    head.base = (base.thread or "") if base is not None else ""
    if isinstance(source, dict) and not head.parent:
        told = msgspec.json.encode(source)
        found = re.search(rb'"parent_thread_id":"([^"]+)"', told)
        head.parent = found[1].decode() if found else ""


# ---- families


def _families(found: list[Head]) -> list[list[Head]]:
    """Files of one thread, and of threads that were forked from one another, the oldest file first."""
    leader: dict[str, str] = {}

    def lead(key: str) -> str:
        while (above := leader.setdefault(key, key)) != key:
            leader[key] = leader.setdefault(above, above)
            key = above
        return key

    owner = {head.id: head.thread for head in found}
    for head in found:
        # Forks of a session that is gone, or was begun elsewhere, belong together all the same.
        for other in (head.forked_from, owner.get(head.base, head.base)):
            if other:
                leader[lead(head.thread)] = lead(other)
        if head.first:
            leader[lead(f"item {head.first}")] = lead(head.thread)
    families: dict[str, list[Head]] = {}
    for head in found:
        families.setdefault(lead(head.thread), []).append(head)
    return list(families.values())


def _info(family: list[Head], names: dict[str, str], files: set[str]) -> SessionInfo | None:
    """A family as a list shows it; None when its files were taken away meanwhile."""
    seen = [(head, *tail) for head in family if (tail := _tail(head.file)) is not None]
    if not seen:
        return None
    oldest = seen[0][0]
    title = names.get(oldest.thread) or next((head.prompt for head, *_ in seen if head.prompt), "")
    lost = [head for head, *_ in seen if head.base and head.base not in files]
    return SessionInfo(
        id=oldest.thread,
        agent=AGENT,
        title=title or oldest.thread[:8],
        updated=max(updated for _, _, updated in seen),
        bytes=sum(size for _, size, _ in seen),
        files=tuple(head.file for head, *_ in seen),
        ids=tuple(head.thread for head, *_ in seen),
        cwd=oldest.cwd,
        problem=f"the file that it goes on from is gone ({lost[0].base})" if lost else "",
    )


def _tail(file: str) -> tuple[int, int] | None:
    """Size and newest time of a file, from its last 64 KiB; None when it is gone."""
    try:
        with open_regular(file) as opened:
            status = os.fstat(opened.fileno())
            opened.seek(max(0, status.st_size - WINDOW))
            tail = opened.read()
    except OSError:
        return None
    at = tail.rfind(_STAMP)
    newest = 0
    while at >= 0 and not newest:
        end = tail.find(b'"', at + len(_STAMP))
        newest = nanoseconds(tail[at + len(_STAMP) : end].decode("ascii", "replace")) if end > 0 else 0
        at = tail.rfind(_STAMP, 0, at)
    # The time of a fork's file is set back, and copying a file changes it: what the records say is better.
    return status.st_size, newest or status.st_mtime_ns


class _Named(msgspec.Struct):
    id: str
    thread_name: str


_named = msgspec.json.Decoder(_Named).decode


def _names_given() -> dict[str, str]:
    """The names of sessions, the last one of each counts."""
    found: dict[str, str] = {}
    try:
        with open_regular(os.path.join(config_home(), "session_index.jsonl")) as opened:
            for _, data, _ in lines(opened):
                try:
                    told = _named(data)
                except (msgspec.MsgspecError, RecursionError):
                    continue
                found[told.id] = first_line(clean(told.thread_name))
    except OSError:
        pass
    return found
