"""Where OpenCode keeps what: its databases, and forks that it has not imported yet. Light: every hook of it asks."""

from __future__ import annotations

import os

from ...light import Mapping
from . import data_home

PENDING = "forkpoint"
"""Folder of forks that OpenCode has not imported yet, in its data folder."""


def database(env: Mapping[str, str] = os.environ) -> str:
    """The database that OpenCode would use now; "" when it keeps none on the disk."""
    chosen = env.get("OPENCODE_DB") or "opencode.db"
    return "" if chosen == ":memory:" else os.path.join(data_home(env), chosen)


def databases(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every database that is there, that of other channels included; the one in use comes first."""
    home = data_home(env)
    try:
        names = os.listdir(home)
    except OSError:
        names = []
    others = sorted(name for name in names if name.startswith("opencode") and name.endswith(".db"))
    found = [database(env), *(os.path.join(home, name) for name in others)]
    return tuple(path for path in dict.fromkeys(found) if path and os.path.lexists(path))


def split(file: str) -> tuple[str, str]:
    """Database and session of a name; "" as the session for what is a file."""
    path, mark, session = file.rpartition("#")
    return (path, session) if mark and (path.endswith(".db") or session.startswith("ses_")) else (file, "")


def pending_folder() -> str:
    """Where forks wait until OpenCode imports them."""
    return os.path.join(data_home(), PENDING)


def is_pending(file: str) -> bool:
    return os.path.basename(os.path.dirname(file)) == PENDING


def watched(root: str) -> tuple[str, ...]:
    """What changes when a session of a root begins or goes on: the databases with their logs, and the older files."""
    home = data_home()
    logs = (f"{path}{ending}" for path in databases() for ending in ("", "-wal"))
    return (home, *logs, os.path.join(home, "storage", "session"), pending_folder())


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and our plugin."""
    from ..forms.installing import folders_of
    from .settings import settings_file

    return (pending_folder(), *folders_of(settings_file, root))
