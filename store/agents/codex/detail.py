"""The whole text of an entry and what else its record tells, read again at its place in the file."""

from __future__ import annotations

import json
from typing import Any, cast

from ...model import Block, Entry
from ..forms import show
from ..forms.jsonl import parse
from ..forms.plain import string, table
from ..forms.show import OpenFile
from .faces import PATCH, command_of, parts_of, user_shell
from .patchtext import BEGIN

Json = dict[str, Any]


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    data = show.record_of(entry, open_file)
    record = parse(data)
    if not record:
        return show.unread(data)
    body = _body(record)
    if entry.flavour == "unknown":
        return [show.raw(record)]
    if record.get("type") == "compacted":
        return [show.prose(string(body, "message")), *_replacement(body)]
    kind = body.get("type")
    if kind == "message" or kind == "agent_message":
        return _message(body)
    if kind == "reasoning":
        texts = [string(part, "text") for name in ("summary", "content") for part in parts_of(body.get(name))]
        return [show.thinking("\n\n".join(text for text in texts if text))]
    if entry.kind == "tool_call":
        return _call(body, entry)
    if entry.kind == "tool_result":
        return _result(body, entry)
    said = string(body, "message")
    return [show.prose(said)] if said else [show.raw(body)]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Turn, ids, status and the like; only what the record has."""
    record = parse(show.record_of(entry, open_file))
    body = _body(record)
    passed = table(body.get("internal_chat_message_metadata_passthrough"))
    found = {
        "status": body.get("status"),
        "reason": body.get("reason"),
        "namespace": body.get("namespace"),
        "from": body.get("author"),
        "turn": passed.get("turn_id") or body.get("turn_id") or entry.prompt,
        "session": entry.session,
        "record": body.get("id") or record.get("ordinal"),
    }
    return show.facts_of(entry, found)


def whole_text(record: Json) -> str:
    """The text of a prompt as it was typed, not cleaned."""
    content = _body(record).get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text for part in parts_of(content) if (text := string(part, "text")))


def _body(record: Json) -> Json:
    """What a record says; the oldest form has no payload."""
    return table(record.get("payload")) or record


def _message(body: Json) -> list[Block]:
    content = body.get("content")
    if isinstance(content, str):
        return [show.prose(content)]
    found: list[Block] = []
    for part in parts_of(content):
        text = part.get("text")
        if isinstance(text, str):
            command = user_shell(text)
            found.append(show.prose(f"! {command}\n\n{_between(text, 'result')}" if command else text))
        elif "image_url" in part:
            found.append(_image(string(part, "image_url")))
        else:
            found.append(show.raw(part))
    return found


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip("\n")


def _call(body: Json, entry: Entry) -> list[Block]:
    title = entry.tool
    if body.get("type") == "custom_tool_call":
        text = string(body, "input")
        return [show.diff(text, title) if BEGIN in text else show.given(text, title)]
    given = _arguments(body)
    command = command_of(given.get("cmd") or given.get("command"))
    patch = command or string(given, "input") or string(given, "patch")
    if entry.tool == PATCH and BEGIN in patch:
        return [show.diff(patch[patch.find(BEGIN) :], title)]
    if command:
        return [show.given(command, title)]
    for name in ("message", "prompt"):
        if text := string(given, name):
            return [show.given(text, title)]
    return [show.given(show.pretty(given), title)]


def _arguments(body: Json) -> Json:
    given: object = body.get("arguments")
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)
        except (ValueError, RecursionError):
            return {"arguments": given}
    return table(given) or table(body.get("action"))


def _result(body: Json, entry: Entry) -> list[Block]:
    output: object = body.get("output")
    if isinstance(output, dict):
        output = cast("Json", output).get("content", output)
    if isinstance(output, str):
        return [show.output(_unpacked(output), entry.tool)]
    found: list[Block] = []
    for part in parts_of(output):
        if isinstance(part.get("text"), str):
            found.append(show.output(string(part, "text"), entry.tool))
        elif "image_url" in part:
            found.append(_image(string(part, "image_url")))
        else:
            found.append(show.raw(part))
    return found or [show.raw(output)]


def _unpacked(output: str) -> str:
    """Results until 2025 are JSON in a string."""
    if not output.startswith('{"output":'):
        return output
    try:
        told = table(json.loads(output, strict=False))
    except (ValueError, RecursionError):
        return output
    return string(told, "output") or output


def _replacement(body: Json) -> list[Block]:
    """What the model is given instead of the conversation so far."""
    count = len(parts_of(body.get("replacement_history")))
    return [show.prose(f"The model goes on with {count} messages instead of all before.")] if count else []


def _image(url: str) -> Block:
    head, _, data = url.partition(",")
    return show.image(head[5:].partition(";")[0], data) if head.startswith("data:") else show.image(url)
