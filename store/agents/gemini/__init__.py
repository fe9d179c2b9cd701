"""Gemini CLI as an Agent. Every hook of every agent comes through here: it must stay light."""

from __future__ import annotations

import os

NAME = "gemini"
TITLE = "Gemini CLI"

OWN = (
    "tmp",
    "history",
    "projects.json",
    "google_accounts.json",
    "oauth_creds.json",
    "gemini-credentials.json",
    "mcp-oauth-tokens.json",
    "mcp-oauth-tokens-v2.json",
    "installation_id",
    "state.json",
    "user_id",
)
"""Names in the folder. What is not among them a person writes: settings, commands, agents, skills, GEMINI.md."""


def gemini_folder() -> str:
    """`.gemini` in `$GEMINI_CLI_HOME`, else in the home folder; it need not exist."""
    home = os.environ.get("GEMINI_CLI_HOME")
    return os.path.join(os.path.abspath(home) if home else os.path.expanduser("~"), ".gemini")


def detect() -> bool:
    """Whether Gemini CLI has ever been used here: other programs keep things in its folder too."""
    folder = gemini_folder()
    return any(os.path.exists(os.path.join(folder, name)) for name in ("tmp", "projects.json", "settings.json"))


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14)."""
    home = os.path.realpath(gemini_folder())
    return tuple(os.path.join(home, name) for name in OWN)
