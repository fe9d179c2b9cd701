"""Who is told for whom a command waits: the engine knows no screen."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Tell = Callable[[str], None]
"""Gets for whom this command waits, again and again; "" when it goes on."""

_told: ContextVar[Tell | None] = ContextVar("told", default=None)


@contextmanager
def telling(tell: Tell | None) -> Generator[None]:
    """Lets whoever waits in this block, in this thread, tell for whom; None: nobody."""
    token = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(token)


def listener() -> Tell | None:
    """Who is to be told now."""
    return _told.get()
