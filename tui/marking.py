"""The one mark: a checkpoint that a person set aside to compare another one with, in whatever session that is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked checkpoint."""

    point: str
    time: int
    root: str

    def older(self, point: str, time: int) -> str:
        """Of the mark and another checkpoint the one to which one would go back."""
        return self.point if self.time <= time else point
