"""What the names of Gemini CLI's session files tell (formats 3.1)."""

from __future__ import annotations

import os
import re

PREFIX = "session-"
CHATS = "chats"
_STARTED = re.compile(r"session-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-|session-(\d{12,15})-")


def is_session(name: str) -> bool:
    """Whether a file's name is that of a session of its own."""
    return name.startswith(PREFIX) and name.endswith((".json", ".jsonl"))


def sub_agent_of(path: str) -> str:
    """The sub-agent's session in a file's path, `chats/<session>/<sub-agent>.jsonl`; "" for a session of its own."""
    folder, name = os.path.split(path)
    above = os.path.basename(os.path.dirname(folder))
    inside = above == CHATS and not is_session(name)
    return name.removesuffix(".jsonl").removesuffix(".json") if inside else ""


def started(name: str) -> str:
    """When a file was made, by its name, as a sortable text; "" when the name does not tell."""
    found = _STARTED.match(name)
    if found is None:
        return ""
    if found[4]:
        from datetime import UTC, datetime

        return datetime.fromtimestamp(int(found[4]) / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
    return f"{found[1]}T{found[2]}:{found[3]}"
