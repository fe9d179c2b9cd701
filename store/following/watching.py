"""Edits below a root as watchfiles tells them, of the folders that the newest walk went into and of no others.

So what is ignored (node_modules, .git) takes no watch and causes no burst, and no link is followed. What is told
is only a hint: the save walks, and after a new set of folders somebody always looks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from ..roots import Place
from ..walk import statindex
from ..walk.statindex import Folder, Index

EDITED, BLIND = b"e", b"b"
"""What the pipe tells: something was edited; nothing is watched any more."""
STEP = 100
"""Milliseconds over which edits are told together."""


class Watcher:
    """Watches in a thread; what it tells comes out of the pipe `told`, `trouble` says why it cannot."""

    def __init__(self) -> None:
        self.told, self._tell = os.pipe()
        os.set_blocking(self.told, False)
        self.trouble = ""
        self._root = ""
        self._index = Index()
        self._stop = threading.Event()
        self._followed: frozenset[str] | None = None
        self.watched: frozenset[str] = frozenset()
        """Paths of the folders."""

    def look_again(self, place: Place) -> bool:
        """Follows what the newest walk found; gives whether other folders are watched now."""
        self._index = statindex.load(place.index_file)
        folders = frozenset(self._index.folders)
        if folders == self._followed and place.root.path == self._root:
            return False
        self._root, self._followed = place.root.path, folders
        self._stop.set()
        self._stop = threading.Event()
        self.watched = frozenset(_told_paths(place.root.path, folders))
        threading.Thread(target=self._watch, args=(self.watched, self._stop), daemon=True).start()
        return True

    def close(self) -> None:
        """Watches nothing any more; the pipe stays, since the thread may just be about to tell."""
        self._stop.set()

    def heard(self) -> bytes:
        """All that came out of the pipe."""
        try:
            return os.read(self.told, 65536)
        except BlockingIOError:
            return b""

    def _watch(self, paths: Iterable[str], stop: threading.Event) -> None:
        from watchfiles import watch

        try:
            for changes in watch(
                *(path for path in paths if os.path.isdir(path)),
                watch_filter=None,
                debounce=STEP * 3,
                step=STEP,
                stop_event=stop,
                raise_interrupt=False,
                recursive=False,
                ignore_permission_denied=True,
            ):
                if any(self.counts(path) for _, path in changes):
                    os.write(self._tell, EDITED)
        except Exception as error:
            # Its own error is no subclass that can be named, and a folder may go while it begins.
            if not stop.is_set():
                self.trouble = str(error)
                self._followed = None
                os.write(self._tell, BLIND)

    def counts(self, path: str) -> bool:
        """Whether a checkpoint would hold it, as far as the newest walk knows."""
        folder, name = os.path.split(os.path.relpath(path, self._root))
        known: Folder | None = self._index.folders.get(f"{folder}/" if folder else "")
        if name == ".git":
            return False
        return known is None or not {name, f"{name}/"} & set(known.ignored)


def _told_paths(root: str, folders: Iterable[str]) -> Iterable[str]:
    """The folders' paths, without those that watchfiles has no words for: names that are not UTF-8."""
    for folder in folders:
        path = os.path.join(root, folder.rstrip("/")) if folder else root
        try:
            path.encode()
        except UnicodeEncodeError:
            continue
        yield path


def is_exhausted(trouble: str) -> bool:
    """Whether the system has no more watches: it says so in words only, through watchfiles."""
    return any(
        sign in trouble for sign in ("os error 24", "os error 28", "Too many open files", "No space left", "limit")
    )
