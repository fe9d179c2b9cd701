"""The whole text of an entry and what else its message tells, read again at its place in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any, BinaryIO, cast

from msgspec import UnsetType

from ...model import Block, Entry
from ...text import clean, without_colour
from ..forms.plain import items, string, table
from ..forms.regular import open_regular
from .callkeys import MARK
from .faces import EDIT_TOOLS, MESSAGES, bare, typed
from .records import Line, parse, parts_of, records

OpenFile = Callable[[str], BinaryIO]


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a message that is gone or unreadable is shown as such."""
    data = _record(entry, open_file or open_regular)
    record, line = parse(data), _line(data)
    if not record or line is None:
        text = clean(data.decode("utf-8", "replace"), keep_lines=True)
        return [Block("raw", text or "The record is no longer there.")]
    if line.type not in MESSAGES:
        return [_raw(record)]
    call = _call_of(entry, record)
    if entry.kind == "tool_call":
        return _given(string(call, "name"), table(call.get("args")))
    if entry.kind == "tool_result":
        return _result(entry, call, record)
    if line.type == "user":
        return _typed(line)
    if entry.flavour == "thinking":
        return [Block("thinking", text) for text in _thoughts(line, entry)]
    texts = [part.text for part in parts_of(line.content) if part.text and not part.thought]
    return [Block("text", clean(without_colour("\n".join(texts)), keep_lines=True))]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens and the like; only what the record has."""
    record = parse(_record(entry, open_file or open_regular))
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
    shown = {name: clean(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}
    if entry.span is not None:
        shown["file"] = clean(entry.span.file)
    return shown


def _record(entry: Entry, open_file: OpenFile) -> bytes:
    if entry.span is None:
        return b""
    try:
        with open_file(entry.span.file) as file:
            file.seek(entry.span.offset)
            return file.read(entry.span.length)
    except OSError:
        return b""


def _line(data: bytes) -> Line | None:
    # A session of the old form has messages that stand on many lines.
    one = data if b"\n" not in data else json.dumps(parse(data)).encode()
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
    found = [Block("text", clean(without_colour(typed(line)), keep_lines=True))]
    sent = "\n".join(part.text for part in parts_of(line.content) if part.text)
    if parts_of(line.display) and sent.strip() != typed(line).strip():
        found.append(Block("text", clean(without_colour(sent), keep_lines=True), "what the model was given"))
    for part in parts_of(line.content):
        if not isinstance(part.data, UnsetType):
            plain = parse(bytes(part.data))
            size = f", {len(string(plain, 'data')) * 3 // 4 / 1000:,.0f} kB"
            found.append(Block("image", clean(string(plain, "mimeType") + size)))
    return found


def _thoughts(line: Line, entry: Entry) -> list[str]:
    """The thought that an entry stands for: its number among those of the message."""
    number = int(entry.id.partition("#")[2] or 1)
    thoughts = [f"{thought.subject}\n{thought.description}".strip() for thought in line.thoughts or ()]
    thoughts = thoughts or [part.text for part in parts_of(line.content) if part.thought]
    shown = [clean(text, keep_lines=True) for text in thoughts if text.strip()]
    return shown[number - 1 : number] or shown


def _given(name: str, given: dict[str, Any]) -> list[Block]:
    title = clean(name)
    path = string(given, "file_path")
    if name in EDIT_TOOLS and path and isinstance(given.get("old_string"), str):
        text = _signed(string(given, "old_string"), "-") + _signed(string(given, "new_string"), "+")
        return [Block("diff", clean(text, keep_lines=True).rstrip("\n"), clean(f"{name} {path}"))]
    if name in EDIT_TOOLS and path and isinstance(given.get("content"), str):
        return [Block("tool_input", clean(given["content"], keep_lines=True), clean(f"{name} {path}"))]
    for key in ("command", "prompt"):
        if isinstance(given.get(key), str):
            return [Block("tool_input", clean(given[key], keep_lines=True), title)]
    return [Block("tool_input", _pretty(given), title)]


def _result(entry: Entry, call: dict[str, Any], record: dict[str, Any]) -> list[Block]:
    shown = call.get("resultDisplay")
    told = answer_text(call.get("result", [{"functionResponse": call}]))
    found = [Block("tool_output", clean(without_colour(told), keep_lines=True), entry.tool)] if told else []
    diff = table(shown).get("fileDiff")
    if isinstance(diff, str):
        hunks = diff[diff.find("@@") :] if "@@" in diff else diff
        found.append(Block("diff", clean(hunks, keep_lines=True), clean(string(table(shown), "filePath"))))
    elif isinstance(shown, str) and shown.strip() and shown.strip() != told.strip():
        found.append(Block("tool_output", clean(without_colour(shown), keep_lines=True), "as it was shown"))
    elif isinstance(shown, dict):
        found.append(_raw(cast("dict[str, Any]", shown)))
    return found or [_raw(call or record)]


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


def _raw(value: object) -> Block:
    return Block("raw", _pretty(value))


def _pretty(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, indent=2), keep_lines=True)


def _signed(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.removesuffix("\n").split("\n")) if text else ""
