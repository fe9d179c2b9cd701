"""Processes of an agent that keeps no list of them: those of this machine are asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

PROC = "/proc"


class Process(NamedTuple):
    """One that runs, and that this person may look at."""

    since: int
    """When it began, in nanoseconds since the epoch."""
    pid: int
    words: list[bytes]
    """Its command line."""
    cwd: str


def processes(is_it: Callable[[Sequence[bytes]], bool], proc: str = PROC) -> list[Process]:
    """Those whose command line is that of the agent, the longest running first; none where the system does not tell."""
    found = (_process(os.path.join(proc, name), is_it) for name in numbers(proc))
    return sorted(process for process in found if process is not None)


def numbers(proc: str = PROC) -> list[str]:
    """The numbers of all processes."""
    try:
        return [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []


def words(folder: str) -> list[bytes]:
    """The command line of a process, by its folder; none when it is gone."""
    try:
        with open(os.path.join(folder, "cmdline"), "rb") as file:
            return file.read(1 << 16).split(b"\0")
    except OSError:
        return []


def _process(folder: str, is_it: Callable[[Sequence[bytes]], bool]) -> Process | None:
    line = words(folder)
    if not line or not is_it(line):
        return None
    try:
        with open(os.path.join(folder, "stat"), "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        cwd = os.readlink(os.path.join(folder, "cwd"))
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    began = int(fields[19]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return Process(_booted() + began, int(os.path.basename(folder)), line, cwd)


def _booted() -> int:
    """When the system was started; 0 where it does not tell."""
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0
