"""Where Pi keeps its sessions, and which of them belong to a root.

Listing is cheap: of each file only the first and the last 64 KiB are looked at. Pi keeps a session in a folder named
for where it was started, or, when the person wants it so, all of them in one folder; what counts is the folder that
the header names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO

from ...model import SessionInfo
from ...text import first_line
from ..base import Source
from ..forms.belonging import Belonging
from ..forms.regular import open_regular, why
from .faces import faces
from .home import agent_home, chosen_folder
from .notes import told
from .records import NEWEST, Line, Unreadable, nanoseconds, old_id, records

AGENT = "pi"
WINDOW = 64 << 10
_STAMP = re.compile(rb'"timestamp":"([0-9T:.+-]{19,29}Z?)"')
_SEPARATORS = str.maketrans("/\\:", "---")
HEADLESS = "it has no header: Pi itself would not open it"


def sessions_home() -> str:
    """The folder that holds a folder for each project."""
    return os.path.join(agent_home(), "sessions")


def folder_name(cwd: str) -> str:
    """The name of the folder that keeps the sessions of a start folder."""
    return f"--{cwd.removeprefix('/').translate(_SEPARATORS)}--"


def session_folder(cwd: str) -> str:
    """Where Pi puts a new session that is started in a folder."""
    return chosen_folder() or os.path.join(sessions_home(), folder_name(os.path.realpath(cwd)))


def session_of(file: str) -> str:
    """The session id that a file's name ends with: <time>_<id>.jsonl."""
    stem = os.path.basename(file).removesuffix(".jsonl")
    return stem.partition("_")[2] or stem


def find(session: str, folder: str) -> str:
    """The file of a session in a folder, by its name; "" when there is none."""
    ending = f"_{session}.jsonl"
    return next((os.path.join(folder, name) for name in sorted(_names(folder)) if name.endswith(ending)), "")


def every_folder() -> list[str]:
    """Every folder that may hold sessions."""
    base = sessions_home()
    folders = [os.path.join(base, name) for name in sorted(_names(base))]
    return [*folders, chosen_folder()] if chosen_folder() else folders


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, but not under a nested root; the newest first."""
    belonging = Belonging(root, nested)
    found = [
        seen
        for folder in _folders_of(belonging.root)
        for seen in map(_look, _session_files(folder))
        if seen is not None and _belongs(seen, belonging)
    ]
    for seen in found:
        seen.cwd = seen.cwd or belonging.root
    infos = [_info(family) for family in _families(found)]
    return sorted(infos, key=lambda info: (-info.updated, info.id))


def sources(info: SessionInfo) -> list[Source]:
    """The files of a session, the oldest first."""
    return [on_disk(file) for file in info.files]


def on_disk(file: str) -> Source:
    """A file as a source. Pi writes one of an old version anew when it opens it."""
    return Source(file, partial(open_regular, file), grows=_version(file) >= NEWEST, ids=told)


def header_of(data: bytes) -> Line | None:
    """The header that a file's beginning holds; None when it begins with something else."""
    for _, _, line in records(BytesIO(data)):
        if not isinstance(line, Unreadable):
            return line if line.type == "session" else None
    return None


def _version(file: str) -> int:
    try:
        with open_regular(file) as opened:
            header = header_of(opened.readline(WINDOW))
    except OSError:
        return NEWEST
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


def _look(file: str) -> _Seen | None:
    """The first and the last 64 KiB of a file; None for one that is empty or gone."""
    try:
        with open_regular(file) as opened:
            status = os.fstat(opened.fileno())
            head = opened.read(WINDOW)
            opened.seek(max(0, status.st_size - WINDOW))
            tail = opened.read() if status.st_size > WINDOW else head
    except FileNotFoundError:
        return None
    except OSError as error:
        return _Seen(file, session_of(file), 0, 0, problem=why(error))
    if not head.strip(b"\0 \t\r\n"):
        return None
    seen = _Seen(file, session_of(file), status.st_size, status.st_mtime_ns)
    _look_at_head(seen, head)
    _look_at_tail(seen, tail, whole=status.st_size <= WINDOW)
    return seen


def _look_at_head(seen: _Seen, head: bytes) -> None:
    """Folder, origin, first record and first prompt."""
    header = False
    number = 0
    for _, _, line in records(BytesIO(head)):
        if isinstance(line, Unreadable):
            continue
        if line.type == "session":
            if not header and not number:
                header = True
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
        if line.type == "session_info" and line.name is not None:
            seen.name = first_line(line.name)
        message = line.message
        if message is not None and message.role == "user" and not seen.prompt:
            seen.prompt = next((face.text for face in faces(line, seen.cwd) if face.kind == "prompt"), "")
            seen.firsts += (mark,)
    seen.problem = "" if header else HEADLESS


def _look_at_tail(seen: _Seen, tail: bytes, *, whole: bool) -> None:
    """The newest name and the newest time."""
    lines = tail.split(b"\n")
    for data in reversed(lines if whole else lines[1:]):
        if b'"type":"session_info"' in data[:256]:
            found = next((line for _, _, line in records(BytesIO(data)) if not isinstance(line, Unreadable)), None)
            if found is not None and found.name is not None:
                seen.name = first_line(found.name)
                break
    newest = max((nanoseconds(stamp.decode()) for stamp in _STAMP.findall(tail)), default=0)
    # The time of a fork's file is set back, and copying a file changes it: what the records say is better.
    seen.updated = newest or seen.updated


def _belongs(seen: _Seen, belonging: Belonging) -> bool:
    """Whether a session was started under a root; one that does not tell is found by the name of its folder."""
    if not seen.cwd:
        return os.path.basename(os.path.dirname(seen.file)) == folder_name(belonging.root)
    return belonging.has(seen.cwd)


def _families(found: list[_Seen]) -> list[list[_Seen]]:
    """Files of one origin, each family with its oldest file first: copies of a history, and forks of them."""
    leader: dict[str, str] = {}

    def lead(key: str) -> str:
        while (above := leader.setdefault(key, key)) != key:
            leader[key] = leader.setdefault(above, above)
            key = above
        return key

    here = {session_of(seen.file): seen.file for seen in found}
    for seen in found:
        for mark in seen.firsts:
            leader[lead(f"record {mark}")] = lead(seen.file)
        # A session that only names its parent begins anew: extensions hand over so.
        origin = here.get(session_of(seen.origin.replace("\\", "/"))) if seen.copied and seen.origin else None
        if origin is not None:
            leader[lead(origin)] = lead(seen.file)
    families: dict[str, list[_Seen]] = {}
    for seen in found:
        families.setdefault(lead(seen.file), []).append(seen)
    return [sorted(family, key=lambda seen: (seen.began, seen.id, seen.file)) for family in families.values()]


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
        agent=AGENT,
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
    for other in sorted(_names(base)):
        if other == name or other.startswith(beginning):
            yield os.path.join(base, other)
    if chosen := chosen_folder():
        yield chosen


def _session_files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as items:
            return sorted(item.path for item in items if item.name.endswith(".jsonl") and item.is_file())
    except OSError:
        return []


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
