"""Whether the object store has an object: asked of the pack indexes themselves, since git and libgit2 start slowly."""

from __future__ import annotations

import os

from ..light import suppress

FANOUT, IDS = 8, 8 + 256 * 4
"""Where a pack's index (version 2) has its table of first bytes, and its ids."""


def where(git_dir: str | os.PathLike[str], oid: str, pack: str = "") -> str | None:
    """The pack that holds an object, "" for none but a file of its own, None when it is not there.

    `pack` is the one that it was written into, to be looked at first.
    """
    packs = f"{os.fspath(git_dir)}/objects/pack/"
    if pack and os.path.exists(f"{packs}{pack}.idx") and os.path.exists(f"{packs}{pack}.pack"):
        return pack
    if os.path.exists(f"{os.fspath(git_dir)}/objects/{oid[:2]}/{oid[2:]}"):
        return ""
    with suppress(OSError):
        for name in os.listdir(packs):
            whole = name.endswith(".idx") and os.path.exists(f"{packs}{name[:-4]}.pack")
            if whole and _has(packs + name, bytes.fromhex(oid)):
                return name[:-4]
    return None


def _has(index: str, oid: bytes) -> bool:
    with suppress(OSError):
        descriptor = os.open(index, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.pread(descriptor, FANOUT, 0) != b"\377tOc\0\0\0\2":
                return False
            first = _number(descriptor, oid[0] - 1) if oid[0] else 0
            last = _number(descriptor, oid[0])
            ids = os.pread(descriptor, (last - first) * 20, IDS + first * 20)
            return any(ids[at : at + 20] == oid for at in range(0, len(ids), 20))
        finally:
            os.close(descriptor)
    return False


def _number(descriptor: int, row: int) -> int:
    return int.from_bytes(os.pread(descriptor, 4, FANOUT + row * 4), "big")
