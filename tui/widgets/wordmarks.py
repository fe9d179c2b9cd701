"""Which words of two lines differ: a bounded alignment of tokens, made only for lines that are being painted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
LONGEST = 400
"""Characters past which words are not aligned: only what stands between the lines' common ends is marked."""
MOST_EDITS = 60
"""Tokens that may come and go; lines further apart have little in common."""
LEAST_COMMON = 0.4
"""Share of the characters that must be the same in both lines."""

Ranges = list[tuple[int, int]]


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Where the two lines differ, as ranges of characters; both empty where marks would not help."""
    if old == new:
        return [], []
    return _between_ends(old, new) if max(len(old), len(new)) > LONGEST else _aligned(old, new)


@lru_cache(maxsize=128)
def _aligned(old: str, new: str) -> tuple[Ranges, Ranges]:
    left, right = TOKEN.findall(old), TOKEN.findall(new)
    kept = _common(left, right)
    if kept is None:
        return [], []
    same = sum(len(left[a]) for a, _ in kept if not left[a].isspace())
    whole = max(len(old.replace(" ", "")), len(new.replace(" ", "")))
    if not whole or same / whole < LEAST_COMMON:
        return [], []
    return _outside(left, [a for a, _ in kept]), _outside(right, [b for _, b in kept])


@lru_cache(maxsize=4)
def _between_ends(old: str, new: str) -> tuple[Ranges, Ranges]:
    """All that stands between the beginning and the end that both lines have."""
    least = min(len(old), len(new))
    start = _most(least, lambda length: old[:length] == new[:length])
    end = _most(least - start, lambda length: old[len(old) - length :] == new[len(new) - length :])
    if (start + end) / max(len(old), len(new)) < LEAST_COMMON:
        return [], []
    left, right = ([(start, len(line) - end)] if len(line) > start + end else [] for line in (old, new))
    return left, right


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest length up to a limit for which something holds that holds for all smaller ones."""
    least, most = 0, limit
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least


def _common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]] | None:
    """Pairs of tokens that both lines have in the same order; None when too much differs."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middle = _middle(left[start : len(left) - end], right[start : len(right) - end])
    if middle is None:
        return None
    head = [(at, at) for at in range(start)]
    tail = [(len(left) - at, len(right) - at) for at in range(end, 0, -1)]
    return [*head, *((a + start, b + start) for a, b in middle), *tail]


def _middle(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]] | None:
    """Myers' greedy alignment, given up after so many edits."""
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(len(left) + len(right), MOST_EDITS) + 1):
        trail.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < len(left) and y < len(right) and left[x] == right[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= len(left) and y >= len(right):
                return _walk_back(trail, len(left), len(right))
    return None


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        from_x = reach[before] if edits else 0
        from_y = from_x - before if edits else 0
        while x > from_x and y > from_y and (x, y) != (0, 0):
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]


def _outside(tokens: Sequence[str], kept: Sequence[int]) -> Ranges:
    """Ranges of characters of the tokens that were not kept, neighbours joined."""
    held = set(kept)
    ranges: Ranges = []
    place = 0
    for at, token in enumerate(tokens):
        end = place + len(token)
        if at not in held:
            if ranges and ranges[-1][1] == place:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((place, end))
        place = end
    return ranges
