"""Where Codex CLI keeps sessions: a folder for each day, and one for those that were put away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from . import config_home


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session begins: that of all, and the newest year, month and day."""
    found = [folders()[0]]
    while inner := folders_in(found[-1]):
        found.append(inner[-1])
    return tuple(found)


def day_of(moment: datetime | None = None) -> str:
    """The folder of the sessions that begin on a day, by default today; local time, as the names of files are."""
    day = moment or datetime.now()
    return os.path.join(folders()[0], f"{day:%Y}", f"{day:%m}", f"{day:%d}")


def folders() -> tuple[str, str]:
    """The folder of sessions, with a folder for each day in it, and that of sessions that were put away."""
    return os.path.join(config_home(), "sessions"), os.path.join(config_home(), "archived_sessions")


def scan(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            yield from items
    except OSError:
        return


def folders_in(folder: str) -> list[str]:
    return sorted(item.path for item in scan(folder) if item.name.isdigit() and item.is_dir())


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and hooks."""
    from ..forms.installing import folders_of
    from .settings import settings_file

    return (*watched(root), day_of(), *folders_of(settings_file, root))
