"""Switching an agent's hooks on and off: which settings file, which lines, and then doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..store import agents
from ..store.errors import UsageError
from ..store.executable import this_executable
from ..store.home import data_folder

if TYPE_CHECKING:
    from ..store.rewrite import Change


@dataclass(frozen=True, slots=True)
class Step:
    """One settings file of one agent."""

    agent: str
    kind: Literal["install", "uninstall"]
    everywhere: bool
    """The person's own settings, not the project's."""
    root: str
    change: Change

    def carried_out(self) -> Step:
        """Writes the file; the change then tells where the old one was kept. Raises ForkpointError."""
        return replace(self, change=_change(self.agent, self.kind, self.everywhere, self.root, dry_run=False))


def planned_installs(root: str, names: Sequence[str] = (), *, everywhere: bool = True) -> list[Step]:
    """What switching recording on would change: for the named agents, else for those in use on this machine.

    Raises UsageError where no agent is in use, ForkpointError for a settings file that cannot take hooks.
    """
    chosen = [agents.get(name).NAME for name in names] or [name for name in agents.names() if agents.get(name).detect()]
    if not chosen:
        raise UsageError("no agent is in use here yet", todo=f"name one: {', '.join(agents.names())}")
    return [_step(name, "install", everywhere, root) for name in chosen]


def planned_uninstalls(
    root: str, names: Sequence[str] = (), *, everywhere: bool = True, here: bool = True
) -> list[Step]:
    """What switching it off would change, in the person's settings and in the project's."""
    places = [place for place, wanted in ((True, everywhere), (False, here)) if wanted]
    return [_step(name, "uninstall", place, root) for name in names or agents.names() for place in places]


def _step(agent: str, kind: Literal["install", "uninstall"], everywhere: bool, root: str) -> Step:
    return Step(agent, kind, everywhere, root, _change(agent, kind, everywhere, root, dry_run=True))


def _change(agent: str, kind: str, everywhere: bool, root: str, *, dry_run: bool) -> Change:
    settings: Any = import_module(f"..store.agents.{agents.get(agent).NAME}.settings", __package__)
    options: dict[str, Any] = {"everywhere": everywhere, "root": root, "dry_run": dry_run}
    options["backups"] = Path(data_folder()) / "settings-backups"
    if kind == "uninstall":
        return settings.uninstall(**options)
    return settings.install(**options, executable=this_executable())
