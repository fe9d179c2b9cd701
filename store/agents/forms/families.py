"""Sessions of one origin: what was copied from one another, and what begins alike, is one conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def families(found: Sequence[T], marks: Callable[[T], Iterable[str]]) -> list[list[T]]:
    """Puts together what has a mark in common, directly or by way of others; in the order of the first of each."""
    leader: dict[str, str] = {}

    def lead(mark: str) -> str:
        while (above := leader.setdefault(mark, mark)) != mark:
            leader[mark] = leader.setdefault(above, above)
            mark = above
        return mark

    firsts: list[str] = []
    for item in found:
        first, *others = marks(item)
        firsts.append(first)
        for mark in others:
            leader[lead(mark)] = lead(first)
    together: dict[str, list[T]] = {}
    for first, item in zip(firsts, found, strict=True):
        together.setdefault(lead(first), []).append(item)
    return list(together.values())
