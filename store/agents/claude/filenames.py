"""What the names of Claude Code's session files tell (formats 1.1)."""

from __future__ import annotations

import os

META = ".meta.json"


def session_of(name: str) -> str:
    """The session id that a file of an agent belongs to; "" for a sub-agent's file that stands beside the sessions.

    The program's own ids are UUIDs. What a person called otherwise is an id too, of letters that are safe everywhere.
    """
    folder, base = os.path.split(name)
    if not base.startswith("agent-"):
        return _safe(base.removesuffix(".jsonl"))
    while folder and folder != os.path.dirname(folder):
        folder, last = os.path.split(folder)
        if last == "subagents":
            return _safe(os.path.basename(folder))
    return ""


def sub_agent_of(name: str) -> str:
    """The sub-agent's id in a file's name; "" for a session's own file."""
    base = os.path.basename(name)
    return base[6:].removesuffix(META).removesuffix(".jsonl") if base.startswith("agent-") else ""


def folder_beside(file: str) -> str:
    """The folder of a session's further files: it has the name of the session's own file."""
    return file.removesuffix(".jsonl")


def _safe(stem: str) -> str:
    if stem.replace("-", "").replace("_", "").isalnum() and stem.isascii():
        return stem
    plain = b"-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(stem))
