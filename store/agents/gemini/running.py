"""Gemini CLI processes that are at work now: the program keeps no list of them, but the system does.

Which session a process works at is told by its hooks; without them it is taken to be the one that was last written to
in the process's folder since it started.
"""

from __future__ import annotations

import os

from ...model import Live
from ...processes import born
from ..forms.belonging import is_under
from . import NAME
from .listing import session_files
from .places import folder_of

_PROGRAM = b"gemini"


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first; none where there is no /proc."""
    real = os.path.realpath(root)
    found: dict[str, Live] = {}
    for pid in _processes():
        cwd = _link(f"/proc/{pid}/cwd")
        if not is_under(cwd, real) or not _is_gemini(_words(pid)):
            continue
        since = _since(pid)
        session = _named(_words(pid)) or _newest(cwd, since)
        if session:
            # The program starts itself a second time: the inner one, with the higher number, does the work.
            found[session] = Live(NAME, session, pid, since)
    return sorted(found.values(), key=lambda item: (item.since, item.pid))


def _processes() -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    except OSError:
        return []


def _words(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(1 << 16).split(b"\0")
    except OSError:
        return []


def _is_gemini(words: list[bytes]) -> bool:
    """Whether a command line is that of the program: node, then its script."""
    for word in [word for word in words[:8] if word and not word.startswith(b"-")][:2]:
        name = os.path.basename(word)
        if name in (_PROGRAM, b"gemini.js") or b"/@google/gemini-cli/" in word:
            return True
    return False


def _named(words: list[bytes]) -> str:
    """The session that a command line names by its whole id."""
    for option in (b"--resume", b"-r", b"--session-id"):
        if option in words[:-1]:
            word = words[words.index(option) + 1].decode("utf-8", "replace")
            if len(word) == 36 and word.count("-") == 4:
                return word
    return ""


def _newest(cwd: str, since: int) -> str:
    from .listing import session_of

    folder = folder_of(cwd)
    times = {file: _written(file) for file in session_files(folder)} if folder else {}
    file = max(times, key=lambda name: times[name], default="")
    return session_of(file) if file and times[file] >= since else ""


def _written(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0


def _since(pid: int) -> int:
    """When a process started, in nanoseconds since the epoch; 0 where the system does not tell."""
    ticks = born(pid)
    try:
        with open("/proc/stat", "rb") as file:
            boot = next(line for line in file if line.startswith(b"btime ")).split()[1]
        return int(boot) * 1_000_000_000 + int(ticks) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, ValueError):
        return 0


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
