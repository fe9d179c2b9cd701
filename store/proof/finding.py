"""What `verify`, `doctor`, `rebuild` and `recover` answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    ok: bool
    what: str
    todo: str = ""
