"""Gemini CLI's hook payloads: what they tell, and what is to be recorded at each (formats 3.5).

No payload has an id of its prompt or call. A prompt is found by its text and time; a call is named by what it does and
when it began (see `callkeys`), and its end is that of the oldest open call that does the same.
"""

from __future__ import annotations

import os

from ... import lightjson as json
from ...hook import HookEvent, Step
from ...light import Mapping, cast
from ...text import first_line
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

_TAIL = 1 << 20
"""Bytes of a transcript's end in which the record of a call is looked for."""

_SHELLS = ("bash", "sh", "dash", "zsh")
_DETAILS = ("command", "file_path", "description", "name", "dir_path", "pattern", "query", "prompt", "title")

_STEPS = {
    "SessionStart": Step("drift", "start", "after", tells=True),
    "BeforeAgent": Step("always", "prompt", "before", over="turn", tells=True),
    "AfterAgent": Step("drift", "stop", "after", over="turn"),
    "SessionEnd": Step("drift", "end", "after", over="session"),
}


def parse(payload: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what Gemini CLI gave on standard input; anything that is no JSON object is an event without a name."""
    data = _payload(payload)
    name, tool = _text(data, "hook_event_name"), _text(data, "tool_name")
    given = _table(data, "tool_input")
    cwd = _text(data, "cwd")
    path = _text(given, "file_path")
    return HookEvent(
        agent=NAME,
        name=name,
        session=_text(data, "session_id"),
        transcript=os.path.expanduser(_text(data, "transcript_path")),
        folder=env.get("GEMINI_PROJECT_DIR", ""),
        cwd=cwd,
        call=_call(tool, data),
        tool=tool,
        source=_text(data, "source") or _text(data, "reason"),
        text=_moment(name, tool, given, data),
        named=(os.path.join(cwd, path),) if path else (),
        pid=_agent() if "GEMINI_SESSION_ID" in env else 0,
        background=_background(given),
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("BeforeTool", "AfterTool"):
        if event.tool in READ_ONLY:
            return Step()
        if event.name == "BeforeTool":
            return Step("drift", "tool", "before", call="opens")
        return Step("drift", "tool", "after", call="ends")
    return _STEPS.get(event.name, Step())


def has_ended(transcript: str, call: str) -> bool:
    """Whether the transcript tells how a tool call ended: a call is recorded when it has, refused ones included."""
    wanted, _, began = call.partition(callkeys.MARK)
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return False
    since = int(began) if began.isdigit() else 0
    found = (one for line in lines if b'"toolCalls"' in line for one in _calls(line))
    return any(
        callkeys.milliseconds(_text(one, "timestamp")) >= since
        and callkeys.key(_text(one, "name"), one.get("args")) == wanted
        for one in found
    )


def _calls(line: bytes) -> list[Mapping[str, object]]:
    calls = _payload(line).get("toolCalls")
    items = cast("list[object]", calls) if isinstance(calls, list) else []
    return [cast("Mapping[str, object]", item) for item in items if isinstance(item, dict)]


def _call(tool: str, data: Mapping[str, object]) -> str:
    """What a call is named by: at its end it has another time than at its beginning, and the same key."""
    if not tool:
        return ""
    moment = callkeys.milliseconds(_text(data, "timestamp"))
    return f"{callkeys.key(tool, data.get('tool_input'))}{callkeys.MARK}{moment}"


def _background(given: Mapping[str, object]) -> str:
    """Whether a shell goes on in the background: the call that starts it tells, and no event that it ended."""
    if detaches(_text(given, "command")):
        return "detached"
    return "managed" if given.get("is_background") is True else ""


def _moment(name: str, tool: str, given: Mapping[str, object], data: Mapping[str, object]) -> str:
    """A line that names the moment while its entry cannot be read."""
    if name == "BeforeAgent":
        return first_line(_text(data, "prompt"))
    if not tool:
        return ""
    detail = next((value for key in _DETAILS if (value := _text(given, key))), "")
    cwd = _text(data, "cwd").rstrip("/") + "/"
    return first_line(f"{tool} {detail.removeprefix(cwd)}")


def _agent() -> int:
    """The agent's process: the nearest one above this one that is no shell; 0 where the system does not tell."""
    pid = os.getppid()
    for _ in range(4):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
        except OSError:
            return 0
        if name.decode("utf-8", "replace") not in _SHELLS:
            return pid
        pid = int(rest.split()[1])
    return 0


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
