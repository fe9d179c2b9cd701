"""Which of the lines that came replaces which of those that went: by the words that they share, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST = 24
"""Lines of a side past which they are not compared with each other."""
LEAST = 0.4
"""Share of words that two lines must have in common."""
LONGEST = 400
"""Characters of a line that are looked at."""
WORD = re.compile(r"\w+|[^\w\s]")


def paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Places of lines that answer each other; both rise."""
    left, right = ([frozenset(WORD.findall(line[:LONGEST])) for line in lines] for lines in (old, new))
    likes = [[_alike(one, other) for other in right] for one in left]
    if len(old) == len(new) == 1:
        return [(0, 0)] if likes[0][0] >= LEAST else []
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for a in range(len(old) - 1, -1, -1):
        for b in range(len(new) - 1, -1, -1):
            with_both = likes[a][b] + best[a + 1][b + 1] if likes[a][b] >= LEAST else 0.0
            best[a][b] = max(with_both, best[a + 1][b], best[a][b + 1])
    return _walk(best, likes)


def _walk(best: list[list[float]], likes: list[list[float]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    a = b = 0
    while a < len(likes) and b < len(likes[a]):
        if likes[a][b] >= LEAST and best[a][b] == likes[a][b] + best[a + 1][b + 1]:
            found.append((a, b))
            a, b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1
    return found


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Twice what both have, by what they have together; lines without words are like none."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
