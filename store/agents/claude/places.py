"""Where Claude Code keeps its sessions, and which of them belong to a root.

Listing is cheap: of each file only the first and the last 64 KiB are looked at. The name of a project folder cannot be
turned back into a path, so what counts is the folder that the records name.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import msgspec

from ...model import SessionInfo
from ...text import first_line
from ..base import Source
from ..forms.regular import on_disk, open_regular
from .faces import faces
from .filenames import META, session_of, sub_agent_of
from .home import config_home
from .records import WIRE_LOG, Unreadable, nanoseconds, parse, records

AGENT = "claude"
CLEANUP_DAYS = 30
"""What Claude Code takes when its settings say nothing."""
WINDOW = 64 << 10
_LONGEST_NAME = 200
_LARGEST_FIRST_RECORD = 64 << 20
_STAMP = re.compile(rb'"timestamp":"([0-9T:.+-]{19,29}Z?)"')
_TITLES = (
    ("custom-title", "customTitle"),
    ("ai-title", "aiTitle"),
    ("last-prompt", "lastPrompt"),
    ("summary", "summary"),
)


class _Cleanup(msgspec.Struct):
    cleanupPeriodDays: int = CLEANUP_DAYS


def cleanup_days() -> int:
    """`cleanupPeriodDays` of the person's settings; 30 where nothing is said, or nothing that can be read."""
    try:
        with open(os.path.join(config_home(), "settings.json"), "rb") as stream:
            found = msgspec.json.decode(stream.read(), type=_Cleanup, strict=False).cleanupPeriodDays
    except (OSError, msgspec.MsgspecError):
        return CLEANUP_DAYS
    return found if found > 0 else CLEANUP_DAYS


def projects() -> str:
    """The folder that holds a folder for each project."""
    return os.path.join(config_home(), "projects")


def project_name(cwd: str) -> str:
    """The name of the project folder of a start folder; beyond 200 characters with the hash of Claude's SDK."""
    # A session is found by this name, so it is taken letter by letter as JavaScript does: over UTF-16 units.
    path = unicodedata.normalize("NFC", os.path.realpath(cwd))
    units = len(path.encode("utf-16-le", "surrogatepass")) // 2
    name = "".join(char if char.isascii() and char.isalnum() else "-" * (1 + (ord(char) > 0xFFFF)) for char in path)
    if units <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{_base36(_hash(path))}"


def project_folder(cwd: str) -> str:
    """The project folder of a start folder, the one that is there if any.

    The program and its SDK hash long names differently, so there the folder with the same 200 characters counts.
    """
    named = os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME")
    if named and os.environ.get("CLAUDE_CONFIG_DIR"):
        return os.path.join(projects(), os.path.basename(named))
    name = project_name(cwd)
    folder = os.path.join(projects(), name)
    if len(name) > _LONGEST_NAME and not os.path.isdir(folder):
        beginning = name[: _LONGEST_NAME + 1]
        for other in sorted(_names(projects())):
            if other.startswith(beginning):
                return os.path.join(projects(), other)
    return folder


def backups(session: str) -> str:
    """The folder of a session's file backups; it need not exist."""
    return os.path.join(config_home(), "file-history", session)


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started (or moved to) in the root or under it, not under a nested root; the newest first."""
    real = os.path.realpath(root)
    inner = [os.path.realpath(folder) for folder in nested if is_under(os.path.realpath(folder), real)]
    found = [
        seen
        for folder in _folders_of(real)
        for seen in map(_look, _session_files(folder))
        if seen is not None and _belongs(seen.cwd, real, inner)
    ]
    infos = [_info(family) for family in _families(found)]
    return sorted(infos, key=lambda info: (-info.updated, info.id))


def _belongs(cwd: str, root: str, nested: list[str]) -> bool:
    real = os.path.realpath(cwd)
    return is_under(real, root) and not any(is_under(real, folder) for folder in nested)


def sources(info: SessionInfo) -> list[Source]:
    """Every file of a session: its own, those of its sub-agents and what is written about these."""
    found: list[str] = [*info.files]
    for file, session in zip(info.files, info.ids, strict=True):
        folder = os.path.dirname(file)
        for place, inside, names in os.walk(os.path.join(folder, session, "subagents")):
            inside.sort()
            found += [os.path.join(place, name) for name in sorted(names) if _is_agent_file(name)]
    for folder in sorted({os.path.dirname(file) for file in info.files}):
        beside = [os.path.join(folder, name) for name in sorted(_names(folder)) if _is_agent_file(name)]
        found += [file for file in beside if _session_inside(file) in info.ids]
    return [on_disk(file) for file in dict.fromkeys(found)]


def is_under(path: str, root: str) -> bool:
    """Whether a path is a folder or lies under it; both are taken as they are written."""
    return bool(path) and (path == root or path.startswith(root.rstrip(os.sep) + os.sep))


@dataclass(slots=True)
class _Seen:
    """What a glance at a session's file told."""

    file: str
    id: str
    bytes: int
    updated: int
    cwd: str = ""
    first: str = ""
    """Id of its first chain record."""
    began: int = 0
    origin: str = ""
    """Session that it was copied from, and the id that its first record had there."""
    origin_message: str = ""
    copied: bool = False
    """Signs that the beginning was not written here: no wire log before the first answer."""
    titles: dict[str, str] = field(default_factory=dict[str, str])
    prompt: str = ""


def _look(file: str) -> _Seen | None:
    """The first and the last 64 KiB of a file; None for one that says nothing of a conversation."""
    try:
        with open_regular(file) as opened:
            status = os.fstat(opened.fileno())
            seen = _Seen(file, session_of(file), status.st_size, status.st_mtime_ns)
            head = opened.read(WINDOW)
            _look_at_head(seen, head)
            while not seen.first and len(head) < min(status.st_size, _LARGEST_FIRST_RECORD):
                # The first record alone is larger than the window: a pasted image, a long prompt.
                head += opened.read(len(head))
                _look_at_head(seen, head)
            opened.seek(max(0, status.st_size - WINDOW))
            tail = opened.read()
    except OSError:
        return None
    if not seen.cwd:
        later = (record for _, _, record in records(BytesIO(tail)))
        seen.cwd = next((record.cwd for record in later if not isinstance(record, Unreadable) and record.cwd), "")
    if not seen.cwd:
        return None
    _look_at_tail(seen, tail, whole=status.st_size <= WINDOW)
    return seen


def _look_at_head(seen: _Seen, head: bytes) -> None:
    """Folder, first record and first prompt."""
    for _, _, record in records(BytesIO(head)):
        if isinstance(record, Unreadable) or record.uuid is None:
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
    answer = head.find(b'"type":"assistant"')
    log = head.find(WIRE_LOG)
    seen.copied = answer >= 0 and not 0 <= log < answer


def _look_at_tail(seen: _Seen, tail: bytes, *, whole: bool) -> None:
    """Titles, the newest time, where the session was moved to; the newest of each counts."""
    moved = ""
    lines = tail.split(b"\n")
    for line in reversed(lines if whole else lines[1:]):
        if not line.startswith(b'{"type":"'):
            continue
        record = parse(line)
        kind = record.get("type")
        for name, key in _TITLES:
            text = record.get(key)
            if kind == name and isinstance(text, str) and (name != "summary" or _is_own(record, tail)):
                seen.titles.setdefault(name, first_line(text))
        if kind == "relocated" and not moved and isinstance(record.get("relocatedCwd"), str):
            moved = record["relocatedCwd"]
    seen.cwd = moved or seen.cwd
    newest = max((nanoseconds(stamp.decode()) for stamp in _STAMP.findall(tail)), default=0)
    # The time of a fork's file is set back, and copying a file changes it: what the records say is better.
    seen.updated = newest or seen.updated


def _is_own(summary: dict[str, Any], tail: bytes) -> bool:
    """Old versions wrote summaries of other sessions into a file; its own names a record that is in it."""
    leaf = summary.get("leafUuid")
    return isinstance(leaf, str) and f'"uuid":"{leaf}"'.encode() in tail


def _families(found: list[_Seen]) -> list[list[_Seen]]:
    """Files with the same first record, or copied from one another, each family with its oldest file first."""
    leader: dict[str, str] = {}

    def lead(key: str) -> str:
        while (above := leader.setdefault(key, key)) != key:
            leader[key] = leader.setdefault(above, above)
            key = above
        return key

    here = {seen.id for seen in found}
    for seen in found:
        if seen.first:
            leader[lead(f"record {seen.first}")] = lead(seen.id)
        if seen.origin_message:
            leader[lead(f"record {seen.origin_message}")] = lead(seen.id)
        if seen.origin in here:
            leader[lead(seen.origin)] = lead(seen.id)
    families: dict[str, list[_Seen]] = {}
    for seen in found:
        families.setdefault(lead(seen.id), []).append(seen)
    return [sorted(family, key=_age) for family in families.values()]


def _age(seen: _Seen) -> tuple[object, ...]:
    return (bool(seen.origin), seen.began, seen.copied, seen.updated, seen.id)


def _info(family: list[_Seen]) -> SessionInfo:
    oldest = family[0]
    titles = [oldest.titles[name] for name, _ in _TITLES if oldest.titles.get(name)]
    return SessionInfo(
        id=oldest.id,
        agent=AGENT,
        title=(titles or [oldest.prompt or oldest.id[:8]])[0],
        updated=max(seen.updated for seen in family),
        bytes=sum(seen.bytes for seen in family),
        files=tuple(seen.file for seen in family),
        ids=tuple(seen.id for seen in family),
        cwd=oldest.cwd,
    )


def _folders_of(root: str) -> list[str]:
    """Project folders that can hold sessions of a root: the program keeps a session in the folder of its cwd."""
    base = projects()
    name = project_name(root)
    cut = name[:_LONGEST_NAME]
    chosen = os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME")
    return [
        os.path.join(base, other)
        for other in sorted(_names(base))
        if other in (name, chosen)
        or other.startswith(f"{name}-")
        or (len(name) >= _LONGEST_NAME and other[:200] == cut)
    ]


def _session_files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as items:
            return sorted(
                item.path
                for item in items
                if item.name.endswith(".jsonl") and not item.name.startswith("agent-") and item.is_file()
            )
    except OSError:
        return []


def _is_agent_file(name: str) -> bool:
    return bool(sub_agent_of(name)) and name.endswith((".jsonl", META))


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


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _hash(path: str) -> int:
    """The 32-bit hash of Claude's SDK, over UTF-16 units."""
    units = path.encode("utf-16-le", "surrogatepass")
    value = 0
    for place in range(0, len(units), 2):
        value = (value * 31 + int.from_bytes(units[place : place + 2], "little")) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >> 31 else value)


def _base36(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"
