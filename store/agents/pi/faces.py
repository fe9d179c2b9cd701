"""What a record of Pi shows in a list: nothing, or one face for each part that a person would miss (formats 4.2).

The prompt for the model, changes of model and thinking level, usage and what extensions keep for themselves are
hidden, and walked through; every type that is not known here is shown as a notice of its own.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct, UnsetType

from ...text import clean, first_line, without_colour
from ..forms.face import Face, relative
from ..forms.plain import items, string, table
from .paths import EDIT_TOOLS, absolute
from .records import Line, Message, Part, beginning, from_raw

_HIDDEN = frozenset(
    {"session", "model_change", "thinking_level_change", "usage", "session_info", "label", "custom"},
)
_SKILL = re.compile(r'<skill name="([^"\n]+)"[^\n]*>\n.*\n</skill>(?:\n\n(.*))?', re.DOTALL)
_LIMIT = 300


class _Arguments(Struct, gc=False):
    """The parts of a tool call's arguments that can stand for it in a line."""

    path: str = ""
    command: str = ""
    pattern: str = ""
    url: str = ""
    query: str = ""
    prompt: str = ""
    task: str = ""
    name: str = ""
    description: str = ""


_arguments = msgspec.json.Decoder(_Arguments).decode


def faces(line: Line, cwd: str) -> tuple[Face, ...]:
    """What a record shows, in order; nothing for hidden ones. cwd: paths inside of it are shown relative."""
    kind = line.type
    if kind == "message":
        return _message(line, cwd)
    if kind in _HIDDEN:
        return ()
    if kind == "compaction":
        return (Face("summary", compacted(line.tokens_before), "compaction"),)
    if kind == "branch_summary":
        return (_left(line.summary),)
    if kind == "custom_message":
        return _from_extension(line.custom, line.content, line.display)
    if kind == "context_edit":
        gone = from_raw(line.replacement) is None
        told = "taken out of" if gone else "replaced in"
        return (Face("notice", f"an earlier message was {told} what the model sees", "context-edit"),)
    return (Face("notice", first_line(f"{kind or 'record without a type'} {beginning(line.content)}"), "unknown"),)


def compacted(tokens: int | None) -> str:
    """How a compaction is told."""
    return f"Conversation compacted ({tokens:,} tokens before)" if tokens else "Conversation compacted"


def prompt_text(message: Message) -> str:
    """The text of a prompt as it was typed, not cleaned; a skill as it is called again."""
    content = message.content
    if isinstance(content, list):
        content = "\n".join(part.text for part in content if part.type == "text")
    text = content or ""
    skill = _SKILL.fullmatch(text) if text.startswith("<skill ") else None
    return f"/skill:{skill[1]} {skill[2] or ''}".rstrip() if skill else text


def _message(line: Line, cwd: str) -> tuple[Face, ...]:
    message = line.message
    if message is None:
        return ()
    role = message.role
    if role == "assistant":
        return _assistant(message, cwd)
    if role == "toolResult":
        return (_result(message),)
    if role == "user":
        return (_prompt(message),)
    if role == "bashExecution":
        return _shell(message)
    if role in ("custom", "hookMessage"):
        text = _text(message.content)
        return _shown_by_extension(message.custom, text, message.display)
    if role == "compactionSummary":
        return (Face("summary", compacted(message.tokens_before), "compaction"),)
    if role == "branchSummary":
        return (_left(message.summary),)
    if role == "system":
        return ()
    return (Face("notice", first_line(f"{role or 'message without a role'} {_text(message.content)}"), "unknown"),)


def _prompt(message: Message) -> Face:
    content = message.content
    typed = prompt_text(message)
    flavour = "command" if typed.startswith("/skill:") else ""
    text = first_line(typed)
    if not text and isinstance(content, list):
        text = clean(" ".join(f"[{part.type or 'unknown'}]" for part in content if part.type != "text"))[:_LIMIT]
    return Face("prompt", text or "(empty prompt)", flavour)


def _assistant(message: Message, cwd: str) -> tuple[Face, ...]:
    content = message.content
    found: list[Face] = []
    if isinstance(content, str):
        content = [Part("text", content)]
    for part in content or ():
        kind = part.type
        if kind == "text":
            if part.text.strip():
                found.append(Face("reply", first_line(part.text)))
        elif kind == "toolCall":
            found.append(_call(part, cwd))
        elif kind == "thinking":
            if part.thinking.strip():
                found.append(Face("reply", first_line(part.thinking), "thinking"))
        else:
            found.append(Face("notice", first_line(kind or "block without a type"), "unknown"))
    if message.stop == "error":
        found.append(Face("notice", first_line(message.error or "") or "API error", "api-error", error=True))
    elif message.stop == "aborted":
        found.append(Face("notice", "Interrupted by the person", "interrupted"))
    return tuple(found)


def _call(part: Part, cwd: str) -> Face:
    name = part.name
    given = arguments(part.arguments)
    paths: tuple[str, ...] = ()
    what = given.command or given.pattern
    if given.path:
        if name in EDIT_TOOLS:
            paths = (absolute(given.path, cwd),)
        what = what or relative(given.path.removeprefix("@"), cwd)
    what = what or given.url or given.query or given.task or given.prompt or given.name or given.description
    text = first_line(f"{name} {what.lstrip()}" if what else name)
    return Face("tool_call", text, "", _name(name), part.id, False, paths)


@lru_cache(maxsize=256)
def _name(name: str) -> str:
    """A tool's name, cleaned; there are few."""
    return clean(name)


def arguments(raw: Raw | UnsetType) -> _Arguments:
    """The arguments of a call, those that are texts."""
    if isinstance(raw, UnsetType):
        return _Arguments()
    try:
        return _arguments(raw)
    except (msgspec.DecodeError, RecursionError):
        plain = table(from_raw(raw))
    return _Arguments(**{name: string(plain, name) for name in _Arguments.__struct_fields__})


def _result(message: Message) -> Face:
    text = first_line(without_colour(_text(message.content))) or "(no output)"
    return Face("tool_result", text, "", _name(message.tool), message.call, bool(message.is_error))


def _shell(message: Message) -> tuple[Face, ...]:
    code = message.exit_code
    failed = bool(message.cancelled) or (code is not None and code != 0)
    output = first_line(without_colour(beginning(message.output))) or "(no output)"
    return (
        Face("notice", first_line(f"! {message.command}"), "shell"),
        Face("notice", output, "shell-output", error=failed),
    )


def _from_extension(name: str, content: Raw | UnsetType, display: bool | None) -> tuple[Face, ...]:
    text = beginning(content)
    if not text:
        parts = map(table, items(from_raw(content)))
        text = next((said for part in parts if (said := string(part, "text"))), "")
    return _shown_by_extension(name, text, display)


def _shown_by_extension(name: str, text: str, display: bool | None) -> tuple[Face, ...]:
    """A message of an extension to the model; Pi shows it or not as the extension wants."""
    if display is False:
        return ()
    return (Face("notice", first_line(f"{name}: {text}" if name else text) or "(empty message)", "custom"),)


def _left(summary: Raw | UnsetType) -> Face:
    text = first_line(beginning(summary))
    return Face("summary", first_line(f"Summary of the branch that was left: {text}"), "branch-summary")


def _text(content: str | list[Part] | None) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    texts = [part.text for part in content if part.text]
    return texts[0] if texts else " ".join(f"[{part.type}]" for part in content if part.type not in ("", "text"))
