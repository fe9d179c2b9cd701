"""`forkpoint run` as a process of its own, and programs for it to run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from forkpoint.store.api import Store
from forkpoint.store.model import Point

from ..lab.terminal import wait_until
from .cli import COMMAND, Answer

COUNTS = """
import os, signal, sys, time
seen = []
for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGWINCH"):
    signal.signal(getattr(signal, name), lambda number, frame: seen.append(number))
open("ready", "w").write(str(os.getpid()))
while not os.path.exists("enough"):
    time.sleep(0.02)
print(*sorted(signal.Signals(number).name for number in seen))
"""
"""Tells at its end which signals came to it, each as often as it came."""

ENDLESS = """
import itertools, os
for number in itertools.count():
    open(f"file{number % 5}", "w").write(str(number))
    if os.path.exists("enough"):
        break
"""
"""Writes without a pause."""

WAITS = """
import os, time
open("ready", "w").write(str(os.getpid()))
while not os.path.exists("enough"):
    time.sleep(0.02)
open("last.txt", "w").write("written at the end")
"""


class Run:
    """`forkpoint run` with a command, in a process group of its own."""

    def __init__(self, project: Path, *command: str, options: Sequence[str] = (), **further: Any) -> None:
        self.project = project
        self.child = subprocess.Popen(
            [*COMMAND, "run", *options, "--", *command],
            cwd=project,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            **further,
        )

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves nothing behind, whatever the test did."""
        left = [*self.helpers(), *children(self.child.pid)] if self.child.poll() is None else []
        for pid in (self.child.pid, *left):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.child.communicate()

    def ready(self) -> int:
        """Waits until the command runs; gives its process id."""
        return int(wait_until(lambda: _text(self.project / "ready"), "the command runs"))

    def helpers(self) -> list[int]:
        """Processes of ours beside the one that waits, the recorder first."""
        found = children(self.child.pid)
        return sorted((pid for pid in found if _is_ours(pid)), key=lambda pid: os.getsid(pid) != pid)

    def recorder(self) -> int:
        """The process that records."""
        return wait_until(lambda: next((pid for pid in self.helpers() if os.getsid(pid) == pid), 0), "the recorder")

    def enough(self) -> None:
        """Lets the command come to its end."""
        (self.project / "enough").write_text("")

    def ends(self) -> Answer:
        """Waits for the end."""
        out, err = self.child.communicate(timeout=60)
        return Answer(self.child.returncode, out, err)


def python(program: str, *arguments: str) -> list[str]:
    """A Python program as a command."""
    return [sys.executable, "-c", program, *arguments]


def points(project: Path) -> list[Point]:
    """What was recorded of the folder, the oldest first."""
    return list(Store.open(project).tree("files").points)


def reasons(project: Path) -> list[str]:
    return [point.reason for point in points(project)]


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def state(pid: int) -> str:
    """T while it is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _is_ours(pid: int) -> bool:
    try:
        return b"forkpoint.tui.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""
