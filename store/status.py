"""How recording stands in a root: quick enough for a status bar."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import agents, naming, roots, trouble
from .checkpoints import points
from .git.refs import listed
from .model import Live, Point
from .restore.interrupted import sentence, standing

if TYPE_CHECKING:
    from .workspace import Workspace


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
    problems: tuple[str, ...] = ()
    """What is wrong with what is stored, as far as a look at the refs tells."""
    unsettled: tuple[tuple[bytes, str], ...] = ()
    """Every path of what was interrupted, and how it stands."""
    in_use: tuple[str, ...] = ()
    """Agents that have ever been used on this machine."""
    silent: tuple[tuple[str, str], ...] = ()
    """Those of them that do not tell us what they do here, each with the reason."""
    former: str = ""
    """What is kept of a folder that stood at this path before, or ""."""


def status(workspace: Workspace) -> Status:
    """Looks at hooks, live agents, the newest checkpoint and the journal."""
    place = workspace.place
    problems = {name: agents.get(name).hooks_problem(workspace.root) for name in agents.names()}
    hooked = tuple(name for name, problem in problems.items() if not problem)
    content = workspace.content()
    rows = [row for row in content.rows if place is not None and row.stored.checkpoint.root == place.root.id]
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
    cause = cause_of(workspace)
    in_use = agents.in_use()
    silent = tuple((name, problems[name]) for name in in_use if problems[name])
    why = cause or (f"hooks of {_titles(hooked)}" if hooked else _not_installed(silent))
    return Status(
        workspace.root,
        bool(hooked) and not cause,
        why,
        hooked,
        last,
        workspace.live(),
        sentence(place) if place is not None else "",
        len(rows),
        size_of(place.workspace) if place else 0,
        content.problems,
        standing(place) if place is not None else (),
        in_use,
        silent,
        former(workspace),
    )


def former(workspace: Workspace) -> str:
    """What is kept of a folder that stood here before, in words; "" for nothing."""
    found = roots.former(workspace.root, workspace.home)
    if not found:
        return ""
    count = 0
    for place in found:
        with suppress(OSError):
            count += len(listed(place.git_dir).below(points.REFS))
    return f"{count:,} checkpoint{'' if count == 1 else 's'} of a folder that stood here before"


def _not_installed(silent: Sequence[tuple[str, str]]) -> str:
    if not silent:
        return "no agent is in use here yet: forkpoint install AGENT"
    for name, problem in silent:
        if ": " in problem:
            return f"{naming.agent(name)}: hooks {problem}"
    return f"no hooks of {_titles([name for name, _ in silent])} are installed: forkpoint install"


def _titles(names: Sequence[str]) -> str:
    return naming.together([naming.agent(name) for name in names])


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


def cause_of(workspace: Workspace) -> str:
    """Why a hook could not record now: there is no git, or the cause that one wrote down, if it still stands."""
    if shutil.which("git") is None:
        return "git was not found on PATH: install git"
    return next((item.cause for item in trouble.open_troubles(workspace.home, workspace.root)), "")
