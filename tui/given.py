"""How this process was when it began, where `cli` changed that for us: a program that we run gets it as it was."""

from __future__ import annotations

umask: int | None = None
closed: tuple[int, ...] = ()
"""Standard files that were closed."""
