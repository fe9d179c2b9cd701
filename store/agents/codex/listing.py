"""Which sessions of Codex CLI belong to a root, and what a list shows of them.

Listing is cheap: beginnings that were seen are known (`heads`), and of the root's files the last 64 KiB are looked at.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from ...model import SessionInfo
from ...text import clean, first_line
from ..base import Source
from ..forms.belonging import Belonging
from ..forms.families import families
from ..forms.jsonl import lines, nanoseconds
from ..forms.regular import descriptor, on_disk, open_regular
from ..forms.uncollected import uncollected
from . import NAME, config_home
from .heads import COMPRESSED, WINDOW, Head, heads

_STAMP = b'"timestamp":"'


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


def sources(info: SessionInfo) -> list[Source]:
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
    return [on_disk(file) for file in named if not file.endswith(COMPRESSED)]


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


def _families(found: list[Head]) -> list[list[Head]]:
    """Files of one thread, and of threads that were forked from one another, the oldest file first."""
    owner = {head.id: head.thread for head in found}

    def marks(head: Head) -> list[str]:
        # Forks of a session that is gone, or was begun elsewhere, belong together all the same.
        others = [other for other in (head.forked_from, owner.get(head.base, head.base)) if other]
        return [head.thread, *others, *([f"item {head.first}"] if head.first else [])]

    return families(found, marks)


def _info(family: list[Head], here: Belonging, names: dict[str, str], files: set[str]) -> SessionInfo:
    """A family as a list shows it."""
    oldest = family[0]
    tails = [_tail(head) for head in family]
    title = names.get(oldest.thread) or next((head.prompt for head in family if head.prompt), "")
    return SessionInfo(
        id=oldest.thread,
        agent=NAME,
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
