"""Where Pi keeps sessions: in a folder named for where they were started, or all in one that the person chose."""

from __future__ import annotations

import os

from ..forms.regular import names_in
from . import agent_home, chosen_folder

_SEPARATORS = str.maketrans("/\\:", "---")


def sessions_home() -> str:
    """The folder that holds a folder for each project."""
    return os.path.join(agent_home(), "sessions")


def folder_name(cwd: str) -> str:
    """The name of the folder that keeps the sessions of a start folder."""
    return f"--{cwd.removeprefix('/').translate(_SEPARATORS)}--"


def session_folder(cwd: str) -> str:
    """Where Pi puts a new session that is started in a folder."""
    real = os.path.realpath(cwd)
    return chosen_folder(real) or os.path.join(sessions_home(), folder_name(real))


def session_of(file: str) -> str:
    """The session id that a file's name ends with: <time>_<id>.jsonl."""
    stem = os.path.basename(file).removesuffix(".jsonl")
    return stem.partition("_")[2] or stem


def find(session: str, folder: str) -> str:
    """The file of a session in a folder, by its name; "" when there is none."""
    ending = f"_{session}.jsonl"
    return next((os.path.join(folder, name) for name in names_in(folder) if name.endswith(ending)), "")


def every_folder() -> list[str]:
    """Every folder of the usual place that may hold sessions."""
    base = sessions_home()
    return [os.path.join(base, name) for name in names_in(base)]


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session of a root begins: those of all projects, and of this one."""
    return (sessions_home(), session_folder(root))


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and our extension."""
    from ..forms.installing import folders_of
    from .settings import settings_file

    return (session_folder(root), *folders_of(settings_file, root))
