"""Pi as an Agent. Every hook of every agent comes through here: it must stay light."""

from __future__ import annotations

import os

from ... import lightjson as json
from ...light import Mapping, cast, lru_cache

NAME = "pi"
TITLE = "Pi"

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


def detect() -> bool:
    """Whether Pi has ever been used here."""
    return os.path.isdir(agent_home())


def agent_home(env: Mapping[str, str] = os.environ) -> str:
    """`$PI_CODING_AGENT_DIR`, else `~/.pi/agent`; it need not exist."""
    chosen = env.get("PI_CODING_AGENT_DIR")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(env.get("HOME") or os.path.expanduser("~"), ".pi", "agent")


def chosen_folder(start: str) -> str:
    """Where sessions that begin in a folder are kept when the person wants them in one place; "" for the usual one.

    What the project's settings say counts before it is trusted; a relative folder begins where the agent does.
    """
    chosen: object = os.environ.get("PI_CODING_AGENT_SESSION_DIR")
    for folder in ("" if chosen else os.path.join(start, ".pi"), agent_home()):
        chosen = chosen or (settings_of(folder).get("sessionDir") if folder else "")
    return os.path.join(start, os.path.expanduser(chosen)) if isinstance(chosen, str) and chosen else ""


def settings_of(folder: str) -> Mapping[str, object]:
    """The settings in Pi's own folder or in a project's; nothing when they cannot be read."""
    file = os.path.join(folder, "settings.json")
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return {}
    return _settings(file, (found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=64)
def _settings(file: str, stamp: tuple[int, ...]) -> Mapping[str, object]:
    """What a file holds that looked so: it is asked for whenever somebody looks for something new."""
    del stamp
    try:
        with open(file, "rb") as stream:
            found: object = json.loads(stream.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14).

    A folder for sessions that the project's settings name is known where the hook runs, which is where Pi began.
    """
    home = os.path.realpath(agent_home())
    own = tuple(os.path.join(home, name) for name in OWN)
    try:
        chosen = chosen_folder(os.getcwd())
    except OSError:
        return own
    return (*own, os.path.realpath(chosen)) if chosen else own
