"""Which sessions of Gemini CLI belong to a root, and what each is read from.

Listing is cheap: of each file only the first and the last 64 KiB are looked at. One session may have several files: a
resume in a later minute begins a second one in which nothing is said, and a session of the old form goes on in a file
of lines beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import BinaryIO

import msgspec

from ...model import SessionInfo
from ...text import first_line, path_text
from ..base import Source
from ..forms.belonging import Belonging
from ..forms.families import families
from ..forms.regular import descriptor, names_in, open_regular, why
from . import NAME
from .faces import look
from .filenames import CHATS, is_session, started
from .places import hashed, project_folders
from .records import Line, Unreadable, messages_in, nanoseconds, read_json, records

WINDOW = 64 << 10
_LARGEST_FIRST_RECORD = 64 << 20
_TEXT = re.compile(rb'\s?("(?:[^"\\]|\\.)*")')
_TIME = re.compile(rb'\s?"([0-9T:.+-]{19,29}Z?)"')
_HEADER = {
    "id": re.compile(rb'"sessionId":\s?("(?:[^"\\]|\\.)*")'),
    "began": re.compile(rb'"startTime":\s?("[^"\\]{10,40}")'),
    "origin": re.compile(rb'"forkedFrom":\s?\{"sessionId":\s?("[^"\\]+")'),
}
_ID = re.compile(r"-([0-9A-Za-z]{8}(?:-[0-9a-f-]{27})?)\.jsonl?$")
_text = msgspec.json.Decoder(str).decode


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, not under a nested root; the newest first."""
    belonging = Belonging(root, nested)
    hashes = (hashed(root), hashed(belonging.root))
    found: list[_Seen] = []
    for folder, project in project_folders():
        cwd = project or (root if os.path.basename(folder) in hashes else "")
        if cwd and belonging.has(os.path.abspath(cwd)):
            found += [seen for file in session_files(folder) if (seen := _look(file, cwd)) is not None]
    infos = [_info(family) for family in _families(_one_of_each(found))]
    return sorted(infos, key=lambda info: (-info.updated, info.id))


def sources(info: SessionInfo) -> list[Source]:
    """Every file of a session: its own, further ones with the same id, and those of its sub-agents."""
    found: list[str] = []
    for file, session in zip(info.files, info.ids, strict=True):
        folder = os.path.dirname(file)
        others = [other for other in _files_of(folder, session) if other != file]
        older = [other for other in others if _age_of(other) < _age_of(file)]
        found += [*older, file, *(other for other in others if other not in older)]
    for file, session in zip(info.files, info.ids, strict=True):
        folder = os.path.join(os.path.dirname(file), session)
        found += [os.path.join(folder, name) for name in names_in(folder) if name.endswith((".jsonl", ".json"))]
    return [on_disk(file) for file in dict.fromkeys(found)]


def on_disk(file: str) -> Source:
    """A file as a source; one of the old form is written anew at each change."""
    if file.endswith(".json"):
        return Source(file, partial(open_regular, file), grows=False, ids=_ids)
    return Source(file, partial(open_regular, file))


def _ids(file: BinaryIO) -> frozenset[str]:
    """The messages of a session of the old form, each with how much it tells."""
    found = read_json(file.read())
    return frozenset(f"{line.id} {length}" for _, length, line in found[1]) if found is not None else frozenset()


def session_files(folder: str) -> list[str]:
    """The files of sessions of their own in a project's folder."""
    try:
        with os.scandir(os.path.join(folder, CHATS)) as items:
            return sorted(item.path for item in items if is_session(item.name))
    except OSError:
        return []


@dataclass(slots=True)
class _Seen:
    """What a glance at a session's file told."""

    file: str
    id: str
    bytes: int
    updated: int
    cwd: str
    first: str = ""
    """Id of its first message that is shown: copies of a conversation have it in common."""
    began: str = ""
    origin: str = ""
    """The session that it was forked from by us."""
    summary: str = ""
    prompt: str = ""
    problem: str = ""


def _look(file: str, cwd: str) -> _Seen | None:
    """The first and the last 64 KiB of a file; None for one in which nothing was said: a start leaves such behind."""
    try:
        opened = descriptor(file)
        try:
            status = os.fstat(opened)
            head = os.read(opened, WINDOW)
            seen = _Seen(file, "", status.st_size, status.st_mtime_ns, cwd)
            _look_at_head(seen, head, whole=len(head) >= status.st_size)
            while not seen.first and len(head) < min(status.st_size, _LARGEST_FIRST_RECORD):
                # The first record alone is larger than the window: a pasted file, a long prompt.
                more = os.read(opened, len(head))
                head += more
                _look_at_head(seen, head, whole=not more or len(head) >= status.st_size)
            tail = head if status.st_size <= WINDOW else os.pread(opened, WINDOW, status.st_size - WINDOW)
        finally:
            os.close(opened)
    except OSError as error:
        return _Seen(file, _id_in_name(file), 0, 0, cwd, problem=why(error))
    if not seen.first:
        if seen.id and len(head) == status.st_size and _is_a_start(head):
            return None
        seen.problem = "nothing of a conversation can be read" if head.strip(b"\0 \r\n") else "the file is empty"
    if not seen.id:
        seen.id = _id_in_name(file)
        seen.problem = seen.problem or "its header cannot be read"
    if file.endswith(".jsonl"):
        seen.id = _newest_in_lines(tail, "sessionId") or seen.id
        seen.summary = _newest_in_lines(tail, "summary")
    else:
        seen.summary = _newest(tail, "summary")
    # The time of a fork's file is set back, and copying a file changes it: what the records say is better.
    seen.updated = max(_stamp(tail, b'"lastUpdated":'), _stamp(tail, b'"timestamp":')) or seen.updated
    return seen


def _stamp(data: bytes, name: bytes) -> int:
    """The last time of a name, in nanoseconds since the epoch; 0 when there is none."""
    at = data.rfind(name)
    found = _TIME.match(data, at + len(name)) if at >= 0 else None
    return nanoseconds(found[1].decode()) if found else 0


def _is_a_start(data: bytes) -> bool:
    """Whether a file has whole lines alone, and none of a kind that is not known here."""
    lines = [line for _, _, line in records(BytesIO(data))]
    return data.endswith(b"\n") and not any(isinstance(line, Unreadable) for line in lines)


def _id_in_name(file: str) -> str:
    """What stands for the session of a file that does not tell it."""
    name = os.path.basename(file)
    found = _ID.search(name)
    return found[1] if found else path_text(name)


def _look_at_head(seen: _Seen, head: bytes, *, whole: bool) -> None:
    """Whose it is, where it comes from, its first message and its first prompt."""
    # The header is the first line; in the old form its names stand on lines of their own.
    header = head[: head.find(b"\n") + 1 or None] if seen.file.endswith(".jsonl") else head[:4096]
    for name, pattern in _HEADER.items():
        found = pattern.search(header)
        setattr(seen, name, _value(found[1]) if found else getattr(seen, name))
    for line in _messages(seen.file, head, whole):
        shown = look(line, seen.cwd).faces if line.id else ()
        if not shown or shown[0].kind == "notice":
            continue
        seen.first = seen.first or line.id or ""
        if shown[0].kind == "prompt" and not seen.prompt:
            seen.prompt = shown[0].text
            return


def _messages(file: str, head: bytes, whole: bool) -> Iterator[Line]:
    if file.endswith(".json"):
        found = read_json(head if whole else _closed(head))
        yield from (line for _, _, line in found[1]) if found is not None else ()
        return
    for offset, length, line in records(BytesIO(head)):
        if isinstance(line, Unreadable):
            continue
        told = line.messages if line.set is None else line.set.messages
        if line.id:
            yield line
        elif isinstance(told, list) and (len(told) > 1 or b"<session_context>" not in head[offset : offset + length]):
            yield from (inner for _, _, inner in messages_in(head[offset : offset + length]))


def _closed(head: bytes) -> bytes:
    """The beginning of a session of the old form, made whole after the last message that ends in it."""
    for end in (b"\n    },", b"},{", b"}, {"):
        cut = head.rfind(end)
        if cut > 0:
            return head[: head.index(b"}", cut) + 1] + b"]}"
    return head


def _newest_in_lines(data: bytes, name: str) -> str:
    """As `_newest`, for lines: only those are looked into that are headers or change one, however long others are."""
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end) + 1
        found = _newest(data[start:end], name) if data.startswith(_HEADERS, start) else ""
        if found:
            return found
        end = start - 1
    return ""


def _newest(data: bytes, name: str) -> str:
    """The last value of a name that stands in a header or in changes of one, not in a message."""
    mark = b'"%s":' % name.encode()
    at = data.rfind(mark)
    while at >= 0:
        before = data[data.rfind(b"\n", 0, at) + 1 : at]
        # In the old form, which is indented, the header's own names stand at the first level.
        own = before in (b"  ", b"{", b'{"$set":{')
        if own or (name != "sessionId" and before.startswith(_HEADERS) and b'"messages":' not in before):
            found = _TEXT.match(data, at + len(mark))
            return _value(found[1]) if found else ""
        at = data.rfind(mark, 0, at)
    return ""


_HEADERS = (b'{"$set":{"', b'{"sessionId":"')


def _value(text: bytes) -> str:
    try:
        return first_line(_text(text))
    except msgspec.DecodeError:
        return ""


def _one_of_each(found: list[_Seen]) -> list[_Seen]:
    """One file of each session: the one with the most in it; `sources` finds the others."""
    best: dict[str, _Seen] = {}
    for seen in found:
        other = best.get(seen.id)
        if other is None or (bool(seen.first), seen.file.endswith(".jsonl"), seen.bytes) > (
            bool(other.first),
            other.file.endswith(".jsonl"),
            other.bytes,
        ):
            best[seen.id] = seen
    return list(best.values())


def _files_of(folder: str, session: str) -> list[str]:
    """The files of a session with messages in them, the oldest first."""
    short = session[:8]
    found: list[str] = []
    for name in names_in(folder):
        if is_session(name) and name.endswith((f"-{short}.json", f"-{short}.jsonl")):
            seen = _look(os.path.join(folder, name), "")
            if seen is not None and seen.id == session:
                found.append(seen.file)
    return sorted(found, key=_age_of)


def _age_of(file: str) -> tuple[str, bool, str]:
    name = os.path.basename(file)
    return (started(name), name.endswith(".jsonl"), name)


def _families(found: list[_Seen]) -> list[list[_Seen]]:
    """Sessions with the same first message, or forked from one another, each family with its oldest first."""
    here = {seen.id for seen in found}

    def marks(seen: _Seen) -> list[str]:
        first = [f"message {seen.first}"] if seen.first else []
        return [seen.id, *first, *([seen.origin] if seen.origin in here else [])]

    return [sorted(family, key=_order) for family in families(found, marks)]


def _order(seen: _Seen) -> tuple[object, ...]:
    return (bool(seen.origin), started(os.path.basename(seen.file)), seen.began, seen.file)


def _info(family: list[_Seen]) -> SessionInfo:
    oldest = family[0]
    return SessionInfo(
        id=oldest.id,
        agent=NAME,
        title=oldest.summary or oldest.prompt or oldest.id[:8],
        updated=max(seen.updated for seen in family),
        bytes=sum(seen.bytes for seen in family),
        files=tuple(seen.file for seen in family),
        ids=tuple(seen.id for seen in family),
        cwd=oldest.cwd,
        problem=next((seen.problem for seen in family if seen.problem), ""),
    )


def session_of(file: str) -> str:
    """The session that a file belongs to; "" where that cannot be told."""
    seen = _look(file, "")
    if seen is not None:
        return seen.id
    try:
        with open_regular(file) as opened:
            found = _HEADER["id"].search(opened.readline(WINDOW))
    except OSError:
        return ""
    return _value(found[1]) if found else ""
