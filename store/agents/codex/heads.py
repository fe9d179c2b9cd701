"""The beginnings of Codex CLI's session files: whose each is, where it was begun, and what it goes on from.

Its folders are those of days, not of projects, so every file has to be looked into: at its first 64 KiB, and only once,
since the beginning of a file never changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO

import msgspec

from ...text import clean
from ..forms.jsonl import LONGEST, Unreadable, from_raw
from ..forms.regular import descriptor, open_regular, why
from .faces import face
from .filenames import ENDING, rollout
from .places import folders, folders_in, scan
from .records import META, Base, body_of, kind_of, records

WINDOW = 64 << 10
COMPRESSED = ".zst"
"""What ends the name of a file that was put away compressed, where the person switched that on (formats 2.1)."""
_CWD = re.compile(rb"(?:<cwd>|Current working directory: )([^<\n\\\"]+)")
_BY_USER, _ABOUT = b'"role":"user"', 300
"""What a message in the person's role has near its beginning."""


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
    found.sort(key=lambda head: head.file.endswith(COMPRESSED))
    unique = {head.name.removesuffix(COMPRESSED): head for head in reversed(found)}
    return sorted(unique.values(), key=lambda head: (head.stamp, head.name))


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


def _files() -> Iterator[tuple[str, int]]:
    """Every session file with its inode."""
    days, away = folders()
    for folder in (*_days(days), away):
        for item in scan(folder):
            if item.name.endswith((ENDING, f"{ENDING}{COMPRESSED}")):
                try:
                    yield item.path, item.inode()
                except OSError:
                    continue


def _days(top: str) -> Iterator[str]:
    """The folders of days: year, month, day."""
    for year in folders_in(top):
        for month in folders_in(year):
            yield from folders_in(month)


def _look(file: str, inode: int) -> Head:
    """What the first 64 KiB tell; more is read only when the first record alone is larger."""
    name = rollout(file)
    head = Head(file, name.id, name.thread, name.stamp, inode)
    try:
        data, head.stamp_of_file = _beginning(file)
    except OSError as error:
        head.problem = why(error)
        return head
    if file.endswith(COMPRESSED):
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
