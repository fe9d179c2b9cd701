"""Pi's own folder, where it keeps its sessions, and what of it is the program's own. Light: every hook asks for it."""

from __future__ import annotations

import os

from ... import lightjson as json
from ...light import Mapping, cast

OWN = (
    "sessions",
    "auth.json",
    "oauth.json",
    "mcp-auth.json",
    "trust.json",
    "models-store.json",
    "crashes.json",
    "mcp.log",
    "pi-debug.log",
    "bin",
    "npm",
    "git",
    "tmp",
)
"""Names in the folder. What is not among them a person writes: settings, extensions, skills, prompts, themes."""


def agent_home(env: Mapping[str, str] = os.environ) -> str:
    """`$PI_CODING_AGENT_DIR`, else `~/.pi/agent`; it need not exist."""
    chosen = env.get("PI_CODING_AGENT_DIR")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(env.get("HOME") or os.path.expanduser("~"), ".pi", "agent")


def chosen_folder() -> str:
    """Where the person wants sessions to be kept, all of them in one folder; "" for the usual place."""
    chosen: object = os.environ.get("PI_CODING_AGENT_SESSION_DIR") or settings().get("sessionDir")
    if not isinstance(chosen, str) or not chosen:
        return ""
    folder = os.path.expanduser(chosen)
    # A relative one begins where the agent was started, which differs from session to session.
    return folder if os.path.isabs(folder) else ""


def settings(folder: str = "") -> Mapping[str, object]:
    """The person's settings, or those in a folder; nothing when they cannot be read."""
    try:
        with open(os.path.join(folder or agent_home(), "settings.json"), "rb") as file:
            found: object = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14)."""
    home = os.path.realpath(agent_home())
    own = tuple(os.path.join(home, name) for name in OWN)
    chosen = chosen_folder()
    return (*own, os.path.realpath(chosen)) if chosen else own
