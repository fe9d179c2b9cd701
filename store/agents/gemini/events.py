"""Gemini CLI's hook payloads: what they tell, and what is to be recorded at each (formats 3.5).

No payload has an id of its prompt or call. A prompt is found by its text and time; a call is named by what it does and
when it began (see `callkeys`), and its end is that of the oldest open call that does the same.
"""

from __future__ import annotations

import os

from ...hook import HookEvent, Step
from ...light import Mapping, cast
from ...text import first_line
from ..forms import payload
from ..forms.background import detaches
from . import NAME, callkeys

READ_ONLY = frozenset(
    {
        # files and the net, looked at
        "read_file",
        "read_many_files",
        "list_directory",
        "glob",
        "grep_search",
        "search_file_content",
        "web_fetch",
        "google_web_search",
        "get_internal_docs",
        "list_background_processes",
        # the agent's own lists
        "write_todos",
        "update_topic",
        "complete_task",
        "activate_skill",
        # sub-agents: what they write, their own calls write, and each of those is told
        "invoke_agent",
        # questions to the person, which may stand open for hours
        "ask_user",
        "enter_plan_mode",
        "exit_plan_mode",
    }
)
"""Tools that write no file of the workspace: they cost no walk, and do not count as open calls.

A tool that is not named here is taken for one that may write: the shell, every MCP tool, and whatever comes with the
next version. So is read_background_output: what a shell in the background wrote meanwhile is seen there.
"""


_SHELLS = ("bash", "sh", "dash", "zsh")
_DETAILS = ("command", "file_path", "description", "name", "dir_path", "pattern", "query", "prompt", "title")

_STEPS = {
    "SessionStart": payload.STARTS,
    "BeforeAgent": payload.PROMPTED,
    "AfterAgent": payload.STOPS,
    "SessionEnd": payload.ENDS,
}


def parse(data: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what Gemini CLI gave on standard input; anything that is no JSON object is an event without a name."""
    told = payload.read(data)
    name, tool = payload.text(told, "hook_event_name"), payload.text(told, "tool_name")
    given = payload.table(told, "tool_input")
    cwd = payload.text(told, "cwd")
    path = payload.text(given, "file_path")
    return HookEvent(
        agent=NAME,
        name=name,
        session=payload.text(told, "session_id"),
        transcript=os.path.expanduser(payload.text(told, "transcript_path")),
        folder=env.get("GEMINI_PROJECT_DIR", ""),
        cwd=cwd,
        call=_call(tool, told),
        tool=tool,
        source=payload.text(told, "source") or payload.text(told, "reason"),
        text=first_line(payload.text(told, "prompt"))
        if name == "BeforeAgent"
        else payload.called(tool, given, _DETAILS, cwd),
        named=(os.path.join(cwd, path),) if path else (),
        pid=payload.process_above(lambda name: name not in _SHELLS) if "GEMINI_SESSION_ID" in env else 0,
        background=_background(given),
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("BeforeTool", "AfterTool"):
        return payload.of_call(event.tool, before=event.name == "BeforeTool", read_only=READ_ONLY)
    return _STEPS.get(event.name, payload.NOTHING)


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: a call is recorded when it has, refused ones included."""
    wanted, _, began = call.partition(callkeys.MARK)
    lines = payload.tail(transcript).split(b"\n")
    since = int(began) if began.isdigit() else 0
    found = (one for line in lines if b'"toolCalls"' in line for one in _calls(line))
    return any(
        callkeys.milliseconds(payload.text(one, "timestamp")) >= since
        and callkeys.key(payload.text(one, "name"), one.get("args")) == wanted
        for one in found
    )


def _calls(line: bytes) -> list[Mapping[str, object]]:
    calls = payload.read(line).get("toolCalls")
    items = cast("list[object]", calls) if isinstance(calls, list) else []
    return [cast("Mapping[str, object]", item) for item in items if isinstance(item, dict)]


def _call(tool: str, data: Mapping[str, object]) -> str:
    """What a call is named by: at its end it has another time than at its beginning, and the same key."""
    if not tool:
        return ""
    moment = callkeys.milliseconds(payload.text(data, "timestamp"))
    return f"{callkeys.key(tool, data.get('tool_input'))}{callkeys.MARK}{moment}"


def _background(given: Mapping[str, object]) -> str:
    """Whether a shell goes on in the background: the call that starts it tells, and no event that it ended."""
    if detaches(payload.text(given, "command")):
        return "detached"
    return "managed" if given.get("is_background") is True else ""
