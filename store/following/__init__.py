"""Recording any program without its help: `forkpoint run -- COMMAND` (see `command` for who is whose parent)."""

from __future__ import annotations

from .command import EVERY, Followed, Given, NotStarted, follow

__all__ = ["EVERY", "Followed", "Given", "NotStarted", "follow"]
