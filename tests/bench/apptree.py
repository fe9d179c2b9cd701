"""The app's tree: how it starts, how it stands 50,000 entries, and what it costs while nothing happens.

Each figure against Textual's own in the same role, headless (see bigtree) and behind a real pseudo-terminal.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from pairs import Figure, pairs
from trees import environment, run

HERE = Path(__file__).parent
SIZE = (160, 50)
QUIET = 0.02
"""Seconds without a byte that end a frame. The detail follows later, when the cursor has rested on its row."""
IDLE = 15.0
"""Seconds of looking at an app that nobody uses."""
KEYS = {"down": b"\x1b[B", "page": b"\x1b[6~"}
BACK = {"down": b"\x1b[A", "page": b"\x1b[5~"}
"""The short list would soon be at its end: there every second key goes back."""
DEMO = """
import os, sys, time
from pathlib import Path
from forkpoint.tui.demo import build
print(build(Path(sys.argv[1]), time.time_ns()))
"""
Side = dict[str, list[float]]
ANY = float("inf")
TO_THE_LAST = "to the last byte of the frame; the detail of the row follows once the cursor has rested on it"


class Screen:
    """A program in a terminal of 160 columns and 50 rows."""

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self._began = time.perf_counter()
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
            os.chdir(folder)
            os.execve(command[0], list(command), {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"})

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._end)

    def _read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._end], [], [], seconds)
        return os.read(self._end, 1 << 16) if ready else b""

    def until(self, words: str) -> float:
        """Milliseconds from the start until these words were written."""
        seen = b""
        while words.encode() not in seen:
            found = self._read(60)
            if not found:
                sys.exit(f"{words!r} never came: {seen[-500:]!r}")
            seen = seen[-4096:] + found
        return (time.perf_counter() - self._began) * 1000

    def rest(self, seconds: float = 0.6) -> None:
        """Reads until nothing comes for a while."""
        while self._read(seconds):
            pass

    def press(self, key: bytes) -> float:
        """Milliseconds from a key's byte to the last byte of the frame that answers it."""
        began = time.perf_counter()
        os.write(self._end, key)
        last, wait = began, 5.0
        while self._read(wait):
            last, wait = time.perf_counter(), QUIET
        spent = (last - began) * 1000
        while self._read(0.12):  # the detail of the row
            pass
        return spent

    def used(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(folder: Path, rounds: int, entries: int, branches: int) -> list[Figure]:
    """All of them."""
    env = environment(folder)
    env |= {"FORKPOINT_HOME": str(folder / "store"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: nothing is compiled anew at each start
    project = Path(run([sys.executable, "-c", DEMO, str(folder)], folder, env).output.strip())
    return [
        _start(project, env, rounds),
        *_headless(folder, env, entries, branches, max(1, rounds // 3)),
        *_keys(folder, env, entries, branches, max(1, rounds // 3)),
        _idle(project, env),
    ]


def _start(project: Path, env: Mapping[str, str], rounds: int) -> Figure:
    """From the start of the process to the last prompt's words on the screen."""

    def ours() -> float:
        command = [str(Path(sys.executable).with_name("forkpoint"))]
        with Screen(command, project, env) as screen:
            return screen.until("That is loud.")

    def bare() -> float:
        with Screen([sys.executable, str(HERE / "shelf.py"), "static", "0", "0"], project, env) as screen:
            return screen.until("ready to look")

    ours()
    against = "a bare Textual app that shows one Static"
    return Figure("start to the first painted tree, demo session", against, 1.5, None, *pairs(rounds, ours, bare), "ms")


def _side(kind: str, folder: Path, env: Mapping[str, str], entries: int, branches: int) -> Side:
    command = [sys.executable, str(HERE / "bigtree.py"), kind, str(entries), str(branches)]
    return json.loads(subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, check=True).stdout)


def _headless(folder: Path, env: Mapping[str, str], entries: int, branches: int, rounds: int) -> list[Figure]:
    sides = {kind: [_side(kind, folder, env, entries, branches) for _ in range(rounds)] for kind in SIDES}
    name = f"{entries:,} entries, {branches} branches"

    def medians(kind: str, what: str) -> list[float]:
        return [statistics.median(side[what]) for side in sides[kind]]

    tree, turns = f"Textual's Tree, {entries:,} flat nodes", f"Textual's Tree, {entries:,} nodes in turns"
    found = [
        Figure(f"{name}: first paint", tree, 0.1, 0.04, medians("ours", "paint"), medians("flat", "paint"), "ms"),
        Figure(
            f"{name}: its rows made, in a worker",
            tree,
            ANY,
            None,
            medians("ours", "rows"),
            medians("flat", "paint"),
            "ms",
        ),
        Figure(f"{name}: memory", "what is promised", 1.0, None, medians("ours", "megabytes"), [250.0] * rounds, "MB"),
    ]
    for what, theirs in (("fold", "fold"), ("filter", "fold"), ("search", "fold"), ("append", "append")):
        against = f"{turns}: a{'n append' if theirs == 'append' else ' fold'}"
        values = medians("ours", what), medians("turns", theirs)
        found.append(Figure(f"{name}: {WORDS[what]}", against, 0.1, None, *values, "ms"))
    for what in KEYS:
        ours = [_p95(side[what]) for side in sides["ours"]]
        bare = [_p95(side[what]) for side in sides["bare"]]
        against = "a bare app with one OptionList"
        found.append(Figure(f"{name}: {what}, p95 headless", against, 2.0, None, ours, bare, "ms"))
    return found


SIDES = ("ours", "flat", "turns", "bare")
"""What `bigtree` measures, each in a process of its own."""
WORDS = {"fold": "fold or unfold", "filter": "filter", "search": "a search step", "append": "a live append"}


def _keys(folder: Path, env: Mapping[str, str], entries: int, branches: int, rounds: int) -> list[Figure]:
    """The same keys in a terminal."""

    def side(kind: str, what: str) -> float:
        command = [sys.executable, str(HERE / "shelf.py"), kind, str(entries), str(branches)]
        with Screen(command, folder, env) as screen:
            screen.until("the last words" if kind == "ours" else "prompt 00001")
            screen.rest()
            for key in (b"L", b"g") if kind == "ours" else ():
                screen.press(key)
            back = BACK[what] if kind == "bare" else KEYS[what]
            return _p95([screen.press(back if number % 2 else KEYS[what]) for number in range(20)])

    found: list[Figure] = []
    for what in KEYS:
        values = pairs(rounds, partial(side, "ours", what), partial(side, "bare", what))
        against = "a bare app with one OptionList"
        found.append(
            Figure(
                f"{entries:,} entries: {what}, p95 in a terminal", against, 2.0, None, *values, "ms", "to the last byte"
            )
        )
    return found


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95) - 1]


def _idle(project: Path, env: Mapping[str, str]) -> Figure:
    command = [str(Path(sys.executable).with_name("forkpoint"))]
    with Screen(command, project, env) as screen:
        screen.until("recording")
        screen.rest(3.0)
        before = screen.used()
        end = time.monotonic() + IDLE
        while time.monotonic() < end:
            screen.rest(max(0.0, end - time.monotonic()))
        spent = screen.used() - before
    return Figure("idle, following live", "a hundredth of a core", 1.0, None, [spent * 1000], [IDLE * 10], "ms")
