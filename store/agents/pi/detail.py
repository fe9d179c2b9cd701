"""The whole text of an entry and what else its record tells, read again at its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model import Block, Entry
from ..forms import show
from ..forms.plain import items, string, table
from ..forms.show import OpenFile
from .faces import faces, prompt_text
from .records import first_record, parse

NOTHING = "(no output)"


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    data = show.record_of(entry, open_file)
    record = parse(data)
    if not record:
        return show.unread(data)
    message = table(record.get("message"))
    role = message.get("role")
    if record.get("type") != "message":
        return _other(record)
    if role == "user":
        return [show.prose(typed(data)), *_images(message)]
    if role == "assistant":
        return _assistant(message, entry)
    if role == "toolResult":
        return _result(message)
    if role == "bashExecution":
        if entry.flavour == "shell":
            return [show.prose(f"! {string(message, 'command')}")]
        return [show.output(string(message, "output") or NOTHING, "")]
    if role in ("custom", "hookMessage"):
        return [*_texts(message.get("content")), *_images(message)]
    if isinstance(message.get("summary"), str):
        return [show.prose(message["summary"])]
    return [show.raw(record)]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens, cost and the like; only what the record has."""
    record = parse(show.record_of(entry, open_file))
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
    return show.facts_of(entry, found)


def typed(data: bytes) -> str:
    """The text of a prompt's record as it was typed, not cleaned."""
    line = first_record(data)
    return prompt_text(line.message) if line is not None and line.message is not None else ""


def _assistant(message: Mapping[str, Any], entry: Entry) -> list[Block]:
    if entry.flavour in ("api-error", "interrupted"):
        return [show.prose(string(message, "errorMessage") or entry.text)]
    content = message.get("content")
    if isinstance(content, str):
        return [show.prose(content)]
    # The entry's number among the parts that are shown.
    _, _, number = entry.id.partition("#")
    wanted = int(number) - 1 if number.isdigit() else 0
    shown = [part for part in map(table, items(content)) if _shows(part)]
    return [_part(shown[wanted])] if wanted < len(shown) else [show.raw(message)]


def _shows(part: Mapping[str, Any]) -> bool:
    line = first_record(show.line({"type": "message", "message": {"role": "assistant", "content": [part]}}))
    return line is not None and bool(faces(line, ""))


def _part(part: Mapping[str, Any]) -> Block:
    kind = part.get("type")
    if kind == "text":
        return show.prose(string(part, "text"))
    if kind == "thinking":
        return show.thinking(string(part, "thinking"))
    if kind == "toolCall":
        return _call(string(part, "name"), table(part.get("arguments")))
    return show.raw(part)


def _call(name: str, given: Mapping[str, Any]) -> Block:
    title = f"{name} {string(given, 'path')}".rstrip()
    edits = [table(edit) for edit in items(given.get("edits"))] or [given]
    if name == "edit" and any(isinstance(edit.get("oldText"), str) for edit in edits):
        return show.replaced(((string(edit, "oldText"), string(edit, "newText")) for edit in edits), title)
    if name == "write" and isinstance(given.get("content"), str):
        return show.given(given["content"], title)
    if isinstance(given.get("command"), str):
        return show.given(given["command"], name)
    return show.given(show.pretty(given), name)


def _result(message: Mapping[str, Any]) -> list[Block]:
    title = string(message, "toolName")
    content = message.get("content")
    told = [{"type": "text", "text": content}] if isinstance(content, str) else map(table, items(content))
    found: list[Block] = []
    for item in told:
        if item.get("type") == "text":
            found.append(show.output(string(item, "text") or NOTHING, title))
        else:
            found.append(_image(item))
    details = table(message.get("details"))
    patch = string(details, "patch") or string(details, "diff")
    if patch:
        found.append(show.diff(patch, title))
    return found or [show.output(NOTHING, title)]


def _other(record: Mapping[str, Any]) -> list[Block]:
    kind = record.get("type")
    if kind in ("compaction", "branch_summary") and isinstance(record.get("summary"), str):
        details = table(record.get("details"))
        files = [
            show.prose("\n".join(names), title)
            for key, title in (("readFiles", "files read"), ("modifiedFiles", "files changed"))
            if (names := [name for name in items(details.get(key)) if isinstance(name, str)])
        ]
        return [show.prose(record["summary"]), *files]
    if kind == "custom_message":
        return [*_texts(record.get("content")), *_images(record)]
    return [show.raw(record)]


def _texts(content: object) -> list[Block]:
    if isinstance(content, str):
        return [show.prose(content)]
    return [show.prose(string(part, "text")) for part in map(table, items(content)) if part.get("type") == "text"]


def _images(holder: Mapping[str, Any]) -> list[Block]:
    return [_image(part) for part in map(table, items(holder.get("content"))) if part.get("type") != "text"]


def _image(part: Mapping[str, Any]) -> Block:
    if part.get("type") != "image":
        return show.raw(part)
    return show.image(string(part, "mimeType") or "image", string(part, "data"))
