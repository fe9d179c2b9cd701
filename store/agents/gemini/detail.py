"""The whole text of an entry and what else its message tells, read again at its place in the file."""

from __future__ import annotations

from io import BytesIO
from typing import Any, cast

from msgspec import UnsetType

from ...model import Block, Entry
from ..forms import show
from ..forms.plain import items, string, table
from ..forms.show import OpenFile
from .callkeys import MARK
from .faces import EDIT_TOOLS, MESSAGES, bare, typed
from .records import Line, parse, parts_of, records


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a message that is gone or unreadable is shown as such."""
    data = show.record_of(entry, open_file)
    record, line = parse(data), _line(data)
    if not record or line is None:
        return show.unread(data)
    if line.type not in MESSAGES:
        return [show.raw(record)]
    call = _call_of(entry, record)
    if entry.kind == "tool_call":
        return _given(string(call, "name"), table(call.get("args")))
    if entry.kind == "tool_result":
        return _result(entry, call, record)
    if line.type == "user":
        return _typed(line)
    if entry.flavour == "thinking":
        return [show.thinking(text) for text in _thoughts(line, entry)]
    texts = [part.text for part in parts_of(line.content) if part.text and not part.thought]
    return [show.prose("\n".join(texts))]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens and the like; only what the record has."""
    record = parse(show.record_of(entry, open_file))
    tokens = table(record.get("tokens"))
    call = _call_of(entry, record)
    found = {
        "model": record.get("model"),
        "tokens in": tokens.get("input"),
        "tokens from cache": tokens.get("cached"),
        "tokens out": tokens.get("output"),
        "tokens of thoughts": tokens.get("thoughts"),
        "status": call.get("status"),
        "called": call.get("displayName"),
        "what it does": call.get("description"),
        "call": call.get("id"),
        "session": entry.session,
        "record": record.get("id"),
    }
    return show.facts_of(entry, found)


def _line(data: bytes) -> Line | None:
    # A session of the old form has messages that stand on many lines.
    one = data if b"\n" not in data else show.line(parse(data))
    return next((line for _, _, line in records(BytesIO(one)) if isinstance(line, Line)), None)


def _call_of(entry: Entry, record: dict[str, Any]) -> dict[str, Any]:
    """The call that an entry stands for, from the record of calls or from the message itself."""
    uid = entry.call.partition(MARK)[2]
    for call in map(table, items(record.get("toolCalls"))):
        if uid and call.get("id") == uid:
            return call
    for part in map(table, items(record.get("content"))):
        for name in ("functionCall", "functionResponse"):
            call = table(part.get(name))
            if call and (call.get("id") == uid or not uid):
                return call
    return {}


def _typed(line: Line) -> list[Block]:
    found = [show.prose(typed(line))]
    sent = "\n".join(part.text for part in parts_of(line.content) if part.text)
    if parts_of(line.display) and sent.strip() != typed(line).strip():
        found.append(show.prose(sent, "what the model was given"))
    for part in parts_of(line.content):
        if not isinstance(part.data, UnsetType):
            plain = parse(bytes(part.data))
            found.append(show.image(string(plain, "mimeType"), string(plain, "data")))
    return found


def _thoughts(line: Line, entry: Entry) -> list[str]:
    """The thought that an entry stands for: its number among those of the message."""
    number = int(entry.id.partition("#")[2] or 1)
    thoughts = [f"{thought.subject}\n{thought.description}".strip() for thought in line.thoughts or ()]
    thoughts = thoughts or [part.text for part in parts_of(line.content) if part.thought]
    shown = [text for text in thoughts if text.strip()]
    return shown[number - 1 : number] or shown


def _given(name: str, given: dict[str, Any]) -> list[Block]:
    path = string(given, "file_path")
    if name in EDIT_TOOLS and path and isinstance(given.get("old_string"), str):
        return [show.replaced([(string(given, "old_string"), string(given, "new_string"))], f"{name} {path}")]
    if name in EDIT_TOOLS and path and isinstance(given.get("content"), str):
        return [show.given(given["content"], f"{name} {path}")]
    for key in ("command", "prompt"):
        if isinstance(given.get(key), str):
            return [show.given(given[key], name)]
    return [show.given(show.pretty(given), name)]


def _result(entry: Entry, call: dict[str, Any], record: dict[str, Any]) -> list[Block]:
    shown = call.get("resultDisplay")
    told = answer_text(call.get("result", [{"functionResponse": call}]))
    found = [show.output(told, entry.tool)] if told else []
    diff = table(shown).get("fileDiff")
    if isinstance(diff, str):
        hunks = diff[diff.find("@@") :] if "@@" in diff else diff
        found.append(show.diff(hunks, string(table(shown), "filePath")))
    elif isinstance(shown, str) and shown.strip() and shown.strip() != told.strip():
        found.append(show.output(shown, "as it was shown"))
    elif isinstance(shown, dict):
        found.append(show.raw(cast("dict[str, Any]", shown)))
    return found or [show.raw(call or record)]


def answer_text(result: object) -> str:
    """All that the model was told that a call gave."""
    for part in items(result) or [result]:
        if isinstance(part, str):
            return bare(part)
        response = table(table(table(part).get("functionResponse")).get("response"))
        text = next((string(response, name) for name in ("output", "error", "result") if string(response, name)), "")
        if text:
            return bare(text)
    return ""
