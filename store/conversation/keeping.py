"""Takes the conversations that agents wrote into the store, before their own clean-up takes them away."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .. import agents
from ..checkpoints import imports
from ..errors import Busy, GitFailed, StoreDamaged, StoreUnwritable
from . import copying, tree
from .transcripts import name_of

if TYPE_CHECKING:
    from ..model import SessionInfo
    from ..roots import Place
    from ..workspace import Workspace
    from .transcripts import Kept

DAY = 24 * 3600 * 10**9
RESCUE_DAYS = 7
"""So long before the agent's own clean-up what its backups know is stored."""
WAIT = 1.0
"""Seconds that it waits for somebody who writes."""


def keep_transcripts(workspace: Workspace) -> bool:
    """Reads every known transcript from its cursor to the end into the store; gives whether any had grown.

    What cannot be stored now, since the store is full, read-only, damaged or in use, is the next look's.
    """
    with suppress(Busy, GitFailed, StoreDamaged, StoreUnwritable):
        return _keep(workspace)
    return False


def _keep(workspace: Workspace) -> bool:
    place = workspace.place
    if place is None:
        return False
    objects = workspace.objects()
    content = workspace.content()
    grown = False
    away = tree.let_go(content.operations, content.rows)
    for info in workspace.sessions():
        module = agents.get(info.agent)
        if any(map(module.has, info.files)) and not away & {name_of(info.agent, session) for session in info.ids}:
            kept = content.kept.get(name_of(info.agent, info.id))
            rescued = _rescue(workspace, place, info, kept)
            sources = workspace.sources(info)
            grown |= copying.keep(place, objects, info, sources, kept, rescued=rescued, wait=WAIT)
    return grown


def _rescue(workspace: Workspace, place: Place, info: SessionInfo, kept: Kept | None) -> bool:
    """Stores what the agent's own backups know of a session's files, shortly before the agent deletes them."""
    days = agents.get(info.agent).keeps_days()
    due = days and info.updated < time.time_ns() - max(1, days - RESCUE_DAYS) * DAY
    if not due or (kept is not None and kept.rescued):
        return False
    for state in workspace.conversation(info).states:
        if state.files and workspace.stored(state.id) is None:
            with suppress(StoreDamaged):
                imports.store(place, info.agent, state)
    return True
