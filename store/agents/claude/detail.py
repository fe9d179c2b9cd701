"""The whole text of an entry and what else its record tells, read again at its place in the file."""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

from ...model import Block, Entry
from ..forms import show
from ..forms.plain import items, string, table
from ..forms.regular import open_regular as open_on_disk
from ..forms.show import OpenFile
from .faces import AGENT_TOOLS, EDIT_TOOLS, faces, inner, slash
from .records import Unreadable, parse, records

_LONGEST_SPILL = 1 << 20


def blocks(entry: Entry, open_file: OpenFile | None = None) -> list[Block]:
    """The parts of an entry in full; a record that is gone or unreadable is shown as such."""
    opener = open_file or open_on_disk
    data = show.record_of(entry, open_file)
    record = parse(data)
    if not record:
        return show.unread(data)
    if entry.flavour == "unknown" or record.get("type") not in ("user", "assistant", "attachment"):
        return _other(record, entry)
    if record["type"] == "attachment":
        return _attachment(record)
    message = table(record.get("message"))
    content = message.get("content")
    if isinstance(content, str):
        return [_prose(content)]
    parts = [part for part in map(table, items(content)) if part]
    chosen = _parts_of(entry, record["type"], parts)
    return [block for part in chosen for block in _part(part, record, entry, opener)] or [show.raw(record)]


def facts(entry: Entry, open_file: OpenFile | None = None) -> dict[str, str]:
    """Model, tokens, version, folder and the like; only what the record has."""
    record = parse(show.record_of(entry, open_file))
    message = table(record.get("message"))
    usage = table(message.get("usage"))
    found = {
        "model": message.get("model"),
        "tokens in": usage.get("input_tokens"),
        "tokens from cache": usage.get("cache_read_input_tokens"),
        "tokens to cache": usage.get("cache_creation_input_tokens"),
        "tokens out": usage.get("output_tokens"),
        "stopped because": message.get("stop_reason"),
        "effort": record.get("effort"),
        "took": f"{record['durationMs'] / 1000:.1f} s" if isinstance(record.get("durationMs"), int) else None,
        "permission": table(record.get("permissionDecision")).get("decision") or record.get("permissionMode"),
        "denied": record.get("toolDenialKind"),
        "folder": record.get("cwd"),
        "git branch": record.get("gitBranch"),
        "version": record.get("version"),
        "started from": record.get("entrypoint"),
        "session": record.get("sessionId"),
        "message": message.get("id"),
        "record": record.get("uuid"),
    }
    return show.facts_of(entry, found)


def whole_text(record: dict[str, Any]) -> str:
    """The text of a prompt as it was typed, not cleaned; a slash command as it is typed again."""
    attached = table(record.get("attachment"))
    content = attached.get("prompt") if attached else table(record.get("message")).get("content")
    if not isinstance(content, str):
        texts = [string(part, "text") for part in map(table, items(content)) if part.get("type") == "text"]
        content = "\n".join(text for text in texts if not text.lstrip().startswith("<system-reminder>"))
    return slash(content) if content.lstrip().startswith("<command-message>") else content


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
    data = show.line({"type": kind, "message": {"content": [part]}})
    return any(not isinstance(line, Unreadable) and faces(line, "") for _, _, line in records(BytesIO(data)))


def _part(part: dict[str, Any], record: dict[str, Any], entry: Entry, open_file: OpenFile) -> list[Block]:
    kind = part.get("type")
    if kind == "text":
        return [_prose(string(part, "text"))]
    if kind == "thinking":
        return [show.thinking(string(part, "thinking"))]
    if kind == "tool_result":
        return _result(part, record, entry, open_file)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _call(string(part, "name"), table(part.get("input")))
    if kind in ("image", "document"):
        return [_image(part)]
    return [show.raw(part)]


def _call(name: str, given: dict[str, Any]) -> list[Block]:
    path = string(given, "file_path") or string(given, "notebook_path")
    edits = [table(edit) for edit in items(given.get("edits"))] or [given]
    if name in EDIT_TOOLS and path and any(isinstance(edit.get("old_string"), str) for edit in edits):
        pairs = ((string(edit, "old_string"), string(edit, "new_string")) for edit in edits)
        return [show.replaced(pairs, f"{name} {path}")]
    if name == "Write" and path and isinstance(given.get("content"), str):
        return [show.given(given["content"], f"{name} {path}")]
    if isinstance(given.get("command"), str):
        return [show.given(given["command"], name)]
    if name in AGENT_TOOLS and isinstance(given.get("prompt"), str):
        return [show.given(given["prompt"], f"{name} {string(given, 'description')}".rstrip())]
    return [show.given(show.pretty(given), name)]


def _result(part: dict[str, Any], record: dict[str, Any], entry: Entry, open_file: OpenFile) -> list[Block]:
    title = entry.tool
    found: list[Block] = []
    content = part.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else map(table, items(content))
    for piece in parts:
        if piece.get("type") in ("image", "document"):
            found.append(_image(piece))
            continue
        text = string(piece, "text") if piece.get("type") == "text" else show.pretty(piece)
        found.append(show.output(inner("tool_use_error", text) or text, title))
    told = table(record.get("toolUseResult"))
    found += _patches(told)
    spilled = string(told, "persistedOutputPath")
    if spilled and entry.span is not None:
        found += _spilled(spilled, entry, open_file)
    return found


def _patches(told: dict[str, Any]) -> list[Block]:
    """What a call changed in files, as unified hunks."""
    diffs = [(told.get("filePath"), told.get("structuredPatch"))]
    seen = table(told.get("bashEditDiff")).get("files")
    diffs += [(table(file).get("filePath"), table(file).get("hunks")) for file in items(seen)]
    found: list[Block] = []
    for path, hunks in diffs:
        text = "\n".join(line for hunk in items(hunks) for line in _hunk(table(hunk)))
        if text:
            found.append(show.diff(text, path if isinstance(path, str) else ""))
    return found


def _hunk(hunk: dict[str, Any]) -> list[str]:
    numbers = [hunk.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
    lines = [line for line in items(hunk.get("lines")) if isinstance(line, str)]
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
    more = "\n…" if len(data) > _LONGEST_SPILL else ""
    return [show.output(data[:_LONGEST_SPILL].decode("utf-8", "replace") + more, "the whole output")]


def _attachment(record: dict[str, Any]) -> list[Block]:
    attached = table(record.get("attachment"))
    if attached.get("type") == "queued_command":
        return [_prose(whole_text(record))]
    snippet = attached.get("snippet")
    if isinstance(snippet, str):
        return [show.prose(snippet, string(attached, "filename"))]
    return [show.raw(attached)]


def _other(record: dict[str, Any], entry: Entry) -> list[Block]:
    content = record.get("content")
    if record.get("type") == "system" and isinstance(content, str) and entry.flavour != "unknown":
        return [show.prose(content)]
    return [show.raw(record)]


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
    return show.prose(text)


def _image(part: dict[str, Any]) -> Block:
    source = table(part.get("source"))
    kind = string(source, "media_type") or string(source, "url") or string(part, "type")
    return show.image(kind, string(source, "data"), string(part, "title"))
