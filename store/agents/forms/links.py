"""Links from records to their parents: cycles are cut, hidden records passed over; iterative, for chains are long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

ROOT, DETACHED = -1, -2
"""Parents of nodes that have none: the session began here; or the parent is missing."""

HIDDEN = 0
"""The kind of a node that is not shown."""

_UNKNOWN = -3


class Linked(Protocol):
    """A record that hangs on another one."""

    parent: int
    """Index of the node above it, ROOT or DETACHED."""
    kind: int


def break_cycles(nodes: Sequence[Linked]) -> list[int]:
    """Cuts every cycle of parents at its earliest record and returns those."""
    cut: list[int] = []
    state = bytearray(len(nodes))
    for start, node in enumerate(nodes):
        if node.parent < start or state[start]:
            # A parent that stands before its child cannot close a cycle by itself.
            continue
        trail: list[int] = []
        at = start
        while at >= 0 and not state[at]:
            state[at] = 1
            trail.append(at)
            at = nodes[at].parent
        if at >= 0 and state[at] == 1:
            first = min(trail[trail.index(at) :])
            nodes[first].parent = DETACHED
            cut.append(first)
        for passed in trail:
            state[passed] = 2
    return cut


def skip_hidden(nodes: Sequence[Linked]) -> list[int]:
    """The nearest shown node above each node."""
    above = [_UNKNOWN] * len(nodes)
    for index, node in enumerate(nodes):
        if above[index] != _UNKNOWN:
            continue
        trail = [index]
        at = node.parent
        while at >= 0 and nodes[at].kind == HIDDEN and above[at] == _UNKNOWN:
            trail.append(at)
            at = nodes[at].parent
        found = above[at] if at >= 0 and nodes[at].kind == HIDDEN else at
        for passed in trail:
            above[passed] = found
    return above
