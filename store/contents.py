"""Bytes that are read whole, to be compared or shown: never those of a file that is too large for that."""

from __future__ import annotations

from .errors import ForkpointError

LARGEST = 32 << 20


class TooLarge(ForkpointError):
    """A file is not read whole; `size` are its bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size:,} bytes are too many to be compared")
        self.size = size


def refuse_large(size: int) -> None:
    """Raises TooLarge for what should not stand in memory."""
    if size > LARGEST:
        raise TooLarge(size)
