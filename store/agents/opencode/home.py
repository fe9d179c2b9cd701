"""Where OpenCode keeps what is its own, and where a person's settings of it are. Light: every hook asks for it."""

from __future__ import annotations

import os

from ...light import Mapping

APP = "opencode"
PENDING = "forkpoint"
"""Folder of forks that OpenCode has not imported yet, in its data folder."""


def data_home(env: Mapping[str, str] = os.environ) -> str:
    """`$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode` on every system; it need not exist."""
    return os.path.join(_base(env, "XDG_DATA_HOME", ".local/share"), APP)


def config_home(env: Mapping[str, str] = os.environ) -> str:
    """The person's settings: `$XDG_CONFIG_HOME/opencode`, else `~/.config/opencode`."""
    return os.path.join(_base(env, "XDG_CONFIG_HOME", ".config"), APP)


def own_data(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Real paths of what the program keeps for itself: sessions and snapshots, state, cache (rule 14)."""
    folders = [
        data_home(env),
        os.path.join(_base(env, "XDG_STATE_HOME", ".local/state"), APP),
        os.path.join(_base(env, "XDG_CACHE_HOME", ".cache"), APP),
    ]
    chosen = env.get("OPENCODE_DB", "")
    if os.path.isabs(chosen):
        folders += [chosen, f"{chosen}-wal", f"{chosen}-shm"]
    return tuple(os.path.realpath(folder) for folder in folders)


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
    return tuple(path for path in dict.fromkeys(found) if path and os.path.exists(path))


def _base(env: Mapping[str, str], name: str, otherwise: str) -> str:
    chosen = env.get(name, "")
    home = env.get("HOME") or os.path.expanduser("~")
    return os.path.abspath(chosen) if chosen else os.path.join(home, otherwise)
