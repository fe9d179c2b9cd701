"""Codex CLI's hook payloads: what they tell, and what is to be recorded at each (formats 2.7, seen in 0.171.0).

Every field may be missing in some version, so everything is read with a default. Hooks fire before the transcript is
written; hence checkpoints are bound to (session, turn id or call id), and the entry is found when it is read.
"""

from __future__ import annotations

import os

from ... import lightjson as json
from ...hook import HookEvent, Step
from ...light import Mapping, Sequence, cast
from ...text import first_line
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
_TAIL = 1 << 20
"""Bytes of a transcript's end in which an open call's result is looked for."""
_OUTPUT = b'_output"'
_RUNNING = b"Process running with session ID "
"""What the result of a command says that did not end in the time that the model gave it."""


def parse(payload: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what Codex CLI gave on standard input; anything that is no JSON object is an event without a name."""
    data = _payload(payload)
    command = _text(_table(data, "tool_input"), "command")
    name, tool, cwd = _text(data, "hook_event_name"), _text(data, "tool_name"), _text(data, "cwd")
    transcript = _text(data, "agent_transcript_path") or _text(data, "transcript_path")
    return HookEvent(
        agent=NAME,
        name=name,
        session=_text(data, "session_id"),
        transcript=transcript,
        cwd=cwd,
        prompt=_text(data, "turn_id"),
        call=_text(data, "tool_use_id"),
        tool=tool,
        subagent=_text(data, "agent_id"),
        source=_text(data, "source") or _text(data, "reason"),
        text=_moment(name, tool, command, data),
        pid=_process(),
        background=_background(name, tool, command, transcript),
        named=tuple(os.path.normpath(os.path.join(cwd, path)) for path in named(command)) if BEGIN in command else (),
    )


def _background(name: str, tool: str, command: str, transcript: str) -> str:
    """Whether a shell goes on in the background: by its command, or at a turn's end by what the transcript tells."""
    if tool == "Bash" and detaches(command):
        return "detached"
    if name in ("Stop", "Interrupt"):
        return "managed" if _running(_tail(transcript)) else "none"
    return ""


def _process() -> int:
    """The agent's process, of which the hook is a grandchild; 0 where the system does not tell."""
    pid = os.getppid()
    for _ in range(4):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, _, rest = file.read().rpartition(b")")
            if name.partition(b"(")[2].startswith(b"codex"):
                return pid
            pid = int(rest.split()[1])
        except (OSError, ValueError, IndexError):
            return 0
    return 0


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("PreToolUse", "PostToolUse"):
        if event.tool in READ_ONLY or event.tool.endswith(_SUB_AGENTS):
            return Step()
        if event.name == "PreToolUse":
            return Step("drift", "tool", "before", call="opens")
        return Step("drift", "tool", "after", call="ends")
    if event.name == "UserPromptSubmit" and event.subagent:
        # A sub-agent's task is no prompt of the person.
        return Step()
    return _STEPS.get(event.name, Step())


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: no hook fires for one that failed or was cancelled.

    Nor for a command that goes on in the background: that has a result, but has not ended.
    """
    name = f'"{call}"'.encode()
    tail = _tail(transcript)
    answered = any(_OUTPUT in line and b'"call_id":' + name in line for line in tail)
    return answered and name not in _running(tail)


def _running(tail: Sequence[bytes]) -> set[bytes]:
    """Commands, by the ids of their calls in quotes, that had gone to the background and have not ended."""
    found: set[bytes] = set()
    for line in tail:
        if _RUNNING in line and _OUTPUT in line:
            found.add(_value(line, b'"call_id":'))
        elif b'"type":"CommandExecution"' in line:
            found.discard(_value(line, b'"CommandExecution","id":'))
    return found


def _value(line: bytes, key: bytes) -> bytes:
    """What stands in quotes behind a key."""
    at = line.find(key) + len(key)
    return line[at : line.find(b'"', at + 1) + 1] if at >= len(key) else b""


def _tail(transcript: str) -> list[bytes]:
    """The last lines of a transcript."""
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read().split(b"\n")
    except OSError:
        return []


_STEPS = {
    "SessionStart": Step("drift", "start", "after", tells=True),
    "UserPromptSubmit": Step("always", "prompt", "before", over="turn", tells=True),
    "SubagentStop": Step("drift", "stop", "after", over="subagent"),
    "Stop": Step("drift", "stop", "after", over="turn"),
    "Interrupt": Step("drift", "stop", "after", over="turn"),
    "SessionEnd": Step("drift", "end", "after", over="session"),
}


def _moment(name: str, tool: str, command: str, data: Mapping[str, object]) -> str:
    """A line that names the moment while its entry cannot be read."""
    if name == "UserPromptSubmit":
        return first_line(_text(data, "prompt"))
    if not tool:
        return ""
    paths = named(command)
    return first_line(f"{tool} {', '.join(paths) if paths else command.lstrip()}".rstrip())


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
