"""OpenCode processes that are at work now. It keeps no file about them: the processes of this machine are asked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...model import Live
from ..forms.belonging import is_under
from . import NAME
from .listing import sessions

PROC = "/proc"
_NAMES = (b"opencode", b"opencode-tui")
_SESSION = (b"-s", b"--session")


@dataclass(frozen=True, slots=True)
class Process:
    """A process of OpenCode."""

    pid: int
    cwd: str
    since: int
    session: str
    """The session that its command line names; "" when it names none."""


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first.

    Which session a process has open it tells only where its command names it: else it is the newest one of its folder
    that changed since it began, and none ("") while nothing was said.
    """
    real = os.path.realpath(root)
    found: list[Live] = []
    here = [process for process in processes() if is_under(process.cwd, real)]
    infos = sessions(real) if here else []
    for process in sorted(here, key=lambda process: (process.since, process.pid)):
        taken = {item.session for item in found}
        newest = [info for info in infos if info.cwd == process.cwd and info.updated >= process.since]
        candidates = [process.session, *(info.id for info in newest)]
        session = next((one for one in candidates if one and one not in taken), "")
        found.append(Live(NAME, session, process.pid, process.since))
    return found


def processes() -> Iterator[Process]:
    """Processes of OpenCode that this person may look at; none where the system does not tell."""
    boot = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0
    try:
        names = [name for name in os.listdir(PROC) if name.isdigit()]
    except OSError:
        return
    ticks = os.sysconf("SC_CLK_TCK")
    for name in names:
        folder = os.path.join(PROC, name)
        try:
            with open(os.path.join(folder, "cmdline"), "rb") as file:
                words = file.read(4096).split(b"\0")
            if os.path.basename(words[0]) not in _NAMES:
                continue
            with open(os.path.join(folder, "stat"), "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            cwd = os.readlink(os.path.join(folder, "cwd"))
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            since = boot + int(fields[19]) * 1_000_000_000 // ticks
            yield Process(int(name), cwd, since, _named(words))


def _named(words: list[bytes]) -> str:
    """The session that a command line names, unless it forks it."""
    found = next((after for word, after in pairwise(words) if word in _SESSION), b"")
    return "" if b"--fork" in words else found.decode("utf-8", "replace")
