"""Calls the command line as a person or a script would."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from forkpoint.tui.commands.program import run

COMMAND = [sys.executable, "-m", "forkpoint.tui.cli"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The one document."""
        return json.loads(self.out)


def forkpoint(*arguments: str | Path) -> Answer:
    """Runs a command in this process, without a terminal."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Answer(code, out.getvalue(), err.getvalue())


def process(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, given: str = ""
) -> Answer:
    """Runs a command in a process of its own, without a terminal."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=env, input=given, capture_output=True, text=True, timeout=60)
    return Answer(done.returncode, done.stdout, done.stderr)


class Talk:
    """A command in a terminal, with somebody who reads and answers."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = COMMAND,
    ) -> None:
        master, slave = pty.openpty()
        self._master = master
        self.seen = ""
        self.child = subprocess.Popen(
            [*program, *map(str, arguments)],
            cwd=cwd,
            env={"NO_COLOR": "1", "COLUMNS": "120", **(env or os.environ)},
            preexec_fn=partial(_start_in_terminal, slave),
            pass_fds=(slave,),
        )
        os.close(slave)

    def until(self, text: str, seconds: float = 30) -> str:
        """Reads until this text was seen; returns all that was seen so far."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > end or not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} did not come:\n{self.seen}")
        return self.seen

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self, seconds: float = 30) -> None:
        """Presses ctrl+c, and again when nothing came of it.

        Python sees a signal that comes in the moment before it begins to read only when the read is over.
        """
        end = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < end:
            self.type("\x03")
            again = time.monotonic() + 3
            while self._read(max(0.0, again - time.monotonic())):
                pass

    def close(self, seconds: float = 30) -> int:
        """Reads to the end; returns the exit code."""
        end = time.monotonic() + seconds
        while self._read(max(0.0, end - time.monotonic())):
            pass
        code = self.child.wait(max(0.1, end - time.monotonic()))
        os.close(self._master)
        return code

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: the other end is closed
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


def _start_in_terminal(slave: int) -> None:
    """What a login does: the terminal is the program's own, and its keys are heard though ours may not be."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.login_tty(slave)


def without(folder: Path, *names: str) -> dict[str, str]:
    """An environment in whose PATH the named programs are missing."""
    kept: dict[str, str] = {}
    for entry in os.environ["PATH"].split(os.pathsep):
        for file in Path(entry).iterdir() if Path(entry).is_dir() else ():
            if file.name not in names:
                kept.setdefault(file.name, str(file))
    folder.mkdir()
    for name, target in kept.items():
        (folder / name).symlink_to(target)
    return {**os.environ, "PATH": str(folder)}


def every_file(folder: Path) -> dict[str, bytes]:
    """All files of a folder with their bytes: to show that nothing changed."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def keys(document: Mapping[str, object] | Sequence[object]) -> set[str]:
    """The keys of a document or of the first of its items."""
    first = document if isinstance(document, Mapping) else document[0]
    assert isinstance(first, Mapping)
    return set(first)
