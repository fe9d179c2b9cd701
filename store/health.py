"""Whether recording works, and whether the store is what it says it is: status, doctor, verify."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import agents, operations, points, roots, space, transcripts, trouble
from .errors import ForkpointError, StoreDamaged
from .git import process
from .git.reader import Objects
from .git.stream import EMPTY_TREE
from .model import Live, Point

if TYPE_CHECKING:
    from .roots import Place
    from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    ok: bool
    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """How recording stands in a root."""

    root: str
    recording: bool
    why: str
    """Why nothing is recorded, or what is recorded."""
    agents: tuple[str, ...]
    """Agents whose hooks are installed here."""
    last: Point | None
    live: tuple[Live, ...]
    interrupted: str
    """What was interrupted and can be recovered, or ""."""
    checkpoints: int
    bytes: int


def installed(root: str) -> tuple[str, ...]:
    """Agents whose hooks are installed for a root, and work."""
    return tuple(name for name in agents.names() if not agents.get(name).hooks_problem(root))


def status(workspace: Workspace) -> Status:
    """Looks at hooks, live agents, the newest checkpoint and the journal."""
    place = workspace.place
    hooked = installed(workspace.root)
    rows = [
        row for row in workspace.content().rows if place is not None and row.stored.checkpoint.root == place.root.id
    ]
    last = None
    if rows:
        checkpoint = rows[-1].stored.checkpoint
        last = Point(
            checkpoint.id,
            None,
            "",
            checkpoint.side,  # type: ignore[arg-type]
            checkpoint.reason,  # type: ignore[arg-type]
            checkpoint.time,
            label=checkpoint.label,
            files=checkpoint.files,
            text=checkpoint.text,
        )
    cause = _trouble(workspace)
    why = cause or (f"hooks of {', '.join(hooked)}" if hooked else "no agent's hooks are installed: forkpoint install")
    interrupted = "a restore was interrupted: forkpoint recover" if place and place.journal_file.exists() else ""
    return Status(
        workspace.root,
        bool(hooked) and not cause,
        why,
        hooked,
        last,
        workspace.live(),
        interrupted,
        len(rows),
        size_of(place.workspace) if place else 0,
    )


def _trouble(workspace: Workspace) -> str:
    """Why a hook could not record now: there is no git, or the cause that one wrote down, if it still stands."""
    if shutil.which("git") is None:
        return "git was not found on PATH: install git"
    return next((item.cause for item in trouble.open_troubles(workspace.home, workspace.root)), "")


def size_of(folder: Path) -> int:
    """Bytes that a folder takes on the disk."""
    total = 0
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                for entry in listing:
                    found = entry.stat(follow_symlinks=False)
                    total += found.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue
    return total


def doctor(workspace: Workspace) -> list[Finding]:
    """Everything that recording needs, each with what to do when it is missing."""
    found = [_git(), _store(workspace), _disk(workspace)]
    for name in agents.names():
        module = agents.get(name)
        if module.detect():
            problem = module.hooks_problem(workspace.root)
            todo = f"forkpoint install {name}" if problem else ""
            found.append(Finding(not problem, f"{module.TITLE}: hooks {problem or 'installed'}", todo))
    cause = _trouble(workspace)
    if cause:
        found.append(
            Finding(False, f"the last hook could not record: {cause}", "mend the cause; the next hook tries again")
        )
    found += [Finding(False, f"{error.what}: {error.path}", error.todo) for error in roots.unreadable(workspace.home)]
    place = workspace.place
    if place is not None:
        found += _objects(place)
    if place is not None and place.journal_file.exists():
        found.append(Finding(False, "a restore was interrupted", "forkpoint recover"))
    return found


def _objects(place: Place) -> list[Finding]:
    try:
        Objects(place.git_dir).refs(points.REFS)
    except StoreDamaged as error:
        return [Finding(False, error.what, f"bring {place.git_dir} back, or move {place.workspace} away to begin anew")]
    return []


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


def verify(workspace: Workspace) -> list[Finding]:
    """Re-hashes every object that a checkpoint, transcript or operation reaches, and names what is broken."""
    place = workspace.need_place()
    objects = Objects(place.git_dir)
    found: list[Finding] = []
    sound: set[str] = set()
    checkpoints = objects.refs(points.REFS)
    for ref, commit in sorted(checkpoints.items()):
        found += _checkpoint(objects, ref, commit, sound)
    for ref, commit in sorted(objects.refs(transcripts.REFS).items()):
        found += _reached(objects, f"transcript {ref.removeprefix(transcripts.REFS)}", commit, sound)
    try:
        count = len(operations.chain(objects))
    except StoreDamaged as error:
        found.append(Finding(False, f"operations: {error}"))
        count = 0
    found += [Finding(False, f"the ref {name} cannot be read") for name in _unreadable_refs(place.git_dir, objects)]
    if found:
        # What the indexes say is stored may be what is lost: the next checkpoints store everything again.
        for index in place.workspace.glob("roots/*/index"):
            with suppress(OSError):
                index.unlink()
        return [*found, Finding(True, "the next checkpoint stores every file again")]
    words = f"{len(checkpoints)} checkpoints, {count} operations, {len(sound)} objects are what they say they are"
    return [Finding(True, words)]


def _unreadable_refs(git_dir: Path, objects: Objects) -> list[str]:
    """Refs that are there as files, but that git passes over."""
    known = objects.refs("refs/").keys()
    names = (
        os.path.relpath(os.path.join(folder, name), git_dir)
        for folder, _, files in os.walk(git_dir / "refs")
        for name in files
        if not name.endswith(".lock")
    )
    return sorted(name for name in names if name not in known)


def _checkpoint(objects: Objects, ref: str, commit: str, sound: set[str]) -> list[Finding]:
    point = ref.rpartition("/")[2]
    try:
        stored = objects.stored(commit)
    except StoreDamaged as error:
        return [Finding(False, f"checkpoint {point}: {error}")]
    if stored.checkpoint.id != point:
        return [Finding(False, f"checkpoint {point}: its record is of {stored.checkpoint.id}")]
    return _reached(objects, f"checkpoint {point}", commit, sound)


def _reached(objects: Objects, name: str, commit: str, sound: set[str]) -> list[Finding]:
    broken: list[Finding] = []
    try:
        for path, _, oid in objects.walk(str(objects.tree(commit).id)):
            if oid in sound or oid == EMPTY_TREE:
                continue
            data = objects.read(oid)
            if hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == oid:
                sound.add(oid)
            else:
                broken.append(Finding(False, f"{name}: {os.fsdecode(path)} is damaged"))
    except StoreDamaged as error:
        broken.append(Finding(False, f"{name}: {error}"))
    return broken
