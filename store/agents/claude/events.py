"""Claude Code's hook payloads: what they tell, and what is to be recorded at each (formats.md 1.9).

Every field may be missing in some version, so everything is read with a default. Hooks fire before the transcript is
written; hence checkpoints are bound to (session, prompt id or tool-use id), and the entry is found when it is read.
"""

from __future__ import annotations

import os

from ...hook import HookEvent, Step
from ...light import Mapping
from ...text import first_line
from ..forms import payload
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


_PATHS = ("file_path", "notebook_path")
_DETAILS = ("command", "file_path", "notebook_path", "description", "skill", "path", "url", "query", "pattern")


def parse(data: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what Claude Code gave on standard input; anything that is no JSON object is an event without a name."""
    told = payload.read(data)
    tool_input = payload.table(told, "tool_input")
    name, tool = payload.text(told, "hook_event_name"), payload.text(told, "tool_name")
    cwd = payload.text(told, "cwd")
    return HookEvent(
        agent=NAME,
        name=name,
        session=payload.text(told, "session_id"),
        transcript=os.path.expanduser(payload.text(told, "transcript_path")),
        folder=env.get("CLAUDE_PROJECT_DIR", ""),
        cwd=cwd,
        prompt=payload.text(told, "prompt_id"),
        call=payload.text(told, "tool_use_id"),
        tool=tool,
        subagent=payload.text(told, "agent_id"),
        source=payload.text(told, "source") or payload.text(told, "reason"),
        text=first_line(payload.text(told, "prompt"))
        if name == "UserPromptSubmit"
        else payload.called(tool, tool_input, _DETAILS, cwd),
        named=tuple(os.path.join(cwd, path) for key in _PATHS if (path := payload.text(tool_input, key))),
        pid=payload.process(env.get("CLAUDE_PID")),
        background=_background(tool_input, told),
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        return payload.of_call(event.tool, before=event.name == "PreToolUse", read_only=READ_ONLY)
    return _STEPS.get(event.name, payload.NOTHING)


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: no hook fires for one that was refused or cancelled."""
    return f'"tool_use_id":"{call}"'.encode() in payload.tail(transcript)


_STEPS = {
    "SessionStart": payload.STARTS,
    "UserPromptSubmit": payload.PROMPTED,
    "SubagentStop": payload.SUB_AGENT_STOPS,
    "Stop": payload.STOPS,
    "StopFailure": payload.STOPS,
    "SessionEnd": payload.ENDS,
}


def _background(tool_input: Mapping[str, object], data: Mapping[str, object]) -> str:
    """Whether a shell goes on in the background: by the call that starts one, or at the turn's end by Claude's list."""
    command = payload.text(tool_input, "command")
    if command and detaches(command):
        return "detached"
    if tool_input.get("run_in_background") is True or payload.text(
        payload.table(data, "tool_response"), "backgroundTaskId"
    ):
        return "managed"  # asked for, or sent there by the person while it ran
    tasks = data.get("background_tasks")
    return ("managed" if tasks else "none") if isinstance(tasks, list) else ""
