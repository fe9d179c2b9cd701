"""Keeping the index of a workspace, and asking it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from ..errors import ForkpointError, StoreDamaged, StoreUnwritable, UsageError
from ..git.reader import Objects
from ..home import settings
from ..locks import held
from ..model import Found, Hit, SessionInfo
from . import finding, talk, versions
from .index import Cancelled, Damaged, Index, about, note
from .wanted import Wanted, wanted

if TYPE_CHECKING:
    from ..workspace import Workspace

KINDS = ("prompt", "reply", "tool_call", "tool_result", "summary", "notice", "file")
"""What can be looked for alone."""
LOCK = "search.lock"
FEW = 100
"""Checkpoints that are taken in beside what somebody waits for."""

Progress = Callable[[int, int], None]


def _never() -> bool:
    return False


class Searching:
    """The search of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._index: Index | None = None
        self._writable = True
        """Whether there can be a file, as far as is known."""
        self._mutex = threading.Lock()

    @property
    def index(self) -> Index:
        """The index: beside the catalog, or in memory where nothing is recorded or the store cannot be written."""
        place = self._workspace.place
        folder = place.workspace if place is not None and self._writable else None
        if self._index is None or (self._index.file is None and folder is not None):
            self._index = Index(folder)
        return self._index

    def catch_up(
        self, progress: Progress | None = None, cancelled: Callable[[], bool] = _never, *, wait: float | None = None
    ) -> bool:
        """Takes in what is not in the index yet; False when it was cancelled. Raises Busy while another one does it."""
        with self._mutex:
            try:
                try:
                    self._keep(progress, cancelled, wait)
                except Damaged:
                    self._keep(progress, cancelled, wait)
                except StoreUnwritable:
                    if self.index.file is None:
                        raise
                    self._writable, self._index = False, None
                    self._keep(progress, cancelled, wait)
            except Cancelled:
                return False
            return True

    def keep_up(self) -> None:
        """Takes in what was read anyway of sessions that are in the index; what is much is left to the next search."""
        place = self._workspace.place
        if place is None or not self._mutex.acquire(blocking=False):
            return
        try:
            with (
                suppress(ForkpointError, Cancelled),
                held(place.workspace / LOCK, who="search", wait=0.0),
                self.index.open() as connection,
            ):
                self._take_in_what_was_read(connection, Objects(place.git_dir))
        finally:
            self._mutex.release()

    def _take_in_what_was_read(self, connection: sqlite3.Connection, objects: Objects) -> None:
        workspace = self._workspace
        known = talk.indexed(connection)
        for info in workspace.read_sessions():
            if info.key in known:
                talk.take(workspace, connection, info, _never)
        with workspace.lock:
            rows = workspace.content().rows
        if known and versions.behind(connection, rows) <= FEW:
            versions.take(connection, objects, rows, _never, lambda _: None)

    def _keep(self, progress: Progress | None, cancelled: Callable[[], bool], wait: float | None) -> None:
        index, place = self.index, self._workspace.place
        if index.file is None or place is None:
            self._take_in(progress, cancelled)
            return
        with held(place.workspace / LOCK, who="search", wait=settings(place.home).wait if wait is None else wait):
            self._take_in(progress, cancelled)

    def _take_in(self, progress: Progress | None, cancelled: Callable[[], bool]) -> None:
        workspace = self._workspace
        with workspace.lock:
            infos, content, place = workspace.sessions(), workspace.content(), workspace.place
        purged = str(sum(1 for act in content.operations if act.kind == "purge"))
        with self.index.open() as connection:
            stale = about(connection, "purged") not in ("", purged)
        if stale:
            self.index.forget()  # nothing of what was purged stays anywhere
        with self.index.open(cancelled) as connection:
            note(connection, "purged", purged)
            talk.let_go_of_others(connection, infos)
            total = len(infos) + len(content.rows)
            for number, info in enumerate(reversed(infos)):
                if progress is not None:
                    progress(number, total)
                with suppress(StoreDamaged):  # its tree tells what is wrong; the others are searched
                    talk.take(workspace, connection, info, cancelled)
            if place is None:
                return

            def told(done: int) -> None:
                if progress is not None:
                    progress(len(infos) + done, total)

            versions.take(connection, Objects(place.git_dir), content.rows, cancelled, told)

    def search(
        self, query: str, kinds: Sequence[str] = (), limit: int = 60, cancelled: Callable[[], bool] = _never
    ) -> Found:
        """The newest of what holds all the words of a query, as far as it is in the index.

        Whoever cancelled it is told that there is more. Raises UsageError for an unknown kind, Busy, StoreUnwritable.
        """
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise UsageError(f'there is no kind "{unknown[0]}"', todo=f"one of: {', '.join(KINDS)}")
        looked_for = wanted(query)
        if not looked_for.words:
            return Found(query, (), False)
        try:
            return self._asked(looked_for, query, kinds, limit, cancelled)
        except Damaged:
            self.catch_up(None, cancelled)
            return self._asked(looked_for, query, kinds, limit, cancelled)

    def _asked(
        self, looked_for: Wanted, query: str, kinds: Sequence[str], limit: int, cancelled: Callable[[], bool]
    ) -> Found:
        infos = {info.key: info for info in self._workspace.known_sessions()}
        said = [kind for kind in kinds if kind != "file"]
        hits, more = list[Hit](), False
        with suppress(Cancelled), self.index.open(cancelled) as connection:
            if said or not kinds:
                with closing(finding.in_talk(connection, looked_for, said, infos, cancelled)) as found:
                    hits, more = finding.first(found, limit)
            if "file" in kinds or not kinds:
                files, further = self._files(connection, looked_for, infos, limit, cancelled)
                hits, more = [*hits, *files], more or further
            return Found(query, tuple(hits), more)
        return Found(query, (), True)

    def _files(
        self,
        connection: sqlite3.Connection,
        looked_for: Wanted,
        infos: Mapping[str, SessionInfo],
        limit: int,
        cancelled: Callable[[], bool],
    ) -> tuple[list[Hit], bool]:
        place = self._workspace.place
        if place is None:
            return [], False
        with self._workspace.lock:
            rows = self._workspace.content().rows
        rows = [row for row in rows if row.stored.checkpoint.root == place.root.id]
        inside = finding.in_files(connection, looked_for, Objects(place.git_dir), rows, infos, cancelled)
        with closing(inside) as found:
            return finding.first(found, limit)

    def forget(self) -> None:
        """Deletes the index."""
        self.index.forget()
