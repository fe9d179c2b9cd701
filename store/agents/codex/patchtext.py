"""The paths that a patch names (formats 2.3). Light: hooks ask for them."""

from __future__ import annotations

BEGIN = "*** Begin Patch"
_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def named(text: str) -> tuple[str, ...]:
    """Paths as they are written in a patch, or in a command that carries one, each once and in its order."""
    start = text.find(BEGIN)
    if start < 0:
        return ()
    found: dict[str, None] = {}
    for line in text[start:].split("\n"):
        if line.startswith("*** "):
            for head in _HEADS:
                if line.startswith(head) and (path := line[len(head) :].strip()):
                    found[path] = None
    return tuple(found)
