"""The locks of the store: advisory, held by an open file, so that a killed holder leaves nothing behind.

`fcntl.flock` is used as it is: a hook must start in a few milliseconds, and importing filelock alone takes forty.
Whoever finds a lock in use draws a ticket, and those who wait are served in the order of their tickets: flock by itself
wakes anyone, and under load somebody would never be the one.
"""

from __future__ import annotations

import fcntl
import os
import time

from . import lightjson as json
from .errors import Busy, StoreUnwritable
from .home import make_folder
from .light import Generator, NamedTuple, Path, contextmanager, lru_cache, suppress
from .processes import born, is_there
from .waiting import listener

LIMIT = 30.0
"""Seconds that a command waits unless the person chose otherwise."""
PAUSE = 0.01
LONGEST_PAUSE = 0.1
"""Seconds between two looks: the first in the line looks most often."""
ASLEEP = 2.0
"""Seconds after which somebody in the line who does not look any more is passed: a process that was stopped."""
SILENCE = 1.0
"""Seconds before somebody who waits is told for whom, and between one such word and the next."""


class _Ticket(NamedTuple):
    """A place in the line: the name of its file, and the open file."""

    name: str
    descriptor: int


NO_TICKET = _Ticket("", -1)


class Holder(NamedTuple):
    """Who holds a lock, as its file tells."""

    pid: int
    who: str
    since: float
    """By time.monotonic(), which all processes of a machine share."""
    born: str = ""


@contextmanager
def held(file: Path, *, who: str, wait: float = LIMIT) -> Generator[None]:
    """Holds the lock `file` for the time of the block.

    Raises Busy, naming the holder, when it is not free within `wait` seconds; StoreUnwritable where there can be none.
    """
    with _writing(file):
        try:
            descriptor = _opened(file)
        except FileNotFoundError:
            make_folder(file.parent)
            descriptor = _opened(file)
    try:
        with _writing(file):
            if somebody_waits(file) or not _taken(descriptor):
                _wait_in_line(descriptor, file, wait)
            _sign(descriptor, who)
        try:
            yield
        finally:
            # The name goes before the lock does: nobody is told who held it last.
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder(file: Path) -> str:
    """Names who holds the lock, for a message."""
    found = _holder(file)
    if found is None:
        return "another forkpoint"
    return f"forkpoint {found.who} (pid {found.pid}, since {_duration(time.monotonic() - found.since)})"


def _holder(file: Path) -> Holder | None:
    """The living process that the file names; None while it names nobody: its holder was killed, or only just came."""
    try:
        found = Holder(**json.loads(file.read_bytes()))
        return found if is_there(found.pid, found.born) else None
    except (OSError, ValueError, TypeError):
        return None


def _duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    return f"{whole} s" if whole < 120 else f"{whole // 60} min"


def _sign(descriptor: int, who: str) -> None:
    pid = os.getpid()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(Holder(pid, who, time.monotonic(), _own_birth(pid))._asdict()).encode(), 0)


@lru_cache(maxsize=1)
def _own_birth(pid: int) -> str:
    return born(pid)


def _opened(file: Path | str) -> int:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not os.fstat(descriptor).st_mode & 0o200:
        # An umask that leaves the owner nothing would lock everybody out from now on.
        os.fchmod(descriptor, 0o600)
    return descriptor


@contextmanager
def _writing(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnwritable(
            "the store cannot be written", path=str(error.filename or file), todo=f"{error.strerror}: forkpoint doctor"
        ) from None


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_in_line(descriptor: int, file: Path, wait: float) -> None:
    began = time.monotonic()
    told = 0.0
    tell = listener()
    with _ticket(file) as mine:
        try:
            while True:
                before = _before(file, mine)
                if not before and _taken(descriptor):
                    return
                now = time.monotonic()
                if now >= began + wait:
                    raise Busy(f"{holder(file)} is at work on this store", todo="try again when it has finished")
                if tell is not None and now >= began + SILENCE and now >= told + SILENCE:
                    tell(f"waiting for {holder(file)}…")
                    told = now
                time.sleep(min(PAUSE * (1 + before / 2), LONGEST_PAUSE, max(0.0, began + wait - now)))
        finally:
            if tell is not None and told:
                tell("")


def _line(file: Path) -> str:
    """The folder of those who wait for a lock: a file each, locked by its owner, named by the moment it came."""
    return f"{file}.line"


def somebody_waits(file: Path) -> bool:
    """Whether anybody stands in the line for a lock."""
    try:
        return bool(os.listdir(_line(file)))
    except OSError:
        return False


@contextmanager
def _ticket(file: Path) -> Generator[_Ticket]:
    """A place in the line for the time of the block; without a name where the disk takes none: then it is luck."""
    line, ticket = _line(file), NO_TICKET
    try:
        with suppress(OSError):
            make_folder(Path(line))
            while not ticket.name:
                name = f"{time.monotonic_ns():020d}-{os.urandom(4).hex()}"
                ticket = _Ticket(name, _opened(os.path.join(line, name)))
                fcntl.flock(ticket.descriptor, fcntl.LOCK_EX)
                if not os.fstat(ticket.descriptor).st_nlink:
                    # Somebody looked before it was locked, and took it for a dead one's.
                    os.close(ticket.descriptor)
                    ticket = NO_TICKET
        yield ticket
    finally:
        if ticket.name:
            with suppress(OSError):
                os.unlink(os.path.join(line, ticket.name))
            os.close(ticket.descriptor)


def _before(file: Path, mine: _Ticket) -> int:
    """How many stand before this ticket; a killed owner's is taken away, a stopped one's is passed."""
    if not mine.name:
        return 0
    os.utime(mine.descriptor)
    now, line = os.fstat(mine.descriptor).st_mtime, _line(file)
    earlier = sorted(name for name in os.listdir(line) if name < mine.name)
    for position, name in enumerate(earlier):
        ticket = os.path.join(line, name)
        if not _abandoned(ticket) and not _asleep(ticket, now):
            return len(earlier) - position
    return 0


def _asleep(ticket: str, now: float) -> bool:
    """Whether the owner of a ticket has not looked for a while."""
    try:
        return now - os.stat(ticket).st_mtime > ASLEEP
    except FileNotFoundError:
        return True


def _abandoned(ticket: str) -> bool:
    """Takes a ticket away that nobody holds; gives whether it is gone."""
    try:
        descriptor = os.open(ticket, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return not os.path.lexists(ticket)
    try:
        if not _taken(descriptor):
            return False
        with suppress(FileNotFoundError):  # its owner was just going on
            os.unlink(ticket)
        return True
    finally:
        os.close(descriptor)
