"""A command that runs as it would without us, and what is recorded of it.

Who is whose parent: the shell starts us, we start the command (so that we can answer with its exit code, once the end
is saved) in our own process group, with our terminal. Beside it stand a listener in the same group (`group`) and a
recorder outside of it (`recorder`). None of them is between the command and its terminal, so each may be killed:
the command goes on.
"""

from __future__ import annotations

import errno
import os
import select
import shlex
import shutil
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from .. import trouble
from ..errors import ForkpointError
from ..home import data_folder
from ..light import Path
from ..processes import state
from ..text import first_line
from .group import Group
from .recorder import GOES_ON, STOPPED, Recorded, Recorder, standing

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

    from ..saving import Saved

EVERY = 15.0
"""Seconds after which edits are saved that do not settle."""
PATIENCE = 60.0
"""Seconds that the end waits for a save that the recorder is at."""
NOT_FOUND, NOT_EXECUTABLE = 127, 126
OURS = frozenset(
    {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
    | {signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS, signal.SIGPIPE, signal.SIGXCPU, signal.SIGXFSZ}
)
"""Signals that are not passed on: nobody can catch them, or they are about ourselves."""


STOPS = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})


class NotStarted(ForkpointError):
    """The command is not there, or cannot be run; the exit code is the one that a shell would give."""

    def __init__(self, what: str, *, path: str, exit_code: int) -> None:
        super().__init__(what, path=path, todo="nothing was run")
        self.exit_code = exit_code


class Given(NamedTuple):
    """How the process was when it began, where we changed that for ourselves; the command gets it as it was."""

    umask: int | None = None
    closed: tuple[int, ...] = ()
    """Standard files that were closed."""
    out: int = 1
    """What the command writes its standard output to."""


class Followed(NamedTuple):
    """What became of a command, and what was recorded."""

    exit: int
    """Its exit code; 128 and the signal's number when it was killed."""
    start: Saved
    end: Saved | None
    """None when the end could not be saved: `problems` tells why."""
    points: tuple[str, ...]
    """Ids of all checkpoints of it, the oldest first."""
    root: str
    """Where the folder is now."""
    problems: tuple[str, ...]
    """What the person has to be told, in words."""


def follow(
    root: str,
    command: Sequence[str],
    start: Callable[[str, str], Saved],
    *,
    every: float = EVERY,
    given: Given | None = None,
    home: Path | None = None,
) -> Followed:
    """Runs a command to its end and records the root.

    `start` makes the first checkpoint, given the command as a text and the id of the run. Raises NotStarted, and what
    `start` raises: then nothing was run.
    """
    _refuse_missing(command[0])
    text = first_line(shlex.join(command))
    run = os.urandom(8).hex()
    begun = start(text, run)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        recorded = Recorded(folder, root, home or data_folder(), text, run, every)
        with _catching() as caught:
            group = Group()
            pid = _started(command, given or Given(), caught, group)
            recorder = Recorder(recorded, pid)
            code = _Waiting(pid, caught, group, recorder).run()
            recorder.end(PATIENCE)
            group.end()
            signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # the one way to leave without the end
            end, problems = _ended(recorded, recorder.problems)
        there = standing(folder, root)
    finally:
        os.close(folder)
    points = (begun.id, *recorder.points, *((end.id,) if end else ()))
    return Followed(code, begun, end, points, there, problems)


def _refuse_missing(name: str) -> None:
    """Raises NotStarted for a command that is not there, before anything is recorded."""
    if shutil.which(name) is None and not (os.sep in name and os.path.lexists(name)):
        raise NotStarted("command not found", path=name, exit_code=NOT_FOUND)


def _ended(recorded: Recorded, problems: Sequence[str]) -> tuple[Saved | None, tuple[str, ...]]:
    """The checkpoint of the end, and each problem once."""
    told = list(dict.fromkeys(problems))
    try:
        return recorded.save("end"), tuple(told)
    except (ForkpointError, OSError) as error:
        what = str(error) if isinstance(error, ForkpointError) else trouble.cause_of(error)
        return None, (*told, f"the end was not saved: {what}")


class _Caught:
    """Signals that came to us, and a pipe that wakes whoever waits."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
        """What was done about each signal that is caught now."""
        self.pipe, self.waking = os.pipe()
        for end in (self.pipe, self.waking):
            os.set_blocking(end, False)

    def note(self, number: int, _: object) -> None:
        self.numbers.append(number)

    def taken(self) -> list[int]:
        """What came since this was asked last."""
        with suppress(BlockingIOError):
            while os.read(self.pipe, 4096):
                pass
        numbers, self.numbers = self.numbers, []
        return [number for number in numbers if number != signal.SIGCHLD]


@contextmanager
def _catching() -> Generator[_Caught]:
    """Catches what would end or stop us; what is ignored stays ignored, for the command too."""
    caught = _Caught()
    for number in (*signal.valid_signals() - OURS, signal.SIGCHLD):
        if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGCHLD:
            caught.before[number] = signal.signal(number, caught.note)
    waking = signal.set_wakeup_fd(caught.waking, warn_on_full_buffer=False)
    try:
        yield caught
    finally:
        signal.set_wakeup_fd(waking)
        for number, handler in caught.before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        os.close(caught.pipe)
        os.close(caught.waking)


def _started(command: Sequence[str], given: Given, caught: _Caught, group: Group) -> int:
    """Starts the command as our child; gives its process id. Raises NotStarted."""
    failed, fails = os.pipe()
    # Nothing may reach the child before it does what the command would do about it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    group.heard()
    early = caught.taken()
    pid = os.fork()
    if pid == 0:
        os.close(failed)
        _become(command, given, fails, caught, mask)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.close(fails)
    for number in early:  # it came when there was no command yet
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    with os.fdopen(failed, "rb") as stream:
        told = stream.read()
    if not told:
        return pid
    os.waitpid(pid, 0)
    number = int(told)
    code = NOT_FOUND if number in (errno.ENOENT, errno.ENOTDIR) else NOT_EXECUTABLE
    raise NotStarted(f"the command cannot be run ({os.strerror(number)})", path=command[0], exit_code=code)


def _become(command: Sequence[str], given: Given, fails: int, caught: _Caught, mask: set[int]) -> NoReturn:
    """The child's way to the command: all is as it was given to us."""
    number = errno.EINVAL
    try:
        for ours in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python
            signal.signal(ours, signal.SIG_DFL)
        for ours, handler in caught.before.items():
            signal.signal(ours, signal.SIG_IGN if handler == signal.SIG_IGN else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if given.out != 1:
            os.dup2(given.out, 1)
        if given.umask is not None:
            os.umask(given.umask)
        for closed in given.closed:
            os.close(closed)
        try:
            os.execvp(command[0], list(command))
        except OSError as error:
            number = error.errno or number
            if number == errno.ENOEXEC:  # a script without its first line: what a shell does
                os.execv("/bin/sh", ["sh", shutil.which(command[0]) or command[0], *command[1:]])
    finally:
        os.write(fails, str(number).encode())
        os._exit(NOT_EXECUTABLE)


class _Waiting:
    """Waits for the command, passes signals on, and stops when it is stopped."""

    def __init__(self, pid: int, caught: _Caught, group: Group, recorder: Recorder) -> None:
        self.pid, self.caught, self.group, self.recorder = pid, caught, group, recorder
        self.listens = True

    def run(self) -> int:
        """Gives the exit code."""
        while True:
            self._pass_on(self.caught.taken())
            code = self._changed()
            if code is not None:
                return code
            wanted = [self.caught.pipe, self.recorder.told] if self.listens else [self.caught.pipe]
            ready, _, _ = select.select(wanted, [], [])
            if self.recorder.told in ready and not self.recorder.hear():
                self.listens = False

    def _changed(self) -> int | None:
        """Looks at what became of the command; gives its exit code once it has ended."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if pid == 0:
                return None
            if os.WIFSTOPPED(status):
                self._stop(os.WSTOPSIG(status))
            elif not os.WIFCONTINUED(status):
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code

    def _pass_on(self, numbers: Sequence[int]) -> None:
        """Passes on what came to us alone; and all, when the command has gone to a group of its own."""
        if not numbers:
            return
        heard = self.group.heard()
        with suppress(ProcessLookupError):
            together = os.getpgid(self.pid) == os.getpgrp()
            for number in numbers:
                if not (together and number in heard):
                    os.kill(self.pid, number)

    def _stop(self, number: int) -> None:
        """Stops as the command was stopped, so that the shell sees it; goes on with it."""
        # What stopped it came to the group: once it goes on, nobody could tell that any more.
        self._pass_on([other for other in self.caught.taken() if other not in STOPS])
        self.recorder.tell(STOPPED)
        if number == signal.SIGSTOP:
            os.kill(os.getpid(), number)
        else:
            catching = signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            signal.signal(number, catching)
        self.recorder.tell(GOES_ON)
        if state(self.pid) in ("T", ""):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)
