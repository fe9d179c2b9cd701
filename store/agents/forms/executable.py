"""The program that an agent's hooks call."""

from __future__ import annotations

import os
import shutil
import sys

from ...errors import UsageError


def this_executable() -> str:
    """The absolute path of the `forkpoint` command that is running. Raises UsageError when there is none."""
    beside = os.path.join(os.path.dirname(sys.executable), "forkpoint")
    started = os.path.abspath(sys.argv[0])
    named = started if os.path.basename(started) == "forkpoint" else ""
    for candidate in (named, beside, shutil.which("forkpoint") or ""):
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    raise UsageError("there is no forkpoint command that hooks could call", todo="install forkpoint with pipx or pip")
