"""The registry of agents: a module or package in this folder is an agent, its name is the agent's name."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..light import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .base import Agent

_OTHERS = ("__init__", "base", "forms")


def names() -> tuple[str, ...]:
    """The agents that forkpoint knows, in alphabetical order."""
    found = {name for folder in __path__ for item in os.listdir(folder) if (name := _module(folder, item))}
    return tuple(sorted(found))


def in_use() -> tuple[str, ...]:
    """Those that have ever been used on this machine: of no other is there a session, or a process at work."""
    return tuple(name for name in names() if _imported(name).detect())


def own_data() -> frozenset[str]:
    """Real paths of what the agents keep for themselves: sessions, backups, state. It need not exist."""
    return frozenset(path for name in names() for path in _imported(name).own_data())


def get(name: str) -> Agent:
    """The agent's module, imported on first use. Raises UsageError for an unknown name."""
    known = names()
    if name not in known:
        raise UsageError(f'there is no agent "{name}"', todo=f"one of: {', '.join(known)}")
    return _imported(name)


def _imported(name: str) -> Agent:
    return cast("Agent", __import__(f"{__name__}.{name}", fromlist=["*"]))


def part(name: str, module: str) -> object:
    """One module of an agent's package: "events", "settings". Raises UsageError for an unknown agent."""
    if name not in names():
        get(name)
    return __import__(f"{__name__}.{name}.{module}", fromlist=["*"])


def _module(folder: str, item: str) -> str:
    """The name of the agent's module that a file or folder is; "" when it is none."""
    name, ending = os.path.splitext(item)
    if name in _OTHERS or not name.isidentifier():
        return ""
    return name if ending == ".py" or os.path.exists(os.path.join(folder, item, "__init__.py")) else ""
