"""The whole text of an entry and what else its record tells, read again where it stands."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from ...model import Block, Entry
from ..forms import show
from ..forms.jsonl import lines, parse
from ..forms.plain import items, string, table
from ..forms.show import OpenFile
from . import database
from .faces import EDIT_TOOLS
from .listing import open_file as open_session
from .places import split
from .tree import REVERT

Json = dict[str, Any]


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    if REVERT in entry.id:
        return [show.prose(entry.text)]
    found = records(entry, open_file)
    if not found:
        return show.unread(b"")
    head = table(found[0].get("data"))
    if entry.kind == "prompt" or found[0].get("kind") == "message":
        if table(head.get("error")):
            return [show.raw(head["error"])]
        shown = [block for line in found[1:] for block in _asked(table(line.get("data")))]
        return shown or [show.raw(head)]
    return _part(head, entry)


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens, agent, time and the like; only what the record has."""
    found = records(entry, open_file) if REVERT not in entry.id else []
    data = table(found[0].get("data")) if found else {}
    state, tokens = table(data.get("state")), table(data.get("tokens"))
    cache, model, time = table(tokens.get("cache")), table(data.get("model")), table(state.get("time"))
    start, end = time.get("start"), time.get("end")
    took = f"{(end - start) / 1000:.1f} s" if isinstance(start, int) and isinstance(end, int) else None
    told = {
        "model": data.get("modelID") or model.get("modelID"),
        "provider": data.get("providerID") or model.get("providerID"),
        "agent": data.get("agent"),
        "tokens in": tokens.get("input"),
        "tokens out": tokens.get("output"),
        "tokens from cache": cache.get("read"),
        "tokens to cache": cache.get("write"),
        "stopped because": data.get("finish"),
        "status": state.get("status"),
        "took": took,
        "output left out since": "a compaction" if time.get("compacted") else None,
        "folder": table(data.get("path")).get("cwd"),
        "removed": "after a revert" if found and found[0].get("gone") else None,
        "session": entry.session,
        "record": entry.id.partition("#")[0],
    }
    return show.facts_of(entry, told)


def records(entry: Entry, open_file: OpenFile | None = None) -> list[Json]:
    """The lines of an entry's record, a message's with those of its parts; [] when they are gone.

    A session is written anew as it grows, so where it stood proves nothing: the id does.
    """
    span = entry.span
    if span is None:
        return []
    uid = entry.id.partition("#")[0]
    path, session = split(span.file)
    data = database.line(path, uid) if session else b""
    found = _lines(data)
    if found:
        return found
    try:
        with (open_file or open_session)(span.file) as stream:
            stream.seek(span.offset)
            found = _lines(stream.read(span.length))
            if found and (found[0].get("id") == uid or "@" in uid):
                return found
            stream.seek(0)
            return _searched(stream, uid)
    except OSError:
        return []


def whole_prompt(found: list[Json]) -> str:
    """The text of a prompt as it was typed, not cleaned."""
    parts = [table(line.get("data")) for line in found[1:]]
    texts = [
        str(part.get("text"))
        for part in parts
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
    ]
    commands = [f"/{part['command']}" for part in parts if part.get("type") == "subtask" and part.get("command")]
    return "\n".join(texts or commands)


def _lines(data: bytes) -> list[Json]:
    return [plain for line in data.split(b"\n") if line and (plain := parse(line))]


def _searched(stream: BinaryIO, uid: str) -> list[Json]:
    """The record of this id, with its parts, wherever it stands."""
    mark = json.dumps(uid).encode()
    found: list[Json] = []
    for _, data, _ in lines(stream):
        if not found:
            plain = parse(data) if data[:200].find(b'"id":' + mark) > 0 else {}
            if plain.get("id") == uid:
                found.append(plain)
        else:
            plain = parse(data)
            if found[0].get("kind") != "message" or plain.get("message") != uid:
                break
            found.append(plain)
    return found


def _asked(part: Json) -> list[Block]:
    """A part of a prompt."""
    kind = part.get("type")
    if kind == "text":
        if part.get("synthetic") or part.get("ignored"):
            return []
        return [show.prose(string(part, "text"))]
    if kind == "file":
        return [_file(part)]
    if kind == "subtask":
        title = f"{string(part, 'agent')}: {string(part, 'description')}".strip(": ")
        return [show.prose(string(part, "prompt"), title)]
    if kind == "agent":
        return [show.prose(f"@{string(part, 'name')}")]
    if kind == "compaction":
        how = "Earlier messages are summed up for the model from here on; they stay in the session."
        return [show.prose(how)]
    return [show.raw(part)]


def _part(part: Json, entry: Entry) -> list[Block]:
    kind = part.get("type")
    if kind == "text":
        return [show.prose(string(part, "text"))]
    if kind == "reasoning":
        return [show.thinking(string(part, "text"))]
    if kind == "tool":
        return _result(part) if entry.kind == "tool_result" else _call(part)
    if kind == "file":
        return [_file(part)]
    if kind == "subtask":
        return _asked(part)
    return [show.raw(part)]


def _call(part: Json) -> list[Block]:
    name, given = string(part, "tool"), table(table(part.get("state")).get("input"))
    path = string(given, "filePath") or string(given, "path")
    title = f"{name} {path}" if name in EDIT_TOOLS and path else name
    edits = [table(edit) for edit in items(given.get("edits"))] or [given]
    if name in EDIT_TOOLS and any(isinstance(edit.get("oldString"), str) for edit in edits):
        return [show.replaced(((string(edit, "oldString"), string(edit, "newString")) for edit in edits), title)]
    for key in ("patchText", "content", "command", "prompt"):
        if isinstance(given.get(key), str):
            return [show.diff(given[key], title) if key == "patchText" else show.given(given[key], title)]
    return [show.given(show.pretty(given), title)]


def _result(part: Json) -> list[Block]:
    state = table(part.get("state"))
    text = string(state, "error") if state.get("status") == "error" else string(state, "output")
    found = [show.output(text, string(part, "tool"))]
    told = table(state.get("metadata"))
    changed = table(told.get("filediff"))
    patch = string(told, "diff") or string(changed, "patch")
    if patch:
        found.append(show.diff(patch, string(changed, "file")))
    elif isinstance(changed.get("before"), str) and isinstance(changed.get("after"), str):
        found.append(show.replaced([(changed["before"], changed["after"])], string(changed, "file")))
    return found + [_file(table(item)) for item in items(state.get("attachments"))]


def _file(part: Json) -> Block:
    url = string(part, "url")
    if url.startswith("data:"):
        return show.image(string(part, "mime"), url, string(part, "filename"))
    return show.image(f"{string(part, 'mime')} {url}".strip(), title=string(part, "filename"))
