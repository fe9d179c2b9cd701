"""Tells on the error output what is not a command's answer: for whom it waits, what it noticed."""

from __future__ import annotations

import sys

from ..store.light import Generator, contextmanager, suppress
from ..store.waiting import telling


@contextmanager
def told() -> Generator[None]:
    """In this block a command that waits for another one says so."""
    if sys.stderr is None:
        yield
        return
    with telling(_Line().tell, _Notes().tell):
        yield


class _Notes:
    """Each thing that is worth knowing, once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def tell(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            with suppress(OSError, ValueError):
                sys.stderr.write(f"forkpoint: {text}\n")
                sys.stderr.flush()


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
