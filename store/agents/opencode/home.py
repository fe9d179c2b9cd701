"""OpenCode's databases. Light: every hook of it asks for the one in use."""

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
