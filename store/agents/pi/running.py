"""Pi processes that are at work now. Pi keeps no file about itself: the processes of this machine are asked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ...model import Live
from ..forms.belonging import is_under
from . import NAME
from .listing import header_of
from .places import session_folder, session_of

PROC = "/proc"
_TITLES = (b"pi", b"pi-rpc")


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    cwd: str
    since: int


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first.

    Which session a process has open it does not tell: it is the newest one of its folder that was written since it
    began, and none ("") while nothing was said. Where processes cannot be looked at, only hooks tell.
    """
    real = os.path.realpath(root)
    found: list[Live] = []
    for process in sorted(_processes(), key=lambda process: (process.since, process.pid)):
        if is_under(process.cwd, real):
            taken = {item.session for item in found}
            found.append(Live(NAME, _session(process, taken), process.pid, process.since))
    return found


def _session(process: _Process, taken: set[str]) -> str:
    """The session that a process writes, as far as it can be told."""
    written: list[tuple[int, str]] = []
    try:
        with os.scandir(session_folder(process.cwd)) as files:
            for file in files:
                if file.name.endswith(".jsonl") and (changed := file.stat().st_mtime_ns) >= process.since:
                    written.append((changed, file.path))
    except OSError:
        return ""
    for _, path in sorted(written, reverse=True):
        header = header_of(path)
        session = session_of(path) if header is None or header.id is None else header.id
        if session not in taken and header is not None and os.path.realpath(header.cwd) == process.cwd:
            return session
    return ""


def _processes() -> Iterator[_Process]:
    """Processes with Pi's title that this person may look at."""
    boot = _boot()
    try:
        names = [name for name in os.listdir(PROC) if name.isdigit()]
    except OSError:
        return
    ticks = os.sysconf("SC_CLK_TCK")
    for name in names:
        folder = os.path.join(PROC, name)
        try:
            with open(os.path.join(folder, "cmdline"), "rb") as file:
                title = file.read(64).split(b"\0")[0].strip()
            if title not in _TITLES:
                continue
            with open(os.path.join(folder, "stat"), "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            cwd = os.readlink(os.path.join(folder, "cwd"))
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            yield _Process(int(name), cwd, boot + int(fields[19]) * 1_000_000_000 // ticks)


def _boot() -> int:
    """When the system's clock of processes began, in nanoseconds since the epoch."""
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0
