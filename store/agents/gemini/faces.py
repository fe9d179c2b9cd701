"""What a message of Gemini CLI shows in a list: one face for each part that a person would miss.

Injected text (`<session_context>`, `<hook_context>`) and the answers to calls that the model was given are hidden: what
a call gave stands with the call. Every type that is not known here is shown as a notice of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from typing import NamedTuple

from msgspec import Raw, UnsetType, structs

from ...text import clean, first_line, without_colour
from ..forms import face
from ..forms.face import relative
from ..forms.plain import string, table
from . import callkeys
from .records import Call, Line, Part, Told, beginning, from_raw, nanoseconds, parts_of

EDIT_TOOLS = frozenset({"write_file", "replace"})
AGENT_TOOL = "invoke_agent"
SHELL_TOOL = "run_shell_command"
MESSAGES = frozenset({"user", "gemini", "info", "error", "warning"})

_NOTICES = {"info": "informational", "warning": "informational", "error": "api-error"}
_INJECTED = ("<session_context>", "<hook_context>")
_DETAILS = ("command", "pattern", "query")
_HOOK = "<hook_context>"
_HOOKS = re.compile(r"\s*<hook_context>.*?</hook_context>", re.DOTALL)
_OURSELVES = ("Please continue.", "System: ")
"""How texts begin that the program itself puts in the person's place."""
_THANKS = "Got it. Thanks for the additional context!"
"""What it has the model say to the summary of a compression."""
_INTERRUPTED = "[The previous response was interrupted"
_UNTRUSTED = ("<untrusted_context>\nOutput: ", "<untrusted_context>\n")


class Face(face.Face, frozen=True, gc=False):
    """One entry to be, with what only Gemini CLI tells of one."""

    time: int = 0
    """Nanoseconds; 0 where it is that of the message."""
    agent: str = ""
    """Calls of a sub-agent: its session."""
    about: str = ""
    """The agent's own id of the call."""


class Looked(NamedTuple):
    """What a message tells by itself."""

    faces: tuple[Face, ...]
    """What it shows, in order; nothing for hidden ones."""
    answers: tuple[tuple[str, Face | None], ...] = ()
    """Calls that it gives the model an answer to, each with what it shows where the call itself does not."""
    said: bool = True
    """Whether it is a part of the conversation, and not only what the program tells the model of the folder."""


def look(line: Line, cwd: str, recorded: Container[str] = ()) -> Looked:
    """What a message shows. cwd: paths inside of it are shown relative. recorded: calls whose results are shown."""
    if line.type == "user":
        return _user(line, recorded)
    if line.type == "gemini":
        return Looked(_gemini(line, cwd))
    text = "\n".join(part.text for part in parts_of(line.content) if part.text)
    if line.type in _NOTICES:
        text = first_line(without_colour(text))
        flavour = "interrupted" if text == "Request cancelled." else _NOTICES[line.type]
        return Looked((Face("notice", text, flavour, error=line.type == "error"),) if text else ())
    return Looked((Face("notice", first_line(f"{line.type or 'message without a type'} {text}"), "unknown"),))


def typed(line: Line) -> str:
    """What a person typed, as it stands in a user's message without what was injected; "" when nothing was."""
    shown = _joined(parts_of(line.display)) if line.display else ""
    return shown if shown.strip() else _joined(parts_of(line.content))


def _user(line: Line, recorded: Container[str]) -> Looked:
    parts = parts_of(line.content)
    answers = tuple(
        (part.answer.id, None if part.answer.id in recorded else _answer(part.answer))
        for part in parts
        if part.answer is not None
    )
    text = typed(line)
    bare = text.strip()
    others = " ".join("[image]" for part in parts if not isinstance(part.data, UnsetType))
    found: tuple[Face, ...] = ()
    if bare.startswith(_OURSELVES):
        found = (Face("notice", first_line(text), "system"),)
    elif bare.startswith("<state_snapshot>"):
        found = (Face("summary", "Conversation compressed", "compaction"),)
    elif bare or others:
        shown = first_line(text)
        found = (Face("prompt", f"{shown} {others}".strip()[:300] if others else shown),)
    return Looked(found, answers, bool(found or answers))


def _answer(told: Told) -> Face:
    text = first_line(without_colour(_output(told))) or "(no output)"
    return Face("tool_result", text, tool=clean(told.name), about=told.id)


def _joined(parts: list[Part]) -> str:
    texts = [part.text for part in parts if part.text and not part.thought]
    texts = [_HOOKS.sub("", text) if _HOOK in text else text for text in texts]
    return "\n".join(text for text in texts if text and not text.lstrip().startswith(_INJECTED))


def _gemini(line: Line, cwd: str) -> tuple[Face, ...]:
    parts = parts_of(line.content)
    thoughts = [f"{thought.subject} {thought.description}".strip() for thought in line.thoughts or ()]
    thoughts = thoughts or [part.text for part in parts if part.thought]
    found = [Face("reply", first_line(text), "thinking") for text in thoughts if text.strip()]
    text = "\n".join(part.text for part in parts if part.text and not part.thought)
    if text.startswith(_INTERRUPTED):
        found.append(Face("notice", first_line(text), "interrupted"))
    elif text.strip() and text != _THANKS:
        found.append(Face("reply", first_line(text)))
    ended = {call.id for call in line.calls}
    for part in parts:
        if part.call is not None and part.call.id not in ended:
            found.append(_call(part.call.name, part.call.id, part.call.args, cwd))
    for call in line.calls:
        made = _call(call.name, call.id, call.args, cwd)
        found.append(structs.replace(made, agent=call.agent) if call.agent else made)
        found.append(_result(call, made.call))
    return tuple(found)


def _call(name: str, uid: str, args: Raw | UnsetType, cwd: str) -> Face:
    plain = from_raw(args)
    given = table(plain)
    path = string(given, "file_path")
    paths: tuple[str, ...] = ()
    if path and name in EDIT_TOOLS:
        paths = (path if os.path.isabs(path) or not cwd else os.path.join(cwd, path),)
    what = relative(path, cwd) or next((text for key in _DETAILS if (text := string(given, key))), "")
    what = what or " ".join(filter(None, (string(given, "agent_name"), string(given, "prompt"))))
    what = what or relative(string(given, "dir_path"), cwd) or string(given, "name") or string(given, "title")
    text = first_line(f"{name} {what.lstrip()}" if what else name)
    call = f"{callkeys.key(name, plain)}{callkeys.MARK}{uid}"
    return Face("tool_call", text, tool=clean(name), call=call, paths=paths, about=uid)


def _result(call: Call, key: str) -> Face:
    text = beginning(call.shown)
    text = text if text.strip() else _first_answer(parts_of(call.result))
    return Face(
        "tool_result",
        first_line(without_colour(text)) or "(no output)",
        "interrupted" if call.status == "cancelled" else "",
        clean(call.name),
        key,
        call.status not in ("success", ""),
        time=nanoseconds(call.timestamp),
        about=call.id,
    )


def _first_answer(parts: list[Part]) -> str:
    for part in parts:
        if part.answer is not None:
            return _output(part.answer)
    return bare(parts[0].text) if parts else ""


def _output(told: Told) -> str:
    """The beginning of what a call gave."""
    response = told.response
    if response is None:
        return ""
    texts = (beginning(raw) for raw in (response.output, response.error, response.result))
    return bare(next(filter(None, texts), ""))


def bare(text: str) -> str:
    """What a call gave without the marks that it is not to be trusted."""
    for mark in _UNTRUSTED:
        text = text.removeprefix(mark)
    return text.removesuffix("\n</untrusted_context>")
