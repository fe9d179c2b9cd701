"""Takes the conversations that agents wrote into the store, before their own clean-up takes them away.

The one that is shown comes first, a part of it if it is huge; the others when nobody waits for an answer: first those
that have checkpoints, then the rest, of which the oldest are the next that their agent deletes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from .. import agents
from ..checkpoints import imports
from ..errors import Busy, GitFailed, StoreDamaged, StoreUnwritable
from ..git.reader import Objects
from . import tree
from .storing import STREAM, Together
from .transcripts import RECORD, REFS, decode, name_of

if TYPE_CHECKING:
    from ..catalog.catalog import Content
    from ..model import SessionInfo
    from ..roots import Place
    from ..workspace import Workspace
    from .transcripts import Kept

DAY = 24 * 3600 * 10**9
RESCUE_DAYS = 7
"""So long before the agent's own clean-up what its backups know is stored."""
WAIT = 1.0
"""Seconds that it waits for somebody who writes."""

State = tuple[int, int, tuple[str, ...]]


class Keeping:
    """Copies the conversations of one workspace; what cannot be stored now is the next look's.

    It cannot where the store is full, read-only, damaged or in use.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._seen: dict[str, State] = {}
        """By the key of a session what a list told of it when all of it was stored."""

    def shown(self, info: SessionInfo) -> None:
        """Stores what one session has more, as far as that takes a moment. The caller holds the workspace."""
        place, content = self._workspace.place, self._workspace.content()
        if place is None or not self._wanted([info], content):
            return
        with suppress(Busy, GitFailed, StoreDamaged, StoreUnwritable):
            together = Together(place, Objects(place.git_dir), WAIT)
            kept = content.kept.get(name_of(info.agent, info.id))
            rescued = _rescue(self._workspace, place, info, kept)
            whole = together.look(info, self._workspace.sources(info), kept, rescued=rescued)
            planned, stored = together.refs, together.store(most=STREAM)
            if whole and all(map(stored.get, planned)):
                self._note([info])
            if stored:
                self._workspace.content()

    def rest(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> None:
        """Stores what all sessions have more. `progress` gets how many are done, of how many, while any is copied.

        After `seconds` it ends with those that have no checkpoint: these may wait for the next look.
        """
        with suppress(Busy, GitFailed, StoreDamaged, StoreUnwritable):
            place = self._workspace.place
            if place is not None:
                self._rest(place, progress, cancelled, seconds)

    def _rest(
        self,
        place: Place,
        progress: Callable[[int, int], None] | None,
        cancelled: Callable[[], bool],
        seconds: float | None,
    ) -> None:
        with self._workspace.lock:
            content = self._workspace.content()
            infos = self._wanted(self._workspace.known_sessions(), content)
        infos = [info for info in infos if info.live or self._seen.get(info.key) != _state(info)]
        ours = {name_of(row.stored.checkpoint.agent, row.stored.checkpoint.session) for row in content.rows}
        recorded = [info for info in infos if ours & _names(info)]
        others = [info for info in reversed(infos) if not ours & _names(info)]
        until = None if seconds is None else time.monotonic() + seconds
        batch = _Batch(self._workspace, place, content.kept, cancelled)
        for done, info in enumerate((*recorded, *others)):
            if cancelled():
                return
            if until is not None and done >= len(recorded) and time.monotonic() > until:
                break
            batch.look(info)
            if batch.together.enough:
                self._note(batch.store())
                if progress is not None:
                    progress(done + 1, len(infos))
        self._note(batch.store())

    def _note(self, done: Iterable[SessionInfo]) -> None:
        self._seen.update((info.key, _state(info)) for info in done)

    def _wanted(self, infos: Sequence[SessionInfo], content: Content) -> list[SessionInfo]:
        """Those whose agent has files, and that were not deleted from the store."""
        away = tree.let_go(content.operations, content.rows)
        return [info for info in infos if not away & _names(info) and any(map(agents.get(info.agent).has, info.files))]


class _Batch:
    """Sessions that are stored together."""

    def __init__(
        self, workspace: Workspace, place: Place, kept: Mapping[str, Kept], cancelled: Callable[[], bool]
    ) -> None:
        self._workspace = workspace
        self._place = place
        self._kept = kept
        self._cancelled = cancelled
        self._begin()

    def _begin(self) -> None:
        self.together = Together(self._place, Objects(self._place.git_dir), WAIT)
        self._looked: dict[str, SessionInfo] = {}

    def look(self, info: SessionInfo) -> None:
        """Sees what is fresh of a session."""
        with self._workspace.lock:
            sources = self._workspace.sources(info)
        name = name_of(info.agent, info.id)
        kept = self._kept.get(name)
        with suppress(StoreDamaged):
            rescued = _rescue(self._workspace, self._place, info, kept)
            if self.together.look(info, sources, kept, rescued=rescued):
                self._looked[REFS + name] = info

    def store(self) -> list[SessionInfo]:
        """Stores all that was looked at, and begins anew; gives those of which nothing is left for the next look."""
        planned, looked = self.together.refs, self._looked
        stored = self.together.store(most=STREAM)
        for ref, complete in stored.items():
            while not complete and not self._cancelled() and ref in looked:
                complete = self._go_on(ref, looked[ref])
            stored[ref] = complete
        self._begin()
        return [info for ref, info in looked.items() if ref not in planned or stored.get(ref)]

    def _go_on(self, ref: str, info: SessionInfo) -> bool:
        """Stores a further part of a large session; raises Busy where somebody else is at it."""
        objects = Objects(self._place.git_dir)
        commit = objects.ref(ref)
        if commit is None:
            return True  # deleted meanwhile
        with self._workspace.lock:
            sources = self._workspace.sources(info)
        together = Together(self._place, objects, WAIT)
        together.look(info, sources, decode(objects.file(commit, RECORD), commit))
        return together.store(most=STREAM).get(ref, True)


def _names(info: SessionInfo) -> set[str]:
    return {name_of(info.agent, session) for session in info.ids}


def _state(info: SessionInfo) -> State:
    return (info.updated, info.bytes, info.files)


def _rescue(workspace: Workspace, place: Place, info: SessionInfo, kept: Kept | None) -> bool:
    """Stores what the agent's own backups know of a session's files, shortly before the agent deletes them."""
    days = agents.get(info.agent).keeps_days()
    due = days and info.updated < time.time_ns() - max(1, days - RESCUE_DAYS) * DAY
    if not due or (kept is not None and kept.rescued):
        return False
    for state in workspace.in_passing(info)[1]:
        if state.files and workspace.stored(state.id) is None:
            with suppress(StoreDamaged):
                imports.store(place, info.agent, state)
    return True
