"""Where Claude Code keeps what: the folders of projects, of backups, and how long they stay."""

from __future__ import annotations

import os
import unicodedata

import msgspec

from ..forms.regular import names_in
from . import config_home

CLEANUP_DAYS = 30
"""What Claude Code takes when its settings say nothing."""
LONGEST_NAME = 200


class _Cleanup(msgspec.Struct):
    cleanupPeriodDays: int = CLEANUP_DAYS


def keeps_days() -> int:
    """`cleanupPeriodDays` of the person's settings; 30 where nothing is said, or nothing that can be read."""
    try:
        with open(os.path.join(config_home(), "settings.json"), "rb") as stream:
            found = msgspec.json.decode(stream.read(), type=_Cleanup, strict=False).cleanupPeriodDays
    except (OSError, msgspec.MsgspecError):
        return CLEANUP_DAYS
    return found if found > 0 else CLEANUP_DAYS


def projects() -> str:
    """The folder that holds a folder for each project."""
    return os.path.join(config_home(), "projects")


def project_name(cwd: str) -> str:
    """The name of the project folder of a start folder; beyond 200 characters with the hash of Claude's SDK."""
    # A session is found by this name, so it is taken letter by letter as JavaScript does: over UTF-16 units.
    path = unicodedata.normalize("NFC", os.path.realpath(cwd))
    units = len(path.encode("utf-16-le", "surrogatepass")) // 2
    name = "".join(char if char.isascii() and char.isalnum() else "-" * (1 + (ord(char) > 0xFFFF)) for char in path)
    if units <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}-{_base36(_hash(path))}"


def project_folder(cwd: str) -> str:
    """The project folder of a start folder, the one that is there if any.

    The program and its SDK hash long names differently, so there the folder with the same 200 characters counts.
    """
    named = os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME")
    if named and os.environ.get("CLAUDE_CONFIG_DIR"):
        return os.path.join(projects(), os.path.basename(named))
    name = project_name(cwd)
    folder = os.path.join(projects(), name)
    if len(name) > LONGEST_NAME and not os.path.isdir(folder):
        beginning = name[: LONGEST_NAME + 1]
        for other in names_in(projects()):
            if other.startswith(beginning):
                return os.path.join(projects(), other)
    return folder


def backups(session: str) -> str:
    """The folder of a session's file backups; it need not exist."""
    return os.path.join(config_home(), "file-history", session)


def _hash(path: str) -> int:
    """The 32-bit hash of Claude's SDK, over UTF-16 units."""
    units = path.encode("utf-16-le", "surrogatepass")
    value = 0
    for place in range(0, len(units), 2):
        value = (value * 31 + int.from_bytes(units[place : place + 2], "little")) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >> 31 else value)


def _base36(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session of a root begins: those of all projects, and of this one."""
    return (projects(), project_folder(root))


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written (backups by way of the folder above their own) and settings."""
    from ..forms.installing import folders_of
    from .settings import settings_file

    return (project_folder(root), os.path.dirname(backups("any")), *folders_of(settings_file, root))
