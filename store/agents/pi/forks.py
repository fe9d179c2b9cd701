"""Writes forks of Pi's sessions, in the form of its own /fork (seen in 1.6.0).

A fork is a new file: a header with an id of its own that names the file it came from, then the records of one line,
their ids kept, then the labels on them made again and the fork's name. A session of an old version is brought to the
newest form, as Pi does when it opens one. Calls that ran side by side are all kept with their results: a cut between
them moves to their end, since a call without result would be answered by an invented one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from ...errors import ForkpointError
from ...model import Conversation, Entry
from ...text import first_line
from ..base import Fork, Wanted
from ..forms import newfile
from ..forms.rewriting import encoded, rewritten
from .detail import typed
from .listing import on_disk
from .places import every_folder, find, session_folder
from .records import NEWEST, Line, Unreadable, old_id, parse, records

Json = dict[str, Any]


def plan_fork(conversation: Conversation, entry: str, wanted: Wanted) -> Fork:
    """A fork that ends with an entry, or just before it.

    Raises UnknownId, Refused (inside of a sub-agent), ForkpointError (no record).
    """
    point = newfile.point_of(conversation, entry)
    leave_out = wanted.leaves_out(point)
    assert point.span is not None
    source = next((item for item in wanted.sources if item.name == point.span.file), on_disk(point.span.file))
    new = wanted.session or str(uuid.uuid4())
    with newfile.opened(source) as file:
        log = _Log(file)
        at = log.at.get(point.span.offset)
        if at is None:
            raise ForkpointError("the session's file changed", path=source.name, todo="look again")
        end = log.ending(at, leave_out=leave_out)
        text = typed(log.read(at)) if wanted.hands_back(point) else ""
        path = log.path(end)
        kept = path if any(log.rows[uid].speaks for uid in path) else []
        folder = wanted.cwd or conversation.info.cwd
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        header = {"type": "session", "version": NEWEST, "id": new, "timestamp": stamp, "cwd": folder}
        data = log.written({**header, "parentSession": source.file}, kept, wanted.title) if kept else b""
        offsets = {log.rows[uid].offset for uid in kept}
    name = f"{stamp.replace(':', '-').replace('.', '-')}_{new}.jsonl"
    place = session_folder(wanted.cwd) if wanted.cwd else os.path.dirname(source.file)
    inside = [item for item in conversation.entries if _is_kept(item, source.name, offsets, kept)]
    return Fork(
        session=new,
        file=os.path.join(place, name) if kept else "",
        data=data,
        source=source.file,
        last=inside[-1].id if inside else "",
        entries=len(inside),
        prompt_text=text,
        note=log.note if kept else newfile.EMPTY,
        title=wanted.title,
        mtime=newfile.just_before(source.file, point.time),
    )


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session; fresh: the session is yet to begin.

    By its id where Pi looks for it when started in this folder, else by its file.
    """
    if fresh:
        return ("pi", "--session-id", session), cwd
    here = session_folder(cwd)
    if not find(session, here):
        elsewhere = next((file for folder in every_folder() if folder != here and (file := find(session, folder))), "")
        if elsewhere:
            return ("pi", "--session", elsewhere), cwd
    return ("pi", "--session", session), cwd


def with_prompt(command: Sequence[str], prompt: str) -> tuple[str, ...] | None:
    """The same command, which says a prompt first; one that looks like an option or a file gets a blank in front."""
    return (*command, prompt if prompt[:1] not in ("-", "@") else f" {prompt}")


def _is_kept(entry: Entry, file: str, offsets: set[int], ids: Sequence[str]) -> bool:
    """Whether an entry's record is in the fork: by its place, or, when another file owns it, by its id."""
    if entry.span is not None and entry.span.file == file:
        return entry.span.offset in offsets
    return entry.id.partition("#")[0] in ids


@dataclass(slots=True)
class _Row:
    """A record of the file."""

    offset: int
    length: int
    parent: str | None
    type: str
    speaks: bool = False
    """A prompt or an answer: without any there is no conversation."""
    calls: tuple[str, ...] = ()
    answers: str = ""
    children: list[str] = field(default_factory=list[str])
    label: tuple[str, str] | None = None
    """Of a label: the record that it is on, and its text."""


class _Log:
    """One session's file as Pi reads it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.rows: dict[str, _Row] = {}
        self.at: dict[int, str] = {}
        """Offset → id."""
        self.note = ""
        self._numbers: list[str] = []
        """Ids in the order of the file: old versions refer to records by their number."""
        version, before = NEWEST, None
        for offset, length, line in records(file):
            if isinstance(line, Unreadable):
                continue
            if line.type == "session":
                if not self.rows:
                    version = line.version if line.version is not None else 1
                continue
            uid = line.id or (old_id(len(self._numbers) + 1) if version <= 1 else f"@{offset}")
            row = _row(offset, length, line, before if line.id is None else line.parent)
            self._numbers.append(uid)
            before = uid
            self.at[offset] = uid
            # Of two records with one id Pi takes the later one.
            self.rows[uid] = row
        for uid, row in self.rows.items():
            if row.parent in self.rows:
                self.rows[row.parent].children.append(uid)

    def read(self, uid: str) -> bytes:
        row = self.rows[uid]
        self._file.seek(row.offset)
        return self._file.read(row.length)

    def ending(self, at: str, *, leave_out: bool) -> str | None:
        """The last record to keep: one that is left out ends before it, a batch of calls is kept whole."""
        last = self.rows[at].parent if leave_out else at
        asking = self._asking(last) if last in self.rows else None
        if last is None or asking is None:
            return last
        on_way = set(self.path(last))
        open_calls = set(self.rows[asking].calls)
        end, seen, waiting = asking, {asking}, self.rows[asking].children
        while open_calls and waiting:
            # Down the line that was chosen, and on along its first one.
            uid = next((child for child in waiting if child in on_way), waiting[0])
            row = self.rows[uid]
            if uid in seen or row.speaks:
                break
            seen.add(uid)
            open_calls.discard(row.answers)
            end = uid if row.answers or uid in on_way else end
            waiting = row.children
        if end != last and len(self.rows[asking].calls) > 1:
            self.note = newfile.BATCH
        return end

    def _asking(self, at: str | None) -> str | None:
        """The answer whose calls a record belongs to; None when it belongs to none."""
        if at is None or self.rows[at].calls:
            return at
        answers = self.rows[at].answers
        for uid in reversed(self.path(at)) if answers else ():
            if answers in self.rows[uid].calls:
                return uid
        return None

    def path(self, end: str | None) -> list[str]:
        """The records from the first one to an end."""
        found: dict[str, None] = {}
        while end is not None and end in self.rows and end not in found:
            found[end] = None
            end = self.rows[end].parent
        path = list(found)
        if end in found:
            # Records that are each other's parents begin with the earliest of them, as they are shown.
            first = min(path[path.index(end) :], key=lambda uid: self.rows[uid].offset)
            del path[path.index(first) + 1 :]
        return path[::-1]

    def written(self, header: Json, kept: Sequence[str], title: str) -> bytes:
        """The bytes of a fork that keeps these records."""
        fresh = _fresh_ids(kept)
        lines = [encoded(header)]
        parent: str | None = None
        follows: dict[str, str] = {}
        labels: list[str] = []
        for uid in kept:
            if self.rows[uid].type == "label":
                labels.append(uid)
                continue
            follows.update(dict.fromkeys(labels, uid))
            labels.clear()
        for uid in kept:
            if self.rows[uid].type == "label":
                continue
            lines.append(self._line(uid, fresh, parent, follows))
            parent = fresh[uid]
        stamp = _stamp(parse(self.read(kept[-1])))
        for target, label in self._labels(kept).items():
            record = {"type": "label", "id": _new_id(fresh), "parentId": parent, "timestamp": stamp}
            lines.append(encoded({**record, "targetId": fresh[target], "label": label}))
            parent = record["id"]
        record = {"type": "session_info", "id": _new_id(fresh), "parentId": parent, "timestamp": stamp}
        lines.append(encoded({**record, "name": first_line(title) or "fork"}))
        return b"".join(line + b"\n" for line in lines)

    def _line(self, uid: str, fresh: Mapping[str, str], parent: str | None, follows: Mapping[str, str]) -> bytes:
        """A record in the newest form, on its new parent."""
        data = self.read(uid)
        changes: Json = {"parentId": parent}
        plain = parse(data) if self.rows[uid].type in ("compaction", "message") else {}
        if plain.get("id") != fresh[uid]:
            changes["id"] = fresh[uid]
        if self.rows[uid].type == "compaction":
            kept = plain.get("firstKeptEntryId")
            number = plain.get("firstKeptEntryIndex")
            # The header has number 0.
            if isinstance(number, int) and 0 < number <= len(self._numbers):
                kept = self._numbers[number - 1]
            if isinstance(kept, str):
                kept = follows.get(kept, kept)
                changes["firstKeptEntryId"] = fresh.get(kept, kept)
        message = plain.get("message")
        if isinstance(message, dict) and cast("Json", message).get("role") == "hookMessage":
            changes["message"] = {**cast("Json", message), "role": "custom"}
        return rewritten(data, changes, drop=("firstKeptEntryIndex",))

    def _labels(self, kept: Sequence[str]) -> dict[str, str]:
        """The labels on the records that are kept, as they are now."""
        found: dict[str, str] = {}
        inside = set(kept)
        for row in self.rows.values():
            if row.label is not None and row.label[0] in inside and self.rows[row.label[0]].type != "label":
                target, text = row.label
                found.pop(target, None)
                if text:
                    found[target] = text
        return found


def _row(offset: int, length: int, line: Line, parent: str | None) -> _Row:
    message = line.message
    row = _Row(offset, length, parent, line.type)
    if message is not None:
        row.speaks = message.role in ("user", "assistant")
        row.answers = message.call if message.role == "toolResult" else ""
        if message.role == "assistant" and isinstance(message.content, list):
            row.calls = tuple(part.id for part in message.content if part.type == "toolCall" and part.id)
    if line.type == "label" and line.target:
        row.label = (line.target, line.label or "")
    return row


def _fresh_ids(kept: Sequence[str]) -> dict[str, str]:
    """The id of every record in the fork: its own, or a new one where it has none."""
    ids = {uid: uid for uid in kept if not uid.startswith(("v1-", "@"))}
    for uid in kept:
        if uid not in ids:
            # The same each time: what is planned is what is written.
            ids[uid] = hashlib.sha256(uid.encode()).hexdigest()[:8]
    return ids


def _new_id(ids: dict[str, str]) -> str:
    new = secrets.token_hex(4)
    while new in ids.values():
        new = secrets.token_hex(4)
    ids[f"new {new}"] = new
    return new


def _stamp(record: Json) -> str:
    stamp = record.get("timestamp")
    return stamp if isinstance(stamp, str) else "1970-01-01T00:00:00.000Z"
