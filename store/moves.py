"""Files that moved and changed at once: one that came has most of its lines from one that went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .contents import TooLarge
from .errors import StoreDamaged
from .git.compare import is_binary

MOST = 40
"""Files of a side past which nobody wants to know."""
BYTES = 4 << 20
"""Bytes that are read for it in all."""
LEAST = 0.6
"""Share of the lines of the larger file that both must have."""


class Found(NamedTuple):
    """One that went, one that came, and their share of same lines."""

    gone: bytes
    came: bytes
    share: float


def likeness(gone: Mapping[bytes, Callable[[], bytes]], came: Mapping[bytes, Callable[[], bytes]]) -> list[Found]:
    """Which files that came are like which that went, the most alike first, each at most once."""
    if not gone or not came or max(len(gone), len(came)) > MOST:
        return []
    left, rest = _lines(gone, BYTES)
    right, _ = _lines(came, rest)
    pairs = [Found(one, other, _share(left[one], right[other])) for one in left for other in right]
    found: list[Found] = []
    taken: set[bytes] = set()
    for pair in sorted(pairs, key=lambda pair: (-pair.share, pair)):
        if pair.share >= LEAST and not {pair.gone, pair.came} & taken:
            found.append(pair)
            taken |= {pair.gone, pair.came}
    return found


def notes(found: Sequence[Found], told: Callable[[bytes], str]) -> dict[bytes, str]:
    """What is said of each of them, in words."""
    said: dict[bytes, str] = {}
    for gone, came, share in found:
        said[came] = f"moved from {told(gone)} and changed: {share:.0%} of its lines are the same"
        said[gone] = f"moved to {told(came)} and changed"
    return said


def _lines(reads: Mapping[bytes, Callable[[], bytes]], room: int) -> tuple[dict[bytes, frozenset[bytes]], int]:
    """The lines of each text that says something, and how many bytes may still be read."""
    found: dict[bytes, frozenset[bytes]] = {}
    for path, read in reads.items():
        if room <= 0:
            break
        try:
            data = read()
        except (StoreDamaged, TooLarge, OSError):
            continue
        room -= len(data)
        lines = frozenset(line for line in data.split(b"\n") if line.strip())
        if len(lines) > 2 and not is_binary(data):
            found[path] = lines
    return found, room


def _share(one: frozenset[bytes], other: frozenset[bytes]) -> float:
    return len(one & other) / max(len(one), len(other))
