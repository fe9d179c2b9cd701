"""Where Gemini CLI keeps what.

Each project has a folder `tmp/<name>` with the path of the project in `.project_root`; older versions called it by a
hash of that path.
"""

from __future__ import annotations

import hashlib
import os
import re

from ... import jsontext
from ..forms.jsonl import parse
from ..forms.plain import table
from ..forms.regular import names_in
from . import gemini_folder
from .filenames import CHATS

KEPT_DAYS = 30
"""What Gemini CLI takes when its settings say nothing."""
MARKER = ".project_root"


def temporary() -> str:
    """The folder that holds a folder for each project."""
    return os.path.join(gemini_folder(), "tmp")


def project_folders() -> list[tuple[str, str]]:
    """The folders of all projects, each with the path of its project; "" where that is not told."""
    found: list[tuple[str, str]] = []
    base = temporary()
    for name in names_in(base):
        folder = os.path.join(base, name)
        if os.path.isdir(folder):
            found.append((folder, owner(folder)))
    return found


def owner(folder: str) -> str:
    """The path of the project whose folder it is; "" where that is not told."""
    try:
        with open(os.path.join(folder, MARKER), encoding="utf-8", errors="surrogateescape") as marker:
            return marker.read(1 << 16).strip()
    except OSError:
        return ""


def folder_of(cwd: str) -> str:
    """The project folder of a start folder; "" while the program has none for it."""
    path = os.path.abspath(cwd)
    old = hashed(path)
    found = project_folders()
    named = next((folder for folder, project in found if project == path), "")
    return named or next((folder for folder, _ in found if os.path.basename(folder) == old), "")


def hashed(path: str) -> str:
    """How older versions called the folder of a project."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()


def keeps_days() -> int:
    """After how many days the program deletes a session; 0 where it never does.

    Without an age of its own in the person's settings it takes 30 days. It also deletes sessions by number
    (maxCount), and, by a mistake of its own, one that was resumed in a later minute (seen in 0.61.0).
    """
    try:
        with open(os.path.join(gemini_folder(), "settings.json"), "rb") as stream:
            text = stream.read().decode("utf-8", "surrogateescape")
        top = jsontext.parse(text)
    except (OSError, jsontext.NotJson):
        return KEPT_DAYS
    general = top.get("general")
    retention = general.node.get("sessionRetention") if general is not None and general.node.shape == "object" else None
    if retention is None or retention.node.shape != "object":
        return KEPT_DAYS
    enabled, age = retention.node.get("enabled"), retention.node.get("maxAge")
    if enabled is not None and enabled.node.value is False:
        return 0
    found = _AGE.fullmatch(str(age.node.value)) if age is not None else None
    return max(1, int(found[1]) * _HOURS[found[2]] // 24) if found else KEPT_DAYS


_AGE = re.compile(r"(\d{1,6})([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24}


def chats_of(cwd: str) -> str:
    """The folder of the sessions of a start folder: the one that is there, or the one that the program would make."""
    folder = folder_of(cwd)
    if not folder:
        base = temporary()
        slug = re.sub("[^a-z0-9]+", "-", os.path.basename(os.path.abspath(cwd)).lower()).strip("-") or "project"
        taken = {*names_in(base), *_registered()}
        name, number = slug, 0
        while name in taken:
            number += 1
            name = f"{slug}-{number}"
        folder = os.path.join(base, name)
    return os.path.join(folder, CHATS)


def _registered() -> set[str]:
    """Names that the program gave to other projects."""
    try:
        with open(os.path.join(os.path.dirname(temporary()), "projects.json"), "rb") as file:
            found = parse(file.read()).get("projects")
    except OSError:
        return set()
    return {str(name) for name in table(found).values()}


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session of a root begins: those of all projects, and of this one."""
    folder = folder_of(root)
    return (temporary(), os.path.join(folder, CHATS)) if folder else (temporary(),)


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and settings."""
    from ..forms.installing import folders_of
    from .settings import settings_file

    return (chats_of(root), *folders_of(settings_file, root))
