"""Forks of OpenCode's sessions: an export of what comes before a point, which OpenCode imports when one goes on.

Nothing is written into OpenCode's database by us. The fork waits as a file in the form of `opencode export`, and the
command that goes on with it imports it first; importing it again changes nothing. All ids are new, with the time that
stands in them kept, since OpenCode orders by it. OpenCode's own fork carries no pointer to its source; ours says in the
session's metadata where it comes from.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import string
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import ForkpointError
from ...model import Conversation, Entry
from ...text import first_line
from ..base import Fork, Source, Wanted
from ..forms import newfile
from ..forms.belonging import is_under
from ..forms.jsonl import lines, parse
from ..forms.plain import table
from . import database, detail
from .listing import origin, source_of
from .places import databases, pending_folder
from .records import Json, dumped, session_of
from .rows import Row
from .storage import ENDING
from .tables import Unread, reading
from .tree import path_to

_LETTERS = string.ascii_letters + string.digits
_TIMED = re.compile(r"([a-z]+)_([0-9a-f]{12})[0-9A-Za-z]{14}")
_SPAN = 1 << 48
"""Ids begin with as many bits of time."""
EMPTY = "nothing was said before this prompt: the branch begins empty"


def plan_fork(conversation: Conversation, entry: str, wanted: Wanted) -> Fork:
    """A fork that ends with an entry, or just before it.

    Raises UnknownId, Refused (inside of a sub-agent), ForkpointError (no record).
    """
    info = conversation.info
    point = newfile.point_of(conversation, entry, _is_recorded)
    if point.flavour == "detached":
        raise newfile.inside_of_a_call()
    leave_out = wanted.leaves_out(point)
    given = wanted.sources
    row = point.id.partition("#")[0]
    path = path_to(info, given, row)
    if not path:
        raise ForkpointError("the record of this row is no longer there", todo="choose another row")
    text = ""
    if wanted.hands_back(point):
        text = detail.whole_prompt(detail.records(point, lambda name: _named(given, name).open()))
    cut, note = _cut(path, point, given, leave_out)
    new = wanted.session or _session_id()
    move = _Move(new, info.cwd, wanted.cwd or info.cwd)
    owner = _named(given, point.span.file if point.span is not None else info.files[0])
    data = _export(cut, given, owner, move, first_line(wanted.title) or "fork", point.time)
    on_path = {other.id for _, other in cut}
    kept = [item for item in conversation.entries if not item.under and item.id.partition("#")[0] in on_path]
    return Fork(
        session=new,
        file=os.path.join(pending_folder(), new + ENDING),
        data=data,
        source=owner.name,
        last=kept[-1].id if kept else "",
        entries=len(kept),
        prompt_text=text,
        note=note if cut else EMPTY,
        title=wanted.title,
    )


def untouched(fork_file: str, digest: str) -> bool:
    """Whether a fork is still byte for byte what we wrote, and OpenCode has not imported it."""
    imported = any(database.has(path, session_of(fork_file)) for path in databases())
    return newfile.untouched(fork_file, digest) and not imported


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session; a fork that OpenCode does not have yet is imported first."""
    if fresh:
        return ("opencode",), cwd
    going_on = ("opencode", "--session", session)
    if is_there(session):
        return going_on, cwd
    file = os.path.join(pending_folder(), session + ENDING)
    return ("sh", "-c", f"opencode import {shlex.quote(file)} && exec {shlex.join(going_on)}"), cwd


def is_there(session: str) -> bool:
    """Whether OpenCode has a session in one of its databases; one that cannot be read is taken for without it."""
    for path in databases():
        try:
            with reading(path) as tables:
                if tables.has(session):
                    return True
        except Unread:
            continue
    return False


def _is_recorded(entry: Entry) -> bool:
    """What follows "@" in an id tells of a place, where no record is."""
    return entry.span is not None and "@" not in entry.id


def _named(sources: Sequence[Source], name: str) -> Source:
    return next((source for source in sources if source.name == name), None) or source_of(name)


def _cut(
    path: list[tuple[Source, Row]], point: Entry, sources: Sequence[Source], leave_out: bool
) -> tuple[list[tuple[Source, Row]], str]:
    """The rows that the fork carries. Calls of one message ran side by side: they stay together."""
    source, last = path[-1]
    if point.kind not in ("tool_call", "tool_result"):
        return (path[:-1] if leave_out else path), ""
    if leave_out and point.kind == "tool_call":
        while len(path) > 1 and path[-1][1].message == last.message and _is_call(path[-1][1]):
            path = path[:-1]
        return path, "" if path[-1][1] is not last else newfile.BATCH
    batch = _calls_of(source, last)
    at = next((number for number, uid in enumerate(batch) if uid == last.id), len(batch) - 1)
    if at == len(batch) - 1:
        return path, ""
    further = path_to_end(sources, path, batch[-1])
    return further, newfile.BATCH


def _is_call(row: Row) -> bool:
    return bool(row.faces) and row.faces[0].kind == "tool_call"


def path_to_end(sources: Sequence[Source], path: list[tuple[Source, Row]], last: str) -> list[tuple[Source, Row]]:
    """The path with further rows of its last message, up to one."""
    source, row = path[-1]
    extended = list(path)
    for _, line in _message_lines(source, row.message):
        uid = str(line.get("id"))
        if line.get("kind") == "part" and uid > row.id and uid <= last:
            extended.append((source, Row(uid, (), (), 0, 0, 0, 0, row.message)))
    return extended


def _calls_of(source: Source, row: Row) -> list[str]:
    """The tool calls of a row's message, in order."""
    return [
        str(line.get("id"))
        for _, line in _message_lines(source, row.message)
        if table(line.get("data")).get("type") == "tool"
    ]


def _message_lines(source: Source, message: str) -> list[tuple[bytes, Json]]:
    """The lines of a message and its parts."""
    found: list[tuple[bytes, Json]] = []
    mark = message.encode()
    with newfile.opened(source) as stream:
        for _, data, _ in lines(stream):
            if mark in data:
                plain = parse(data)
                if plain.get("id") == message or plain.get("message") == message:
                    found.append((data, plain))
    return found


@dataclass
class _Move:
    """What changes from the source to the fork."""

    session: str
    old_cwd: str
    new_cwd: str
    ids: dict[str, str] = field(default_factory=dict[str, str])
    _newest: dict[str, int] = field(default_factory=dict[str, int])

    def new_id(self, old: str, created: object) -> str:
        """A new id with the time of the old one, later than all that were made of its kind before."""
        found = _TIMED.fullmatch(old)
        kind = found[1] if found else old.partition("_")[0] or "msg"
        moment = int(found[2], 16) if found else int(created) * 4096 % _SPAN if isinstance(created, int) else 0
        moment = max(moment, self._newest.get(kind, -1) + 1)
        self._newest[kind] = moment
        self.ids[old] = f"{kind}_{moment:012x}{_random()}"
        return self.ids[old]

    def path(self, path: object) -> object:
        """Where a path of the old folder is in the new one."""
        if self.old_cwd == self.new_cwd or not isinstance(path, str) or not is_under(path, self.old_cwd):
            return path
        return newfile.moved(path, self.old_cwd, self.new_cwd)


def _export(
    path: list[tuple[Source, Row]], sources: Sequence[Source], owner: Source, move: _Move, title: str, moment: int
) -> bytes:
    """The bytes of the fork, in the form of `opencode export`."""
    wanted: dict[str, dict[str, set[str]]] = {}
    order: dict[str, tuple[str, str]] = {}
    for source, row in path:
        wanted.setdefault(source.name, {}).setdefault(row.message, set()).add(row.id)
        order.setdefault(row.message, (source.name, row.message))
    last = path[-1][1].message if path else ""
    found: dict[tuple[str, str], list[Json]] = {}
    for source in sources:
        if source.name in wanted:
            for message, plain in _gathered(source, wanted[source.name]).items():
                found.setdefault((source.name, message), plain)
    messages = [
        _message(found[key], wanted[key[0]][key[1]], move, whole=key[1] != last)
        for key in order.values()
        if key in found
    ]
    return dumped({"info": _session(owner, move, title, moment), "messages": messages})


def _gathered(source: Source, messages: dict[str, set[str]]) -> dict[str, list[Json]]:
    """The records of some messages of a source, each with its parts."""
    found: dict[str, list[Json]] = {}
    with newfile.opened(source) as stream:
        for _, data, _ in lines(stream):
            head = data[:300]
            if b'"kind":"message"' not in head and b'"kind":"part"' not in head:
                continue
            plain = parse(data)
            owner = plain.get("id") if plain.get("kind") == "message" else plain.get("message")
            if owner in messages and isinstance(plain.get("data"), dict) and _can_be_written(plain):
                found.setdefault(owner, []).append(plain)
    return {message: records for message, records in found.items() if records[0].get("kind") == "message"}


def _can_be_written(plain: Json) -> bool:
    """What is nested almost too deeply to be read cannot be written into the lists of an export."""
    try:
        dumped([[[[plain]]]])
    except RecursionError:
        return False
    return True


def _message(records: list[Json], rows: set[str], move: _Move, *, whole: bool) -> Json:
    """A message of the export; when it is the last one, only what comes up to the cut."""
    head = table(records[0].get("data"))
    old, created = str(records[0]["id"]), _created(head)
    parts = records[1:]
    if not whole and head.get("role") != "user":
        end = max((number for number, part in enumerate(parts) if part.get("id") in rows), default=len(parts) - 1)
        # What closes the step goes along with its last call: without it OpenCode could not revert it.
        while end + 1 < len(parts) and table(parts[end + 1].get("data")).get("type") in ("step-finish", "patch"):
            end += 1
        parts = parts[: end + 1]
    new = move.new_id(old, created)
    info: Json = {**head, "id": new, "sessionID": move.session}
    if isinstance(info.get("parentID"), str):
        info["parentID"] = move.ids.get(info["parentID"], info["parentID"])
    if isinstance(info.get("path"), dict):
        info["path"] = {name: move.path(value) for name, value in table(info["path"]).items()}
    made: list[Json] = []
    for part in parts:
        data = table(part.get("data"))
        tail = data.get("tail_start_id")
        changed = {"tail_start_id": move.ids.get(tail, tail)} if isinstance(tail, str) else {}
        uid = move.new_id(str(part["id"]), created)
        made.append({**data, **changed, "id": uid, "messageID": new, "sessionID": move.session})
    return {"info": info, "parts": made}


def _session(owner: Source, move: _Move, title: str, moment: int) -> Json:
    """The session's own record: the owner's, but for what is that session's alone."""
    info: Json = {}
    with newfile.opened(owner) as stream:
        for _, data, _ in lines(stream):
            plain = parse(data)
            if plain.get("kind") == "session":
                info = table(plain.get("data"))
                break
    newest = table(info.get("time")).get("updated")
    now = time.time_ns() // 1_000_000
    kept = {name: info[name] for name in ("projectID", "version", "agent", "model") if info.get(name)}
    try:
        family = origin(owner.name)
    except OSError:
        family = ""
    return {
        "projectID": "global",
        "version": "0",
        **kept,
        "id": move.session,
        "slug": re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "fork",
        "directory": move.new_cwd,
        "title": title,
        # Just before the source's: `opencode --continue` takes the newest session.
        "time": {"created": now, "updated": (newest if isinstance(newest, int) else moment // 1_000_000) - 1000},
        "metadata": {"forkpoint": {"from": session_of(owner.name), "origin": family or session_of(owner.name)}},
    }


def _created(head: Json) -> object:
    return table(head.get("time")).get("created")


def _session_id() -> str:
    """A new session's id: OpenCode's go downwards in time."""
    moment = (_SPAN - 1) ^ (time.time_ns() // 1_000_000 * 4096 % _SPAN)
    return f"ses_{moment:012x}{_random()}"


def _random() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(14))
