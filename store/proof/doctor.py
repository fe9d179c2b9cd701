"""Everything that recording needs, each with what to do where it is missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import agents, roots
from ..catalog.catalog import FILE
from ..errors import ForkpointError, StoreDamaged
from ..git import process
from ..restore.interrupted import interrupted
from ..status import cause_of, former
from ..upkeep import space
from .finding import Finding
from .rebuilding import lacks_frame

if TYPE_CHECKING:
    from ..roots import Place
    from ..workspace import Workspace


def doctor(workspace: Workspace) -> list[Finding]:
    """Everything that recording needs, each with what to do when it is missing."""
    found = [_git(), _store(workspace), _disk(workspace)]
    for name in agents.in_use():
        module = agents.get(name)
        problem, _, todo = module.hooks_problem(workspace.root).partition(": ")
        todo = todo or (f"forkpoint install {name}" if problem else "")
        found.append(Finding(not problem, f"{module.TITLE}: hooks {problem or 'installed'}", todo))
    cause = cause_of(workspace)
    if cause:
        found.append(
            Finding(False, f"the last hook could not record: {cause}", "mend the cause; the next hook tries again")
        )
    found += [Finding(False, f"{error.what}: {error.path}", error.todo) for error in roots.unreadable(workspace.home)]
    place = workspace.place
    if place is not None:
        found += _content(workspace, place)
    if place is None and roots.replaced(workspace.root, workspace.home) is not None:
        found.append(Finding(False, roots.MADE_ANEW, "forkpoint recover goes on with its record"))
    words = former(workspace)
    if words:
        found.append(Finding(True, words, "forkpoint recover --former goes on with it"))
    if place is not None and interrupted(place) is not None:
        found.append(Finding(False, "a restore was interrupted", "forkpoint recover"))
    return found


def _content(workspace: Workspace, place: Place) -> list[Finding]:
    try:
        content = workspace.content()
    except StoreDamaged as error:
        if lacks_frame(place):
            return [Finding(False, f"{error.what}: a part of it was taken away", "forkpoint rebuild")]
        return [Finding(False, error.what, f"bring {place.git_dir} back, or move {place.workspace} away to begin anew")]
    found = [Finding(False, what, "forkpoint verify") for what in content.wrong.values()]
    found += [Finding(False, what) for what in content.notices]
    records = [row.stored.checkpoint for row in content.rows if row.stored.checkpoint.root == place.root.id]
    for source, why in sorted(records[-1].unanswered.items() if records else ()):
        what = f"the newest checkpoint could not ask what is ignored: {source} ({why})"
        found.append(Finding(False, what, "make it readable: until then no file is restored"))
    if (place.workspace / FILE).is_dir():
        found.append(Finding(False, f"a folder stands where the catalog belongs: {FILE}", "forkpoint rebuild"))
    return found


def _git() -> Finding:
    try:
        words = process.call_in("/", "--version")
    except ForkpointError as error:
        return Finding(False, error.what, error.todo)
    return Finding(
        words is not None, (words or b"git does not answer").decode().strip(), "" if words else "install git"
    )


def _store(workspace: Workspace) -> Finding:
    home = workspace.home
    at = home
    while not at.exists():
        at = at.parent
    writable = os.access(at, os.W_OK | os.X_OK)
    todo = "" if writable else f"make {at} writable, or set FORKPOINT_HOME"
    return Finding(writable, f"the store is at {home}", todo)


def _disk(workspace: Workspace) -> Finding:
    free, least = space.free(workspace.home), space.least(workspace.home)
    if free > least:
        return Finding(True, f"{space.told(free)} free for the store")
    words = f"{space.told(free)} are free for the store, and forkpoint leaves {space.told(least)}: nothing is recorded"
    return Finding(False, words, "free some space: forkpoint usage shows what holds most")
