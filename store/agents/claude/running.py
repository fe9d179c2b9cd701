"""Claude Code processes that are at work now, from the files that they keep while they run."""

from __future__ import annotations

import json
import os
import time
from typing import Any, cast

from ...model import Live
from ..forms.belonging import is_under
from . import NAME, config_home

_MILLISECOND = 1_000_000


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first.

    A file whose process is gone, or whose number now belongs to another process, is left over from a crash.
    """
    folder = os.path.join(config_home(), "sessions")
    real = os.path.realpath(root)
    found: list[Live] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        if not name.endswith(".json"):
            continue
        told = _read(os.path.join(folder, name))
        pid, session, cwd = told.get("pid"), told.get("sessionId"), told.get("cwd")
        if not isinstance(pid, int) or not isinstance(session, str) or not isinstance(cwd, str):
            continue
        if is_under(os.path.realpath(cwd), real) and _is_here(told) and is_alive(pid, told.get("procStart")):
            started = told.get("startedAt")
            since = started * _MILLISECOND if isinstance(started, int) else time.time_ns()
            found.append(Live(NAME, session, pid, since))
    return sorted(found, key=lambda item: (item.since, item.pid))


def is_alive(pid: int, started: object = None) -> bool:
    """Whether a process runs and, where the system tells, is the one that began at `started` (clock ticks)."""
    if pid <= 0:
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return not os.path.isdir("/proc/self") and _answers(pid)
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return False
    return not isinstance(started, str) or not started.isdigit() or fields[19].decode() == started


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _is_here(told: dict[str, Any]) -> bool:
    """Whether its process number is one of this machine's: a container with the same home counts its own."""
    domain = told.get("pidDomain")
    if not isinstance(domain, str) or ":pid:[" not in domain:
        return True
    try:
        return domain.endswith(os.readlink("/proc/self/ns/pid"))
    except OSError:
        return True


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, "rb") as opened:
            found: object = json.loads(opened.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
