"""Switching agents' hooks on and off: which files, which lines, and then doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..store import agents
from ..store.errors import ForkpointError, UsageError
from ..store.executable import this_executable
from ..store.home import data_folder

if TYPE_CHECKING:
    from ..store.rewrite import Change


@dataclass(frozen=True, slots=True)
class Step:
    """One file of one agent."""

    agent: str
    kind: Literal["install", "uninstall"]
    everywhere: bool
    """The person's own settings, not the project's."""
    root: str
    change: Change | None
    """None: it cannot be done, for the reason that `error` tells."""
    error: ForkpointError | None = None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do, and nothing against it."""
        return self.change is not None and self.change.changes

    @property
    def left(self) -> str:
        """What a person has to do still before the agent tells us anything here, in words; "" when it does."""
        if self.kind != "install" or self.error is not None:
            return ""
        return agents.get(self.agent).hooks_problem(self.root)

    def carried_out(self) -> Step:
        """Writes the file; the change then tells where the old one was kept, or `error` why it stays as it was."""
        return _tried(self, dry_run=False)


def planned_installs(root: str, names: Sequence[str] = (), *, everywhere: bool = True) -> list[Step]:
    """What switching recording on would change: for the named agents, else for those in use on this machine.

    What stands against it in one agent's file is told in its step and stops no other. Raises UsageError where no agent
    is in use.
    """
    chosen = [agents.get(name).NAME for name in names] or agents.in_use()
    if not chosen:
        raise UsageError("no agent is in use here yet", todo=f"name one: {', '.join(agents.names())}")
    return [_planned(name, "install", everywhere, root) for name in dict.fromkeys(chosen)]


def planned_uninstalls(
    root: str, names: Sequence[str] = (), *, everywhere: bool = True, here: bool = True
) -> list[Step]:
    """What switching it off would change, in the person's settings and in the project's."""
    places = [place for place, wanted in ((True, everywhere), (False, here)) if wanted]
    chosen = [agents.get(name).NAME for name in names] or agents.names()
    return [_planned(name, "uninstall", place, root) for name in dict.fromkeys(chosen) for place in places]


def _planned(agent: str, kind: Literal["install", "uninstall"], everywhere: bool, root: str) -> Step:
    return _tried(Step(agent, kind, everywhere, root, None), dry_run=True)


def _tried(step: Step, *, dry_run: bool) -> Step:
    agent, backups = agents.get(step.agent), Path(data_folder()) / "settings-backups"
    try:
        ask = partial(agent.install, executable=this_executable()) if step.kind == "install" else agent.uninstall
        change = ask(everywhere=step.everywhere, root=step.root, backups=backups, dry_run=dry_run)
        return replace(step, change=change, error=None)
    except ForkpointError as error:
        return replace(step, error=error)
