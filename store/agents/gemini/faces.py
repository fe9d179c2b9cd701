"""What a message of Gemini CLI shows in a list: one face for each part that a person would miss.

Injected text (`<session_context>`, `<hook_context>`) and the answers to calls that the model was given are hidden: what
a call gave stands with the call. Every type that is not known here is shown as a notice of its own.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Raw, Struct, UnsetType

from ...model import Kind
from ...text import clean, first_line, without_colour
from . import callkeys
from .records import Call, Line, Parts, from_raw, nanoseconds, parts_of

EDIT_TOOLS = frozenset({"write_file", "replace"})
AGENT_TOOL = "invoke_agent"
SHELL_TOOL = "run_shell_command"
MESSAGES = frozenset({"user", "gemini", "info", "error", "warning"})

_NOTICES = {"info": "informational", "warning": "informational", "error": "api-error"}
_INJECTED = ("<session_context>", "<hook_context>")
_HOOKS = re.compile(r"\s*<hook_context>.*?</hook_context>", re.DOTALL)
_OURSELVES = ("Please continue.", "System: ")
"""How texts begin that the program itself puts in the person's place."""
_THANKS = "Got it. Thanks for the additional context!"
"""What it has the model say to the summary of a compression."""
_INTERRUPTED = "[The previous response was interrupted"
_UNTRUSTED = ("<untrusted_context>\nOutput: ", "<untrusted_context>\n")


class Face(NamedTuple):
    """One entry to be, without its place."""

    kind: Kind
    text: str
    flavour: str = ""
    tool: str = ""
    call: str = ""
    error: bool = False
    paths: tuple[str, ...] = ()
    time: int = 0
    """Nanoseconds; 0 where it is that of the message."""
    agent: str = ""
    """Calls of a sub-agent: its session."""
    about: str = ""
    """The agent's own id of the call."""


class _Input(Struct, gc=False):
    """The parts of a tool call's input that can stand for it in a line."""

    file_path: str = ""
    command: str = ""
    pattern: str = ""
    query: str = ""
    prompt: str = ""
    dir_path: str = ""
    name: str = ""
    title: str = ""
    agent_name: str = ""


class _Told(Struct, gc=False):
    """A call or an answer in a message's parts."""

    id: str = ""
    name: str = ""
    args: Raw | UnsetType = msgspec.UNSET
    response: Raw | UnsetType = msgspec.UNSET


_input = msgspec.json.Decoder(_Input).decode
_told = msgspec.json.Decoder(_Told).decode
_FAILURES = (msgspec.DecodeError, RecursionError)


def faces(line: Line, cwd: str) -> tuple[Face, ...]:
    """What a message shows, in order; nothing for hidden ones. cwd: paths inside of it are shown relative."""
    if line.type == "user":
        return _user(line)
    if line.type == "gemini":
        return _gemini(line, cwd)
    if line.type in _NOTICES:
        text = first_line(without_colour(_text(parts_of(line.content))))
        flavour = "interrupted" if text == "Request cancelled." else _NOTICES[line.type]
        return (Face("notice", text, flavour, error=line.type == "error"),) if text else ()
    text = _text(parts_of(line.content))
    return (Face("notice", first_line(f"{line.type or 'message without a type'} {text}"), "unknown"),)


def answers_of(line: Line) -> tuple[tuple[str, Face], ...]:
    """The calls that a user's message answers, each with what it shows where the call itself does not."""
    found = [told for part in parts_of(line.content) if (told := _from(part.answer)) is not None]
    return tuple((told.id, _answer(told)) for told in found)


def _answer(told: _Told) -> Face:
    text = first_line(without_colour(_output(from_raw(told.response)))) or "(no output)"
    return Face("tool_result", text, tool=clean(told.name), about=told.id)


def typed(line: Line) -> str:
    """What a person typed, as it stands in a user's message without what was injected; "" when nothing was."""
    shown = _joined(parts_of(line.display))
    return shown if shown.strip() else _joined(parts_of(line.content))


def is_said(line: Line) -> bool:
    """Whether a message is a part of the conversation, and not only what the program tells the model of the folder."""
    if line.type != "user" or typed(line).strip():
        return True
    return any(not isinstance(part.answer, UnsetType) for part in parts_of(line.content))


def relative(path: str, cwd: str) -> str:
    """A path as it is shown: relative to the folder when inside of it."""
    inside = cwd and path.startswith(cwd) and path[len(cwd) : len(cwd) + 1] in ("/", os.sep)
    return path[len(cwd) + 1 :] if inside else path


def _user(line: Line) -> tuple[Face, ...]:
    text = typed(line)
    others = " ".join("[image]" for part in parts_of(line.content) if not isinstance(part.data, UnsetType))
    if text.strip().startswith(_OURSELVES):
        return (Face("notice", first_line(text), "system"),)
    if text.strip().startswith("<state_snapshot>"):
        return (Face("summary", "Conversation compressed", "compaction"),)
    if text.strip() or others:
        return (Face("prompt", " ".join(filter(None, (first_line(text), others)))[:300]),)
    return ()


def _joined(parts: list[Parts]) -> str:
    texts = [_HOOKS.sub("", part.text) for part in parts if part.text and not part.thought]
    return "\n".join(text for text in texts if text and not text.lstrip().startswith(_INJECTED))


def _gemini(line: Line, cwd: str) -> tuple[Face, ...]:
    parts = parts_of(line.content)
    thoughts = [f"{thought.subject} {thought.description}".strip() for thought in line.thoughts or ()]
    thoughts += [part.text for part in parts if part.thought] if not thoughts else []
    found = [Face("reply", first_line(text), "thinking") for text in thoughts if text.strip()]
    text = "\n".join(part.text for part in parts if part.text and not part.thought)
    if text.startswith(_INTERRUPTED):
        found.append(Face("notice", first_line(text), "interrupted"))
    elif text.strip() and text != _THANKS:
        found.append(Face("reply", first_line(text)))
    ended = {call.id for call in line.calls}
    for part in parts:
        told = _from(part.call)
        if told is not None and told.id not in ended:
            found.append(_call(told.name, told.id, told.args, cwd))
    for call in line.calls:
        found.append(_call(call.name, call.id, call.args, cwd)._replace(agent=call.agent))
        found.append(_result(call, found[-1].call))
    return tuple(found)


def _call(name: str, uid: str, args: Raw | UnsetType, cwd: str) -> Face:
    plain = from_raw(args)
    given = _given(args, plain)
    path = given.file_path
    paths: tuple[str, ...] = ()
    if path and name in EDIT_TOOLS:
        paths = (path if os.path.isabs(path) or not cwd else os.path.join(cwd, path),)
    what = relative(path, cwd) or given.command or given.pattern or given.query
    what = what or " ".join(filter(None, (given.agent_name, given.prompt))) or relative(given.dir_path, cwd)
    what = what or given.name or given.title
    text = first_line(f"{name} {what.lstrip()}" if what else name)
    call = f"{callkeys.key(name, plain)}{callkeys.MARK}{uid}"
    return Face("tool_call", text, tool=clean(name), call=call, paths=paths, about=uid)


def _given(args: Raw | UnsetType, plain: object) -> _Input:
    if isinstance(args, UnsetType):
        return _Input()
    try:
        return _input(args)
    except _FAILURES:
        table = cast("dict[str, Any]", plain) if isinstance(plain, dict) else {}
    return _Input(**{name: table[name] for name in _Input.__struct_fields__ if isinstance(table.get(name), str)})


def _result(call: Call, key: str) -> Face:
    shown = from_raw(call.shown)
    text = shown if isinstance(shown, str) and shown.strip() else answer_text(from_raw(call.result))
    cancelled = call.status == "cancelled"
    return Face(
        "tool_result",
        first_line(without_colour(text)) or "(no output)",
        "interrupted" if cancelled else "",
        clean(call.name),
        key,
        call.status not in ("success", ""),
        time=nanoseconds(call.timestamp),
        about=call.id,
    )


def answer_text(result: object) -> str:
    """What the model was told that a call gave."""
    parts = cast("list[object]", result) if isinstance(result, list) else [result]
    for part in parts:
        if isinstance(part, str):
            return _bare(part)
        if isinstance(part, dict):
            answer = cast("dict[str, Any]", part).get("functionResponse")
            if isinstance(answer, dict):
                return _output(cast("dict[str, Any]", answer).get("response"))
    return ""


def _output(response: object) -> str:
    plain = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    text = next((plain[name] for name in ("output", "error", "result") if isinstance(plain.get(name), str)), "")
    return _bare(text)


def _bare(text: str) -> str:
    for beginning in _UNTRUSTED:
        text = text.removeprefix(beginning)
    return text.removesuffix("\n</untrusted_context>")


def _from(raw: Raw | UnsetType) -> _Told | None:
    if isinstance(raw, UnsetType):
        return None
    try:
        return _told(raw)
    except _FAILURES:
        return None


def _text(parts: list[Parts]) -> str:
    return "\n".join(part.text for part in parts if part.text)
