"""Writes copies of agents' conversations into the store: many small ones as one pack, large ones a part at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..agents.base import Source
from ..errors import StoreDamaged
from ..git.stream import Stream
from ..model import SessionInfo
from ..proof import ledger
from ..proof.witness import check_head
from ..roots import Place
from ..upkeep.space import Room
from .copying import Plan
from .transcripts import REFS, Kept, name_of

if TYPE_CHECKING:
    from ..git.reader import Objects

STREAM = 32 << 20
"""About so many bytes are stored at a time: the store is held for as long, and an agent's hook may wait for it …"""
MANY = 64
"""… or so many sessions."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One session that waits to be stored."""

    ref: str
    info: SessionInfo
    plan: Plan
    rescued: bool


def keep(
    place: Place,
    objects: Objects,
    info: SessionInfo,
    sources: Sequence[Source],
    kept: Kept | None,
    *,
    rescued: bool = False,
    wait: float = 30.0,
) -> bool:
    """Stores what the files of a session have more than the store has; gives whether there was anything.

    Only whole lines are taken of what grows: a last line without its line feed may still be being written. `rescued`
    notes that what the agent's backups know was stored as well. Raises Busy after `wait` seconds, StoreUnwritable.
    """
    together = Together(place, objects, wait)
    together.look(info, sources, kept, rescued=rescued)
    return bool(together.store(most=None))


class Together:
    """Copies of several sessions that become one pack: it is all on the disk before the first of them has moved."""

    def __init__(self, place: Place, objects: Objects, wait: float) -> None:
        self._place = place
        self._objects = objects
        self._wait = wait
        self._items: list[_Item] = []

    def look(self, info: SessionInfo, sources: Sequence[Source], kept: Kept | None, *, rescued: bool = False) -> bool:
        """Sees what is fresh of one; gives whether all of its files could be looked at."""
        plan = Plan(self._objects, kept)
        for source in sources:
            if not source.former:
                plan.look(source)
        had = kept is not None and kept.rescued
        if plan.changed or had < rescued:
            self._items.append(_Item(REFS + name_of(info.agent, info.id), info, plan, had or rescued))
        return not plan.missed

    @property
    def refs(self) -> frozenset[str]:
        """Of the sessions that have something to be stored."""
        return frozenset(item.ref for item in self._items)

    @property
    def enough(self) -> bool:
        """Whether it is time to store them: more would take too much memory, or hold the store for too long."""
        return len(self._items) >= MANY or sum(item.plan.size + item.plan.held for item in self._items) >= STREAM

    def store(self, *, most: int | None) -> dict[str, bool]:
        """Stores what was looked at, and begins anew: ref → whether all of it is stored now.

        Of each file that grows at most so many bytes are taken. What is missing in the answer is the next look's:
        somebody else stored it meanwhile, or it could not be read. Raises Busy, StoreUnwritable.
        """
        items, self._items = self._items, []
        if not items:
            return {}
        with self._place.writing("transcripts", self._wait):
            stream = Stream(self._place.git_dir)
            try:
                written = {item.ref: item.plan.complete for item in items if self._write(stream, item, most)}
            except BaseException:
                stream.abandon()
                raise
            if not written:
                stream.abandon()
                return {}
            stream.close()
            ledger.moved(self._place, *written)
        return written

    def _write(self, stream: Stream, item: _Item, most: int | None) -> bool:
        plan = item.plan
        parent = plan.kept.commit if plan.kept else None
        try:
            if check_head(self._place, self._objects, item.ref) != parent:
                return False
            changes = plan.changes(replace(item.info, live=False), Room(self._place.home), item.rescued, most)
            stream.commit(item.ref, time.time_ns(), changes, parent=parent, read=self._objects.entries)
        except (OSError, StoreDamaged):
            return False  # what came of it into the pack is reached by nothing; the others are as they were
        return True
