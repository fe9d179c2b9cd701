"""Which sessions of Claude Code belong to a root, and what each is read from.

Listing is cheap: of each file only the first and the last 64 KiB are looked at. The name of a project folder cannot be
turned back into a path, so what counts is the folder that the records name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from ...model import SessionInfo
from ...text import clean, first_line
from ..base import Source
from ..forms.belonging import Belonging
from ..forms.families import families
from ..forms.jsonl import LONGEST
from ..forms.regular import descriptor, names_in, on_disk, open_regular, why
from ..forms.uncollected import uncollected
from . import NAME
from .faces import faces
from .filenames import META, folder_beside, session_of, sub_agent_of
from .places import LONGEST_NAME, project_folder, project_name, projects
from .records import WIRE_LOG, Unreadable, nanoseconds, parse, records

WINDOW = 64 << 10
_BEGINNING = 16 << 10
"""So much of the first window is enough for nearly every session."""
_BEFORE_STAMP = b'"timestamp":"'
_STAMP = len("2026-11-30T18:20:54.149Z")
_STAMPS = 3
"""Records of which the times are looked at: they stand in the order in which they were written."""
_HISTORY = b'{"type":"file-history-'
_TEXTS = {
    b"custom-title": "customTitle",
    b"ai-title": "aiTitle",
    b"last-prompt": "lastPrompt",
    b"summary": "summary",
    b"relocated": "relocatedCwd",
}
"""Kinds of records that a list tells of, and where in them the text stands; titles in the order in which they count."""
_MOVED = b"relocated"
_TELLING = tuple(b'{"type":"%s"' % kind for kind in _TEXTS)
_KIND = len(b'{"type":"')


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started (or moved to) in the root or under it, not under a nested root; the newest first.

    What cannot be read stands among them, with the reason, when it is where sessions of the root are kept.
    """
    real = os.path.realpath(root)
    here = Belonging(real, nested)
    found: list[_Seen] = []
    with uncollected():
        for folder in _folders_of(real):
            own = os.path.basename(folder) in (project_name(real), os.path.basename(project_folder(real)))
            for file in _session_files(folder):
                seen = _look(file)
                if seen is not None and _belongs(seen, here, own, os.path.basename(folder)):
                    found.append(seen)
        infos = [_info(family) for family in _families(found)]
    return sorted(infos, key=lambda info: (-info.updated, info.id))


def _belongs(seen: _Seen, here: Belonging, own: bool, folder: str) -> bool:
    """Whether a session is one of the root; `own`: its file stands where the program looks for those of the root."""
    if not seen.cwd:
        seen.cwd = here.root
        return own
    if here.has(seen.cwd):
        return True
    if own and _is_foreign(seen.cwd, folder):
        seen.problem = seen.problem or f"it was started in {clean(seen.cwd)}, which is not on this machine"
        return True
    return False


def _is_foreign(cwd: str, folder: str) -> bool:
    """Whether a start folder is of another machine: not here, and the program would keep its sessions elsewhere."""
    try:
        return not os.path.isabs(cwd) or (not os.path.exists(cwd) and project_name(cwd) != folder)
    except ValueError:
        return True


def sources(info: SessionInfo) -> list[Source]:
    """Every file of a session: its own, those of its sub-agents and what is written about these."""
    found: list[str] = [*info.files]
    for file in info.files:
        for place, inside, names in os.walk(os.path.join(folder_beside(file), "subagents")):
            inside.sort()
            found += [os.path.join(place, name) for name in sorted(names) if _is_agent_file(name)]
    for folder in sorted({os.path.dirname(file) for file in info.files}):
        beside = [os.path.join(folder, name) for name in names_in(folder) if _is_agent_file(name)]
        found += [file for file in beside if _session_inside(file) in info.ids]
    return [on_disk(file) for file in dict.fromkeys(found)]


@dataclass(slots=True)
class _Seen:
    """What a glance at a session's file told."""

    file: str
    id: str
    size: int
    updated: int
    cwd: str = ""
    first: str = ""
    """Id of its first chain record."""
    began: int = 0
    origin: str = ""
    """Session that it was copied from, and the id that its first record had there."""
    origin_message: str = ""
    titles: dict[bytes, str] = field(default_factory=dict[bytes, str])
    prompt: str = ""
    problem: str = ""


_glanced: dict[str, tuple[tuple[int, ...], _Seen | None]] = {}
"""What was seen of a file when it had this inode, this size and these times: who follows looks again and again."""
MOST_GLANCED = 20_000


def _look(file: str) -> _Seen | None:
    """What a file tells; it is opened only when it is not as it was when it was looked at last."""
    try:
        status = os.stat(file)
    except OSError:
        return _open(file)
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _glanced.get(file)
    if known is None or known[0] != stamp:
        if len(_glanced) >= MOST_GLANCED:
            _glanced.clear()
        known = _glanced[file] = (stamp, _open(file))
    seen = known[1]
    return replace(seen, titles=dict(seen.titles)) if seen is not None else None


def _open(file: str) -> _Seen | None:
    """The first and the last 64 KiB of a file; None for one that holds records, but no conversation."""
    seen = _Seen(file, session_of(file), 0, 0)
    try:
        opened = descriptor(file)
    except OSError as error:
        seen.problem = why(error)
        return seen
    try:
        status = os.fstat(opened)
        size, seen.updated = status.st_size, status.st_mtime_ns
        seen.size = size
        head = os.read(opened, _BEGINNING)
        readable = _look_at_head(seen, head, size)
        # The first record alone can be larger than the window: a pasted image, a long prompt.
        while not seen.prompt and len(head) < min(size, LONGEST if not seen.first else WINDOW):
            more = os.pread(opened, max(WINDOW - len(head), len(head)), len(head))
            if not more:
                break
            head += more
            readable = _look_at_head(seen, head, size)
        tail = os.pread(opened, WINDOW, size - WINDOW) if size > WINDOW else head
    except OSError as error:
        seen.problem = why(error)
        return seen
    finally:
        os.close(opened)
    if not seen.cwd and size > WINDOW:
        later = (record for _, _, record in records(BytesIO(tail)))
        seen.cwd = next((record.cwd for record in later if not isinstance(record, Unreadable) and record.cwd), "")
    if not seen.cwd:
        # Without a time, so that it is never taken for the newest session.
        seen.problem, seen.updated = _nothing(size, readable), 0
        return seen if seen.problem else None
    _look_at_tail(seen, tail, whole=size <= WINDOW)
    return seen


def _nothing(size: int, readable: bool) -> str:
    """Why a file tells nothing; "" for a small one that holds what stands beside conversations, and none of these."""
    if not size:
        return "its file is empty"
    if size > WINDOW:
        return "its beginning and its end cannot be read"
    return "" if readable else "nothing in its file can be read"


def _look_at_head(seen: _Seen, head: bytes, size: int) -> bool:
    """Folder, first record and first prompt; gives whether any record was there. A line that is cut off is left out."""
    readable = False
    whole = head if len(head) >= size else head[: head.rfind(b"\n") + 1]
    for _, _, record in records(BytesIO(whole)):
        if isinstance(record, Unreadable):
            continue
        readable = True
        if record.uuid is None:
            continue
        if not seen.first:
            seen.first = record.uuid
            seen.began = nanoseconds(record.timestamp)
            if record.forked is not None:
                seen.origin, seen.origin_message = record.forked.session, record.forked.message
        seen.cwd = seen.cwd or record.cwd
        if record.type == "user" and not seen.prompt and not record.meta and not record.sidechain:
            seen.prompt = next((face.text for face in faces(record, "") if face.kind == "prompt"), "")
        if seen.cwd and seen.prompt:
            break
    return readable


def _look_at_tail(seen: _Seen, tail: bytes, *, whole: bool) -> None:
    """Titles, the newest time, where the session was moved to; the newest of each counts."""
    told: dict[bytes, str] = {}
    stamps: list[bytes] = []
    end = len(tail)
    while end > 0:
        start = tail.rfind(b"\n", 0, end) + 1
        if not start and not whole:
            break
        if tail.startswith(_TELLING, start):
            kind = tail[start + _KIND : tail.find(b'"', start + _KIND)]
            text = told.get(kind) or _told(tail[start:end], kind, tail)
            if text:
                told[kind] = text
        elif len(stamps) < _STAMPS and not tail.startswith(_HISTORY, start):
            # Snapshots of a copy stand at its end, with the times that they had in the original.
            place = tail.find(_BEFORE_STAMP, start, end) + len(_BEFORE_STAMP)
            if place >= len(_BEFORE_STAMP):
                stamps.append(tail[place : tail.find(b'"', place, place + 40)])
        end = start - 1
    seen.cwd = told.pop(_MOVED, "") or seen.cwd
    seen.titles = told
    # Of one form they compare as they are.
    one_form = all(len(stamp) == _STAMP for stamp in stamps)
    times = [
        nanoseconds(stamp.decode("ascii", "replace")) for stamp in ([max(stamps)] if stamps and one_form else stamps)
    ]
    # The time of a fork's file is set back, and copying a file changes it: what the records say is better.
    seen.updated = max(times, default=0) or seen.updated


def _told(line: bytes, kind: bytes, tail: bytes) -> str:
    """The title that a line gives, or the folder that the session was moved to."""
    record = parse(line)
    text = record.get(_TEXTS[kind])
    if not isinstance(text, str) or (kind == b"summary" and not _is_own(record, tail)):
        return ""
    return text if kind == _MOVED else first_line(text)


def _is_own(summary: dict[str, Any], tail: bytes) -> bool:
    """Old versions wrote summaries of other sessions into a file; its own names a record that is in it."""
    leaf = summary.get("leafUuid")
    return isinstance(leaf, str) and f'"uuid":"{leaf}"'.encode() in tail


def _families(found: list[_Seen]) -> list[list[_Seen]]:
    """Files with the same first record, or copied from one another, each family with its oldest file first."""
    here = {seen.id for seen in found}

    def marks(seen: _Seen) -> list[str]:
        firsts = [f"record {uid}" for uid in (seen.first, seen.origin_message) if uid]
        return [seen.id, *firsts, *([seen.origin] if seen.origin in here else [])]

    return [sorted(family, key=_age) if len(family) > 1 else family for family in families(found, marks)]


def _age(seen: _Seen) -> tuple[object, ...]:
    return (bool(seen.origin), seen.began, _is_copied(seen.file), seen.updated, seen.id)


def _is_copied(file: str) -> bool:
    """Signs that a beginning was not written in this file: no wire log before the first answer."""
    try:
        with open_regular(file) as opened:
            head = opened.read(WINDOW)
    except OSError:
        return False
    answer = head.find(b'"type":"assistant"')
    return answer >= 0 and head.find(WIRE_LOG, 0, answer) < 0


def _info(family: list[_Seen]) -> SessionInfo:
    oldest = family[0]
    titles = [oldest.titles[kind] for kind in _TEXTS if kind in oldest.titles]
    return SessionInfo(
        id=oldest.id,
        agent=NAME,
        title=(titles or [oldest.prompt or oldest.id[:8]])[0],
        updated=max(seen.updated for seen in family),
        bytes=sum(seen.size for seen in family),
        files=tuple(seen.file for seen in family),
        ids=tuple(seen.id for seen in family),
        cwd=oldest.cwd,
        problem=next((seen.problem for seen in family if seen.problem), ""),
    )


def _folders_of(root: str) -> list[str]:
    """Project folders that can hold sessions of a root: the program keeps a session in the folder of its cwd."""
    base = projects()
    name = project_name(root)
    cut = name[:LONGEST_NAME]
    chosen = os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME")
    return [
        os.path.join(base, other)
        for other in names_in(base)
        if root == os.sep
        or other in (name, chosen)
        or other.startswith(f"{name}-")
        or (len(name) >= LONGEST_NAME and other[:200] == cut)
    ]


def _session_files(folder: str) -> list[str]:
    """Whatever has the name of a session's file: what stands in the place of one is told, not passed over."""
    return [
        os.path.join(folder, name)
        for name in names_in(folder)
        if name.endswith(".jsonl") and not name.startswith("agent-")
    ]


def _is_agent_file(name: str) -> bool:
    return name.startswith("agent-") and bool(sub_agent_of(name)) and name.endswith((".jsonl", META))


def _session_inside(file: str) -> str:
    """The session that a sub-agent's file beside the sessions belongs to."""
    try:
        with open_regular(file) as opened:
            for _, _, record in records(BytesIO(opened.read(WINDOW))):
                if not isinstance(record, Unreadable) and record.session:
                    return record.session
    except OSError:
        pass
    return ""
