"""The whole text of an entry and what else its record tells, read again at its place in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from ...model import Block, Entry
from ...text import clean, without_colour
from ..forms.jsonl import parse
from ..forms.regular import open_regular
from .faces import PATCH, command_of, parts_of, user_shell
from .patchtext import BEGIN

OpenFile = Callable[[str], BinaryIO]
Json = dict[str, Any]


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    data = _record(entry, open_file or open_regular)
    record = parse(data)
    if not record:
        text = clean(data.decode("utf-8", "replace"), keep_lines=True)
        return [Block("raw", text or "The record is no longer there.")]
    body = _body(record)
    if entry.flavour == "unknown":
        return [_raw(record)]
    if record.get("type") == "compacted":
        return [_text(_string(body, "message")), *_replacement(body)]
    kind = body.get("type")
    if kind == "message" or kind == "agent_message":
        return _message(body)
    if kind == "reasoning":
        texts = [_string(part, "text") for name in ("summary", "content") for part in parts_of(body.get(name))]
        return [Block("thinking", clean("\n\n".join(text for text in texts if text), keep_lines=True))]
    if entry.kind == "tool_call":
        return _call(body, entry)
    if entry.kind == "tool_result":
        return _result(body, entry)
    said = _string(body, "message")
    return [_text(said)] if said else [_raw(body)]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Turn, ids, status and the like; only what the record has."""
    record = parse(_record(entry, open_file or open_regular))
    body = _body(record)
    passed = _dict(body.get("internal_chat_message_metadata_passthrough"))
    found = {
        "status": body.get("status"),
        "reason": body.get("reason"),
        "namespace": body.get("namespace"),
        "from": body.get("author"),
        "turn": passed.get("turn_id") or body.get("turn_id") or entry.prompt,
        "session": entry.session,
        "record": body.get("id") or record.get("ordinal"),
    }
    shown = {name: clean(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}
    if entry.span is not None:
        shown["file"] = clean(entry.span.file)
    return shown


def whole_text(record: Json) -> str:
    """The text of a prompt as it was typed, not cleaned."""
    content = _body(record).get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text for part in parts_of(content) if (text := _string(part, "text")))


def _record(entry: Entry, open_file: OpenFile) -> bytes:
    if entry.span is None:
        return b""
    try:
        with open_file(entry.span.file) as file:
            file.seek(entry.span.offset)
            return file.read(entry.span.length)
    except OSError:
        return b""


def _body(record: Json) -> Json:
    """What a record says; the oldest form has no payload."""
    return _dict(record.get("payload")) or record


def _message(body: Json) -> list[Block]:
    content = body.get("content")
    if isinstance(content, str):
        return [_text(content)]
    found: list[Block] = []
    for part in parts_of(content):
        text = part.get("text")
        if isinstance(text, str):
            command = user_shell(text)
            found.append(_text(f"! {command}\n\n{_between(text, 'result')}" if command else text))
        elif "image_url" in part:
            found.append(_image(_string(part, "image_url")))
        else:
            found.append(_raw(part))
    return found


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip("\n")


def _call(body: Json, entry: Entry) -> list[Block]:
    title = entry.tool
    if body.get("type") == "custom_tool_call":
        text = _string(body, "input")
        return [Block("diff" if BEGIN in text else "tool_input", clean(text, keep_lines=True), title)]
    given = _arguments(body)
    command = command_of(given.get("cmd") or given.get("command"))
    patch = command or _string(given, "input") or _string(given, "patch")
    if entry.tool == PATCH and BEGIN in patch:
        return [Block("diff", clean(patch[patch.find(BEGIN) :], keep_lines=True), title)]
    if command:
        return [Block("tool_input", clean(command, keep_lines=True), title)]
    for name in ("message", "prompt"):
        if text := _string(given, name):
            return [Block("tool_input", clean(text, keep_lines=True), title)]
    return [Block("tool_input", _pretty(given), title)]


def _arguments(body: Json) -> Json:
    given: object = body.get("arguments")
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)
        except (ValueError, RecursionError):
            return {"arguments": given}
    return _dict(given) or _dict(body.get("action"))


def _result(body: Json, entry: Entry) -> list[Block]:
    output: object = body.get("output")
    if isinstance(output, dict):
        output = cast("Json", output).get("content", output)
    if isinstance(output, str):
        return [_output(_unpacked(output), entry.tool)]
    found: list[Block] = []
    for part in parts_of(output):
        if isinstance(part.get("text"), str):
            found.append(_output(_string(part, "text"), entry.tool))
        elif "image_url" in part:
            found.append(_image(_string(part, "image_url")))
        else:
            found.append(_raw(part))
    return found or [_raw(output)]


def _unpacked(output: str) -> str:
    """Results until 2025 are JSON in a string."""
    if not output.startswith('{"output":'):
        return output
    try:
        told = _dict(json.loads(output, strict=False))
    except (ValueError, RecursionError):
        return output
    return _string(told, "output") or output


def _replacement(body: Json) -> list[Block]:
    """What the model is given instead of the conversation so far."""
    count = len(parts_of(body.get("replacement_history")))
    return [Block("text", f"The model goes on with {count} messages instead of all before.")] if count else []


def _output(text: str, title: str) -> Block:
    return Block("tool_output", clean(without_colour(text), keep_lines=True), title)


def _text(text: str) -> Block:
    return Block("text", clean(without_colour(text), keep_lines=True))


def _image(url: str) -> Block:
    head, _, data = url.partition(",")
    if head.startswith("data:"):
        return Block("image", clean(f"{head[5:].partition(';')[0]}, {len(data) * 3 // 4 / 1000:,.0f} kB"))
    return Block("image", clean(url))


def _raw(value: object) -> Block:
    return Block("raw", _pretty(value))


def _pretty(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, indent=2), keep_lines=True)


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _string(plain: Json, name: str) -> str:
    value = plain.get(name)
    return value if isinstance(value, str) else ""
