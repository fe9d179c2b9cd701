"""What our extension in Pi tells, and what is to be recorded at each event.

The extension (extension.py) sends one JSON object: the event's own name, the session's id, file and folder, Pi's
process, and what belongs to the event: a call with its tool and arguments, a prompt with its time, by which it is
found in the session's file later, or the entry at which the conversation stands now. A Pi that a tool of another one
started, and that keeps no session of its own, is a sub-agent: it speaks for that one's session.
"""

from __future__ import annotations

import os

from ... import lightjson as json
from ...hook import HookEvent, Step
from ...light import Mapping, cast
from ...text import first_line
from ..forms.background import detaches
from . import NAME
from .paths import EDIT_TOOLS, READ_ONLY, absolute, relative

_SHELLS = ("bash", "powershell")
_TAIL = 1 << 20
"""Bytes of a transcript's end in which an open call's result is looked for."""

_NAMES = {
    # The words of the recorder for what is said of a session as a whole.
    "session_start": "SessionStart",
    "session_shutdown": "SessionEnd",
    "agent_end": "Stop",
}
_DETAILS = ("command", "path", "pattern", "url", "query", "task", "prompt", "name", "description")


def parse(payload: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what the extension gave on standard input; anything that is no JSON object is an event without a name."""
    data = _payload(payload)
    name, tool = _text(data, "event"), _text(data, "tool")
    given = _table(data, "input")
    cwd = _text(data, "cwd")
    path = _text(given, "path")
    pid, subagent = data.get("pid"), _text(data, "subagent")
    return HookEvent(
        agent=NAME,
        name="SubagentStop" if subagent and name == "agent_end" else _NAMES.get(name, name),
        session=_text(data, "session"),
        transcript=_text(data, "file"),
        folder=_text(data, "folder") or cwd,
        cwd=cwd,
        prompt=_text(data, "prompt"),
        call=_text(data, "call"),
        tool=tool,
        subagent=subagent,
        source=_text(data, "reason"),
        text=_moment(name, tool, given, data, cwd),
        named=(absolute(path, cwd),) if path and tool in EDIT_TOOLS else (),
        pid=pid if isinstance(pid, int) and pid > 0 else 0,
        background="detached" if tool in _SHELLS and detaches(_text(given, "command")) else "",
        entry=_text(data, "entry"),
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("tool_call", "tool_result"):
        if event.tool in READ_ONLY:
            return Step()
        if event.name == "tool_call":
            return Step("drift", "tool", "before", call="opens")
        return Step("drift", "tool", "after", call="ends")
    if event.subagent:
        return Step("drift", "stop", "after", over="subagent") if event.name == "SubagentStop" else Step()
    return _STEPS.get(event.name, Step())


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: no event comes for one that was refused or cancelled."""
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return f'"toolCallId":{json.dumps(call)}'.encode() in file.read()
    except OSError:
        return False


_STEPS = {
    "SessionStart": Step("drift", "start", "after", tells=True),
    "prompt": Step("always", "prompt", "before", over="turn", tells=True),
    "Stop": Step("drift", "stop", "after", over="turn"),
    # The person went to another place of the tree: the files stay, and what comes next belongs there.
    "session_tree": Step("drift", "stop", "after", over="turn"),
    "SessionEnd": Step("drift", "end", "after", over="session"),
}


def _moment(name: str, tool: str, given: Mapping[str, object], data: Mapping[str, object], cwd: str) -> str:
    """A line that names the moment while its entry cannot be read."""
    if name == "prompt":
        return first_line(_text(data, "text"))
    if not tool:
        return ""
    detail = next((value for key in _DETAILS if (value := _text(given, key))), "")
    return first_line(f"{tool} {relative(detail, cwd)}")


def _payload(payload: bytes) -> Mapping[str, object]:
    try:
        data: object = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", data) if isinstance(data, dict) else {}


def _table(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = data.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _text(data: Mapping[str, object], key: str) -> str:
    value = data.get(key)
    # A lone surrogate cannot be written to any file or shown: escape sequences may bring one.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
