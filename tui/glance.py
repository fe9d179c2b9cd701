"""The first picture of a session: a process of its own reads it while this one imports what draws it."""

from __future__ import annotations

import marshal
import os
import threading

from ..store.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import BinaryIO

    from ..store.model import SessionTree
    from .spans import Parts, Span

AROUND = 200
"""Lines before and after the cursor that are drawn: no screen is so high."""
LENGTH = 8
"""Bytes before each part of an answer that tell how long it is."""


class Picture(NamedTuple):
    """What stands on the screen first."""

    header: list[Span]
    lines: int
    """How many there are."""
    cursor: int
    first: int
    """The line of the first row that is drawn."""
    rows: list[Parts]


class Glance:
    """What another process reads; it is waited for on a thread, so that its answer never finds a full pipe."""

    def __init__(self, child: int, descriptor: int) -> None:
        self._picture = self._tree = b""
        self._drawn, self._whole = threading.Event(), threading.Event()
        threading.Thread(target=self._take, args=(child, descriptor), daemon=True).start()

    def _take(self, child: int, descriptor: int) -> None:
        with open(descriptor, "rb") as stream:
            self._picture = _part(stream)
            self._drawn.set()
            self._tree = _part(stream)
        os.waitpid(child, 0)
        self._whole.set()

    @property
    def ready(self) -> bool:
        """Whether the picture is there, or will never be."""
        return self._drawn.is_set()

    def picture(self) -> Picture | None:
        """What can be shown at once, waited for; None where nothing could be read: who reads again will tell why."""
        self._drawn.wait()
        if not self._picture:
            return None
        from .spans import Parts

        header, lines, cursor, first, rows = marshal.loads(self._picture)
        return Picture(header, lines, cursor, first, [Parts(*row) for row in rows])

    def tree(self) -> SessionTree | None:
        """All that was read, waited for."""
        self._whole.wait()
        if not self._tree:
            return None
        import msgspec

        from ..store.model import SessionTree

        return msgspec.msgpack.decode(self._tree, type=SessionTree)


def _part(stream: BinaryIO) -> bytes:
    length = stream.read(LENGTH)
    return stream.read(int.from_bytes(length, "big")) if len(length) == LENGTH else b""


def begin(folder: str | None) -> Glance | None:
    """Starts to read the newest session of a folder; None where there can be no second process.

    To be called while this process has one thread.
    """
    width = os.get_terminal_size().columns
    try:
        reading, writing = os.pipe()
        child = os.fork()
    except (AttributeError, OSError):
        return None
    if child == 0:
        os.close(reading)
        _read(folder, width, writing)
    os.close(writing)
    return Glance(child, reading)


def _read(folder: str | None, width: int, writing: int) -> None:
    """The other process: writes what it sees, or nothing. It says nothing: the terminal belongs to the first one."""
    try:
        with open(os.devnull, "r+b") as nothing:
            for number in range(3):
                os.dup2(nothing.fileno(), number)
        from ..store.glance import newest

        root, tree = newest(folder)
        _write(writing, marshal.dumps(tuple(drawn(tree, root, width))))
        import msgspec

        _write(writing, msgspec.msgpack.encode(tree))
    except BaseException:
        # Whatever it is, the first process meets it too, and can tell it.
        pass
    finally:
        os._exit(0)


def _write(writing: int, data: bytes) -> None:
    left = memoryview(len(data).to_bytes(LENGTH, "big") + data)
    while left:
        left = left[os.write(writing, left) :]


def drawn(tree: SessionTree, root: str, width: int) -> Picture:
    """A tree as it is shown first, on a terminal of so many columns."""
    import time

    from .outline import Outline
    from .screens.headline import header
    from .shown import Shown
    from .theme import signs_for

    shown, signs = Shown(), signs_for()
    shown.outline = Outline(tree)
    shown.open_newest()
    shown.choose()
    cursor = shown.place_of_here
    if cursor is None:
        cursor = max(len(shown.shown) - 1, 0)
    first, now = max(cursor - AROUND, 0), time.time_ns()
    rows = [tuple(shown.parts(at, signs, now)) for at in range(first, min(cursor + AROUND, len(shown.shown)))]
    return Picture(header(shown.outline, root, signs, width), len(shown.shown), cursor, first, rows)  # type: ignore[arg-type]
