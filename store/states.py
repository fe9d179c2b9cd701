"""What a folder holds at one moment, as data: a path → node mapping."""

from __future__ import annotations

from .light import Mapping, NamedTuple

FILE_MODE = 0o644
EXECUTABLE_MODE = 0o755
FOLDER_MODE = 0o755


class Node(NamedTuple):
    """A file, link or folder; two nodes are equal when nothing would have to be written."""

    kind: str
    """"file", "link" or "folder"."""
    mode: int
    """Permission bits 0o7777 of a file or folder; 0 for a link."""
    oid: str
    """Git blob id of a file's bytes or a link's target; "" for a folder."""


State = Mapping[bytes, Node]
"""Every file and link by its path relative to the root; folders only when empty or when their mode is not 0o755."""


def usual_mode(mode: int) -> int:
    """The permission bits that git's own mode stands for."""
    return EXECUTABLE_MODE if mode & 0o100 else FILE_MODE
