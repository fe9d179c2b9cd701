"""What records while a command runs: a process of its own, so that whatever becomes of it, the command is not touched.

It stands outside of the command's terminal and process group. When the process that waits for the command is
killed, it goes on alone until the command's end, and saves that too.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from .. import roots, saving, trouble
from ..light import Path
from ..processes import born, is_there, let_go, state
from ..text import clean
from .settling import Burst
from .watching import BLIND, Watcher, is_exhausted

if TYPE_CHECKING:
    from typing import NoReturn

    from ..saving import Saved

PATIENCE = 900.0
"""Seconds that a save waits for others at work in the root."""
INTERVAL = 5.0
"""Seconds between two looks where nothing can be watched."""
TICK = 0.3
"""Seconds between two looks at a process that is not our child."""
END, STOPPED, GOES_ON = b"e", b"s", b"c"
"""What it is told: the command has ended; it was stopped, and the process that waits for it too; it goes on."""
POINT, PROBLEM, DONE = "+", "!", "."
"""How a line of what it tells begins: a checkpoint that it made; what the person has to be told; that it has ended."""
KILLED = "the recorder was ended: nothing was saved between then and the end"
NO_WATCHES = "the system has no more watches for folders: looked every few seconds instead"


class Recorded(NamedTuple):
    """What is recorded, and for what."""

    folder: int
    """The root, held open: it may be moved."""
    root: str
    home: Path
    text: str
    """The command in one line."""
    run: str
    """The id of this run, by which its checkpoints are known to belong together."""
    every: float
    """Seconds after which edits are saved that do not settle."""

    def save(self, reason: str, *, only_drift: bool = False) -> Saved:
        """A checkpoint of the root, wherever it is now. Raises ForkpointError."""
        return saving.save(
            standing(self.folder, self.root),
            home=self.home,
            reason=reason,
            text=self.text,
            run=self.run,
            only_drift=only_drift,
            wait=PATIENCE,
            agreed=True,
        )


def standing(folder: int, path: str) -> str:
    """Where an open folder is now; `path`, where it was, when that cannot be told or it is gone."""
    try:
        if sys.platform == "darwin":
            there = os.fsdecode(fcntl.fcntl(folder, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        else:
            there = os.readlink(f"/proc/self/fd/{folder}")
        return there if os.path.samestat(os.stat(there), os.fstat(folder)) else path
    except OSError:
        return path


class Recorder:
    """The process as the one that waits for the command sees it."""

    def __init__(self, recorded: Recorded, command: int) -> None:
        orders, self._orders = os.pipe()
        self.told, tell = os.pipe()
        self.points: list[str] = []
        self.problems: list[str] = []
        self.done = False
        self._rest = b""
        parent, self._pid = os.getpid(), -1
        with suppress(OSError):  # the command runs already: then only its end is saved, and that is told
            self._pid = os.fork()
        if self._pid == 0:
            os.close(self._orders)
            _live(_Life(recorded, command, parent, orders, tell))
        os.close(orders)
        os.close(tell)

    def tell(self, order: bytes) -> None:
        """Tells it what happens to the command."""
        with suppress(OSError):
            os.write(self._orders, order)

    def hear(self) -> bool:
        """Takes in what it tells; False when it has ended."""
        data = os.read(self.told, 65536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in map(bytes.decode, lines):
            self.done |= line == DONE
            if line.startswith(POINT):
                self.points.append(line[1:])
            elif line.startswith(PROBLEM):
                self.problems.append(line[1:])
        return bool(data)

    def end(self, patience: float) -> None:
        """Lets it finish what it is saving, and waits for its end; kills it when that takes longer."""
        self.tell(END)
        deadline = time.monotonic() + patience
        while select.select([self.told], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not self.hear():
                break
        else:
            os.kill(self._pid, signal.SIGKILL)
        if not self.done:
            self.problems.append(KILLED)
        os.close(self._orders)
        os.close(self.told)
        if self._pid > 0:
            os.waitpid(self._pid, 0)


def _live(life: _Life) -> NoReturn:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        let_go(life.recorded.folder, life.orders, life.answers)
        os.chdir("/")
        life.run()
    finally:
        os._exit(0)


class _Life:
    """What the process does from its first moment to its last."""

    def __init__(self, recorded: Recorded, command: int, parent: int, orders: int, answers: int) -> None:
        self.recorded, self.orders, self.answers = recorded, orders, answers
        self.command, self.command_born = command, born(command)
        self.parent = parent
        self.alone = False
        """Whoever waited for the command is gone."""
        self.stopped = False
        self.blind = False
        self.burst = Burst(recorded.every)

    def run(self) -> None:
        self.watcher = Watcher()
        self._look_again()
        self.burst.edited(time.monotonic())  # the command has begun already
        while self._hears(self._until()):
            now = time.monotonic()
            if (
                self.blind
                and self.burst.first is None
                and now >= self.burst.not_before + min(INTERVAL, self.recorded.every)
            ):
                self.burst.edited(now)
            due = self.burst.due()
            if due is not None and due <= time.monotonic():
                self._save("stop", only_drift=True)
            if self.stopped and state(self.command) not in ("T", ""):
                os.kill(self.parent, signal.SIGCONT)  # only the command was told to go on
        if self.alone:
            self._save("end")
        self._tell(DONE)

    def _until(self) -> float | None:
        """Seconds to sleep at most."""
        waits = [max(0.0, due - time.monotonic())] if (due := self.burst.due()) is not None else []
        waits += [TICK] if self.stopped or self.alone or self.blind else []
        return min(waits, default=None)

    def _hears(self, seconds: float | None) -> bool:
        """Waits for orders and edits; False when the command has ended."""
        wanted = [self.watcher.told] if self.alone else [self.watcher.told, self.orders]
        ready, _, _ = select.select(wanted, [], [], seconds)
        if self.watcher.told in ready:
            self._edited(self.watcher.heard())
        if self.orders in ready:
            orders = os.read(self.orders, 4096)
            if END in orders:
                return False
            self.alone = not orders
            self.stopped = bool(orders) and orders.endswith(STOPPED)
        return not self.alone or is_there(self.command, self.command_born)

    def _edited(self, told: bytes) -> None:
        self.burst.edited(time.monotonic())
        if BLIND in told and is_exhausted(self.watcher.trouble) and not self.blind:
            self.blind = True
            self._tell(PROBLEM, NO_WATCHES)

    def _save(self, reason: str, *, only_drift: bool = False) -> None:
        began = time.monotonic()
        try:
            saved = self.recorded.save(reason, only_drift=only_drift)
            self.burst.saved(began, time.monotonic())
            if saved.made:
                self._tell(POINT, saved.id)
            self._look_again()
        except Exception as error:
            self.burst.failed(time.monotonic())
            self._tell(PROBLEM, f"not saved meanwhile: {trouble.cause_of(error)}")

    def _look_again(self) -> None:
        place = roots.find(standing(self.recorded.folder, self.recorded.root), self.recorded.home)
        if place is not None and not self.blind and self.watcher.look_again(place):
            self.burst.edited(time.monotonic())  # what happened between the walk and the first watch

    def _tell(self, kind: str, words: str = "") -> None:
        with suppress(OSError):
            os.write(self.answers, f"{kind}{clean(words)}\n".encode())
