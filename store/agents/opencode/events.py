"""What our plugin tells of OpenCode: which moments of a session are recorded, and how.

The plugin (`plugin.py`) sends one JSON object for each moment. What a sub-agent does (a session of its own, started by
a call of the tool "task") is told as the work of the session that it belongs to.
"""

from __future__ import annotations

from ...hook import HookEvent, Step
from ...light import Mapping
from ...text import first_line
from ..forms import payload
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


def parse(data: bytes, env: Mapping[str, str]) -> HookEvent:
    """Reads what the plugin gave on standard input; anything that is no JSON object is an event without a name."""
    told = payload.read(data)
    tool_input = payload.table(told, "input")
    session, tool, folder = payload.text(told, "session"), payload.text(told, "tool"), payload.text(told, "directory")
    name, child = payload.text(told, "event"), payload.text(told, "child")
    writes = name == "tool.execute.before" and tool in EDIT_TOOLS
    name = _NAMES.get(name, name)
    base = folder.rstrip("/") + "/"
    file = database(env)
    command = payload.text(tool_input, "command") if tool in _SHELLS else ""
    paths = (
        [*(payload.text(tool_input, key) for key in _PATHS), *patched(payload.text(tool_input, "patchText"))]
        if writes
        else []
    )
    return HookEvent(
        agent=NAME,
        name="SubagentStop" if name == "Stop" and child else name,
        session=session,
        transcript=f"{file}#{child or session}" if file and session else "",
        folder=folder,
        cwd=folder,
        prompt=payload.text(told, "prompt"),
        call=payload.text(told, "call"),
        tool=tool,
        subagent=child,
        source="startup" if name == "SessionStart" else "",
        text=payload.called(tool, tool_input, _DETAILS, folder) or first_line(payload.text(told, "text")),
        named=tuple(path if path.startswith("/") else base + path for path in paths if path),
        pid=payload.process(told.get("pid")),
        background="detached" if command and detaches(command) else "",
    )


def step(event: HookEvent) -> Step:
    """What is to be recorded at this event."""
    if event.name in ("tool.execute.before", "tool.execute.after"):
        return payload.of_call(event.tool, before=event.name == "tool.execute.before", read_only=READ_ONLY)
    if event.name == "chat.message":
        # What a sub-agent is asked is no prompt of the person.
        return payload.NOTHING if event.subagent else payload.PROMPTED
    if event.name in ("Stop", "SubagentStop"):
        return payload.SUB_AGENT_STOPS if event.subagent else payload.STOPS
    if event.name == "SessionStart":
        return payload.NOTHING if event.subagent else payload.STARTS
    return payload.ENDS if event.name == "SessionEnd" else payload.NOTHING


def has_ended(transcript: str, call: str) -> bool:
    """Whether the database tells how a tool call ended: no hook fires for one that was refused or cancelled."""
    from .database import call_has_ended  # asked for before a restore, never by a hook

    return call_has_ended(transcript, call)


def patched(text: str) -> list[str]:
    """The paths that a patch of the tool "apply_patch" names."""
    marks = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    lines = text.split("\n") if text else []
    return [line.partition(": ")[2].strip() for line in lines if line.startswith(marks)]
