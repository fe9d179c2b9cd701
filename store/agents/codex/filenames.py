"""What the names of Codex CLI's session files tell (formats 2.1).

`rollout-<local time>-<thread>.jsonl` is the first file of a thread; each rewind in its own screen begins a further one,
`rollout-<local time>-<thread>_<segment>.jsonl` (seen in 0.171.0).
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ...text import path_text

_ID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_ROLLOUT = re.compile(rf"rollout-(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d)-({_ID})(?:_({_ID}))?")
ENDING = ".jsonl"


class Rollout(NamedTuple):
    """The parts of a session file's name."""

    stamp: str
    """When the file was begun, in local time."""
    thread: str
    segment: str
    """Id of a further file of a thread; "" for the first one."""

    @property
    def id(self) -> str:
        """What a `history_base` calls the file."""
        return self.segment or self.thread


def rollout(file: str) -> Rollout:
    """The parts of a session file's name; of one that Codex did not give, the name itself stands for the thread."""
    stem = os.path.basename(file).removesuffix(ENDING)
    found = _ROLLOUT.match(stem)
    if found is None:
        return Rollout("", path_text(stem), "")
    return Rollout(found[1], found[2].lower(), (found[3] or "").lower())
