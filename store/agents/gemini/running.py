"""Gemini CLI processes that are at work now: the program keeps no list of them, but the system does.

Which session a process works at is told by its hooks; without them it is taken to be the one that was last written to
in the process's folder since it started.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...model import Live
from ..forms.belonging import is_under
from ..forms.processes import processes
from . import NAME
from .listing import session_files, session_of
from .places import folder_of

_PROGRAM = b"gemini"


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first; none where there is no /proc."""
    real = os.path.realpath(root)
    found: dict[str, Live] = {}
    for process in processes(_is_gemini):
        if is_under(process.cwd, real) and (session := _named(process.words) or _newest(process.cwd, process.since)):
            # The program starts itself a second time: the inner one, which began later, does the work.
            found[session] = Live(NAME, session, process.pid, process.since)
    return sorted(found.values(), key=lambda item: (item.since, item.pid))


def _is_gemini(words: Sequence[bytes]) -> bool:
    """Whether a command line is that of the program: node, then its script."""
    for word in [word for word in words[:8] if word and not word.startswith(b"-")][:2]:
        name = os.path.basename(word)
        if name in (_PROGRAM, b"gemini.js") or b"/@google/gemini-cli/" in word:
            return True
    return False


def _named(words: Sequence[bytes]) -> str:
    """The session that a command line names by its whole id."""
    for option in (b"--resume", b"-r", b"--session-id"):
        if option in words[:-1]:
            word = words[list(words).index(option) + 1].decode("utf-8", "replace")
            if len(word) == 36 and word.count("-") == 4:
                return word
    return ""


def _newest(cwd: str, since: int) -> str:
    folder = folder_of(cwd)
    times = {file: _written(file) for file in session_files(folder)} if folder else {}
    file = max(times, key=lambda name: times[name], default="")
    return session_of(file) if file and times[file] >= since else ""


def _written(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0
