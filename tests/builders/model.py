"""The plain model of a root: what was seen of it, and whose each content is.

Dictionaries of paths to things, written from the rules of the design, without the code under test.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .captured import Capture, Things, differing
from .folder import Thing, Tree, listed, whole

Who = Literal["session", "other", "outside", "ours"]


@dataclass
class Moment:
    """The files as they were seen at one time, whether or not a checkpoint was made of them."""

    seen: Capture
    session: str
    begins: str = ""
    """The session of which this is the first checkpoint."""
    point: str = ""
    """The checkpoint that holds it, its own or the one before …"""
    gone: bool = False
    """… and whether that was deleted."""


@dataclass
class Span:
    """A tool call: from one moment to another, if it ever ended."""

    session: str
    begin: int
    named: frozenset[bytes] = frozenset()
    end: int | None = None
    meanwhile: set[str] = field(default_factory=set[str])
    """Sessions that had a call open at the same time."""


@dataclass
class Act:
    """What an operation of ours did."""

    session: str
    changes: dict[bytes, tuple[Thing | None, Thing | None]]
    merged: frozenset[bytes] = frozenset()


class Event(NamedTuple):
    """What a path became, and by whom."""

    value: Thing | None
    who: Who


class Past(NamedTuple):
    """All that was seen of one path."""

    first: Thing | None
    events: tuple[Event, ...]
    standing: tuple[Thing | None, ...]
    touched: bool


class Step(NamedTuple):
    """A change of the whole tree."""

    who: str
    session: str
    tree: Things


@dataclass
class History:
    """Everything that was seen in a root, in order."""

    items: list[Moment | Act] = field(default_factory=list[Moment | Act])
    spans: list[Span] = field(default_factory=list[Span])
    written: dict[bytes, dict[str, set[bytes]]] = field(default_factory=dict[bytes, dict[str, set[bytes]]])
    """Path → session → what its own records say that it wrote there."""

    def steps(self) -> list[Step]:
        """The whole tree after each change, and whose change it was."""
        found: list[Step] = []
        before: Capture | None = None
        tree: Things = {}
        for number, item in enumerate(self.items):
            if isinstance(item, Moment) and item.gone:
                continue
            if isinstance(item, Act):
                for who, share in (("ours", False), ("outside", True)):
                    changes = {path: new for path, (_, new) in item.changes.items() if (path in item.merged) == share}
                    if changes:
                        tree = laid_over(tree, changes)
                        found.append(Step(who, item.session, tree))
                continue
            if before is None:
                found.append(Step("start", item.session, item.seen.tree))
            else:
                found += self._seen(number, item, before, tree)
            before, tree = item.seen, item.seen.tree
        return found

    def _seen(self, number: int, item: Moment, before: Capture, tree: Things) -> list[Step]:
        """A call's are the changes while it was open; with several sessions at work only those that a call names."""
        now = item.seen
        old, new = listed(tree), listed(now.tree)
        during = [span for span in self.spans if self._stood(span.end) and span.begin < number <= (span.end or 0)]
        calls = [span for span in during if self._stood(span.begin) or span.end == number]
        sure = any(self._stood(span.begin) for span in calls)
        sessions = {session for span in calls for session in (span.session, *span.meanwhile)}
        shares: dict[str, dict[bytes, Thing | None]] = {}
        for path in sorted(differing(old, new)):
            is_folder = any(thing is not None and thing.kind == "folder" for thing in (old.get(path), new.get(path)))
            known = before.speaks_of(path, is_folder) and now.speaks_of(path, is_folder)
            namers = {span.session for span in calls if path in span.named}
            ends_here = {span.session for span in calls if path in span.named and span.end == number}
            if not known:
                owner = ""
            elif sure and len(sessions) == 1:
                owner = next(iter(sessions))
            else:
                owner = next(iter(ends_here or namers)) if len(ends_here or namers) == 1 else ""
            shares.setdefault(owner, {})[path] = new.get(path)
        found: list[Step] = []
        for owner in sorted(shares):
            tree = laid_over(tree, shares[owner])
            found.append(Step("step" if owner else "outside", owner or item.session, tree))
        return found

    def forget(self, points: Collection[str]) -> None:
        """Checkpoints were deleted: what they alone knew is known no more."""
        for item in self.items:
            if isinstance(item, Moment) and item.point in points:
                item.gone = True

    def _stood(self, number: int | None) -> bool:
        """Whether a moment is one that a checkpoint holds."""
        item = self.items[number] if number is not None else None
        return isinstance(item, Moment) and not item.gone

    def past(self, path: bytes, steps: Sequence[Step], family: Collection[str]) -> Past:
        """What one path was, as a conversation sees it."""
        first = value = steps[0].tree.get(path)
        events: list[Event] = []
        touched = False
        for step in steps:
            new = step.tree.get(path)
            mine = step.session in family
            who: Who = (
                "ours" if step.who == "ours" else "outside" if step.who != "step" else "session" if mine else "other"
            )
            if new != value:
                touched = touched or (mine and who in ("session", "ours"))
                events.append(Event(new, who))
                value = new
        moments = (item for item in self.items if isinstance(item, Moment) and not item.gone)
        began = next((item.seen.tree for item in moments if item.begins in family), None)
        return Past(first, tuple(events), () if began is None else (began.get(path),), touched)


def laid_over(tree: Tree, changes: Mapping[bytes, Thing | None]) -> Things:
    """A whole tree after changes of what a checkpoint lists."""
    found = {path: thing for path, thing in listed(tree).items() if path not in changes}
    found |= {path: thing for path, thing in changes.items() if thing is not None}
    return whole(found)


# ---- whose it is (rule 15)


class Verdict(NamedTuple):
    """What is proposed for a path."""

    what: Literal["restore", "keep", "conflict"]
    base: Thing | None = None


def judged(past: Past, now: Thing | None, then: Thing | None, wrote: Collection[bytes] | None, chosen: bool) -> Verdict:
    """Rule 15 for one path. `wrote`: contents that the session's own records name; None when they name no path."""
    touched = past.touched or wrote is not None
    if not touched and not chosen:
        return Verdict("keep")
    if then is None and not made(past, now, wrote):
        return Verdict("keep")
    if touched and nobodys(past, now, wrote):
        return Verdict("restore")
    if not touched and now is None:
        return Verdict("restore")
    ours = [event.value for event in past.events if event.who in ("session", "ours")]
    return Verdict("conflict", ours[-1] if ours else past.first)


def nobodys(past: Past, now: Thing | None, wrote: Collection[bytes] | None) -> bool:
    """Whether what stands there is no new work: left by a step, or as old as what the session found or made."""
    if now is not None and now.kind != "folder" and now.data in (wrote or ()):
        return True
    last = [event.who for event in past.events if event.value == now]
    return (bool(last) and last[-1] == "session") or trusted(past, now, len(past.events))


def trusted(past: Past, value: Thing | None, before: int) -> bool:
    """Whether a content stood there at the start, or came first by a step of the session or a restore of ours."""
    if past.touched and value in (past.first, *past.standing):
        return True
    origin = [event.who for event in past.events[:before] if event.value == value]
    return bool(origin) and origin[0] in ("session", "ours")


def made(past: Past, now: Thing | None, wrote: Collection[bytes] | None) -> bool:
    """Whether the session made what stands there; bringing it back does not make the one who did its maker."""
    values = [past.first, *(event.value for event in past.events)]
    if values[-1] is None and not nobodys(past, now, wrote):
        return False
    for number in reversed(range(len(past.events))):
        if values[number] is None and past.events[number].value is not None:
            value, who = past.events[number]
            if who == "session" or (who == "ours" and trusted(past, value, number + 1)):
                return True
            if who != "ours" and not trusted(past, value, number):
                return False
    return wrote is not None and past.first is not None
