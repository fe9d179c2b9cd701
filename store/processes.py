"""Whether a process that is named in a file is still the one that wrote it."""

from __future__ import annotations

import os

from .light import Path, suppress

BOOT = Path("/proc/sys/kernel/random/boot_id")


def born(pid: int) -> str:
    """When a process was started, in the system's own count; "" where it does not tell. Tells a reused id apart."""
    if not pid:
        return ""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return stat.rpartition(b")")[2].split()[19].decode()


def is_there(pid: int, born_then: str) -> bool:
    """Whether a process lives that has this id and was started then."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return not born_then or born(pid) in ("", born_then)


def state(pid: int) -> str:
    """What a process does, in the system's own letter ("T": it was stopped); "" where it does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""


def boot() -> str:
    """The id of this run of the system, "" where there is none: moments of its steady clock compare only within it."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return ""


def let_go(*kept: int) -> None:
    """Lets go what came along from the process that forked: others' pipes, and files whose locks would live on here.

    Each number is filled with /dev/null, not freed: an object of the parent's that still thinks it owns the number
    would otherwise close, when it is collected, whatever we opened under it since.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in range(max(*kept, nothing) + 256):
        if number not in (*kept, nothing):
            with suppress(OSError):
                os.fstat(number)
                os.dup2(nothing, number, inheritable=number < 3)
