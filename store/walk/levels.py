"""The way down into a tree of any depth, with few files open."""

from __future__ import annotations

import os

from ..light import TYPE_CHECKING

if TYPE_CHECKING:
    from .judging import Ground

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_LEVELS = 32
"""So many folders of the way down are open at a time."""


class Level:
    """A folder on the way down, and what is still to be walked in it."""

    def __init__(self, descriptor: int, below: list[Ground]) -> None:
        self.descriptor = descriptor
        self.below = below
        self._was: tuple[int, int] | None = None

    def shut(self) -> None:
        """Closes the folder until the walk comes back."""
        if self._was is None:
            found = os.fstat(self.descriptor)
            self._was = (found.st_dev, found.st_ino)
            os.close(self.descriptor)

    def reopened(self, inner: int) -> bool:
        """Opens the folder again, from one in it; False when that leads elsewhere by now."""
        if self._was is None:
            return True
        try:
            self.descriptor = os.open("..", OPEN_FOLDER, dir_fd=inner)
        except OSError:
            return False
        found = os.fstat(self.descriptor)
        if (found.st_dev, found.st_ino) != self._was:
            os.close(self.descriptor)
            return False
        self._was = None
        return True
