"""The newest session of a folder, told at once: without a look at the folder, or at what is to be kept."""

from __future__ import annotations

from pathlib import Path

from .model import SessionTree
from .workspace import Workspace


def newest(folder: str | None, home: Path | None = None) -> tuple[str, SessionTree]:
    """The root that is meant, and its newest session. Raises UnsafePlace."""
    workspace = Workspace(folder, home)
    return workspace.root, workspace.tree()
