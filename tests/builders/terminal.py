"""The app in a real terminal: a process of its own behind a pseudo-terminal, with keys as bytes."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

LONG = 30.0
"""Seconds after which something that did not come is a failure."""
FORKPOINT = (sys.executable, "-m", "forkpoint.tui.cli")
Size = tuple[int, int]
"""Columns and rows."""


class Terminal:
    """A terminal, of 80 columns and 24 rows if nothing else is said, with forkpoint in it."""

    def __init__(
        self,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = FORKPOINT,
        size: Size = (80, 24),
        kept: int = 1 << 20,
    ) -> None:
        """`kept`: bytes of the output that are remembered."""
        self._kept = kept
        columns, rows = size
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.child = subprocess.Popen(
            list(command),
            cwd=cwd,
            env={**(env or os.environ), "TERM": "xterm-256color", "EDITOR": "true", "PYTHONFAULTHANDLER": "1"},
            preexec_fn=partial(_start_in_terminal, slave),
            pass_fds=(slave,),
        )
        os.close(slave)
        self.output = b""

    @property
    def runs(self) -> bool:
        return self.child.poll() is None

    def read(self, seconds: float) -> bool:
        """Takes what the app wrote; False when nothing came."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.output = (self.output + data)[-self._kept :]
        return bool(data)

    def until(self, words: str) -> None:
        """Waits until the app wrote these words."""
        end = time.monotonic() + LONG
        while words.encode() not in self.output:
            assert time.monotonic() < end and self.runs, f"{words!r} never came: {self.output[-2000:]!r}"
            self.read(0.1)

    def answer_no_until(self, words: str) -> None:
        """Says no to whatever is asked, until these words come."""
        end = time.monotonic() + 4 * LONG
        while words.encode() not in self.output[-4096:]:
            if not self.read(0.5):
                assert time.monotonic() < end and self.runs, f"{words!r} never came: {self.output[-2000:]!r}"
                self.type("n\n")

    def quiet(self, seconds: float = 0.3) -> None:
        """Waits until the app has written nothing and used next to no time for a while: it has taken every key."""
        end = time.monotonic() + LONG
        while time.monotonic() < end and self.runs:
            used = self._used()
            if not self.read(seconds) and self._used() - used < seconds / 4:
                return

    def used_more_than(self, seconds: float) -> None:
        """Waits until the app has used so much more processor time, or has been still for long."""
        begun, end = self._used(), time.monotonic() + LONG
        while self.runs and time.monotonic() < end and self._used() - begun < seconds:
            time.sleep(0.05)

    def _used(self) -> float:
        """Seconds of processor time of the app so far."""
        try:
            fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # no /proc on this system, or the app is gone: its silence must do
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def type(self, text: str) -> None:
        """Types, and reads along, so that neither side fills up."""
        self.send(text.encode())

    def send(self, data: bytes) -> None:
        """Types bytes, whatever they are."""
        while data and self.runs:
            ready, writable, _ = select.select([self._master], [self._master], [], 1.0)
            if ready and not self.read(0):
                return
            if writable:
                data = data[os.write(self._master, data[:256]) :]

    def close(self) -> int:
        """Ends the app as ctrl+q does; returns its exit code."""
        if self.runs:
            self.type("\x11")
        end = time.monotonic() + LONG
        while self.runs and time.monotonic() < end:
            self.read(0.1)
        if self.runs:
            self.child.kill()
        code = self.child.wait()
        os.close(self._master)
        return code


def _start_in_terminal(slave: int) -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.login_tty(slave)
