"""Switching recording on and off: `install`, `uninstall`; and `hook`, which agents call."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ...store.errors import UnsafePlace, UsageError
from ...store.saving import save as save_root
from ...store.text import path_text
from .. import words
from ..installing import Step, planned_installs, planned_uninstalls
from ..output import Output, Style, painted
from ..quick import progress
from .call import Call, command
from .documents import Document
from .save import agreed

if TYPE_CHECKING:
    from ...store.saving import Saved

LINE_STYLES: dict[str, Style] = {"+": "green", "-": "red"}


def _options(function: Callable[..., int]) -> Callable[..., int]:
    function = click.option("-y", "--yes", is_flag=True, help="Without asking.")(function)
    function = click.option("--dry-run", is_flag=True, help="Only the files and the lines.")(function)
    function = click.option("--here", is_flag=True, help="The project's local settings.")(function)
    function = click.option("--everywhere", is_flag=True, help="Your own settings: every project.")(function)
    return click.argument("agents", nargs=-1, metavar="[AGENT]...")(function)


@command("install")
@_options
def install(call: Call, agents: tuple[str, ...], everywhere: bool, here: bool, dry_run: bool, yes: bool) -> int:
    """Switches recording on for agents: hooks in their settings or an extension, and a first checkpoint.

    They go into your own settings (--everywhere, the default) or into this project's local ones (--here). Each file and
    its new lines are shown first, nothing else in it changes. Without AGENT: every agent that is in use here.
    """
    if everywhere and here:
        raise UsageError("--everywhere and --here exclude each other")
    root = _root(call, needed=here)
    steps = planned_installs(root, agents, everywhere=not here)
    steps = _settled(call, root, steps, "Recording is switched on already.", dry_run=dry_run, yes=yes)
    on = any(step.error is None for step in steps)
    saved = _first_checkpoint(call, yes) if on and not dry_run else None
    if call.json:
        first = {"id": saved.id, "files": saved.files} if saved else None
        call.output.document({"agents": [_document(step) for step in steps], "checkpoint": first})
    elif saved is not None:
        call.output.say(f"First checkpoint: {saved.id}, {words.count(saved.files, 'file')}.")
    return _ended(call, steps)


@command("uninstall")
@_options
def uninstall(call: Call, agents: tuple[str, ...], everywhere: bool, here: bool, dry_run: bool, yes: bool) -> int:
    """Takes exactly that out again; what was recorded stays.

    Without --everywhere and --here: out of both files. Without AGENT: of every agent.
    """
    root = _root(call, needed=False)
    steps = planned_uninstalls(root, agents, everywhere=everywhere or not here, here=here or not everywhere)
    steps = _settled(call, root, steps, "There are no hooks of forkpoint here.", dry_run=dry_run, yes=yes)
    if call.json:
        call.output.document({"agents": [_document(step) for step in steps]})
    return _ended(call, steps)


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
    """Shows what changes, asks a person who is there, and does it; what cannot be done stops nothing else.

    Raises the error of a step that is the only one.
    """
    if len(steps) == 1 and steps[0].error is not None:
        raise steps[0].error
    changing = [step for step in steps if step.changes]
    if not call.json:
        call.output.say(path_text(root))
        for step in changing:
            call.output.say(*(painted(*line, call.terminal) for line in _lines(step)))
        if not changing and all(step.error is None for step in steps):
            call.output.say(idle)
    if dry_run or not changing:
        return steps
    if call.asks and not yes:
        call.confirm("Change the file like this?" if len(changing) == 1 else "Change the files like this?")
    done = {id(step): step.carried_out() for step in changing}
    steps = [done.get(id(step), step) for step in steps]
    if len(steps) == 1 and steps[0].error is not None:
        raise steps[0].error
    if not call.json:
        call.output.say(*(_told(step) for step in steps if step.changes and step.error is None))
        call.output.say(
            *(f"{words.agent(step.agent)}: {left}" for step in steps if (left := words.one_line(step.left)))
        )
    return steps


def _lines(step: Step) -> Iterator[tuple[str, Style]]:
    for line in step.change.lines if step.change else ():
        yield path_text(line), LINE_STYLES.get(line[:1], "")


def _told(step: Step) -> str:
    change = step.change
    assert change is not None
    what = "now records in" if step.kind == "install" else "records no more in"
    kept = f"; the file as it was: {path_text(change.backup)}" if change.backup else ""
    return f"{words.agent(step.agent)} {what} {path_text(change.file)}{kept}."


def _ended(call: Call, steps: Sequence[Step]) -> int:
    """The exit code; what could not be done is told by name and number."""
    failed = [step for step in steps if step.error is not None]
    if failed and not call.json:
        errors = Output(call.terminal, sys.stderr)
        errors.say(*(f"forkpoint: {words.agent(step.agent)}: {words.one_line(str(step.error))}" for step in failed))
        named = {step.agent for step in steps}
        done = len(named - {step.agent for step in failed})
        errors.say(f"forkpoint: {done} of {words.count(len(named), 'agent')} done")
    return 1 if failed else 0


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
    change, error = step.change, step.error
    return {
        "agent": step.agent,
        "file": path_text(change.file) if change else error.path if error else "",
        "changes": step.changes,
        "lines": list(change.lines) if change else [],
        "backup": path_text(change.backup) if change and change.backup else None,
        "left": step.left,
        "error": {"what": error.what, "path": error.path, "todo": error.todo} if error else None,
    }
