"""OpenCode as an Agent. Every hook of every agent comes through here: it must stay light."""

from __future__ import annotations

import os

from ...light import Mapping

NAME = "opencode"
TITLE = "OpenCode"


def data_home(env: Mapping[str, str] = os.environ) -> str:
    """`$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode` on every system; it need not exist."""
    return os.path.join(_base(env, "XDG_DATA_HOME", ".local/share"), NAME)


def config_home(env: Mapping[str, str] = os.environ) -> str:
    """The person's settings: `$XDG_CONFIG_HOME/opencode`, else `~/.config/opencode`."""
    return os.path.join(_base(env, "XDG_CONFIG_HOME", ".config"), NAME)


def detect() -> bool:
    """Whether OpenCode has ever been used here."""
    return os.path.isdir(data_home())


def own_data() -> tuple[str, ...]:
    """What OpenCode keeps for itself: sessions and snapshots, state, cache (rule 14); its settings are the person's."""
    # Every hook of every agent asks for it: it stands here, so that no further module is read.
    env = os.environ
    folders = [
        data_home(env),
        os.path.join(_base(env, "XDG_STATE_HOME", ".local/state"), NAME),
        os.path.join(_base(env, "XDG_CACHE_HOME", ".cache"), NAME),
    ]
    chosen = env.get("OPENCODE_DB", "")
    if os.path.isabs(chosen):
        folders += [chosen, f"{chosen}-wal", f"{chosen}-shm"]
    return tuple(os.path.realpath(folder) for folder in folders)


def _base(env: Mapping[str, str], name: str, otherwise: str) -> str:
    chosen = env.get(name, "")
    home = env.get("HOME") or os.path.expanduser("~")
    return os.path.abspath(chosen) if chosen else os.path.join(home, otherwise)
