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
from ..forms.belonging import Belonging
from ..forms.jsonl import LONGEST, Unreadable, from_raw, lines, nanoseconds
from ..forms.regular import descriptor, on_disk, open_regular, why
from ..forms.uncollected import uncollected
from . import config_home
from .faces import face
from .filenames import ENDING, rollout
from .records import META, Base, body_of, kind_of, records

AGENT = "codex"
WINDOW = 64 << 10
_CWD = re.compile(rb"(?:<cwd>|Current working directory: )([^<\n\\\"]+)")
_STAMP = b'"timestamp":"'
_BY_USER, _ABOUT = b'"role":"user"', 300
"""What a message in the person's role has near its beginning."""
_COMPRESSED = ".zst"
"""What ends the name of a file that was put away compressed, where the person switched that on (formats 2.1)."""


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
    problem: str = ""
    whole: bool = False
    """Nothing more can be learned from the beginning …"""
    stamp_of_file: tuple[int, int] = (0, 0)
    """… or else only when the file has changed since."""

    @property
    def name(self) -> str:
        return os.path.basename(self.file)


@dataclass(slots=True)
class _Heads:
    """The beginnings that were seen in this process."""

    known: dict[str, Head] = field(default_factory=dict[str, Head])


_heads = _Heads()


def heads() -> list[Head]:
    """The beginnings of all session files, the oldest file first."""
    found: list[Head] = []
    for file, inode in _files():
        head = _heads.known.get(file)
        if head is None or head.inode != inode or (not head.whole and head.stamp_of_file != _stamp_of(file)):
            head = _heads.known[file] = _look(file, inode)
        found.append(head)
    # After a crash a file can stand in both folders, or compressed beside itself: the first one counts.
    found.sort(key=lambda head: head.file.endswith(_COMPRESSED))
    unique = {head.name.removesuffix(_COMPRESSED): head for head in reversed(found)}
    return sorted(unique.values(), key=lambda head: (head.stamp, head.name))


def day_of(moment: datetime | None = None) -> str:
    """The folder of the sessions that begin on a day, by default today; local time, as the names of files are."""
    day = moment or datetime.now()
    return os.path.join(folders()[0], f"{day:%Y}", f"{day:%m}", f"{day:%d}")


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, not under a nested root; the newest first."""
    with uncollected():
        return _sessions(Belonging(root, nested))


def _sessions(here: Belonging) -> list[SessionInfo]:
    known = heads()
    threads = {head.thread for head in known}
    mine = [head for head in known if _belongs(head, here) and (not head.parent or head.parent not in threads)]
    names = _names_given()
    files = {head.id for head in known}
    infos = [_info(family, here, names, files) for family in _families(mine)]
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
    named = dict.fromkeys((*sorted(before), *wanted, *inside))
    return [on_disk(file) for file in named if not file.endswith(_COMPRESSED)]


def cwd_of(thread: str) -> str:
    """The folder that a thread was started in; "" when none of its files is there."""
    return next((head.cwd for head in heads() if head.thread == thread), "")


def in_turn(thread: str) -> bool:
    """Whether the newest turn of a thread has begun and not ended, as far as the end of its newest file tells."""
    file = next((head.file for head in reversed(heads()) if head.thread == thread), "")
    try:
        with open_regular(file) as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - WINDOW))
            tail = opened.read()
    except OSError:
        return False
    ends = (b'"type":"task_complete"', b'"type":"turn_complete"', b'"type":"turn_aborted"')
    return max(map(tail.rfind, ends)) < max(tail.rfind(b'"type":"task_started"'), tail.rfind(b'"type":"turn_started"'))


def _belongs(head: Head, here: Belonging) -> bool:
    """Whether a session is one of the root.

    A file that tells no folder could be of any root, and is listed in each. One that tells a folder that is not there,
    since it was moved or is another machine's, belongs to the root of the same name.
    """
    return not head.cwd or here.has(head.cwd) or (_is_away(head.cwd) and _name(head.cwd) == _name(here.root))


def _is_away(cwd: str) -> bool:
    return not os.path.isabs(cwd) or not os.path.exists(cwd)


def _name(folder: str) -> str:
    """The last part of a path of any system."""
    return folder.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _files() -> Iterator[tuple[str, int]]:
    """Every session file with its inode."""
    days, away = folders()
    for folder in (*_days(days), away):
        for item in _scan(folder):
            if item.name.endswith((ENDING, f"{ENDING}{_COMPRESSED}")):
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


def _look(file: str, inode: int) -> Head:
    """What the first 64 KiB tell; more is read only when the first record alone is larger."""
    name = rollout(file)
    head = Head(file, name.id, name.thread, name.stamp, inode)
    try:
        data, head.stamp_of_file = _beginning(file)
    except OSError as error:
        head.problem = why(error)
        return head
    if file.endswith(_COMPRESSED):
        head.problem = f"its file is compressed: codex resume {clean(head.thread)} makes it readable"
        return head
    if data:
        _read_head(head, data)
        head.whole = bool(head.cwd and head.prompt) or len(data) >= WINDOW
    if not head.cwd:
        head.problem = "nothing in its file tells its folder" if data.strip(b"\0 \t\r\n") else "its file is empty"
    return head


def _beginning(file: str) -> tuple[bytes, tuple[int, int]]:
    """The first 64 KiB, and size and time of the file before it was read."""
    opened = descriptor(file)
    try:
        status = os.fstat(opened)
        data = os.read(opened, WINDOW)
    finally:
        os.close(opened)
    stamp = (status.st_size, status.st_mtime_ns)
    if b"\n" in data or len(data) < WINDOW:
        return data, stamp
    with open_regular(file) as stream:
        # Instructions of a person's own can make the first line alone larger.
        return stream.readline(LONGEST) + stream.read(WINDOW), stamp


def _stamp_of(file: str) -> tuple[int, int]:
    """Size and time of a file; zeros when there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)


def _read_head(head: Head, data: bytes) -> None:
    """Whose the file is and its first prompt; of all lines before that, most tell nothing and are not looked into."""
    cut = data.rfind(b"\n") + 1
    data = data[:cut] or data
    for line in _telling(data):
        _note(head, line)
        if head.prompt:
            break
    if not (head.cwd and head.prompt):
        _note(head, data)
    if not head.cwd:
        found = _CWD.search(data)
        head.cwd = found[1].decode("utf-8", "surrogateescape").strip() if found else ""


def _telling(data: bytes) -> Iterator[bytes]:
    """The first line, and every one that holds a message in the person's role."""
    end = data.find(b"\n") % (len(data) + 1)
    yield data[:end]
    while (at := data.find(_BY_USER, end)) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at) % (len(data) + 1)
        if at - start < _ABOUT:
            yield data[start:end]


def _note(head: Head, data: bytes) -> None:
    own = bool(head.cwd)
    for _, _, line in records(BytesIO(data)):
        if isinstance(line, Unreadable):
            continue
        kind, body = kind_of(line), body_of(line)
        if kind == META:
            # A fork repeats the first line of its source: the first one is the file's own.
            if not own:
                _read_meta(head, body.cwd, body.parent, body.forked_from, body.base, from_raw(body.source))
            own = True
        if not head.cwd and body.cwd is not None and "\0" not in body.cwd:
            head.cwd = body.cwd
        shown = face(kind, body, "")
        if shown is None:
            continue
        head.first = head.first or body.id or body.call or ""
        if shown.kind == "prompt":
            head.prompt = shown.text
            break


def _read_meta(
    head: Head, cwd: str | None, parent: str | None, forked: str | None, base: Base | None, source: object
) -> None:
    head.cwd = "" if cwd is None or "\0" in cwd else cwd
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


def _info(family: list[Head], here: Belonging, names: dict[str, str], files: set[str]) -> SessionInfo:
    """A family as a list shows it."""
    oldest = family[0]
    tails = [_tail(head) for head in family]
    title = names.get(oldest.thread) or next((head.prompt for head in family if head.prompt), "")
    return SessionInfo(
        id=oldest.thread,
        agent=AGENT,
        title=title or oldest.thread[:8],
        updated=max(updated for _, updated in tails),
        bytes=sum(size for size, _ in tails),
        files=tuple(head.file for head in family),
        ids=tuple(head.thread for head in family),
        cwd=oldest.cwd or here.root,
        problem=next((problem for head in family if (problem := _problem(head, here, files))), ""),
    )


def _problem(head: Head, here: Belonging, files: set[str]) -> str:
    if head.problem:
        return head.problem
    if head.base and head.base not in files:
        return f"the file that it goes on from is gone ({clean(head.base)})"
    if not here.has(head.cwd):
        return f"it was started in {clean(head.cwd)}, which is not there"
    return ""


def _tail(head: Head) -> tuple[int, int]:
    """Size and newest time of a file, from its last 64 KiB; zeros when it cannot be read.

    What tells no folder has no time, so that it is never taken for the newest session.
    """
    try:
        opened = descriptor(head.file)
    except OSError:
        return 0, 0
    try:
        status = os.fstat(opened)
        tail = os.pread(opened, WINDOW, max(0, status.st_size - WINDOW))
    except OSError:
        return 0, 0
    finally:
        os.close(opened)
    if not head.cwd:
        return status.st_size, 0
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
