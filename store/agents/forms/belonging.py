"""Which folders belong to a root: it and those under it, but for other roots in it."""

from __future__ import annotations

import os
from collections.abc import Sequence


class Belonging:
    """Answers for one root; each folder is looked up once, since sessions have few."""

    def __init__(self, root: str, nested: Sequence[str] = ()) -> None:
        self.root = os.path.realpath(root)
        inner = [os.path.realpath(folder) for folder in nested]
        self._nested = [folder for folder in inner if is_under(folder, self.root)]
        self._known: dict[str, bool] = {}

    def has(self, folder: str) -> bool:
        """Whether a folder, as a record names it, belongs to the root; never one that is not absolute."""
        if folder not in self._known:
            self._known[folder] = os.path.isabs(folder) and self._looked_up(folder)
        return self._known[folder]

    def _looked_up(self, folder: str) -> bool:
        try:
            real = os.path.realpath(folder)
        except (OSError, ValueError):
            return False  # a NUL or half a surrogate pair in it: no folder has such a name
        return is_under(real, self.root) and not any(is_under(real, other) for other in self._nested)


def is_under(path: str, root: str) -> bool:
    """Whether a path is a folder or lies under it; both are taken as they are written."""
    return bool(path) and (path == root or path.startswith(root.rstrip(os.sep) + os.sep))
