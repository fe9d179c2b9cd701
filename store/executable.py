"""Which program hooks and extensions of agents call: the `forkpoint` command of this installation."""

from __future__ import annotations

import os
import shutil
import sys

from .errors import UsageError


def this_executable() -> str:
    """The absolute path of the `forkpoint` command that is running. Raises UsageError when there is none."""
    beside = os.path.join(os.path.dirname(sys.executable), "forkpoint")
    started = os.path.abspath(sys.argv[0])
    named = started if os.path.basename(started) == "forkpoint" else ""
    for candidate in (named, beside, shutil.which("forkpoint") or ""):
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    raise UsageError("there is no forkpoint command that hooks could call", todo="install forkpoint with pipx or pip")


def check_callable(path: str) -> None:
    """Raises UsageError for a path that a settings file or a shell line of an agent cannot carry."""
    if not os.path.isabs(path):
        raise UsageError("hooks need an absolute path", path=path)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError("hooks cannot call a path that is not UTF-8", path=repr(path)) from None
    if any(ord(c) < 32 for c in path):
        raise UsageError("hooks cannot call a path with control characters", path=repr(path))
