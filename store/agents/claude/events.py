"""Claude Code's hook payloads: what they tell, and what is to be recorded at each (formats.md 1.9).

Every field may be missing in some version, so everything is read with a default. Hooks fire before the transcript is
written; hence checkpoints are bound to (session, prompt id or tool-use id), and the entry is found when it is read.
"""

from __future__ import annotations

import os

from ... import lightjson as json
from ...hook import HookEvent, Step
from ...light import Mapping, cast
from ...text import first_line
from ..forms.background import detaches
from . import NAME

READ_ONLY = frozenset(
    {
        # files and the net, looked at
        "Read",
        "NotebookRead",
        "Glob",
        "Grep",
        "LS",
        "LSP",
        "WebFetch",
        "WebSearch",
        "ListMcpResourcesTool",
        "ReadMcpResourceTool",
        "ToolSearch",
        # the agent's own lists
        "TodoRead",
        "TodoWrite",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskUpdate",
        # sub-agents: what they write, their own calls write, and each of those is told
        "Agent",
        "Task",
        # questions to the person, which may stand open for hours
        "AskUserQuestion",
        "EnterPlanMode",
        "ExitPlanMode",
    }
)
"""Tools that write no file of the workspace: they cost no walk, and do not count as open calls.

A tool that is not named here is taken for one that may write: the shell, every MCP tool, and whatever comes with the
next version. So is BashOutput with its successors: what a shell in the background wrote meanwhile is seen there.
"""

_TAIL = 1 << 20
"""Bytes of a transcript's end in which an open call's result is looked for."""

_PATHS = ("file_path", "notebook_path")
_DETAILS = ("command", "file_path", "notebook_path", "description", "skill", "path", "url", "query", "pattern")


def parse(payload: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what Claude Code gave on standard input; anything that is no JSON object is an event without a name."""
    data = _payload(payload)
    tool_input = _table(data, "tool_input")
    name, tool = _text(data, "hook_event_name"), _text(data, "tool_name")
    cwd = _text(data, "cwd")
    return HookEvent(
        agent=NAME,
        name=name,
        session=_text(data, "session_id"),
        transcript=os.path.expanduser(_text(data, "transcript_path")),
        folder=env.get("CLAUDE_PROJECT_DIR", ""),
        cwd=cwd,
        prompt=_text(data, "prompt_id"),
        call=_text(data, "tool_use_id"),
        tool=tool,
        subagent=_text(data, "agent_id"),
        source=_text(data, "source") or _text(data, "reason"),
        text=_moment(name, tool, tool_input, data),
        named=tuple(os.path.join(cwd, path) for key in _PATHS if (path := _text(tool_input, key))),
        pid=_number(env.get("CLAUDE_PID", "")),
        background=_background(tool_input, data),
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        if event.tool in READ_ONLY:
            return Step()
        if event.name == "PreToolUse":
            return Step("drift", "tool", "before", call="opens")
        return Step("drift", "tool", "after", call="ends")
    return _STEPS.get(event.name, Step())


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: no hook fires for one that was refused or cancelled."""
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return f'"tool_use_id":"{call}"'.encode() in file.read()
    except OSError:
        return False


_STEPS = {
    "SessionStart": Step("drift", "start", "after", tells=True),
    "UserPromptSubmit": Step("always", "prompt", "before", over="turn", tells=True),
    "SubagentStop": Step("drift", "stop", "after", over="subagent"),
    "Stop": Step("drift", "stop", "after", over="turn"),
    "StopFailure": Step("drift", "stop", "after", over="turn"),
    "SessionEnd": Step("drift", "end", "after", over="session"),
}


def _background(tool_input: Mapping[str, object], data: Mapping[str, object]) -> str:
    """Whether a shell goes on in the background: by the call that starts one, or at the turn's end by Claude's list."""
    command = _text(tool_input, "command")
    if command and detaches(command):
        return "detached"
    if tool_input.get("run_in_background") is True or _text(_table(data, "tool_response"), "backgroundTaskId"):
        return "managed"  # asked for, or sent there by the person while it ran
    tasks = data.get("background_tasks")
    return ("managed" if tasks else "none") if isinstance(tasks, list) else ""


def _moment(name: str, tool: str, tool_input: Mapping[str, object], data: Mapping[str, object]) -> str:
    """A line that names the moment while its entry cannot be read."""
    if name == "UserPromptSubmit":
        return first_line(_text(data, "prompt"))
    if not tool:
        return ""
    detail = next((value for key in _DETAILS if (value := _text(tool_input, key))), "")
    cwd = _text(data, "cwd").rstrip("/") + "/"
    return first_line(f"{tool} {detail.removeprefix(cwd)}")


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


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
