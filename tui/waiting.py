"""Tells on the error output for whom a command waits."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

from ..store.waiting import telling


@contextmanager
def told() -> Generator[None]:
    """In this block a command that waits for another one says so."""
    with telling(_Line().tell if sys.stderr is not None else None):
        yield


class _Line:
    """One line: written over itself on a terminal and cleared at the end, elsewhere said once a wait."""

    def __init__(self) -> None:
        self._said = False

    def tell(self, text: str) -> None:
        with suppress(OSError, ValueError):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\x1b[K{text}")
            elif text and not self._said:
                sys.stderr.write(f"forkpoint: {text}\n")
            sys.stderr.flush()
        self._said = bool(text)
