"""Codex CLI's hook payloads: what they tell, and what is to be recorded at each (formats 2.7, seen in 0.171.0).

Every field may be missing in some version, so everything is read with a default. Hooks fire before the transcript is
written; hence checkpoints are bound to (session, turn id or call id), and the entry is found when it is read.
"""

from __future__ import annotations

import os

from ...hook import HookEvent, Step
from ...light import Mapping
from ...text import first_line
from ..forms import payload
from ..forms.background import detaches
from . import NAME
from .patchtext import BEGIN, named

READ_ONLY = frozenset(
    {
        # the agent's own lists, goals and questions
        "update_plan",
        "get_goal",
        "create_goal",
        "update_goal",
        "request_user_input",
        "tool_search",
        "web_search",
        "view_image",
        "read_mcp_resource",
        "list_mcp_resources",
        "list_mcp_resource_templates",
    }
)
"""Tools that write no file of the workspace: they cost no walk, and do not count as open calls."""
_SUB_AGENTS = (
    "spawn_agent",
    "wait_agent",
    "close_agent",
    "resume_agent",
    "send_input",
    "send_message",
    "followup_task",
    "interrupt_agent",
    "list_agents",
)
"""How the names of tools end that lead sub-agents; a namespace stands before. What those write, their own calls write.
"""
_OUTPUT = b'_output"'
_RUNNING = b"Process running with session ID "
"""What the result of a command says that did not end in the time that the model gave it."""


def parse(data: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what Codex CLI gave on standard input; anything that is no JSON object is an event without a name."""
    told = payload.read(data)
    command = payload.text(payload.table(told, "tool_input"), "command")
    name, tool, cwd = payload.text(told, "hook_event_name"), payload.text(told, "tool_name"), payload.text(told, "cwd")
    transcript = payload.text(told, "agent_transcript_path") or payload.text(told, "transcript_path")
    return HookEvent(
        agent=NAME,
        name=name,
        session=payload.text(told, "session_id"),
        transcript=transcript,
        cwd=cwd,
        prompt=payload.text(told, "turn_id"),
        call=payload.text(told, "tool_use_id"),
        tool=tool,
        subagent=payload.text(told, "agent_id"),
        source=payload.text(told, "source") or payload.text(told, "reason"),
        text=_moment(name, tool, command, told),
        pid=payload.process_above(lambda name: name.startswith("codex")),
        background=_background(name, tool, command, transcript),
        named=tuple(os.path.normpath(os.path.join(cwd, path)) for path in named(command)) if BEGIN in command else (),
    )


def _background(name: str, tool: str, command: str, transcript: str) -> str:
    """Whether a shell goes on in the background: by its command, or at a turn's end by what the transcript tells."""
    if tool == "Bash" and detaches(command):
        return "detached"
    if name in ("Stop", "Interrupt"):
        return "managed" if _running(payload.tail(transcript)) else "none"
    return ""


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("PreToolUse", "PostToolUse"):
        if event.tool.endswith(_SUB_AGENTS):
            return payload.NOTHING
        return payload.of_call(event.tool, before=event.name == "PreToolUse", read_only=READ_ONLY)
    if event.name == "UserPromptSubmit" and event.subagent:
        # A sub-agent's task is no prompt of the person.
        return payload.NOTHING
    return _STEPS.get(event.name, payload.NOTHING)


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: no hook fires for one that failed or was cancelled.

    Nor for a command that goes on in the background: that has a result, but has not ended.
    """
    name = f'"{call}"'.encode()
    tail = payload.tail(transcript)
    answered = any(_OUTPUT in line and b'"call_id":' + name in line for line in tail.split(b"\n"))
    return answered and name not in _running(tail)


def _running(tail: bytes) -> set[bytes]:
    """Commands, by the ids of their calls in quotes, that had gone to the background and have not ended."""
    found: set[bytes] = set()
    for line in tail.split(b"\n"):
        if _RUNNING in line and _OUTPUT in line:
            found.add(_value(line, b'"call_id":'))
        elif b'"type":"CommandExecution"' in line:
            found.discard(_value(line, b'"CommandExecution","id":'))
    return found


def _value(line: bytes, key: bytes) -> bytes:
    """What stands in quotes behind a key."""
    at = line.find(key) + len(key)
    return line[at : line.find(b'"', at + 1) + 1] if at >= len(key) else b""


_STEPS = {
    "SessionStart": payload.STARTS,
    "UserPromptSubmit": payload.PROMPTED,
    "SubagentStop": payload.SUB_AGENT_STOPS,
    "Stop": payload.STOPS,
    "Interrupt": payload.STOPS,
    "SessionEnd": payload.ENDS,
}


def _moment(name: str, tool: str, command: str, data: Mapping[str, object]) -> str:
    """A line that names the moment while its entry cannot be read."""
    if name == "UserPromptSubmit":
        return first_line(payload.text(data, "prompt"))
    if not tool:
        return ""
    paths = named(command)
    return first_line(f"{tool} {', '.join(paths) if paths else command.lstrip()}".rstrip())
