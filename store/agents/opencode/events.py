"""What our plugin tells of OpenCode: which moments of a session are recorded, and how.

The plugin (`plugin.py`) sends one JSON object for each moment. What a sub-agent does (a session of its own, started by
a call of the tool "task") is told as the work of the session that it belongs to.
"""

from __future__ import annotations

from ... import lightjson as json
from ...hook import HookEvent, Step
from ...light import Mapping, cast
from ...text import first_line
from ..forms.background import detaches
from . import NAME
from .places import database

READ_ONLY = frozenset(
    {
        # files and the net, looked at
        "read",
        "glob",
        "grep",
        "list",
        "ls",
        "lsp",
        "codesearch",
        "webfetch",
        "websearch",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
        # the agent's own lists and instructions
        "todoread",
        "todowrite",
        "skill",
        "invalid",
        # sub-agents: what they write, their own calls write, and each of those is told
        "task",
        # questions to the person, which may stand open for hours
        "question",
        "plan_enter",
        "plan_exit",
    }
)
"""Tools that write no file of the workspace: they cost no walk, and do not count as open calls.

A tool that is not named here is taken for one that may write: the shell, every MCP tool, and whatever comes with the
next version.
"""

_NAMES = {
    # The words of the recorder for what is said of a session as a whole.
    "session.created": "SessionStart",
    "session.idle": "Stop",
    "session.deleted": "SessionEnd",
}
EDIT_TOOLS = frozenset({"edit", "write", "multiedit", "patch", "apply_patch"})
_SHELLS = ("bash", "shell")
_PATHS = ("filePath", "path")
_DETAILS = ("command", "filePath", "description", "path", "url", "query", "pattern", "name")


def parse(payload: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what the plugin gave on standard input; anything that is no JSON object is an event without a name."""
    data = _payload(payload)
    tool_input = _table(data, "input")
    session, tool, folder = _text(data, "session"), _text(data, "tool"), _text(data, "directory")
    name, child = _text(data, "event"), _text(data, "child")
    writes = name == "tool.execute.before" and tool in EDIT_TOOLS
    name = _NAMES.get(name, name)
    base = folder.rstrip("/") + "/"
    file = database(env)
    pid = data.get("pid")
    command = _text(tool_input, "command") if tool in _SHELLS else ""
    detail = next((value for key in _DETAILS if (value := _text(tool_input, key))), "")
    moment = f"{tool} {detail.removeprefix(base)}" if tool else _text(data, "text")
    paths = [*(_text(tool_input, key) for key in _PATHS), *patched(_text(tool_input, "patchText"))] if writes else []
    return HookEvent(
        agent=NAME,
        name="SubagentStop" if name == "Stop" and child else name,
        session=session,
        transcript=f"{file}#{child or session}" if file and session else "",
        folder=folder,
        cwd=folder,
        prompt=_text(data, "prompt"),
        call=_text(data, "call"),
        tool=tool,
        subagent=child,
        source="startup" if name == "SessionStart" else "",
        text=first_line(moment),
        named=tuple(path if path.startswith("/") else base + path for path in paths if path),
        pid=pid if isinstance(pid, int) and pid > 0 else 0,
        background="detached" if command and detaches(command) else "",
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name == "tool.execute.before":
        return Step() if event.tool in READ_ONLY else Step("drift", "tool", "before", call="opens")
    if event.name == "tool.execute.after":
        return Step() if event.tool in READ_ONLY else Step("drift", "tool", "after", call="ends")
    if event.name == "chat.message":
        # What a sub-agent is asked is no prompt of the person.
        return Step() if event.subagent else Step("always", "prompt", "before", over="turn", tells=True)
    if event.name in ("Stop", "SubagentStop"):
        return Step("drift", "stop", "after", over="subagent" if event.subagent else "turn")
    if event.name == "SessionStart":
        return Step() if event.subagent else Step("drift", "start", "after", tells=True)
    return Step("drift", "end", "after", over="session") if event.name == "SessionEnd" else Step()


def has_ended(transcript: str, call: str) -> bool:
    """Whether the database tells how a tool call ended: no hook fires for one that was refused or cancelled."""
    from .database import call_has_ended  # asked for before a restore, never by a hook

    return call_has_ended(transcript, call)


def patched(text: str) -> list[str]:
    """The paths that a patch of the tool "apply_patch" names."""
    marks = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    lines = text.split("\n") if text else []
    return [line.partition(": ")[2].strip() for line in lines if line.startswith(marks)]


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
