"""Paths as Pi's tools take them. Light: hooks ask for them."""

from __future__ import annotations

import os

EDIT_TOOLS = frozenset({"edit", "write"})
READ_ONLY = frozenset({"read", "grep", "find", "ls"})
"""Tools that write no file; every other one may."""

_SPACES = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")


def absolute(path: str, cwd: str) -> str:
    """The absolute path that a tool's argument stands for: "@" before it is dropped, odd blanks are blanks."""
    path = path.translate(_SPACES)
    path = os.path.expanduser(path.removeprefix("@"))
    return os.path.normpath(os.path.join(cwd, path)) if cwd or os.path.isabs(path) else path
