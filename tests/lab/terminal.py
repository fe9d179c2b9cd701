"""Programs in a terminal of their own (tmux), driven by keys and read as a person reads the screen."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LONG = 120.0
"""Seconds that an agent may take to answer where everything else is busy too."""


def missing() -> str:
    """Why no terminal can be made here; "" when it can."""
    return "" if shutil.which("tmux") else "tmux is not installed"


def wait_until(answer: Callable[[], T | None], what: str, seconds: float = LONG) -> T:
    """The first true answer of a function that is asked again and again."""
    end = time.monotonic() + seconds
    while True:
        found = answer()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)


class Terminal:
    """One program in one terminal."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 140,
        lines: int = 50,
        told: bool = False,
    ) -> None:
        """`told`: the program is told that it runs in tmux, as programs there are."""
        self._folder = Path(tempfile.mkdtemp(prefix="forkpoint-tmux-"))
        clean = shlex.join([*(f"{name}={value}" for name, value in env.items()), *command])
        clean = f"env -i {'TMUX=$TMUX' if told else ''} {clean}"
        size = ["-x", str(columns), "-y", str(lines)]
        # Kept after its end, so that the last words of a program that ends early can be read.
        self._tmux("-f", os.devnull, "new-session", "-d", *size, "-c", str(cwd), f"{clean}; sleep 600")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run([*self._server, "kill-server"], capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def text(self) -> str:
        """What the screen shows."""
        return self._tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Presses keys by tmux's names: Enter, Escape, Up, C-u …"""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Types characters."""
        self._tmux("send-keys", "-l", "--", text)

    def buffer(self) -> str:
        """What was copied last."""
        return self._tmux("show-buffer")

    def resize(self, columns: int, lines: int) -> None:
        """Gives the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def paste(self, text: str, *, bracketed: bool) -> None:
        """Pastes a text; bracketed tells the program so, where it asked for that. Else it comes as if it were typed."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", *(["-p"] if bracketed else []))

    def see(self, pattern: str, seconds: float = LONG) -> str:
        """Waits until the screen shows what matches; gives the screen."""
        try:
            return wait_until(lambda: self._shows(pattern), pattern, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from None

    @property
    def _server(self) -> list[str]:
        """Its own, so that nobody's sessions are touched."""
        return ["tmux", "-S", str(self._folder / "socket")]

    def _shows(self, pattern: str) -> str:
        shown = self.text()
        return shown if re.search(pattern, shown, re.MULTILINE) else ""

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run([*self._server, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout
