"""The whole text of an entry and what else its record tells, read again at its place in the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from ...model import Block, Entry
from ...text import clean, without_colour
from ..forms.plain import items, string, table
from ..forms.regular import open_regular
from .faces import faces, prompt_text
from .records import first_record, parse

OpenFile = Callable[[str], BinaryIO]


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    data = _data(entry, open_file or open_regular)
    record = parse(data)
    if not record:
        text = clean(data.decode("utf-8", "replace"), keep_lines=True)
        return [Block("raw", text or "The record is no longer there.")]
    message = table(record.get("message"))
    role = message.get("role")
    if record.get("type") != "message":
        return _other(record)
    if role == "user":
        return [_text(typed(data)), *_images(message)]
    if role == "assistant":
        return _assistant(message, entry)
    if role == "toolResult":
        return _result(message)
    if role == "bashExecution":
        if entry.flavour == "shell":
            return [_text(f"! {string(message, 'command')}")]
        return [Block("tool_output", _plain(string(message, "output")) or "(no output)")]
    if role in ("custom", "hookMessage"):
        return [*_texts(message.get("content")), *_images(message)]
    if isinstance(message.get("summary"), str):
        return [_text(message["summary"])]
    return [_raw(record)]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens, cost and the like; only what the record has."""
    record = parse(_data(entry, open_file or open_regular))
    message = table(record.get("message"))
    usage = table(message.get("usage") or record.get("usage"))
    provider, model = message.get("provider"), message.get("model")
    cost = table(usage.get("cost")).get("total")
    took = message.get("durationMs")
    found = {
        "model": f"{provider}/{model}" if isinstance(provider, str) and isinstance(model, str) else model,
        "answered by": message.get("responseModel"),
        "thinking": message.get("thinkingLevel"),
        "tokens in": usage.get("input"),
        "tokens from cache": usage.get("cacheRead"),
        "tokens to cache": usage.get("cacheWrite"),
        "tokens out": usage.get("output"),
        "cost": f"{cost:.4f} $" if isinstance(cost, float | int) and cost else None,
        "stopped because": message.get("stopReason"),
        "error": message.get("errorMessage"),
        "took": f"{took / 1000:.1f} s" if isinstance(took, int) else None,
        "exit code": message.get("exitCode"),
        "whole output in": message.get("fullOutputPath"),
        "extension": record.get("customType") or message.get("customType"),
        "tokens before": record.get("tokensBefore"),
        "kept from": record.get("firstKeptEntryId"),
        "record": record.get("id"),
    }
    shown = {name: clean(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}
    if entry.span is not None:
        shown["file"] = clean(entry.span.file)
    return shown


def typed(data: bytes) -> str:
    """The text of a prompt's record as it was typed, not cleaned."""
    line = first_record(data)
    return prompt_text(line.message) if line is not None and line.message is not None else ""


def _data(entry: Entry, open_file: OpenFile) -> bytes:
    if entry.span is None:
        return b""
    try:
        with open_file(entry.span.file) as file:
            file.seek(entry.span.offset)
            return file.read(entry.span.length)
    except OSError:
        return b""


def _assistant(message: Mapping[str, Any], entry: Entry) -> list[Block]:
    if entry.flavour in ("api-error", "interrupted"):
        return [_text(string(message, "errorMessage") or entry.text)]
    content = message.get("content")
    if isinstance(content, str):
        return [_text(content)]
    # The entry's number among the parts that are shown.
    _, _, number = entry.id.partition("#")
    wanted = int(number) - 1 if number.isdigit() else 0
    shown = [part for part in map(table, items(content)) if _shows(part)]
    return [_part(shown[wanted])] if wanted < len(shown) else [_raw(message)]


def _shows(part: Mapping[str, Any]) -> bool:
    line = first_record(json.dumps({"type": "message", "message": {"role": "assistant", "content": [part]}}).encode())
    return line is not None and bool(faces(line, ""))


def _part(part: Mapping[str, Any]) -> Block:
    kind = part.get("type")
    if kind == "text":
        return _text(string(part, "text"))
    if kind == "thinking":
        return Block("thinking", clean(string(part, "thinking"), keep_lines=True))
    if kind == "toolCall":
        return _call(string(part, "name"), table(part.get("arguments")))
    return _raw(part)


def _call(name: str, given: Mapping[str, Any]) -> Block:
    title = clean(f"{name} {string(given, 'path')}".rstrip())
    edits = [table(edit) for edit in items(given.get("edits"))] or [given]
    if name == "edit" and any(isinstance(edit.get("oldText"), str) for edit in edits):
        text = "\n".join(
            _signed(string(edit, "oldText"), "-") + _signed(string(edit, "newText"), "+") for edit in edits
        )
        return Block("diff", clean(text, keep_lines=True).rstrip("\n"), title)
    if name == "write" and isinstance(given.get("content"), str):
        return Block("tool_input", clean(given["content"], keep_lines=True), title)
    if isinstance(given.get("command"), str):
        return Block("tool_input", clean(given["command"], keep_lines=True), clean(name))
    return Block("tool_input", _pretty(given), clean(name))


def _result(message: Mapping[str, Any]) -> list[Block]:
    title = clean(string(message, "toolName"))
    content = message.get("content")
    told = [{"type": "text", "text": content}] if isinstance(content, str) else map(table, items(content))
    found: list[Block] = []
    for item in told:
        if item.get("type") == "text":
            found.append(Block("tool_output", _plain(string(item, "text")) or "(no output)", title))
        else:
            found.append(_image(item))
    details = table(message.get("details"))
    patch = string(details, "patch") or string(details, "diff")
    if patch:
        found.append(Block("diff", clean(patch, keep_lines=True).rstrip("\n"), title))
    return found or [Block("tool_output", "(no output)", title)]


def _other(record: Mapping[str, Any]) -> list[Block]:
    kind = record.get("type")
    if kind in ("compaction", "branch_summary") and isinstance(record.get("summary"), str):
        details = table(record.get("details"))
        files = [
            Block("text", clean("\n".join(names), keep_lines=True), title)
            for key, title in (("readFiles", "files read"), ("modifiedFiles", "files changed"))
            if (names := [name for name in items(details.get(key)) if isinstance(name, str)])
        ]
        return [_text(record["summary"]), *files]
    if kind == "custom_message":
        return [*_texts(record.get("content")), *_images(record)]
    return [_raw(record)]


def _texts(content: object) -> list[Block]:
    if isinstance(content, str):
        return [_text(content)]
    return [_text(string(part, "text")) for part in map(table, items(content)) if part.get("type") == "text"]


def _images(holder: Mapping[str, Any]) -> list[Block]:
    return [_image(part) for part in map(table, items(holder.get("content"))) if part.get("type") != "text"]


def _image(part: Mapping[str, Any]) -> Block:
    if part.get("type") != "image":
        return _raw(part)
    size = len(string(part, "data")) * 3 // 4
    return Block("image", clean(f"{string(part, 'mimeType') or 'image'}, {size / 1000:,.0f} kB"))


def _text(text: str) -> Block:
    return Block("text", _plain(text))


def _plain(text: str) -> str:
    return clean(without_colour(text), keep_lines=True)


def _raw(value: object) -> Block:
    return Block("raw", _pretty(value))


def _pretty(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, indent=2), keep_lines=True)


def _signed(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.removesuffix("\n").split("\n")) if text else ""
