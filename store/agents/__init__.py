"""The registry of agents: a module or package in this folder is an agent, its name is the agent's name.

A package holds at its top what every hook asks for, and each other function in the module that `_PLACES` names, which
is imported when the function is asked for. What an agent does not have is taken from `forms/usual.py`.
"""

from __future__ import annotations

import os

from ..errors import UsageError
from ..light import TYPE_CHECKING, Sequence, cast

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..model import Conversation, SessionInfo
    from .base import Agent, Fork, Source

_OTHERS = ("__init__", "base", "forms")
_PLACES = {
    "listing": ("sessions", "has", "sources"),
    "places": ("watched", "written", "keeps_days"),
    "reader": ("read", "follow"),
    "detail": ("blocks", "facts"),
    "history": ("file_states", "evidence"),
    "running": ("live",),
    "forks": ("plan_fork", "write_fork", "untouched", "resume_command", "with_prompt"),
    "settings": ("install", "uninstall", "hooks_problem"),
    "events": ("parse", "step", "has_ended"),
}
"""The modules of an agent's package, and the functions that stand in each."""
_MODULES = {function: module for module, functions in _PLACES.items() for function in functions}


def names() -> tuple[str, ...]:
    """The agents that forkpoint knows, in alphabetical order."""
    found = {name for folder in __path__ for item in os.listdir(folder) if (name := _module(folder, item))}
    return tuple(sorted(found))


def in_use() -> tuple[str, ...]:
    """Those that have ever been used on this machine: of no other is there a session, or a process at work."""
    return tuple(name for name in names() if _agent(name).detect())


def own_data() -> frozenset[str]:
    """Real paths of what the agents keep for themselves: sessions, backups, state. It need not exist."""
    return frozenset(path for name in names() for path in _agent(name).own_data())


def get(name: str) -> Agent:
    """An agent, its functions imported when they are asked for. Raises UsageError for an unknown name."""
    known = names()
    if name not in known:
        raise UsageError(f'there is no agent "{name}"', todo=f"one of: {', '.join(known)}")
    return _agent(name)


def _agent(name: str) -> Agent:
    return cast("Agent", _Found(name))


class _Found:
    """An agent, put together from its modules."""

    def __init__(self, name: str) -> None:
        self.NAME = name
        self._top = _imported(f"{__name__}.{name}")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._top, name, None)
        module = _MODULES.get(name, "")
        if found is None and module and self._has(module):
            found = getattr(_imported(f"{self._top.__name__}.{module}"), name, None)
        if found is None:
            from .forms.usual import Usual

            found = getattr(Usual(self.NAME, getattr(self._top, "TITLE", self.NAME)), name)
        return found

    def read(self, info: SessionInfo, sources: Sequence[Source] | None = None) -> Conversation:
        """All of a session that can be read; what can follow it reads it once, too."""
        follow = getattr(self, "follow", None)
        read = self.__getattr__("read") if follow is None else follow().read
        return read(info, self.sources(info) if sources is None else sources)

    def plan_fork(
        self,
        conversation: Conversation,
        entry: str,
        *,
        title: str,
        before: bool | None = None,
        session: str | None = None,
        cwd: str | None = None,
        sources: Sequence[Source] | None = None,
    ) -> Fork:
        """A fork that ends with an entry, or just before it."""
        from .base import Wanted

        given = self.sources(conversation.info) if sources is None else sources
        return self.__getattr__("plan_fork")(conversation, entry, Wanted(title, given, before, session, cwd))

    def _has(self, module: str) -> bool:
        """Whether it is a package that has a module."""
        folders: list[str] = getattr(self._top, "__path__", [])
        return any(os.path.exists(os.path.join(folder, f"{module}.py")) for folder in folders)


def _imported(name: str) -> ModuleType:
    return __import__(name, fromlist=["*"])


def _module(folder: str, item: str) -> str:
    """The name of the agent's module that a file or folder is; "" when it is none."""
    name, ending = os.path.splitext(item)
    if name in _OTHERS or not name.isidentifier():
        return ""
    return name if ending == ".py" or os.path.exists(os.path.join(folder, item, "__init__.py")) else ""
