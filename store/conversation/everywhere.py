"""The sessions of all workspaces: of every folder in which an agent worked, and of every root that is recorded."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .. import agents, roots
from ..errors import ForkpointError
from ..hook import session_key
from ..model import Located, SessionInfo
from ..workspace import Workspace

GONE = "its folder is not there any more"
NEVER = "its folder is one that forkpoint never records"


def everywhere(home: Path, progress: Callable[[str], None] | None = None) -> list[Located]:
    """Every session of every agent on this machine with the root that it belongs to, the newest first.

    `progress` is told which agent is asked. What is wrong with one workspace hides no other.
    """
    found: dict[str, list[SessionInfo]] = {place.root.path: [] for place in roots.places(home)}
    recorded = set(found)
    known: dict[str, str] = {}
    for name in agents.in_use():
        if progress is not None:
            progress(name)
        for info in agents.get(name).sessions(os.sep):
            if info.cwd not in known:
                known[info.cwd] = _root_of(info.cwd, home)
            found.setdefault(known[info.cwd], []).append(info)
    live = {session_key(item.agent, item.session) for name in agents.in_use() for item in agents.get(name).live(os.sep)}
    located: list[Located] = []
    for root, infos in found.items():
        if root in recorded:
            with suppress(ForkpointError, OSError):
                infos = Workspace(root, home).joined(infos)
        located += [Located(root, _told(info, root, live)) for info in infos]
    return sorted(located, key=lambda item: (-item.info.updated, item.info.id))


def _root_of(cwd: str, home: Path) -> str:
    """The root of a folder in which a session was started; the folder itself where it is gone."""
    with suppress(ForkpointError, OSError, ValueError):
        if os.path.isdir(cwd):
            return roots.choose(os.path.realpath(cwd), home)
    return cwd


def _told(info: SessionInfo, root: str, live: set[str]) -> SessionInfo:
    problem = info.problem
    try:
        roots.refuse_unsafe(root)
        if not os.path.isdir(root):
            problem = problem or GONE
    except ForkpointError:
        problem = problem or NEVER
    return replace(info, live=info.live or bool(live & set(info.keys)), problem=problem)
