"""Codex CLI processes that are at work now, from the locks that they hold while they write a session (since 0.15x).

A session that is open has a file `thread-writer-locks/<thread>.lock`, locked by its process. Who holds it is read from
the system's list of locks: trying to lock it could be in the way of the agent. Where there is no such list, as on
macOS, the hooks alone tell.

Its screens share a server in the background, which keeps a session open when the person has left it (seen in 0.171.0).
So what the server holds counts while a screen is open anywhere, or while its newest turn has not ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...model import Live
from ..forms.belonging import is_under
from ..forms.processes import numbers, words
from . import NAME, config_home
from .heads import cwd_of, in_turn

LOCKS = "/proc/locks"
PROCESSES = "/proc"


def live(root: str) -> list[Live]:
    """Running agents whose session was started in the root or under it, the longest running first."""
    real = os.path.realpath(root)
    holders = _holders()
    found: list[Live] = []
    for thread, file in _lock_files():
        try:
            status = os.stat(file)
        except OSError:
            continue
        pid = holders.get((os.major(status.st_dev), os.minor(status.st_dev), status.st_ino))
        if pid is None or not is_under(os.path.realpath(cwd_of(thread) or os.sep), real):
            continue
        if not _is_server(pid) or _screens() or in_turn(thread):
            # The lock is made when the session is opened.
            found.append(Live(NAME, thread, pid, status.st_mtime_ns))
    return sorted(found, key=lambda item: (item.since, item.session))


def _is_server(pid: int) -> bool:
    return b"app-server" in words(f"{PROCESSES}/{pid}")


def _screens() -> bool:
    """Whether any process of Codex runs that is no server."""
    return any(_is_screen(name) for name in numbers(PROCESSES))


def _is_screen(pid: str) -> bool:
    line = words(f"{PROCESSES}/{pid}")
    return bool(line) and os.path.basename(line[0]) == b"codex" and b"app-server" not in line


def _lock_files() -> Iterator[tuple[str, str]]:
    """Threads that are, or were, open for writing, each with its lock."""
    try:
        with os.scandir(os.path.join(config_home(), "thread-writer-locks")) as items:
            for item in items:
                if item.name.endswith(".lock") and not item.name.startswith("."):
                    yield item.name.removesuffix(".lock"), item.path
    except OSError:
        return


def _holders() -> dict[tuple[int, int, int], int]:
    """Device and inode of every file that a process holds an exclusive lock on, and the process; 0 for a hidden one."""
    found: dict[tuple[int, int, int], int] = {}
    try:
        with open(LOCKS, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return {}
    for line in lines:
        words = line.split()
        # Somebody who waits for a lock is told with an arrow.
        if len(words) < 6 or words[1] != b"FLOCK" or words[3] != b"WRITE":
            continue
        try:
            major, minor, inode = words[5].split(b":")
            found[int(major, 16), int(minor, 16), int(inode)] = max(0, int(words[4]))
        except ValueError:
            continue
    return found
