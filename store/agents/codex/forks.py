"""Writes forks of Codex CLI's sessions: a new file with all records up to the cut (seen in 0.171.0).

Codex's own fork is a file that points into its base (`history_base`) and holds no history; when the base is deleted,
`codex resume` refuses it ("missing source rollout"). So ours is a copy: it goes on whatever becomes of the session that
it was cut from. Ids of the session become new ones in every line, `forked_from_id` says where it comes from, ordinals
are counted anew, since a file that goes on from others is made one with them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, BinaryIO, cast

from ...errors import ForkpointError
from ...model import Conversation
from ...text import first_line
from ..base import Fork, Wanted
from ..forms import newfile
from ..forms.jsonl import parse
from ..forms.newfile import Move
from .cuts import History, Record, cut_after, cut_before, read_history
from .detail import whole_text
from .filenames import rollout
from .places import day_of
from .records import EVENT

Json = dict[str, Any]


def plan_fork(conversation: Conversation, entry: str, wanted: Wanted) -> Fork:
    """A fork that ends with an entry, or just before it.

    Raises UnknownId, Refused (inside of a sub-agent), ForkpointError (no record).
    """
    point = newfile.point_of(conversation, entry)
    leave_out = wanted.leaves_out(point)
    assert point.span is not None
    history = read_history(point.span.file, wanted.sources)
    at = history.place(point.span.file, point.span.offset)
    if at < 0:
        raise ForkpointError(newfile.NO_RECORD, todo="choose another row")
    text = whole_text(_parsed(history.records[at])) if wanted.hands_back(point) else ""
    end, note = cut_before(history, at) if leave_out else cut_after(history, at)
    kept = history.records[:end]
    new = wanted.session or new_id()
    move = Move(_thread(point.span.file), new, conversation.info.cwd, wanted.cwd or conversation.info.cwd)
    data = _written(history, kept, move, wanted.title)
    last = _last(conversation, kept)
    return Fork(
        session=new,
        file=_file(new),
        data=data,
        source=point.span.file,
        last=last,
        entries=sum(1 for record in kept if record.shows),
        prompt_text=text,
        note=note,
        title=wanted.title,
        mtime=newfile.just_before(point.span.file, point.time),
    )


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session. A fork before the first prompt is a file too: its id is known."""
    return ("codex", "resume", session), cwd


def with_prompt(command: Sequence[str], prompt: str) -> tuple[str, ...] | None:
    """The same command, which says a prompt first; behind "--" nothing in it is an option."""
    return (*command, "--", prompt)


def new_id() -> str:
    """A session id as Codex makes them: the time in its first half (UUID version 7)."""
    data = bytearray((time.time_ns() // 10**6).to_bytes(6, "big") + os.urandom(10))
    data[6], data[8] = data[6] & 0x0F | 0x70, data[8] & 0x3F | 0x80
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _parsed(record: Record) -> Json:
    with newfile.opened(record.source) as file:
        file.seek(record.offset)
        return parse(file.read(record.length))


def _written(history: History, kept: Sequence[Record], move: Move, title: str) -> bytes:
    """The bytes of the fork."""
    found: list[bytes] = []
    files: dict[str, BinaryIO] = {}
    threads = {thread for record in kept if (thread := _thread(record.source.name))}
    try:
        for number, record in enumerate(kept):
            if record.source.name not in files:
                files[record.source.name] = newfile.opened(record.source)
            file = files[record.source.name]
            file.seek(record.offset)
            data = file.read(record.length)
            for thread in threads:
                data = data.replace(thread.encode(), move.new.encode())
            if number == 0:
                found.append(_first(data, move, history))
            else:
                found.append(_numbered(_moved(data, record, move), number, history))
    finally:
        for file in files.values():
            file.close()
    if name := first_line(title):
        found.append(_name(name, len(found), move, kept, history))
    return b"".join(line + b"\n" for line in found)


def _first(data: bytes, move: Move, history: History) -> bytes:
    """The file's own first line: a session of its own that comes from another one."""
    record = parse(data)
    body = record.get("payload")
    if not isinstance(body, dict):
        # The oldest form has no payload; Codex reads it only by its own rules.
        return json.dumps({**record, "id": move.new}).encode()
    plain = cast("Json", body)
    plain.update({"id": move.new, "forked_from_id": move.old})
    if "session_id" in plain:
        plain["session_id"] = move.new
    for name in ("history_base", "forked_from_ordinal_exclusive"):
        plain.pop(name, None)
    if move.elsewhere:
        _move_folders(plain, move)
    if not history.legacy:
        record["ordinal"] = 0
    return _encoded(record)


def _moved(data: bytes, record: Record, move: Move) -> bytes:
    """A line with the folder in which the agent stands, where that was moved."""
    if not move.elsewhere or not (record.kind == "turn_context" or record.type == "thread_settings_applied"):
        return data
    plain = parse(data)
    body = plain.get("payload")
    if isinstance(body, dict):
        _move_folders(cast("Json", body), move)
        settings = cast("Json", body).get("thread_settings")
        if isinstance(settings, dict):
            _move_folders(cast("Json", settings), move)
    return _encoded(plain)


def _move_folders(plain: Json, move: Move) -> None:
    """Where the agent stands, and the folders that it may write to."""
    cwd = plain.get("cwd")
    if isinstance(cwd, str):
        plain["cwd"] = move.path(cwd) or cwd
    roots = plain.get("runtime_workspace_roots")
    if isinstance(roots, list):
        items = cast("list[object]", roots)
        plain["runtime_workspace_roots"] = [move.path(item) or item for item in items]


def _numbered(data: bytes, number: int, history: History) -> bytes:
    """A line with the ordinal that it has in the fork, every other byte as it was."""
    if history.legacy:
        return data
    mark = b'"ordinal":'
    start = data.find(mark, 0, 200)
    if start < 0:
        return _encoded({**parse(data), "ordinal": number})
    start += len(mark)
    end = start
    while data[end : end + 1].isdigit() or data[end : end + 1] == b" ":
        end += 1
    return data[:start] + str(number).encode() + data[end:]


def _name(name: str, number: int, move: Move, kept: Sequence[Record], history: History) -> bytes:
    """The record that names a session, at the time of the newest one kept."""
    stamp = _parsed(kept[-1]).get("timestamp")
    record: Json = {"timestamp": stamp if isinstance(stamp, str) else ""}
    if not history.legacy:
        record["ordinal"] = number
    told = {"type": "thread_name_updated", "thread_id": move.new, "thread_name": name}
    return _encoded({**record, "type": EVENT, "payload": told})


def _encoded(record: Json) -> bytes:
    # Half a surrogate pair can only be written as an escape.
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def _last(conversation: Conversation, kept: Sequence[Record]) -> str:
    """The entry that the fork ends with."""
    spans = {(item.span.file, item.span.offset): item.id for item in conversation.entries if item.span is not None}
    shown = [record for record in kept if record.shows]
    return next((spans[key] for r in reversed(shown) if (key := (r.source.name, r.offset)) in spans), "")


def _file(session: str) -> str:
    """Where a session's file goes: the folder of today, in local time as the name is."""
    moment = datetime.now()
    while os.path.lexists(found := os.path.join(day_of(moment), f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{session}.jsonl")):
        moment += timedelta(seconds=1)
    return found


def _thread(file: str) -> str:
    return rollout(file).thread
