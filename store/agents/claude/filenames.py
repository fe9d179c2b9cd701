"""What the names of Claude Code's session files tell (formats 1.1)."""

from __future__ import annotations

import os

META = ".meta.json"


def session_of(name: str) -> str:
    """The session id that a file of an agent belongs to; "" for a sub-agent's file that stands beside the sessions."""
    folder, base = os.path.split(name)
    if not base.startswith("agent-"):
        return base.removesuffix(".jsonl")
    while folder and folder != os.path.dirname(folder):
        folder, last = os.path.split(folder)
        if last == "subagents":
            return os.path.basename(folder)
    return ""


def sub_agent_of(name: str) -> str:
    """The sub-agent's id in a file's name; "" for a session's own file."""
    base = os.path.basename(name)
    return base[6:].removesuffix(META).removesuffix(".jsonl") if base.startswith("agent-") else ""
