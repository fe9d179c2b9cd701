"""Switching recording on and off: `install`, `uninstall`; and `hook`, which agents call."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ...store.errors import UnsafePlace, UsageError
from ...store.saving import save as save_root
from ...store.text import path_text
from .. import words
from ..installing import Step, planned_installs, planned_uninstalls
from ..output import Style, painted
from ..quick import progress
from .call import Call, command
from .documents import Document
from .save import agreed

if TYPE_CHECKING:
    from ...store.saving import Saved

LINE_STYLES: dict[str, Style] = {"+": "green", "-": "red"}


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
    steps = planned_installs(root, agents, everywhere=not here)
    steps = _settled(call, root, steps, "Recording is switched on already.", dry_run=dry_run, yes=yes)
    saved = None if dry_run else _first_checkpoint(call, yes)
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
    root = _root(call, needed=False)
    steps = planned_uninstalls(root, agents, everywhere=everywhere or not here, here=here or not everywhere)
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


def _root(call: Call, *, needed: bool) -> str:
    """The root; the home folder is none, but one may well install for everywhere from there."""
    try:
        return call.store().root
    except UnsafePlace:
        if needed:
            raise
        return os.path.realpath(call.folder or os.getcwd())


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


def _first_checkpoint(call: Call, yes: bool) -> Saved | None:
    """Taken at once where nothing is recorded yet, so that the agent's first change already has a before."""
    try:
        store = call.store()
    except UnsafePlace:
        return None
    if store.exists:
        return None
    with progress("first checkpoint:") as counter:
        return agreed(call, lambda sure: save_root(store.root, agreed=sure, progress=counter), yes)


def _document(step: Step) -> Document:
    change = step.change
    return {
        "agent": step.agent,
        "file": path_text(change.file),
        "changes": change.changes,
        "lines": list(change.lines),
        "backup": path_text(change.backup) if change.backup else None,
    }
