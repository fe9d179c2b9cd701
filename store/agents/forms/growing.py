"""Follows files that grow: what was read of them is kept, and reading goes on where it ended.

A file is read again from its start when it is another one (its inode), when it shrank, and when what stands before the
place is no longer what was read there. A last line without its line feed is read each time, and never kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Generic, TypeVar

from ..base import Source
from .jsonl import Reached
from .regular import why

SEAM = 4 << 10
"""Bytes at the start and before the place that are compared before reading goes on."""

State = TypeVar("State")


@dataclass(slots=True)
class Followed(Generic[State]):
    """One file and what was read of it."""

    state: State
    """What the reader made of all whole lines."""
    reached: Reached = field(default_factory=Reached)
    failure: str = ""
    """Why it cannot be read, in words; "" when it can."""
    stamp: tuple[int, int] = (0, 0)
    """Of the source when it was last read."""
    identity: tuple[int, int] | None = None
    """Device and inode; None for bytes that are no file of their own."""
    seam: tuple[bytes, bytes] = (b"", b"")


class Growing(Generic[State]):
    """Reads files of lines again and again, each time only what is new."""

    def __init__(
        self, fresh: Callable[[Source, str], State], read_on: Callable[[State, BinaryIO, Reached], None]
    ) -> None:
        """`fresh` makes the state of a source of a session; `read_on` adds what stands behind `reached`, and moves it.

        `read_on` is called each time that the file was changed; what it read of a line without end it must forget then.
        """
        self._fresh = fresh
        self._read_on = read_on
        self._files: dict[str, Followed[State]] = {}
        self._cwd = ""

    def read(self, sources: Sequence[Source], cwd: str = "") -> list[Followed[State]]:
        """What the sources hold now, in their order. Never raises for what stands in the place of a file.

        cwd: the folder of the session, from which paths are shown; where it is another one all is read again.
        """
        if cwd != self._cwd:
            self._cwd, self._files = cwd, {}
        found = {source.name: self._followed(source) for source in sources}
        self._files = found
        return list(found.values())

    def _followed(self, source: Source) -> Followed[State]:
        held = self._files.get(source.name)
        stamp = source.stamp()
        if held is not None and held.stamp == stamp and not held.failure:
            return held
        try:
            with source.open() as file:
                identity = _identity(file)
                if held is None or held.identity != identity or not _goes_on(held, file):
                    held = Followed(self._fresh(source, self._cwd), identity=identity)
                file.seek(0)
                held.stamp = stamp
                self._read_on(held.state, file, held.reached)
                held.seam = _seam(file, held.reached.offset)
        except OSError as error:
            return Followed(self._fresh(source, self._cwd), failure=why(error))
        return held


def _identity(file: BinaryIO) -> tuple[int, int] | None:
    try:
        found = os.fstat(file.fileno())
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _goes_on(held: Followed[State], file: BinaryIO) -> bool:
    return file.seek(0, os.SEEK_END) >= held.reached.offset and _seam(file, held.reached.offset) == held.seam


def _seam(file: BinaryIO, offset: int) -> tuple[bytes, bytes]:
    """What stands at the start, and before a place."""
    file.seek(0)
    start = file.read(min(SEAM, offset))
    file.seek(max(0, offset - SEAM))
    return start, file.read(min(SEAM, offset))
