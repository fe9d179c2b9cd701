"""Whose each differing path is, and so what a restore in a session may touch (rule 15).

A session's restore takes back what its own steps changed, as long as what stands there now is nobody's new work: left
by one of its steps, or a content that first appeared in a step or in our own restore, or stood there at the start. That
is what our restores and Claude's own rewind leave: they put back stored content (and Claude's fires no hook). Anything
else at a path that the session changed is a conflict; paths that it never changed are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..model import Who
from ..states import FOLDER_MODE, Node, State
from .coverage import Pair
from .paths import parents

Author = Literal["base", "step", "other", "person", "outside", "restore"]
Whose = Literal["mine", "ours", "other", "person", "outside"]
"""A step of the session, our own restore or undo, another session's step, or drift: a person's, or unsure whose."""

TRUSTED = ("mine", "ours")
OTHERS = "changed only by others"
UNSURE = "unsure who changed it"
NOBODY = Who("unsure")
LEFT_OUT = "left out by choice"
SINCE: Mapping[Whose | None, str] = {"other": "another session", "person": "a person"}
NOT_MADE = "this session did not make it"


@dataclass(frozen=True, slots=True)
class Transition:
    """What changed in a root from one recorded moment to the next."""

    point: str
    time: int
    author: Author
    session: str
    changes: Mapping[bytes, tuple[Node | None, Node | None]]
    who: Who = NOBODY
    """More closely than the author: which call, which session."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a restore proposes for a path, and why."""

    verdict: Literal["restore", "keep", "conflict"]
    why: str
    when: int | None = None
    """Conflicts: when the change by somebody else was seen, where a checkpoint recorded it."""
    base: Node | None = None
    """Conflicts: what stood there before somebody else changed it."""
    chosen: bool = False
    """The person named this very path."""
    ours: bool = False
    """What stands there is what our own operation left: ignore rules do not protect it from being taken back."""


@dataclass(slots=True)
class History:
    """What one path was, from the first recorded moment on."""

    initial: Node | None
    events: list[tuple[Node | None, Whose, int]] = field(default_factory=list[tuple[Node | None, Whose, int]])
    """(what it became, whose doing, when), the oldest first."""
    standing: list[Node | None] = field(default_factory=list[Node | None])
    """What stood there when the session began, where that is known."""
    touched: bool = False
    """Whether the session's steps, or a restore in it, changed the path."""

    @property
    def value(self) -> Node | None:
        """What it was at the last recorded moment."""
        return self.events[-1][0] if self.events else self.initial


def decide(
    pairs: Mapping[bytes, Pair],
    recorded: State | None,
    timeline: Sequence[Transition],
    session: str,
    *,
    left: Mapping[bytes, frozenset[str]] | None = None,
    touched: Collection[bytes] = (),
    everything: bool = False,
    paths: Sequence[bytes] = (),
) -> dict[bytes, Decision]:
    """A decision for every differing path.

    `timeline` is the root's, the oldest first, and `recorded` what it ends with; None when nothing was recorded.
    `left` (contents by their ids) and `touched` are what the session's own records prove of the time before forkpoint.
    `everything`, or a target outside of any session (session ""), takes the whole root as it was then. `paths` (files
    or folders) leaves the rest out.
    """
    choice = _Choice(paths)
    inside = {path: pair for path, pair in pairs.items() if path in choice}
    decisions = dict.fromkeys(pairs.keys() - inside.keys(), Decision("keep", LEFT_OUT))
    if everything or not session:
        whole = "as it was then"
        return decisions | {path: Decision("restore", whole, chosen=choice.names(path)) for path in inside}
    histories = replay(inside, recorded or {}, timeline, session)
    for path, pair in inside.items():
        judge = _Judge(histories[path], pair.now, (left or {}).get(path, frozenset()), path in touched)
        decisions[path] = judge.decision(pair, choice.names(path))
    return decisions


def take_back(pairs: Mapping[bytes, Pair], changed: Mapping[bytes, Node | None]) -> dict[bytes, Decision]:
    """Decisions for an undo or redo: exactly the paths that an operation changed, given what it left at each.

    What is no longer as the operation left it is a conflict. Other paths get no decision, so that no plan names them.
    """
    decisions: dict[bytes, Decision] = {}
    around = {parent for path in changed for parent in parents(path)}
    for path, pair in pairs.items():
        if path in changed:
            if pair.now == changed[path]:
                decisions[path] = Decision("restore", "changed by that operation", chosen=True, ours=True)
            else:
                decisions[path] = Decision("conflict", "changed since that operation", base=changed[path], chosen=True)
        elif path in around and not pair.listed:
            decisions[path] = Decision("restore", "comes and goes with its files", ours=True)
    return decisions


class _Choice:
    """The paths that a person chose; all when none are named."""

    def __init__(self, paths: Sequence[bytes]) -> None:
        self.paths = frozenset(path.rstrip(b"/") for path in paths)
        self.all = not paths or bool(self.paths & {b"", b"."})

    def __contains__(self, path: bytes) -> bool:
        return self.all or path in self.paths or any(parent in self.paths for parent in parents(path))

    def names(self, path: bytes) -> bool:
        return path in self.paths


class _Judge:
    """Applies rule 15 to one path."""

    def __init__(self, history: History, now: Node | None, left: frozenset[str], recorded: bool) -> None:
        self.history = history
        self.now = now
        self.left = left
        self.recorded = recorded
        """The session's own records say that it changed the path, before forkpoint saw it or since."""

    def decision(self, pair: Pair, chosen: bool) -> Decision:
        touched = self.history.touched or self.recorded
        if not touched and not chosen:
            return Decision("keep", self.who())
        if pair.then is None and not self.is_made():
            return Decision("keep", NOT_MADE, chosen=chosen)
        if touched and self.is_nobodys():
            return Decision("restore", "changed by this session", chosen=chosen)
        if not touched and self.now is None:
            return Decision("restore", "chosen", chosen=True)
        when = self.seen_when()
        return Decision("conflict", self.since() if touched else self.who(), when, self.base(), chosen)

    def is_nobodys(self) -> bool:
        """Whether what stands there is no new work of anybody else's."""
        if (self.now is None or self.now.kind != "folder") and (self.now.oid if self.now else "") in self.left:
            return True
        return self.was_left() or self.is_old(self.now, len(self.history.events))

    def was_left(self) -> bool:
        """Whether it was last put there by a step of the session.

        What a restore or undo of ours put there is as new as it was before: a person's work that came back is theirs.
        """
        for value, whose, _ in reversed(self.history.events):
            if value == self.now:
                return whose == "mine"
        return False

    def is_old(self, value: Node | None, before: int) -> bool:
        """Whether a content appeared first at the start, in a step of the session or in a restore of ours.

        The start proves nothing of a path that the session changed before forkpoint saw it.
        """
        history = self.history
        if history.touched and value in (history.initial, *history.standing):
            return True
        for found, whose, _ in history.events[:before]:
            if found == value:
                return whose in TRUSTED
        return False

    def is_made(self) -> bool:
        """Whether a step of the session, or a restore of ours, made what stands there (rule 2).

        A content that merely came back (a rewind of the agent's own) does not make the one who brought it its maker.
        """
        if self.history.value is None and not self.is_nobodys():
            return False
        values = [self.history.initial, *(value for value, _, _ in self.history.events)]
        for index in range(len(self.history.events) - 1, -1, -1):
            value, whose, _ = self.history.events[index]
            if values[index] is None and value is not None:
                if whose == "mine" or (whose == "ours" and self.is_old(value, index + 1)):
                    return True
                # One that a restore of ours brought back was made by whoever made it before.
                if whose != "ours" and not self.is_old(value, index):
                    return False
        return self.recorded and self.history.initial is not None

    def since(self) -> str:
        """Who changed it since, as far as that is known."""
        what = "deleted" if self.now is None else "changed"
        return f"{what} since by {SINCE[whose]}" if (whose := self.last()) in SINCE else f"{what} since, unsure by whom"

    def who(self) -> str:
        """Who else changed it: others where each of them is known, whatever of it was a person's."""
        whose = {event[1] for event in self.history.events}
        return OTHERS if self.last() is not None and "outside" not in whose else UNSURE

    def last(self) -> Whose | None:
        """Whose what stands there is; None where no checkpoint saw how it came."""
        return self.history.events[-1][1] if self.history.events and self.history.value == self.now else None

    def seen_when(self) -> int | None:
        return self.history.events[-1][2] if self.history.events and self.history.value == self.now else None

    def base(self) -> Node | None:
        """The last content that is not somebody else's.

        Where ours put somebody else's work back, or merged it, that is what it was made from: a merge would drop it.
        """
        events = self.history.events
        index = len(events)
        while index:
            index -= 1
            value, whose, _ = events[index]
            first = next(place for place, event in enumerate(events) if event[0] == value)
            known = events[first][1] == "mine" or value in (self.history.initial, *self.history.standing)
            if whose == "mine" or (whose == "ours" and known):
                return value
            if whose == "ours":
                index = first
        return self.history.initial


def replay(
    pairs: Mapping[bytes, Pair], recorded: State, timeline: Sequence[Transition], session: str
) -> dict[bytes, History]:
    """The history of each differing path, from the changes of the whole root.

    A usual folder is in no state while something stands in it, so whether it stood there is worked out from what did.
    """
    tape = _Tape(pairs, recorded, timeline)
    histories = {path: History(tape.value(path)) for path in pairs}
    began = False
    for transition in timeline:
        if transition.author == "base":
            if transition.session == session and not began:
                began = True
                for path, history in histories.items():
                    history.standing.append(tape.value(path))
            continue
        whose = _whose(transition, session)
        own = whose == "mine" or (whose == "ours" and transition.session == session)
        for path in tape.play(transition):
            history = histories[path]
            value = tape.value(path)
            history.touched |= own and (value != history.value or path not in tape.folders)
            if value != history.value:
                history.events.append((value, whose, transition.time))
    for path, history in histories.items():
        if history.initial is None and not history.events:
            history.initial = pairs[path].now  # nobody ever looked at it: it may have been there all the time
    return histories


def _whose(transition: Transition, session: str) -> Whose:
    if transition.author == "restore":
        return "ours"
    if transition.author in ("step", "other"):
        return "mine" if transition.session == session else "other"
    return "person" if transition.author == "person" else "outside"


class _Tape:
    """The root's states one after the other, of which only what matters for some paths is kept."""

    def __init__(self, pairs: Mapping[bytes, Pair], recorded: State, timeline: Sequence[Transition]) -> None:
        self.pairs = pairs
        self.folders = {
            path for path, pair in pairs.items() if any(node and node.kind == "folder" for node in pair[:2])
        }
        """Paths that are a folder in one of both states, or were one meanwhile: something came or went below them."""
        for transition in timeline:
            self.folders.update(above for path in transition.changes for above in parents(path) if above in pairs)
        self.nodes = self._start(recorded, timeline)
        self.inside = dict.fromkeys(self.folders, 0)
        """How many paths stand below each folder."""
        if self.folders:
            for path, node in self.nodes.items():
                if node is not None:
                    self._count(path, 1)

    def value(self, path: bytes) -> Node | None:
        """What stands at a path."""
        node = self.nodes.get(path)
        return Node("folder", FOLDER_MODE, "") if node is None and self.inside.get(path) else node

    def play(self, transition: Transition) -> list[bytes]:
        """Goes on to the next state; gives the paths whose value may have changed."""
        seen: dict[bytes, None] = {}
        for path, (_, after) in transition.changes.items():
            if path in self.pairs:
                seen[path] = None
            step = (after is not None) - (self.nodes.get(path) is not None)
            self.nodes[path] = after
            if step and self.folders:
                seen |= dict.fromkeys(self._count(path, step))
        return list(seen)

    def _start(self, recorded: State, timeline: Sequence[Transition]) -> dict[bytes, Node | None]:
        """The first state: as the first change of each path found it, else as it was to the end."""
        first: dict[bytes, Node | None] = {}
        for transition in timeline:
            for path, (before, _) in transition.changes.items():
                first.setdefault(path, before)
        if not self.folders:
            return {path: first[path] if path in first else recorded.get(path) for path in self.pairs}
        return {**recorded, **first}

    def _count(self, path: bytes, step: int) -> list[bytes]:
        """Counts a path that comes or goes in the folders above it; gives those."""
        above = [parent for parent in parents(path) if parent in self.folders]
        for parent in above:
            self.inside[parent] += step
        return above
