"""Who follows whom in a session, and which checkpoints and acts stand at which entry: what rows are made from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter, is_

from ..store.model import Branch, Entry, Operation, Point, SessionTree

MARKS_ONLY = frozenset({"label", "pin", "unpin"})
"""Operations that show as a mark of their row and have no row."""
OF_A_PERSON = frozenset({"manual", "guard"})
"""Reasons of checkpoints that have a row of their own."""

KNOWN_OF_A_POINT = attrgetter(
    "id", "entry", "branch", "label", "pinned", "complete", "stored", "added", "removed", "late", "time"
)
"""What rows show of a checkpoint: two states of a tree are compared by it, in a fifth of the time of all fields."""


class Places:
    """Where everything in a tree stands."""

    def __init__(self, tree: SessionTree) -> None:
        self.tree = tree
        self.entries: dict[str, Entry] = {}
        self.parents: dict[str, str | None] = {}
        """Entries of the conversation itself (no sub-agent's) and what stands before them."""
        self.kids: dict[str | None, list[str]] = {}
        self.calls: dict[str, str] = {}
        """Entry of each tool-use id."""
        self.alias: dict[str, str] = {}
        """The call of each result."""
        self.results: dict[str, Entry] = {}
        """What each call brought back."""
        self.inside: dict[str, list[Entry]] = {}
        """Entries of the sub-agent that a call started."""
        self.own: dict[str, list[Point]] = {}
        """Checkpoints of an entry in their order."""
        self.first: list[Point] = []
        """Checkpoints before the first entry."""
        self.home: dict[str, str] = {}
        """The entry of each checkpoint."""
        self.gone: dict[str, list[Point]] = {}
        self.acts: dict[str | None, list[Operation]] = {}
        self.guards: dict[str, str] = {}
        """The guard of each operation."""
        self.unused: dict[str, list[Branch]] = {}
        """Branches without an entry of their own, by the entry that they leave."""
        self.latest: dict[str, int] = {}
        """Time of the newest entry below each one that is not on the active line."""
        self.busy: set[str] = set()
        """Entries after which something else than an entry may stand."""
        self._join(tree.entries)
        self.path = self._path()
        self._date()
        self._active: list[Entry] | None = None
        self._lines: dict[str, list[Entry]] = {}
        self._place(tree.points)
        self._place_rest()
        self._known: list[tuple[str, ...]] | None = None
        """What was known of the checkpoints, once a later state was compared with it."""

    # Entries

    def _join(self, entries: Sequence[Entry]) -> None:
        """Takes in entries that stand behind all that are known."""
        self.entries.update({entry.id: entry for entry in entries})
        calls, parents, kids, alias, results = self.calls, self.parents, self.kids, self.alias, self.results
        calls.update({entry.call: entry.id for entry in entries if entry.kind == "tool_call" and entry.call})
        for entry in entries:
            ident, parent = entry.id, entry.parent
            if entry.kind == "tool_result" and entry.call in calls:
                alias[ident] = calls[entry.call]
                results.setdefault(calls[entry.call], entry)
            # An agent names the call that started a sub-agent by its entry, or by its tool-use id.
            host = entry.under if entry.under in self.entries else calls.get(entry.under)
            if host is not None:
                self.inside.setdefault(host, []).append(entry)
                continue
            while parent is not None and parent not in parents:
                above = self.entries.get(parent)
                parent = above.parent if above else None
            parents[ident] = parent
            found = kids.get(parent)
            if found is None:
                kids[parent] = [ident]
            else:
                found.append(ident)

    def _path(self) -> set[str]:
        """The line that the conversation goes on from."""
        path: set[str] = set()
        at = self.tree.here.talk
        while at is not None and at in self.parents:
            path.add(at)
            at = self.parents[at]
        return path

    def _date(self) -> None:
        path, latest, parents = self.path, self.latest, self.parents
        for entry in reversed(self.tree.entries):
            ident = entry.id
            if ident in parents and ident not in path:
                newest = max(entry.time, latest.get(ident, 0))
                latest[ident] = newest
                parent = parents[ident]
                if parent is not None and parent not in path:
                    latest[parent] = max(newest, latest.get(parent, 0))

    def spine(self, kids: Sequence[str]) -> str | None:
        """The child that goes on at the same level: the one on the active line, else the one used last."""
        if len(kids) < 2:
            return kids[0] if kids else None
        on_path = next((kid for kid in kids if kid in self.path), None)
        return on_path or max(kids, key=lambda kid: self.latest.get(kid, 0))

    # Checkpoints, acts and branches

    def _place(self, points: Sequence[Point]) -> None:
        """Gives every checkpoint the entry at which it stands."""
        entries, alias, own, home = self.entries, self.alias, self.own, self.home
        if any(former.time >= point.time for former, point in pairwise(points)):
            points = sorted(points, key=lambda point: (point.time, point.side == "after"))
        for point in points:
            at = point.entry
            if at is None or at not in entries:
                at = newest_before(self._line(point.branch), point.time) or newest_before(self._main, point.time)
            if at is None:
                self.first.append(point)
                continue
            at = alias.get(at, at)
            home[point.id] = at
            held = own.get(at)
            if held is None:
                own[at] = [point]
            else:
                held.append(point)
            if point.reason in OF_A_PERSON:
                self.busy.add(at)

    @property
    def _main(self) -> Sequence[Entry]:
        """The entries of the active line; all of them where none is."""
        if self._active is None:
            self._active = [entry for entry in self.tree.entries if entry.id in (self.path or self.parents)]
        return self._active

    def _line(self, branch: str) -> Sequence[Entry]:
        """The entries of a branch, worked out when the first checkpoint without an entry of its own is placed."""
        if not self._lines:
            for entry in self.tree.entries:
                if entry.id in self.parents:
                    self._lines.setdefault(self.tree.branch_of.get(entry.id, ""), []).append(entry)
        return self._lines.get(branch, self._main)

    def _place_rest(self) -> None:
        for point in self.tree.gone:
            if point.entry in self.entries:
                self.gone.setdefault(self.alias.get(point.entry, point.entry), []).append(point)
        for operation in self.tree.operations:
            if operation.kind in MARKS_ONLY:
                continue
            if (guard := operation.data.get("guard")) and isinstance(guard, str):
                self.guards[operation.id] = guard
            at = operation.entry if operation.entry in self.parents else newest_before(self._main, operation.time)
            self.acts.setdefault(self.alias.get(at, at) if at else None, []).append(operation)
        for branch in self.tree.branches:
            if branch.first is None and branch.head:
                self.unused.setdefault(branch.head, []).append(branch)
        self.busy.update(self.unused, (at for at in self.acts if at is not None))
        self.guarded = set(self.guards.values())

    def newest(self, at: str | None) -> Point | None:
        """The newest checkpoint at or before an entry on its branch."""
        while at is not None:
            own = self.own.get(self.alias.get(at, at))
            if own:
                return own[-1]
            at = self.parents[at] if at in self.parents else self.entries[at].parent if at in self.entries else None
        return self.first[-1] if self.first else None

    # Growing

    def grown(self, tree: SessionTree, since: str) -> Places | None:
        """The places of a tree that only went on after an entry of the active line; None where more has changed."""
        fresh = tree.entries[len(self.tree.entries) :]
        turn = self._turn(tree, since, fresh)
        if self.tree.here.talk not in turn or not self._goes_on(tree) or not self._stay_inside(fresh, turn):
            return None
        found = self._copied(turn)
        found.tree = tree
        found._join(fresh)
        if any(entry.id in found.parents and entry.id not in turn for entry in fresh):
            return None
        found.path = self.path | turn
        return found if found._take_points(self, turn) else None

    def _turn(self, tree: SessionTree, since: str, fresh: Sequence[Entry]) -> set[str]:
        """The active line from an entry on; empty where it does not lead there."""
        parents = {entry.id: entry.parent for entry in fresh}
        at, turn = tree.here.talk, {since}
        while at is not None and at != since:
            turn.add(at)
            at = parents[at] if at in parents else self.parents.get(at)
        return turn if at is not None else set()

    def _goes_on(self, tree: SessionTree) -> bool:
        """Whether all but new entries and checkpoints is as it was."""
        old = self.tree
        return (
            old.info.key == tree.info.key
            and len(tree.entries) >= len(old.entries)
            and all(map(is_, old.entries, tree.entries))
            and old.operations == tree.operations
            and old.gone == tree.gone
            and _shape(old.branches) == _shape(tree.branches)
        )

    def _stay_inside(self, fresh: Iterable[Entry], turn: set[str]) -> bool:
        """Whether new results and entries of sub-agents belong to calls of the turn, or to new ones."""
        calls = ({entry.under} if entry.under else {entry.call} for entry in fresh)
        known = (self.calls.get(call, call) for each in calls for call in each)
        known = (call for call in known if call in self.entries)
        return all(call in turn for call in known)

    def _copied(self, turn: set[str]) -> Places:
        """The same once more; what hangs on entries of the turn may change without changing this one.

        What is only ever added to, by names that are new, both have in common.
        """
        found = Places.__new__(Places)
        found.__dict__.update(self.__dict__)
        for name in ("home", "own", "kids", "inside"):
            setattr(found, name, dict(getattr(self, name)))
        found.busy, found.first, found._lines = set(self.busy), list(self.first), {}
        found._active = found._known = None
        found.kids.update((at, list(found.kids[at])) for at in turn if at in found.kids)
        found.inside.update((at, list(found.inside[at])) for at in turn if at in found.inside)
        found.own.update((at, list(found.own[at])) for at in turn if at in found.own)
        return found

    def _take_points(self, before: Places, turn: set[str]) -> bool:
        """Takes in checkpoints from the first one on that is another; False where that reaches out of the turn."""
        old, new = before.tree.points, self.tree.points
        first = len(old)
        if len(new) < first or not all(map(is_, old, new)):
            known, now = before._told(), self._told()
            if now[:first] != known:
                first = next((n for n, (a, b) in enumerate(zip(known, now, strict=False)) if a != b), len(now))
        for point in old[first:]:
            at = self.home.pop(point.id, None)
            if at not in turn:
                return False
            self.own[at] = [held for held in self.own[at] if held.id != point.id]
        self._place(self.tree.points[first:])
        return all(self.home.get(point.id) in turn for point in self.tree.points[first:])

    def _told(self) -> list[tuple[str, ...]]:
        """What rows show of the checkpoints."""
        if self._known is None:
            self._known = list(map(KNOWN_OF_A_POINT, self.tree.points))
        return self._known


def _shape(branches: Iterable[Branch]) -> list[tuple[object, ...]]:
    """What rows show of branches, but for where the active one ends."""
    return [
        (branch.name, branch.state, branch.fork, branch.first, "" if branch.state == "active" else branch.head)
        for branch in branches
    ]


def newest_before(entries: Sequence[Entry], time: int) -> str | None:
    """The last of these entries that is not younger than a moment."""
    place = bisect_right(entries, time, key=lambda entry: entry.time)
    return entries[place - 1].id if place else None
