"""What a record shows in a list, in the words of the model, and without its place in the conversation."""

from __future__ import annotations

import os
from typing import Self

from msgspec import Struct

from ...model import Kind


class Face(Struct, frozen=True, gc=False):
    """One entry to be."""

    kind: Kind
    text: str
    flavour: str = ""
    tool: str = ""
    call: str = ""
    error: bool = False
    paths: tuple[str, ...] = ()

    @classmethod
    def unreadable(cls, number: int, length: int) -> Self:
        """For a line, or what is left of one, that is no record."""
        return cls("notice", f"line {number} cannot be read ({length:,} bytes)", "unreadable")


def relative(path: str, cwd: str) -> str:
    """A path as it is shown: relative to the folder when inside of it."""
    above = cwd.rstrip(os.sep) + os.sep
    return path[len(above) :] if cwd and path.startswith(above) else path
