"""OpenCode processes that are at work now. It keeps no file about them: the processes of this machine are asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

from ...model import Live
from ..forms.belonging import is_under
from ..forms.processes import PROC, processes
from . import NAME
from .listing import sessions

_NAMES = (b"opencode", b"opencode-tui")
_SESSION = (b"-s", b"--session")


def live(root: str) -> list[Live]:
    """Running agents whose folder is the root or under it, the longest running first.

    Which session a process has open it tells only where its command names it: else it is the newest one of its folder
    that changed since it began, and none ("") while nothing was said.
    """
    real = os.path.realpath(root)
    found: list[Live] = []
    here = [process for process in processes(_is_opencode, PROC) if is_under(process.cwd, real)]
    infos = sessions(real) if here else []
    for process in here:
        taken = {item.session for item in found}
        newest = [info for info in infos if info.cwd == process.cwd and info.updated >= process.since]
        candidates = [_named(process.words), *(info.id for info in newest)]
        session = next((one for one in candidates if one and one not in taken), "")
        found.append(Live(NAME, session, process.pid, process.since))
    return found


def _is_opencode(words: Sequence[bytes]) -> bool:
    return os.path.basename(words[0]) in _NAMES


def _named(words: Sequence[bytes]) -> str:
    """The session that a command line names, unless it forks it."""
    found = next((after for word, after in pairwise(words) if word in _SESSION), b"")
    return "" if b"--fork" in words else found.decode("utf-8", "replace")
