"""The whole text of an entry and what else its record tells, read again at its place in the file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, BinaryIO, cast

from ...model import Block, Entry
from ...text import clean, without_colour
from ..forms.regular import open_regular as open_on_disk
from .faces import AGENT_TOOLS, EDIT_TOOLS, faces, inner, slash
from .records import Unreadable, parse, records

OpenFile = Callable[[str], BinaryIO]
_LONGEST_SPILL = 1 << 20
_UNREADABLE = 64 << 10
"""Bytes that are shown of what is no record: it can be larger than memory."""


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    opener = open_file or open_on_disk
    data = _record(entry, opener)
    record = parse(data)
    if not record:
        text = clean(data.decode("utf-8", "replace"), keep_lines=True)
        return [Block("raw", text or "The record is no longer there.")]
    if entry.flavour == "unknown" or record.get("type") not in ("user", "assistant", "attachment"):
        return _other(record, entry)
    if record["type"] == "attachment":
        return _attachment(record)
    message = _dict(record.get("message"))
    content = message.get("content")
    if isinstance(content, str):
        return [_prose(content)]
    parts = [cast("dict[str, Any]", part) for part in _list(content) if isinstance(part, dict)]
    chosen = _parts_of(entry, record["type"], parts)
    return [block for part in chosen for block in _part(part, record, entry, opener)] or [_raw(record)]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens, version, folder and the like; only what the record has."""
    record = parse(_record(entry, open_file or open_on_disk))
    message = _dict(record.get("message"))
    usage = _dict(message.get("usage"))
    found = {
        "model": message.get("model"),
        "tokens in": usage.get("input_tokens"),
        "tokens from cache": usage.get("cache_read_input_tokens"),
        "tokens to cache": usage.get("cache_creation_input_tokens"),
        "tokens out": usage.get("output_tokens"),
        "stopped because": message.get("stop_reason"),
        "effort": record.get("effort"),
        "took": f"{record['durationMs'] / 1000:.1f} s" if isinstance(record.get("durationMs"), int) else None,
        "permission": _dict(record.get("permissionDecision")).get("decision") or record.get("permissionMode"),
        "denied": record.get("toolDenialKind"),
        "folder": record.get("cwd"),
        "git branch": record.get("gitBranch"),
        "version": record.get("version"),
        "started from": record.get("entrypoint"),
        "session": record.get("sessionId"),
        "message": message.get("id"),
        "record": record.get("uuid"),
    }
    shown = {name: clean(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}
    if entry.span is not None:
        shown["file"] = clean(entry.span.file)
    return shown


def whole_text(record: dict[str, Any]) -> str:
    """The text of a prompt as it was typed, not cleaned; a slash command as it is typed again."""
    attached = _dict(record.get("attachment"))
    content = attached.get("prompt") if attached else _dict(record.get("message")).get("content")
    if not isinstance(content, str):
        parts = [cast("dict[str, Any]", part) for part in _list(content) if isinstance(part, dict)]
        texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
        content = "\n".join(text for text in texts if not text.lstrip().startswith("<system-reminder>"))
    return slash(content) if content.lstrip().startswith("<command-message>") else content


def _record(entry: Entry, open_file: OpenFile) -> bytes:
    if entry.span is None:
        return b""
    try:
        with open_file(entry.span.file) as file:
            file.seek(entry.span.offset)
            return file.read(
                min(entry.span.length, _UNREADABLE) if entry.flavour == "unreadable" else entry.span.length
            )
    except OSError:
        return b""


def _parts_of(entry: Entry, kind: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts that an entry stands for: its number among those of the record that are shown."""
    _, _, number = entry.id.partition("#")
    wanted = int(number) - 1 if number.isdigit() else 0
    alone = [part for part in parts if kind == "assistant" or part.get("type") == "tool_result"]
    shown = [part for part in alone if _shows(kind, part)]
    if wanted < len(shown):
        return [shown[wanted]]
    return [part for part in parts if part not in alone]


def _shows(kind: str, part: dict[str, Any]) -> bool:
    data = json.dumps({"type": kind, "message": {"content": [part]}}).encode()
    return any(not isinstance(line, Unreadable) and faces(line, "") for _, _, line in records(BytesIO(data)))


def _part(part: dict[str, Any], record: dict[str, Any], entry: Entry, open_file: OpenFile) -> list[Block]:
    kind = part.get("type")
    if kind == "text":
        return [_prose(_string(part, "text"))]
    if kind == "thinking":
        return [Block("thinking", clean(_string(part, "thinking"), keep_lines=True))]
    if kind == "tool_result":
        return _result(part, record, entry, open_file)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _call(_string(part, "name"), _dict(part.get("input")))
    if kind in ("image", "document"):
        return [_image(part)]
    return [_raw(part)]


def _call(name: str, given: dict[str, Any]) -> list[Block]:
    title = clean(name)
    path = _string(given, "file_path") or _string(given, "notebook_path")
    edits = [cast("dict[str, Any]", edit) for edit in _list(given.get("edits")) if isinstance(edit, dict)] or [given]
    if name in EDIT_TOOLS and path and any(isinstance(edit.get("old_string"), str) for edit in edits):
        text = "\n".join(
            _signed(_string(edit, "old_string"), "-") + _signed(_string(edit, "new_string"), "+") for edit in edits
        )
        return [Block("diff", clean(text, keep_lines=True).rstrip("\n"), clean(f"{name} {path}"))]
    if name == "Write" and path and isinstance(given.get("content"), str):
        return [Block("tool_input", clean(given["content"], keep_lines=True), clean(f"{name} {path}"))]
    if isinstance(given.get("command"), str):
        return [Block("tool_input", clean(given["command"], keep_lines=True), title)]
    if name in AGENT_TOOLS and isinstance(given.get("prompt"), str):
        title = clean(f"{name} {_string(given, 'description')}".rstrip())
        return [Block("tool_input", clean(given["prompt"], keep_lines=True), title)]
    return [Block("tool_input", _pretty(given), title)]


def _result(part: dict[str, Any], record: dict[str, Any], entry: Entry, open_file: OpenFile) -> list[Block]:
    title = entry.tool
    found: list[Block] = []
    content = part.get("content")
    items: Sequence[object] = [{"type": "text", "text": content}] if isinstance(content, str) else _list(content)
    for item in items:
        piece = _dict(item)
        if piece.get("type") in ("image", "document"):
            found.append(_image(piece))
            continue
        text = _string(piece, "text") if piece.get("type") == "text" else _pretty(piece)
        text = without_colour(inner("tool_use_error", text) or text)
        found.append(Block("tool_output", clean(text, keep_lines=True), title))
    told = _dict(record.get("toolUseResult"))
    found += _patches(told)
    spilled = _string(told, "persistedOutputPath")
    if spilled and entry.span is not None:
        found += _spilled(spilled, entry, open_file)
    return found


def _patches(told: dict[str, Any]) -> list[Block]:
    """What a call changed in files, as unified hunks."""
    diffs = [(told.get("filePath"), told.get("structuredPatch"))]
    seen = _dict(told.get("bashEditDiff")).get("files")
    diffs += [(_dict(file).get("filePath"), _dict(file).get("hunks")) for file in _list(seen)]
    found: list[Block] = []
    for path, hunks in diffs:
        text = "\n".join(line for hunk in _list(hunks) for line in _hunk(_dict(hunk)))
        if text:
            found.append(Block("diff", clean(text, keep_lines=True), clean(path) if isinstance(path, str) else ""))
    return found


def _hunk(hunk: dict[str, Any]) -> list[str]:
    numbers = [hunk.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
    lines = [line for line in _list(hunk.get("lines")) if isinstance(line, str)]
    if not lines:
        return []
    start, count, to, length = (number if isinstance(number, int) else 0 for number in numbers)
    return [f"@@ -{start},{count} +{to},{length} @@", *lines]


def _spilled(path: str, entry: Entry, open_file: OpenFile) -> list[Block]:
    """The whole output, which was too large for the record; its recorded path is that of the machine that wrote it."""
    assert entry.span is not None
    folder = os.path.dirname(entry.span.file)
    if os.path.basename(entry.span.file).startswith("agent-"):
        folder = os.path.dirname(os.path.dirname(folder))
    name = os.path.basename(path.replace("\\", "/"))
    try:
        with open_file(os.path.join(folder, entry.session, "tool-results", name)) as file:
            data = file.read(_LONGEST_SPILL + 1)
    except OSError:
        return []
    text = clean(without_colour(data[:_LONGEST_SPILL].decode("utf-8", "replace")), keep_lines=True)
    return [Block("tool_output", text + ("\n…" if len(data) > _LONGEST_SPILL else ""), "the whole output")]


def _attachment(record: dict[str, Any]) -> list[Block]:
    attached = _dict(record.get("attachment"))
    if attached.get("type") == "queued_command":
        return [_prose(whole_text(record))]
    snippet = attached.get("snippet")
    if isinstance(snippet, str):
        return [Block("text", clean(snippet, keep_lines=True), clean(_string(attached, "filename")))]
    return [_raw(attached)]


def _other(record: dict[str, Any], entry: Entry) -> list[Block]:
    content = record.get("content")
    if record.get("type") == "system" and isinstance(content, str) and entry.flavour != "unknown":
        return [Block("text", clean(without_colour(content), keep_lines=True))]
    return [_raw(record)]


def _prose(text: str) -> Block:
    tag = text.lstrip()[:40].removeprefix("<").partition(">")[0]
    if tag in ("command-message", "command-name"):
        text = slash(text)
    elif tag == "bash-input":
        text = f"! {inner(tag, text)}"
    elif tag.startswith(("local-command-", "bash-")):
        text = "\n".join(part for part in (inner(tag, text), inner("bash-stderr", text)) if part) or "(no output)"
    elif tag == "task-notification":
        text = inner("result", text) or inner("summary", text) or text
    return Block("text", clean(without_colour(text), keep_lines=True))


def _image(part: dict[str, Any]) -> Block:
    source = _dict(part.get("source"))
    data = _string(source, "data")
    size = f", {len(data) * 3 // 4 / 1000:,.0f} kB" if data else ""
    kind = _string(source, "media_type") or _string(source, "url") or _string(part, "type")
    return Block("image", clean(f"{kind}{size}"), clean(_string(part, "title")))


def _raw(value: object) -> Block:
    return Block("raw", _pretty(value))


def _pretty(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, indent=2), keep_lines=True)


def _signed(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.removesuffix("\n").split("\n")) if text else ""


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _string(plain: dict[str, Any], name: str) -> str:
    value = plain.get(name)
    return value if isinstance(value, str) else ""
