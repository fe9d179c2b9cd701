"""The terminal's driver: Textual's own, but one that bears bytes which are no UTF-8, and knows a paste from keys."""

from __future__ import annotations

import os
import re
import selectors
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from collections.abc import Callable

    from .app import ForkpointApp

AT_ONCE = 4096
"""Bytes that are read at once."""
TEXT = 8
"""So many characters in one read were not typed: a terminal without bracketed paste sends what is pasted as keys."""
REST = 0.2
"""Seconds after such a read in which what comes is taken for its rest."""
_KEYS = re.compile("\x1b(\\[[0-9;:<?]*[ -~]|O.|.)")


def is_text(read: str) -> bool:
    """Whether what came at once is more text than anybody types."""
    return sum(char.isprintable() for char in _KEYS.sub("", read)) >= TEXT


class Driver(LinuxDriver):
    """Turns a byte that is not UTF-8 (a paste, a terminal of another encoding) into U+FFFD: Textual ended the app."""

    if TYPE_CHECKING:
        _app: ForkpointApp  # type: ignore[assignment]

    def run_input_thread(self) -> None:
        """Waits for input and dispatches its events, until the app ends."""
        parser = XTermParser(self._debug)
        decode: Callable[[bytes], str] = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(0.1) and (text := decode(os.read(self.fileno, AT_ONCE))):  # "" would be its end
                    pasted = is_text(text)
                    for event in parser.feed(text):
                        if pasted:
                            self._app.text_until = event.time + REST
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
        try:
            for _ in parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass
