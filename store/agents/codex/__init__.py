"""Codex CLI as an Agent. Every hook of every agent comes through here: it must stay light."""

from __future__ import annotations

import os

NAME = "codex"
TITLE = "Codex CLI"

OWN = (
    "sessions",
    "archived_sessions",
    "history.jsonl",
    "session_index.jsonl",
    "shell_snapshots",
    "thread-writer-locks",
    "log",
    "tmp",
    ".tmp",
    "packages",
    "auth.json",
    "installation_id",
    "models_cache.json",
    "version.json",
)
"""Names in the home. What is not among them a person writes: configuration, hooks, prompts, rules, skills."""
DATABASES = ("state", "logs", "goals", "memories", "queue", "thread_history")
"""Names of its databases, before the number of their form."""


def config_home() -> str:
    """`$CODEX_HOME`, else `~/.codex`; it need not exist."""
    chosen = os.environ.get("CODEX_HOME")
    return os.path.abspath(os.path.expanduser(chosen)) if chosen else os.path.expanduser("~/.codex")


def detect() -> bool:
    """Whether Codex CLI has ever been used here."""
    return os.path.isdir(config_home())


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14)."""
    home = os.path.realpath(config_home())
    return (*(os.path.join(home, name) for name in OWN), *_databases(home))


def _databases(home: str) -> list[str]:
    """Its databases with what belongs to them: the numbers in their names change between versions."""
    beginnings = tuple(f"{name}_" for name in DATABASES)
    try:
        names = os.listdir(home)
    except OSError:
        return []
    return [os.path.join(home, name) for name in names if ".sqlite" in name and name.startswith(beginnings)]
