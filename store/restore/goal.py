"""Where a restore or fork goes: a row of a tree seen as a moment (design.md section 2, "point")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import UnknownId, UsageError
from ..hook import session_key
from ..model import Entry, Point, SessionTree, Side, Target
from ..naming import clock, day_and_clock, gone, title
from ..resolve import FILES, Resolved, point_for
from ..workspace import Workspace, entry_of, point_of


@dataclass(frozen=True, slots=True)
class Goal:
    """A moment in a tree."""

    built: SessionTree
    point: Point | None
    entry: str | None
    """The entry that the conversation is cut at."""
    side: Side
    """before: the entry itself is left out; after: it is the last one."""
    title: str
    time: int
    prompt_text: str = ""

    @property
    def session(self) -> str:
        """The session whose scope rule 15 takes; "" for saves outside of any."""
        return "" if self.built.info.id == FILES else going_on(self.built)

    @property
    def key(self) -> str:
        """The session as operations name it."""
        return session_key(self.built.info.agent, self.session)

    @property
    def talks(self) -> bool:
        """Whether there is a conversation to go back in."""
        return self.built.info.id != FILES and self.entry is not None

    def need_point(self) -> str:
        """The checkpoint's id. Raises UsageError when nothing was recorded by then."""
        if self.point is None:
            raise UsageError("no checkpoint stands at or before this row", todo="choose a later one: forkpoint log")
        return self.point.id

    def target(self) -> Target:
        """For the inventory."""
        point = self.point
        return Target(
            point.id if point else None,
            self.entry,
            self.side,
            point.time if point else self.time,
            f"{self.title} · {clock(self.time)}",
            self.prompt_text,
        )


def going_on(built: SessionTree) -> str:
    """The id under which a conversation goes on: what is recorded now belongs to it.

    It is no fork's that nobody has gone on with: an undo may take that away.
    """
    talk = entry_of(built, built.here.talk)
    return talk.session if talk is not None and talk.session in built.info.ids else built.info.ids[-1]


def find(workspace: Workspace, found: Resolved) -> Goal:
    """The moment that a resolved ID stands for."""
    if found.point is None and found.entry is None:
        raise UsageError('"now" is where you are already', todo="name a checkpoint: forkpoint log")
    built = workspace.tree(found.session or None)
    point = point_of(built, found.point) if found.point else point_for(built, found.entry or "")
    lost = next((point for point in built.gone if point.id == found.point), None)
    if lost is not None:
        raise UnknownId(
            f"the files of this checkpoint were {gone(lost)} on {day_and_clock(lost.gone)}",
            path=lost.id,
            todo="choose another one: forkpoint log",
        )
    entry = entry_of(built, found.entry or (point.entry if point else None))
    if point is None and entry is None:
        raise UnknownId("this moment is in no tree any more", todo="forkpoint log")
    before = point.side == "before" if found.point and point else bool(entry and entry.kind == "prompt")
    words = title(point if found.point else None, entry)
    moment = point.time if found.point and point else (entry.time if entry else 0)
    return Goal(
        built,
        point,
        entry.id if entry else None,
        "before" if before else "after",
        words,
        moment,
        prompt_of(workspace, entry) if before and entry and entry.kind == "prompt" else "",
    )


def prompt_of(workspace: Workspace, entry: Entry) -> str:
    """A prompt's full text, to hand back."""
    from .. import agents

    info = workspace.owner(entry)
    assert info is not None
    blocks = agents.get(info.agent).blocks(entry, workspace.open_file)
    return "\n".join(block.text for block in blocks if block.kind == "text")


def moved_on(goal: Goal, last: str) -> Goal:
    """The goal when the conversation ends with another entry than the one that was chosen: a later call of a batch."""
    by_id = {entry.id: entry for entry in goal.built.entries}
    ends = path_to(by_id, last)
    if goal.point is None or goal.side != "after" or goal.entry not in ends:
        return goal
    carried = frozenset(ends)
    later = [
        point
        for point in goal.built.points
        if point.entry in carried and point.reason == "tool" and point.side == "after"
    ]
    return replace(goal, point=max([goal.point, *later], key=lambda point: point.time))


def leaving(goal: Goal) -> list[Entry]:
    """The entries that leave the conversation when it goes back: from the cut to where it stands, the oldest first."""
    by_id = {entry.id: entry for entry in goal.built.entries}
    kept = set(path_to(by_id, goal.entry))
    if goal.side == "before" and goal.entry:
        kept.discard(goal.entry)
    return [by_id[at] for at in reversed(path_to(by_id, goal.built.here.talk)) if at not in kept]


def path_to(by_id: dict[str, Entry], entry: str | None) -> Sequence[str]:
    """Ids from an entry up to its root."""
    found: list[str] = []
    at = entry
    while at is not None and at in by_id:
        found.append(at)
        at = by_id[at].parent or by_id[at].under or None
    return found
