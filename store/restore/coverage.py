"""What two states can say of each other: where they differ, over what both of them know (rules 7 and 16)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..states import FOLDER_MODE, Node, State, made
from .paths import parents


def nothing_ignored(path: bytes, is_folder: bool) -> bool:
    """The rules of a place that has none."""
    del path, is_folder
    return False


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a state can speak of."""

    complete: bool = True
    known: frozenset[bytes] = frozenset()
    """The only paths that a partial state speaks of, those that were absent included."""
    uncaptured: Mapping[bytes, str] = field(default_factory=dict[bytes, str])
    """Path → why it, and all below it, could not be captured."""
    ignored: Callable[[bytes, bool], bool] = nothing_ignored
    """Whether the rules in force leave out a path (is it a folder?), or a folder above it."""
    moving: frozenset[bytes] = frozenset()
    """Files that changed while they were read: what is stored of them may be torn."""
    inferred: frozenset[bytes] = frozenset()
    """Paths whose state was concluded from later evidence."""
    holding: frozenset[bytes] = frozenset()
    """Folders that hold something that is never captured, so that they stay."""
    unanswered: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where it could not be asked what is ignored (relative to the root, or anywhere else) → why."""

    def is_unanswered(self, path: bytes) -> bool:
        """Whether nobody can say if the rules left a path out."""
        above = {b"", *parents(path)}
        return any(os.path.isabs(source) or os.path.dirname(os.fsencode(source)) in above for source in self.unanswered)

    def speaks_of(self, path: bytes) -> bool:
        """Whether it knows what stood at a path, or that nothing did."""
        return self.complete or path in self.known

    def why_uncaptured(self, path: bytes) -> str | None:
        """Why a path, or a folder above it, was not captured; None when it could have been."""
        if not self.uncaptured:
            return None
        for place in (path, *parents(path)):
            if place in self.uncaptured:
                return self.uncaptured[place]
        return None


class Pair(NamedTuple):
    """A path that differs: what stood there then, and what stands there now."""

    then: Node | None
    now: Node | None
    listed: bool = True
    """False for a folder that no state lists, since it only holds files: it comes and goes with them."""


def folders(state: State) -> dict[bytes, Node]:
    """Every folder of a state, those that it implies by what stands in them included."""
    found = {path: node for path, node in state.items() if node.kind == "folder"}
    for path in state:
        for parent in parents(path):
            if parent in found:
                break
            found[parent] = Node("folder", FOLDER_MODE, "")
    return found


def differences(then: State, coverage: Coverage, now: State, present: Coverage) -> dict[bytes, Pair]:
    """Every path that both sides speak of and where something else stands, or nothing; sorted.

    A path that one side could not capture is among them when the other side has it: nothing is known of the first.
    """
    then, now = made(then), made(now)
    differing = {path for path, node in then.items() if now.get(path) != node}
    differing.update(path for path in now if path not in then)
    old, new = then, now
    # Folders that no state lists matter only where something came or went, or where one state lists them.
    if any(path not in then or path not in now for path in differing):
        old, new = {**folders(then), **then}, {**folders(now), **now}
        around = {parent for path in differing for parent in parents(path)}
        differing = {path for path in differing | around if old.get(path) != new.get(path)}
    found: dict[bytes, Pair] = {}
    for path in sorted(differing):
        pair = Pair(old.get(path), new.get(path), path in then or path in now)
        if _both_speak(path, pair, coverage, present):
            found[path] = pair
    return found


def _both_speak(path: bytes, pair: Pair, coverage: Coverage, present: Coverage) -> bool:
    """A folder that a partial state only implies is known to have stood there, but not how."""
    for side, node in ((coverage, pair.then), (present, pair.now)):
        if not side.speaks_of(path):
            implied = node is not None and node.kind == "folder" and not pair.listed
            if not implied:
                return False
    return True
