"""Pi processes that are at work now. Pi keeps no file about itself: the processes of this machine are asked."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...model import Live
from ..forms.belonging import is_under
from ..forms.processes import PROC, Process, processes
from . import NAME
from .listing import header_of
from .places import session_folder, session_of

_TITLES = (b"pi", b"pi-rpc")


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first.

    Which session a process has open it does not tell: it is the newest one of its folder that was written since it
    began, and none ("") while nothing was said. Where processes cannot be looked at, only hooks tell.
    """
    real = os.path.realpath(root)
    found: list[Live] = []
    for process in processes(_is_pi, PROC):
        if is_under(process.cwd, real):
            taken = {item.session for item in found}
            found.append(Live(NAME, _session(process, taken), process.pid, process.since))
    return found


def _is_pi(words: Sequence[bytes]) -> bool:
    """Whether it has the title that Pi gives to its process."""
    return words[0].strip() in _TITLES


def _session(process: Process, taken: set[str]) -> str:
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
