"""Claude Code as an Agent. Every hook of every agent comes through here: it must stay light."""

from __future__ import annotations

import os

NAME = "claude"
TITLE = "Claude Code"

OWN = (
    "projects",
    "file-history",
    "sessions",
    "session-env",
    "shell-snapshots",
    "todos",
    "tasks",
    "plans",
    "backups",
    "paste-cache",
    "debug",
    "history.jsonl",
    ".claude.json",
    ".credentials.json",
)
"""Names in the config home. What is not among them a person writes: settings, commands, agents, skills."""


def config_home() -> str:
    """`$CLAUDE_CONFIG_DIR`, else `~/.claude`; it need not exist."""
    chosen = os.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.abspath(os.path.expanduser(chosen)) if chosen else os.path.expanduser("~/.claude")


def detect() -> bool:
    """Whether Claude Code has ever been used here."""
    return os.path.isdir(config_home())


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14)."""
    home = os.path.realpath(config_home())
    return tuple(os.path.join(home, name) for name in OWN)
