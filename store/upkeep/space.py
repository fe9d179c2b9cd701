"""Free space on the disk: how much is always left, and whether what is about to be stored still fits.

Saves, guards, transcripts and imports ask before they write. Operations do not: they are small, and the end of a
restore, or a deletion that frees space, must not fail for want of it.
"""

from __future__ import annotations

import os

from ..errors import ForkpointError, StoreUnwritable
from ..home import settings
from ..light import Path

VARIABLE = "FORKPOINT_LEAST_FREE"
LEAST_FREE = 1 << 30
"""Bytes that are always left free …"""
SHARE = 50
"""… or this part of the whole disk, where that is more."""
LOOK_AGAIN = 64 << 20
"""Bytes that are written before the disk is asked again: others write to it too."""
AROUND = 1 << 20
"""Bytes for what belongs to every checkpoint: its record, its trees, the stat index."""
EACH = 256
"""The same for every file: its place in the pack's index and in a tree."""


def free(folder: Path) -> int:
    """Bytes that are free for us on the disk of a folder, or of the nearest one above it that exists."""
    found = os.statvfs(_existing(folder))
    return found.f_bavail * found.f_frsize


def least(home: Path) -> int:
    """Bytes that are left free on the disk of `home`: what the person chose, else the larger of 1 GiB and 2 %.

    `$FORKPOINT_LEAST_FREE` counts before `limits.least_free`. Raises ForkpointError when that is no number.
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen.isdecimal():
        return int(chosen)
    if chosen:
        raise ForkpointError(f"{VARIABLE} must be a number of bytes", path=chosen, todo="correct or unset it")
    written = settings(home).least_free
    if written is not None:
        return written
    found = os.statvfs(_existing(home))
    return max(LEAST_FREE, found.f_blocks * found.f_frsize // SHARE)


def told(size: int) -> str:
    """A size in words."""
    if size >= 10**9:
        return f"{size / 10**9:,.1f} GB"
    return f"{size / 10**6:,.0f} MB" if size >= 10**6 else f"{size / 10**3:,.0f} kB"


class Room:
    """What may still be written into a store; asks the disk now and then, and before something large."""

    def __init__(self, home: Path, size: int = 0) -> None:
        """Raises StoreUnwritable when `size` bytes, and what belongs to them, do not fit."""
        self._home = home
        self._least = least(home)
        self._left = 0
        if self._least:
            self.take(size + AROUND)

    def take(self, size: int) -> None:
        """Speaks for `size` bytes that are about to be written. Raises StoreUnwritable when they do not fit."""
        if not self._least:
            return
        size += EACH
        if size > self._left:
            available = free(self._home)
            if available - size < self._least:
                raise StoreUnwritable(
                    "too little space is left on the disk",
                    path=str(self._home),
                    todo=f"{told(available)} are free, and forkpoint leaves {told(self._least)}: free some, "
                    "or see: forkpoint usage",
                )
            self._left = min(LOOK_AGAIN, available - self._least)
        self._left -= min(size, self._left)


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
