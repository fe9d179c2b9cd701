"""Which sessions of Pi belong to a root, and what each is read from.

Listing is cheap: of each file only the first and the last 64 KiB are looked at. Whatever folder a session is kept in,
what counts is the folder that its header names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO

from ...model import SessionInfo
from ...text import clean, first_line
from ..base import Source
from ..forms.belonging import Belonging
from ..forms.families import families
from ..forms.regular import descriptor, names_in, open_regular, why
from ..forms.uncollected import uncollected
from . import NAME, chosen_folder
from .faces import faces
from .notes import told
from .places import folder_name, session_of, sessions_home
from .records import NEWEST, Line, Unreadable, first_record, nanoseconds, old_id, records

WINDOW = 64 << 10
_BEGINNING = 20 << 10
"""Bytes that are looked at first: with the prompt for the model, the first one of the person is nearly always there."""
_STAMP = b'"timestamp":"'
_STAMPS = 3
"""How many of the last times are compared."""
_NAME = b'{"type":"session_info"'
HEADLESS = "it has no header: Pi itself would not open it"


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, but not under a nested root; the newest first.

    What cannot be read stands among them, with the reason, when it is where sessions of the root are kept.
    """
    here = Belonging(root, nested)
    name = folder_name(here.root)
    found: list[_Seen] = []
    with uncollected():
        for folder in _folders_of(here.root):
            own = os.path.basename(folder) == name
            found += [seen for seen in map(_look, _session_files(folder)) if _belongs(seen, here, own)]
        infos = [_info(family) for family in _families(found)]
    return sorted(infos, key=lambda info: (-info.updated, info.id))


def sources(info: SessionInfo) -> list[Source]:
    """The files of a session, the oldest first."""
    return [on_disk(file) for file in info.files]


def on_disk(file: str) -> Source:
    """A file as a source. Pi writes one of an old version anew when it opens it."""
    return Source(file, partial(open_regular, file), grows=_version(file) >= NEWEST, ids=told)


def header_of(file: str) -> Line | None:
    """The header of a session's file; None where there is none, or the file cannot be read."""
    try:
        with open_regular(file) as opened:
            header = first_record(opened.readline(WINDOW))
    except OSError:
        return None
    return header if header is not None and header.type == "session" else None


def _version(file: str) -> int:
    header = header_of(file)
    return NEWEST if header is None else header.version if header.version is not None else 1


@dataclass(slots=True)
class _Seen:
    """What a glance at a session's file told."""

    file: str
    id: str
    bytes: int
    updated: int
    cwd: str = ""
    began: int = 0
    origin: str = ""
    """File that it was copied from."""
    firsts: tuple[str, ...] = ()
    """Id and time of its first record and of its first prompt: what copies of it have in common."""
    copied: bool = False
    """Its first record is older than the file."""
    name: str = ""
    prompt: str = ""
    problem: str = ""


def _look(file: str) -> _Seen:
    """The first and the last 64 KiB of a file."""
    seen = _Seen(file, session_of(file), 0, 0)
    try:
        opened = descriptor(file)
    except OSError as error:
        seen.problem = why(error)
        return seen
    try:
        status = os.fstat(opened)
        size, seen.updated = status.st_size, status.st_mtime_ns
        seen.bytes = size
        head = os.read(opened, _BEGINNING)
        _look_at_head(seen, head, size)
        if not seen.prompt and len(head) < min(size, WINDOW):
            head += os.pread(opened, WINDOW - len(head), len(head))
            _look_at_head(seen, head, size)
        tail = os.pread(opened, WINDOW, size - WINDOW) if size > WINDOW else head
        if len(tail) < min(size, WINDOW):
            tail += os.pread(opened, WINDOW - len(tail), len(tail))
    except OSError as error:
        seen.problem = why(error)
        return seen
    finally:
        os.close(opened)
    if not tail.strip(b"\0 \t\r\n"):
        # Without a time, so that it is never taken for the newest session.
        seen.problem, seen.updated = "its file is empty", 0
        return seen
    _look_at_tail(seen, tail)
    if not seen.name and size > WINDOW:
        seen.name = _name_in(head)
    return seen


def _look_at_head(seen: _Seen, head: bytes, size: int) -> None:
    """Folder, origin, first record and first prompt. A line that is cut off is left out."""
    number = 0
    seen.firsts, seen.problem = (), HEADLESS
    whole = head if len(head) >= size else head[: head.rfind(b"\n") + 1]
    for _, _, line in records(BytesIO(whole)):
        if isinstance(line, Unreadable):
            continue
        if line.type == "session":
            if not number:
                seen.problem = ""
                seen.id = line.id or seen.id
                seen.cwd, seen.began = line.cwd, nanoseconds(line.timestamp)
                seen.origin = line.parent_session or line.branched_from or ""
            continue
        number += 1
        time = nanoseconds(line.timestamp)
        mark = f"{line.id or old_id(number)} {time}"
        if number == 1:
            seen.firsts = (mark,)
            seen.copied = 0 < time < seen.began
        message = line.message
        if message is not None and message.role == "user":
            seen.prompt = next((face.text for face in faces(line, seen.cwd) if face.kind == "prompt"), "")
            seen.firsts += (mark,)
            break


def _look_at_tail(seen: _Seen, tail: bytes) -> None:
    """The newest name and the newest time."""
    seen.name = _name_in(tail)
    stamps: list[int] = []
    place = tail.rfind(_STAMP)
    while place >= 0 and len(stamps) < _STAMPS:
        start = place + len(_STAMP)
        stamps.append(nanoseconds(tail[start : tail.find(b'"', start, start + 40)].decode("ascii", "replace")))
        place = tail.rfind(_STAMP, 0, place)
    # The time of a fork's file is set back, and copying a file changes it: what the records say is better.
    seen.updated = max(stamps, default=0) or seen.updated


def _name_in(data: bytes) -> str:
    """The newest name that a session got in some of its lines; "" when there is none, or it was taken away."""
    place = data.rfind(_NAME)
    while place >= 0:
        end = data.find(b"\n", place)
        line = first_record(data[place : end if end >= 0 else len(data)])
        if line is not None and line.name is not None:
            return first_line(line.name)
        place = data.rfind(_NAME, 0, place)
    return ""


def _belongs(seen: _Seen, here: Belonging, own: bool) -> bool:
    """Whether a session is one of the root; `own`: its file stands where Pi looks for those of the root."""
    if not seen.cwd:
        seen.cwd = here.root
        return own
    if here.has(seen.cwd):
        return True
    if own and (not os.path.isabs(seen.cwd) or folder_name(seen.cwd) != folder_name(here.root)):
        seen.problem = seen.problem or f"it was started in {clean(seen.cwd)}, which is not on this machine"
        return True
    return False


def _families(found: list[_Seen]) -> list[list[_Seen]]:
    """Files of one origin, each family with its oldest file first: copies of a history, and forks of them."""
    here = {session_of(seen.file): seen.file for seen in found}

    def marks(seen: _Seen) -> list[str]:
        # A session that only names its parent begins anew: extensions hand over so.
        origin = here.get(session_of(seen.origin.replace("\\", "/"))) if seen.copied and seen.origin else None
        return [seen.file, *(f"record {mark}" for mark in seen.firsts), *([] if origin is None else [origin])]

    return [sorted(family, key=_age) if len(family) > 1 else family for family in families(found, marks)]


def _age(seen: _Seen) -> tuple[int, str, str]:
    return (seen.began, seen.id, seen.file)


def _info(family: list[_Seen]) -> SessionInfo:
    oldest = family[0]
    ids: list[str] = []
    for seen in family:
        # A file that was copied by hand has its original's id inside.
        ids.append(seen.id if seen.id not in ids else session_of(seen.file))
        if ids[-1] in ids[:-1]:
            ids[-1] = f"{seen.id}~{len(ids)}"
    return SessionInfo(
        id=oldest.id,
        agent=NAME,
        title=oldest.name or oldest.prompt or oldest.id[:8],
        updated=max(seen.updated for seen in family),
        bytes=sum(seen.bytes for seen in family),
        files=tuple(seen.file for seen in family),
        ids=tuple(ids),
        cwd=oldest.cwd,
        problem=next((seen.problem for seen in family if seen.problem), ""),
    )


def _folders_of(root: str) -> Iterator[str]:
    """Folders that can hold sessions of a root."""
    base, name = sessions_home(), folder_name(root)
    beginning = name.removesuffix("--") + "-"
    for other in names_in(base):
        if root == os.sep or other == name or other.startswith(beginning):
            yield os.path.join(base, other)
    if chosen := chosen_folder(root):
        yield chosen


def _session_files(folder: str) -> list[str]:
    """Whatever has the name of a session's file: what stands in the place of one is told, not passed over."""
    return [os.path.join(folder, name) for name in names_in(folder) if name.endswith(".jsonl")]
