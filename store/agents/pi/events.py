"""What our extension in Pi tells, and what is to be recorded at each event.

The extension (extension.py) sends one JSON object: the event's own name, the session's id, file and folder, Pi's
process, and what belongs to the event: a call with its tool and arguments, a prompt with its time, by which it is
found in the session's file later, or the entry at which the conversation stands now. A Pi that a tool of another one
started, and that keeps no session of its own, is a sub-agent: it speaks for that one's session.
"""

from __future__ import annotations

from ... import lightjson as json
from ...hook import HookEvent, Step
from ...light import Mapping
from ...text import first_line
from ..forms import payload
from ..forms.background import detaches
from . import NAME
from .paths import EDIT_TOOLS, READ_ONLY, absolute

_SHELLS = ("bash", "powershell")

_NAMES = {
    # The words of the recorder for what is said of a session as a whole.
    "session_start": "SessionStart",
    "session_shutdown": "SessionEnd",
    "agent_end": "Stop",
}
_DETAILS = ("command", "path", "pattern", "url", "query", "task", "prompt", "name", "description")


def parse(data: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what the extension gave on standard input; anything that is no JSON object is an event without a name."""
    told = payload.read(data)
    name, tool = payload.text(told, "event"), payload.text(told, "tool")
    given = payload.table(told, "input")
    cwd = payload.text(told, "cwd")
    path = payload.text(given, "path")
    subagent = payload.text(told, "subagent")
    return HookEvent(
        agent=NAME,
        name="SubagentStop" if subagent and name == "agent_end" else _NAMES.get(name, name),
        session=payload.text(told, "session"),
        transcript=payload.text(told, "file"),
        folder=payload.text(told, "folder") or cwd,
        cwd=cwd,
        prompt=payload.text(told, "prompt"),
        call=payload.text(told, "call"),
        tool=tool,
        subagent=subagent,
        source=payload.text(told, "reason"),
        text=first_line(payload.text(told, "text")) if name == "prompt" else payload.called(tool, given, _DETAILS, cwd),
        named=(absolute(path, cwd),) if path and tool in EDIT_TOOLS else (),
        pid=payload.process(told.get("pid")),
        background="detached" if tool in _SHELLS and detaches(payload.text(given, "command")) else "",
        entry=payload.text(told, "entry"),
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("tool_call", "tool_result"):
        return payload.of_call(event.tool, before=event.name == "tool_call", read_only=READ_ONLY)
    if event.subagent:
        return payload.SUB_AGENT_STOPS if event.name == "SubagentStop" else payload.NOTHING
    return _STEPS.get(event.name, payload.NOTHING)


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: no event comes for one that was refused or cancelled."""
    return f'"toolCallId":{json.dumps(call)}'.encode() in payload.tail(transcript)


_STEPS = {
    "SessionStart": payload.STARTS,
    "prompt": payload.PROMPTED,
    "Stop": payload.STOPS,
    # The person went to another place of the tree: the files stay, and what comes next belongs there.
    "session_tree": payload.STOPS,
    "SessionEnd": payload.ENDS,
}
