"""What a record of Claude Code shows in a list: nothing, or one face for each part that a person would miss.

The rules are those of the session formats: what a person typed is a prompt; injected text, hook results and
bookkeeping are hidden; every type that is not known here is shown as a notice of its own.
"""

from __future__ import annotations

import os
import re
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct, UnsetType, structs

from ...text import clean, first_line, without_colour
from ..forms.face import Face, relative
from .records import Line, Message, Part, beginning, from_raw

EDIT_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
AGENT_TOOLS = frozenset({"Agent", "Task"})
CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})
_NO_PLACE = (
    "agent-color agent-name agent-setting ai-title api-request api-request-blob api-request-resumed api-request-shape "
    "artifact-autoreact-ledger artifact-comment-monitor atis-latch attribution-snapshot bridge-session "
    "content-replacement continued-in cost-state custom-title data-flow-incomplete data-flow-records derived-from "
    "dev-mods ended-by-model file-history-delta file-history-snapshot fork-context-ref frame-link history-suppression "
    "host-row hybrid-organization isolation-latch last-prompt memory-mode mode observer-ref permission-mode pr-link "
    "queue-operation relocated repl-mode result resume-head-vouch session-owner started summary tag tools-used "
    "worktree-state"
)
BOOKKEEPING = frozenset(_NO_PLACE.split())
"""Types without a place in the tree (from the program's own table and older files); none of them is shown."""

INTERRUPTED = "[Request interrupted by user"

_HIDDEN_SYSTEM = frozenset({"turn_duration", "session_start", "bridge_status", "stop_hook_summary"})
_SYSTEM = {
    "local_command": "command",
    "api_error": "api-error",
    "informational": "informational",
    "away_summary": "informational",
    "scheduled_task_fire": "task",
    "agents_killed": "task",
    "api_refusal": "api-error",
    "model_refusal_fallback": "api-error",
    "microcompact_boundary": "compaction",
}
_LOUD_HOOKS = frozenset(
    {
        "hook_blocking_error",
        "hook_stopped_continuation",
        "hook_non_blocking_error",
        "hook_error_during_execution",
        "hook_cancelled",
    }
)
_TAG = re.compile(r"\s*<([a-z][a-z-]*)[^>]*>")
_HIDDEN_TAGS = frozenset({"system-reminder", "local-command-caveat"})
_LIMIT = 300


class _Input(Struct, gc=False):
    """The parts of a tool call's input that can stand for it in a line."""

    file_path: str = ""
    notebook_path: str = ""
    command: str = ""
    pattern: str = ""
    url: str = ""
    query: str = ""
    description: str = ""
    skill: str = ""
    path: str = ""
    prompt: str = ""
    name: str = ""


class _Attachment(Struct, gc=False):
    type: str = ""
    prompt: Raw | UnsetType = msgspec.UNSET
    filename: str = ""
    hook: str = msgspec.field(name="hookName", default="")
    error: Raw | UnsetType = msgspec.field(name="blockingError", default=msgspec.UNSET)
    message: Raw | UnsetType = msgspec.UNSET
    stderr: Raw | UnsetType = msgspec.UNSET


_input = msgspec.json.Decoder(_Input).decode
_attachment = msgspec.json.Decoder(_Attachment).decode
_parts = msgspec.json.Decoder(list[Part]).decode


def faces(line: Line, cwd: str) -> tuple[Face, ...]:
    """What a chain record shows, in order; nothing for hidden ones. cwd: paths inside of it are shown relative."""
    kind = line.type
    if kind == "assistant":
        return _assistant(line, cwd)
    if kind == "user":
        return _user(line)
    if kind == "attachment":
        return _attached(line, cwd)
    if kind == "system":
        return _system(line)
    if kind == "progress":
        return ()
    return (unknown(kind, line.content),)


def unknown(kind: str, content: Raw | UnsetType = msgspec.UNSET) -> Face:
    """A record of a type that is not known here."""
    return Face("notice", first_line(f"{kind or 'record without a type'} {beginning(content)}"), "unknown")


def call_prompt(part: Part) -> str:
    """The prompt in the input of a call that starts a sub-agent."""
    return _read_input(part.input).prompt


def text_of(message: Message | None) -> str:
    """All text of a message, blocks joined by line feeds."""
    if message is None:
        return ""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if part.type == "text")


def user_text(text: str, line: Line | None = None) -> Face | None:
    """What a text in the person's role shows; None when it was not theirs and is of no use to them."""
    if text.startswith(INTERRUPTED):
        return Face("notice", "Interrupted by the person", "interrupted")
    if text.lstrip()[:1] == "<":
        tagged = _TAG.match(text)
        if tagged is not None:
            if tagged[1] in _HIDDEN_TAGS:
                return None
            face = _tagged(tagged[1], text)
            if face is not None:
                return face
    if line is not None:
        kind = line.origin.kind if line.origin is not None else ""
        if kind and kind != "human":
            return Face("notice", first_line(text), kind)
        if line.prompt_source == "system":
            return Face("notice", first_line(text), "system")
    return Face("prompt", first_line(text) or "(empty prompt)")


def inner(tag: str, text: str) -> str:
    """What stands between a tag and its end, or all that follows it when the end is missing; "" without the tag."""
    start = text.find(f"<{tag}>")
    if start < 0:
        return ""
    start += len(tag) + 2
    end = text.find(f"</{tag}>", start)
    return text[start : end if end >= 0 else len(text)].strip()


def slash(text: str) -> str:
    """A slash command as it was typed."""
    name = inner("command-name", text) or inner("command-message", text)
    return f"/{name.lstrip('/')} {inner('command-args', text)}".strip()


def _tagged(tag: str, text: str) -> Face | None:
    if tag == "command-message":
        # A command from a file, or a skill: it was sent to the model.
        return Face("prompt", first_line(slash(text)), "command")
    if tag == "command-name":
        return Face("notice", first_line(slash(text)), "command")
    if tag.startswith("local-command-"):
        output = without_colour(inner(tag, text))
        return Face("notice", first_line(output) or "(no output)", "command-output")
    if tag == "bash-input":
        return Face("notice", first_line("! " + inner(tag, text)), "shell")
    if tag in ("bash-stdout", "bash-stderr"):
        output = inner("bash-stdout", text) or inner("bash-stderr", text)
        return Face("notice", first_line(without_colour(output)) or "(no output)", "shell-output")
    if tag == "task-notification":
        return Face(
            "notice", first_line(inner("summary", text) or inner("status", text) or "task notification"), "task"
        )
    return None


def _user(line: Line) -> tuple[Face, ...]:
    message = line.message
    if message is None:
        return ()
    if line.summary:
        return (Face("summary", "Conversation compacted", "compaction"),)
    content = message.content
    if isinstance(content, str):
        face = None if line.meta else user_text(content, line)
        return () if face is None else (face,)
    found: list[Face] = [_result(part) for part in content if part.type == "tool_result"]
    if line.meta:
        return tuple(found)
    rest = [part for part in content if part.type != "tool_result"]
    if rest:
        face = _typed(rest, line)
        if face is not None:
            found.append(face)
    return tuple(found)


def _typed(parts: list[Part], line: Line) -> Face | None:
    texts = [part.text for part in parts if part.type == "text" and part.text.strip()]
    others = [f"[{part.type or 'unknown'}]" for part in parts if part.type != "text"]
    if not texts:
        return Face("prompt", clean(" ".join(others))[:_LIMIT]) if others else None
    # Text that was injected beside the typed one comes in blocks of its own.
    face: Face | None = None
    for text in texts:
        face = user_text(text, line)
        if face is not None:
            break
    if face is None or not others:
        return face
    return structs.replace(face, text=f"{face.text} {clean(' '.join(others))}"[:_LIMIT])


def _result(part: Part) -> Face:
    return Face(
        "tool_result",
        first_line(without_colour(_result_text(part.content))) or "(no output)",
        call=part.tool_use_id,
        error=bool(part.is_error),
    )


def _result_text(content: Raw | UnsetType) -> str:
    text = beginning(content)
    if text or isinstance(content, UnsetType):
        return inner("tool_use_error", text) or text
    try:
        parts = _parts(content)
    except (msgspec.DecodeError, RecursionError):
        return ""
    texts = [part.text for part in parts if part.text]
    return texts[0] if texts else " ".join(f"[{part.type}]" for part in parts if part.type)


def _assistant(line: Line, cwd: str) -> tuple[Face, ...]:
    message = line.message
    if message is None:
        return ()
    if line.api_error:
        return (Face("notice", first_line(text_of(message)) or "API error", "api-error", error=True),)
    content = message.content
    if isinstance(content, str):
        return (Face("reply", first_line(content)),) if content.strip() else ()
    flavour = "synthetic" if message.model == "<synthetic>" else ""
    found: list[Face] = []
    for part in content:
        kind = part.type
        if kind == "text":
            if part.text.strip():
                found.append(Face("notice" if flavour else "reply", first_line(part.text), flavour))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            found.append(_call(part, cwd))
        elif kind == "thinking":
            if part.thinking.strip():
                found.append(Face("reply", first_line(part.thinking), "thinking"))
        elif kind.endswith("_tool_result"):
            found.append(
                Face("tool_result", first_line(_result_text(part.content)) or "(no text)", call=part.tool_use_id)
            )
        elif kind != "redacted_thinking":
            found.append(Face("notice", first_line(kind or "block without a type"), "unknown"))
    return tuple(found)


def _call(part: Part, cwd: str) -> Face:
    name = part.name
    given = _read_input(part.input)
    path = given.file_path or given.notebook_path
    paths: tuple[str, ...] = ()
    if path:
        if name in EDIT_TOOLS:
            paths = (path if os.path.isabs(path) or not cwd else os.path.join(cwd, path),)
        what = relative(path, cwd)
    elif name in AGENT_TOOLS:
        what = given.description or given.prompt
    else:
        what = given.command or given.pattern or given.url or given.query or given.skill or given.description
        what = what or relative(given.path, cwd) or given.prompt or given.name
    text = first_line(f"{name} {what.lstrip()}" if what else name)
    return Face("tool_call", text, "", clean(name), part.id, False, paths)


def _read_input(raw: Raw | UnsetType) -> _Input:
    if isinstance(raw, UnsetType):
        return _Input()
    try:
        return _input(raw)
    except (msgspec.DecodeError, RecursionError):
        found = from_raw(raw)
    if not isinstance(found, dict):
        return _Input()
    plain = cast("dict[str, Any]", found)
    texts = {name: plain[name] for name in _Input.__struct_fields__ if isinstance(plain.get(name), str)}
    return _Input(**texts)


def _attached(line: Line, cwd: str) -> tuple[Face, ...]:
    if isinstance(line.attachment, UnsetType):
        return ()
    try:
        attached = _attachment(line.attachment)
    except (msgspec.DecodeError, RecursionError):
        return ()
    kind = attached.type
    if kind == "queued_command":
        face = _queued(attached.prompt)
        return () if face is None else (face,)
    if kind == "edited_text_file":
        return (Face("notice", first_line(f"{relative(attached.filename, cwd)} changed on disk"), "edited"),)
    if kind in _LOUD_HOOKS:
        said = next((text for text in map(_said, (attached.error, attached.message, attached.stderr)) if text), "")
        name = attached.hook or kind
        return (Face("notice", first_line(f"hook {name}: {said}" if said else f"hook {name}"), "hook"),)
    return ()


def _queued(prompt: Raw | UnsetType) -> Face | None:
    found = from_raw(prompt)
    if isinstance(found, list):
        blocks = [cast("dict[str, Any]", item) for item in cast("list[object]", found) if isinstance(item, dict)]
        texts = [text for text in (block.get("text") for block in blocks) if isinstance(text, str)]
        found = "\n".join(texts) or "[image]"
    if not isinstance(found, str):
        return None
    face = user_text(found)
    return structs.replace(face, flavour="queued") if face is not None and face.kind == "prompt" else face


def _said(raw: Raw | UnsetType) -> str:
    found = from_raw(raw)
    if isinstance(found, dict):
        found = cast("dict[str, Any]", found).get("blockingError")
    return found if isinstance(found, str) else ""


def _system(line: Line) -> tuple[Face, ...]:
    subtype = line.subtype or ""
    if subtype == "compact_boundary":
        return (Face("summary", _compaction(line.compaction), "compaction"),)
    if subtype == "stop_hook_summary" and (line.hook_errors or line.prevented):
        return (Face("notice", "a Stop hook failed" if line.hook_errors else "a Stop hook went on", "hook"),)
    if subtype in _HIDDEN_SYSTEM or line.meta:
        return ()
    content = beginning(line.content)
    if subtype == "local_command":
        face = user_text(content)
        if face is not None and face.kind == "notice":
            return (face,)
    flavour = _SYSTEM.get(subtype, "unknown" if subtype else "informational")
    text = first_line(without_colour(content)) or subtype or "system"
    if flavour == "unknown":
        text = first_line(f"{subtype} {content}")
    return (Face("notice", text, flavour),)


def _compaction(raw: Raw | UnsetType) -> str:
    found = from_raw(raw)
    told: list[str] = []
    if isinstance(found, dict):
        plain = cast("dict[str, Any]", found)
        trigger, tokens = plain.get("trigger"), plain.get("preTokens")
        if isinstance(trigger, str):
            told.append({"manual": "by the person", "auto": "automatically"}.get(trigger, clean(trigger)))
        if isinstance(tokens, int):
            told.append(f"{tokens:,} tokens before")
    return f"Conversation compacted ({', '.join(told)})" if told else "Conversation compacted"
