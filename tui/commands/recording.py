"""Switching recording on and off: `install`, `uninstall`; and `hook`, which agents call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ...store.errors import UnsafePlace, UsageError
from ...store.text import path_text
from .. import words
from ..output import Style, painted
from .call import Call, command
from .documents import Document

if TYPE_CHECKING:
    from ...store.api import Saved
    from ...store.rewrite import Change

LINE_STYLES: dict[str, Style] = {"+": "green", "-": "red"}


@dataclass(frozen=True, slots=True)
class Step:
    """One settings file of one agent."""

    agent: str
    kind: Literal["install", "uninstall"]
    everywhere: bool
    root: str
    change: Change

    def carried_out(self) -> Step:
        """Writes the file; the change then tells where the old one was kept."""
        return replace(self, change=_change(self.agent, self.kind, self.everywhere, self.root, dry_run=False))


def _options(function: Callable[..., int]) -> Callable[..., int]:
    function = click.option("-y", "--yes", is_flag=True, help="Without asking.")(function)
    function = click.option("--dry-run", is_flag=True, help="Only the file and the lines.")(function)
    function = click.option("--here", is_flag=True, help="The project's local settings.")(function)
    function = click.option("--everywhere", is_flag=True, help="Your own settings: every project.")(function)
    return click.argument("agents", nargs=-1, metavar="[AGENT]...")(function)


@command("install")
@_options
def install(call: Call, agents: tuple[str, ...], everywhere: bool, here: bool, dry_run: bool, yes: bool) -> int:
    """Switches recording on for an agent: hooks in its settings, and a first checkpoint.

    The hooks go into your own settings (--everywhere, the default) or into this project's local ones (--here). The file
    and its new lines are shown first, nothing else in it changes. Without AGENT: every agent that is in use here.
    """
    if everywhere and here:
        raise UsageError("--everywhere and --here exclude each other")
    root = _root(call, needed=here)
    steps = [_planned(name, "install", not here, root) for name in _chosen(agents)]
    steps = _settled(call, root, steps, "Recording is switched on already.", dry_run=dry_run, yes=yes)
    saved = None if dry_run else _first_checkpoint(call)
    if call.json:
        first = {"id": saved.id, "files": saved.files} if saved else None
        call.output.document({"agents": [_document(step) for step in steps], "checkpoint": first})
    elif saved is not None:
        call.output.say(f"First checkpoint: {saved.id}, {words.count(saved.files, 'file')}.")
    return 0


@command("uninstall")
@_options
def uninstall(call: Call, agents: tuple[str, ...], everywhere: bool, here: bool, dry_run: bool, yes: bool) -> int:
    """Takes exactly those hooks out again; what was recorded stays.

    Without --everywhere and --here: out of both files. Without AGENT: of every agent.
    """
    from ...store import agents as registry

    root = _root(call, needed=False)
    places = [place for place, chosen in ((True, everywhere), (False, here)) if chosen or everywhere == here]
    steps = [_planned(name, "uninstall", place, root) for name in agents or registry.names() for place in places]
    steps = _settled(call, root, steps, "There are no hooks of forkpoint here.", dry_run=dry_run, yes=yes)
    if call.json:
        call.output.document({"agents": [_document(step) for step in steps]})
    return 0


@command("hook")
@click.argument("arguments", nargs=-1, metavar="AGENT", type=click.UNPROCESSED)
def hook(call: Call, arguments: tuple[str, ...]) -> int:
    """What an agent's hooks call: records what is told on standard input, never fails."""
    from ...store.recording import run_hook

    run_hook(arguments)
    return 0


def planned_installs(root: str) -> list[Step]:
    """What switching recording on would change, for every agent in use; for the app, which shows it first."""
    return [_planned(name, "install", True, root) for name in _chosen(())]


def _chosen(agents: Sequence[str]) -> Sequence[str]:
    """The agents that were named, else those that are in use on this machine."""
    from ...store import agents as registry

    if agents:
        return [registry.get(name).NAME for name in agents]
    found = [name for name in registry.names() if registry.get(name).detect()]
    if not found:
        raise UsageError("no agent is in use here yet", todo=f"name one: {', '.join(registry.names())}")
    return found


def _root(call: Call, *, needed: bool) -> str:
    """The root; the home folder is none, but one may well install for everywhere from there."""
    try:
        return call.store().root
    except UnsafePlace:
        if needed:
            raise
        return os.path.realpath(call.folder or os.getcwd())


def _planned(agent: str, kind: Literal["install", "uninstall"], everywhere: bool, root: str) -> Step:
    return Step(agent, kind, everywhere, root, _change(agent, kind, everywhere, root, dry_run=True))


def _change(agent: str, kind: str, everywhere: bool, root: str, *, dry_run: bool) -> Change:
    from ...store import agents as registry
    from ...store.agents.claude import settings
    from ...store.home import data_folder

    registry.get(agent)
    backups = Path(data_folder()) / "settings-backups"
    if kind == "uninstall":
        return settings.uninstall(everywhere=everywhere, root=root, backups=backups, dry_run=dry_run)
    executable = settings.this_executable()
    return settings.install(everywhere=everywhere, root=root, executable=executable, backups=backups, dry_run=dry_run)


def _settled(call: Call, root: str, steps: list[Step], idle: str, *, dry_run: bool, yes: bool) -> list[Step]:
    """Shows what changes, asks a person who is there, and does it."""
    changing = [step for step in steps if step.change.changes]
    if not call.json:
        call.output.say(path_text(root))
        for step in changing:
            call.output.say(
                *(painted(path_text(line), LINE_STYLES.get(line[:1], ""), call.terminal) for line in step.change.lines)
            )
        if not changing:
            call.output.say(idle)
    if dry_run or not changing:
        return steps
    if call.asks and not yes:
        call.confirm("Change the file like this?" if len(changing) == 1 else "Change the files like this?")
    done = {id(step): step.carried_out() for step in changing}
    steps = [done.get(id(step), step) for step in steps]
    if not call.json:
        call.output.say(*(_told(step) for step in steps if step.change.changes))
    return steps


def _told(step: Step) -> str:
    what = "Hooks added to" if step.kind == "install" else "Hooks taken out of"
    kept = f"; the file as it was: {path_text(step.change.backup)}" if step.change.backup else ""
    return f"{what} {path_text(step.change.file)}{kept}."


def _first_checkpoint(call: Call) -> Saved | None:
    """Taken at once where nothing is recorded yet, so that the agent's first change already has a before."""
    try:
        store = call.store()
    except UnsafePlace:
        return None
    return None if store.exists else store.save(progress=call.progress("first checkpoint:"))


def _document(step: Step) -> Document:
    change = step.change
    return {
        "agent": step.agent,
        "file": path_text(change.file),
        "changes": change.changes,
        "lines": list(change.lines),
        "backup": path_text(change.backup) if change.backup else None,
    }
