"""When a burst of edits is to be saved: once it has settled, or when it has gone on for long enough."""

from __future__ import annotations

from dataclasses import dataclass

SETTLED = 0.5
"""Seconds without an edit after which a burst is over."""
SHARE = 4.0
"""A save is followed by a pause of so many times its length, however much is written: the program is not slowed."""
AGAIN = 5.0
"""Seconds before what could not be saved is tried again."""


@dataclass(slots=True)
class Burst:
    """Edits that are not saved yet; moments are those of one steady clock, in seconds."""

    longest: float
    """A burst that does not settle is saved after so many seconds."""
    first: float | None = None
    last: float = 0.0
    not_before: float = 0.0

    def edited(self, now: float) -> None:
        """Something was written, or may have been."""
        self.first = now if self.first is None else self.first
        self.last = now

    def due(self) -> float | None:
        """When it is to be saved; None while there is nothing."""
        if self.first is None:
            return None
        return max(self.not_before, min(self.last + SETTLED, self.first + self.longest))

    def saved(self, began: float, ended: float) -> None:
        """A save that began then has taken up all edits from before."""
        self.first = None
        self.not_before = ended + SHARE * (ended - began)

    def failed(self, now: float) -> None:
        """It could not be saved: it is as unsaved as before."""
        self.not_before = now + AGAIN
