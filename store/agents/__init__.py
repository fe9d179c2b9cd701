"""The registry of agents: a module or package in this folder is an agent, its name is the agent's name."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..light import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .base import Agent

_OTHERS = ("__init__", "__pycache__", "base")


def names() -> tuple[str, ...]:
    """The agents that forkpoint knows, in alphabetical order."""
    found = {os.path.splitext(item)[0] for folder in __path__ for item in os.listdir(folder)}
    return tuple(sorted(name for name in found if name.isidentifier() and name not in _OTHERS))


def own_data() -> frozenset[str]:
    """Real paths of what the agents keep for themselves: sessions, backups, state. It need not exist."""
    return frozenset(path for name in names() for path in get(name).own_data())


def get(name: str) -> Agent:
    """The agent's module, imported on first use. Raises UsageError for an unknown name."""
    known = names()
    if name not in known:
        raise UsageError(f'there is no agent "{name}"', todo=f"one of: {', '.join(known)}")
    return cast("Agent", __import__(f"{__name__}.{name}", fromlist=["*"]))
