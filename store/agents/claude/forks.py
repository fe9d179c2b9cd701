"""Writes forks of Claude Code's sessions, in the form of its own /branch (seen in 2.1.332).

A fork is a new file: the records of the path, their ids kept, in one line of parents; sessionId rewritten; forkedFrom
on each; what the agent needs besides (file history, replaced results), then title and name. Calls that ran in parallel
are all kept with their results: a cut between them moves to their end, since a call without result would be answered
by an invented one. Nothing of other branches, and nothing of the wire log.

Backups are copied, never linked. Claude links them itself, and 2.1.332 removes a backup before it writes one of the
same name; but a cut makes version numbers be used again, and a version that writes in place (its copy falls back to
that) would change the original session's backup through the link. Their times are kept: Claude takes a file that is
older than its backup for unchanged.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from ...durable import beside, sync_folder, write_all
from ...model import Conversation, Entry
from ...text import first_line
from ..base import Fork, Wanted
from ..forms import newfile
from ..forms.newfile import Move
from ..forms.regular import on_disk
from ..forms.rewriting import encoded, rewritten
from .detail import whole_text
from .filenames import session_of
from .history import find_backup
from .log import Besides, Log, Record
from .places import backups, project_folder
from .records import parse

_EVERY = frozenset(
    ("content-replacement", "memory-mode", "data-flow-records", "data-flow-incomplete", "history-suppression")
)
"""Bookkeeping that goes along, all of it."""
_NEWEST = frozenset(
    (
        "mode",
        "permission-mode",
        "repl-mode",
        "isolation-latch",
        "atis-latch",
        "tools-used",
        "session-owner",
        "hybrid-organization",
        "derived-from",
        "relocated",
    )
)
"""Bookkeeping of which the newest before the cut goes along."""
_SNAPSHOT, _DELTA = "file-history-snapshot", "file-history-delta"

Json = dict[str, Any]


def plan_fork(conversation: Conversation, entry: str, wanted: Wanted) -> Fork:
    """A fork that ends with an entry, or just before it.

    Raises UnknownId, Refused (inside of a sub-agent), ForkpointError (no record).
    """
    point = newfile.point_of(conversation, entry, _is_recorded)
    leave_out = wanted.leaves_out(point)
    assert point.span is not None
    source = next((item for item in wanted.sources if item.name == point.span.file), on_disk(point.span.file))
    new = wanted.session or str(uuid.uuid4())
    with newfile.opened(source) as file:
        log = Log(file)
        record = point.id.partition("#")[0]
        end = log.ending(record, leave_out=leave_out)
        text = whole_text(parse(log.read(record))) if wanted.hands_back(point) else ""
        kept = log.path(end) if end else []
        move = Move(session_of(source.file), new, conversation.info.cwd, wanted.cwd or conversation.info.cwd)
        data, names = _written(log, kept, move, wanted.title) if kept else (b"", [])
    folder = project_folder(wanted.cwd) if wanted.cwd else os.path.dirname(source.file)
    shown = {item.id.partition("#")[0]: item.id for item in conversation.entries}
    last = next((shown[uid] for uid in reversed(kept) if uid in shown), "")
    inside = set(kept)
    return Fork(
        session=new,
        file=os.path.join(folder, f"{new}.jsonl") if kept else "",
        data=data,
        source=source.file,
        last=last,
        entries=sum(1 for item in conversation.entries if item.id.partition("#")[0] in inside),
        prompt_text=text,
        note=log.note if kept else newfile.EMPTY,
        title=wanted.title,
        backups=_backups(names, move, conversation.info.ids),
        mtime=newfile.just_before(source.file, point.time),
    )


def write_fork(fork: Fork) -> None:
    """Writes a planned fork, its backups first; never over anything. Raises ForkpointError, StoreUnwritable."""

    def backups_first() -> None:
        for old, new in fork.backups:
            _copy(old, new)

    newfile.write_fork(fork, backups_first)


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session, by its full id; fresh: the session is yet to begin."""
    return ("claude", "--session-id" if fresh else "--resume", session), cwd


def with_prompt(command: Sequence[str], prompt: str) -> tuple[str, ...] | None:
    """The same command, which says a prompt first; behind "--" nothing in it is an option."""
    return (*command, "--", prompt)


def _is_recorded(entry: Entry) -> bool:
    """What follows "@" in an id tells of a place, where no record is."""
    return entry.span is not None and "@" not in entry.id


def _written(log: Log, kept: list[str], move: Move, title: str) -> tuple[bytes, list[str]]:
    """The bytes of the fork, and the names of the backups that it needs."""
    inside = set(kept)
    cut = max(log.records[uid].offset for uid in kept)
    lines: list[tuple[int, bytes]] = []
    before: str | None = None
    for uid in kept:
        found = log.records[uid]
        lines.append((found.offset, _chain_line(log.read(uid), found, uid, before, move)))
        if found.type != "progress":
            before = uid
    names: list[str] = []
    newest: dict[str, Besides] = {}
    for item in log.besides:
        if item.type in (_SNAPSHOT, _DELTA):
            line = _history_line(log.read_at(item.offset, item.length), inside, move, names)
            if line:
                lines.append((item.offset, line))
        elif item.type in _EVERY:
            lines.append((item.offset, rewritten(log.read_at(item.offset, item.length), {"sessionId": move.new})))
        elif item.type in _NEWEST and (item.offset < cut or item.type == "relocated"):
            # Where the session was moved to stands for all of it: its file was moved along.
            newest[item.type] = item
    for item in newest.values():
        if item.type != "relocated" or not move.elsewhere:
            lines.append((item.offset, rewritten(log.read_at(item.offset, item.length), {"sessionId": move.new})))
    lines.sort(key=lambda line: line[0])
    name = first_line(title) or "fork"
    tail = [{"type": "custom-title", "customTitle": name}, {"type": "agent-name", "agentName": name}]
    ends = [encoded({**item, "sessionId": move.new}) for item in tail]
    return b"".join(line + b"\n" for line in [*(data for _, data in lines), *ends]), names


def _chain_line(data: bytes, found: Record, uid: str, before: str | None, move: Move) -> bytes:
    changes: Json = {
        "parentUuid": None if found.boundary else before,
        "sessionId": move.new,
        "forkedFrom": {"sessionId": move.old, "messageUuid": uid},
        "isSidechain": False,
    }
    optional: Json = {"session_id": move.new}
    if found.boundary:
        optional["logicalParentUuid"] = before
    if move.elsewhere:
        moved = move.path(parse(data).get("cwd"))
        if moved is not None:
            changes["cwd"] = moved
    if found.type == "assistant":
        # Where the wire log of this answer is; the fork does not carry it.
        changes["requestSessionId"] = parse(data).get("requestSessionId") or move.old
    return rewritten(data, changes, optional, drop=("sessionKind",))


def _history_line(data: bytes, inside: set[str], move: Move, names: list[str]) -> bytes:
    """A snapshot or delta, when all that it belongs to is kept; empty otherwise."""
    record = parse(data)
    snapshot = record.get("snapshot")
    owner = cast("Json", snapshot).get("messageId") if isinstance(snapshot, dict) else record.get("snapshotMessageId")
    if not all(isinstance(uid, str) and uid in inside for uid in (record.get("messageId"), owner)):
        return b""
    kept: object = record.get("backup")
    if isinstance(snapshot, dict):
        kept = cast("Json", snapshot).get("trackedFileBackups")
    found = list(cast("Json", kept).values()) if isinstance(snapshot, dict) and isinstance(kept, dict) else [kept]
    moved = False
    for backup in found:
        if isinstance(backup, dict):
            plain = cast("Json", backup)
            name = plain.get("backupFileName")
            if isinstance(name, str) and name not in names:
                names.append(name)
            place = move.path(plain.get("realParentDir"))
            if place is not None:
                plain["realParentDir"] = place
                moved = True
    if not moved:
        return data
    return rewritten(data, {"snapshot": snapshot} if isinstance(snapshot, dict) else {"backup": record["backup"]})


def _backups(names: Sequence[str], move: Move, family: Sequence[str]) -> tuple[tuple[str, str], ...]:
    folders = [backups(session) for session in dict.fromkeys((move.old, *family))]
    found = ((find_backup(name, folders), name) for name in names)
    return tuple((path, os.path.join(backups(move.new), name)) for path, name in found if path)


def _copy(old: str, new: str) -> None:
    """A backup with its mode and time, as an inode of its own; one that is there stays."""
    if os.path.lexists(new) or os.path.islink(old):
        return
    folder = os.path.dirname(new)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    # Claude's clean-up may take it in the meantime: its own rewind would miss it too.
    above = os.path.dirname(folder)
    with suppress(FileNotFoundError), open(old, "rb") as source, beside(above) as (temporary, descriptor):
        while piece := source.read(1 << 20):
            write_all(descriptor, piece)
        found = os.fstat(source.fileno())
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
        os.utime(descriptor, ns=(found.st_atime_ns, found.st_mtime_ns))
        os.fsync(descriptor)
        os.replace(temporary, new)
        sync_folder(folder)
