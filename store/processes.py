"""Whether a process that is named in a file is still the one that wrote it."""

from __future__ import annotations

import os

from .light import Path

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


def boot() -> str:
    """The id of this run of the system, "" where there is none: moments of its steady clock compare only within it."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return ""
