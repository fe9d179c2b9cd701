"""Who is told what a command does beside its answer: for whom it waits, what it found. The engine knows no screen."""

from __future__ import annotations

from .light import Callable, ContextVar, Generator, contextmanager

Tell = Callable[[str], None]
"""Gets one line of clean text."""

_waits: ContextVar[Tell | None] = ContextVar("waits", default=None)
_notes: ContextVar[Tell | None] = ContextVar("notes", default=None)


@contextmanager
def telling(waits: Tell | None, notes: Tell | None = None) -> Generator[None]:
    """Says who is told in this block, in this thread; None: nobody.

    `waits` gets for whom the command waits, again and again, and "" when it goes on; `notes` what is worth knowing.
    """
    before = _waits.set(waits), _notes.set(notes)
    try:
        yield
    finally:
        _waits.reset(before[0])
        _notes.reset(before[1])


def listener() -> Tell | None:
    """Who is told for whom somebody waits."""
    return _waits.get()


def note(text: str) -> None:
    """Tells what is worth knowing, where anybody listens."""
    tell = _notes.get()
    if tell is not None:
        tell(text)
