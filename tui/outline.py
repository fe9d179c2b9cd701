"""The rows of a session's tree: one flat list in the order of display, made in one pass without recursion.

A line of entries stands at one level. A turn (a prompt and what follows) folds to its first row. What is no part of the
agent's conversation (branches that were left, operations, checkpoints saved by hand) stands between turns, at the place
in time where it happened. The line that the conversation goes on from is never indented; branches that left it are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from ..store.model import Branch, Entry, Operation, Point, SessionTree
from .rows import Row, RowKind

MARKS_ONLY = frozenset({"label", "pin", "unpin"})
"""Operations that show as a mark of their row and have no row."""
OF_A_PERSON = frozenset({"manual", "guard"})
"""Reasons of checkpoints that have a row of their own."""


Loose = Point | Operation | Branch | str
"""What stands between turns: a checkpoint or operation of a person, a branch that nobody went on with, or the first
entry of a branch that was left."""
Steps = Iterator["Steps"]
"""Work that emits rows, and yields the work that must be done before it goes on: a call stack without recursion."""


class Outline:
    """All rows of a tree, which of them fold into which, and where everything stands."""

    def __init__(self, tree: SessionTree) -> None:
        self.tree = tree
        self.rows: list[Row] = []
        self.index: dict[str, int] = {}
        """Row of each entry id, checkpoint id, operation id and row key."""
        self.entries = {entry.id: entry for entry in tree.entries}
        self.parents: dict[str, str | None] = {}
        """Entries of the conversation itself (no sub-agent's) and what stands before them."""
        self.own: dict[str, list[Point]] = {}
        """Checkpoints of an entry in their order."""
        self._alias: dict[str, str] = {}
        self._results: dict[str, Entry] = {}
        self._kids: dict[str | None, list[str]] = {}
        self._inside: dict[str, list[Entry]] = {}
        self._latest: dict[str, int] = {}
        self._acts: dict[str | None, list[Operation]] = {}
        self._gone: dict[str, list[Point]] = {}
        self._first: list[Point] = []
        self._home: dict[str, str] = {}
        self._guards: dict[str, str] = {}
        self._guarded: set[str] = set()
        self._branches = {branch.name: branch for branch in tree.branches}
        self._unused: dict[str, list[Branch]] = {}
        for branch in tree.branches:
            if branch.first is None and branch.head:
                self._unused.setdefault(branch.head, []).append(branch)
        self._join()
        self.path = self._active_path()
        self._place()
        self._emit()

    # What belongs to what

    def _join(self) -> None:
        calls = {entry.call: entry.id for entry in self.tree.entries if entry.kind == "tool_call" and entry.call}
        for entry in self.tree.entries:
            if entry.kind == "tool_result" and entry.call in calls:
                self._alias[entry.id] = calls[entry.call]
                self._results.setdefault(calls[entry.call], entry)
            if entry.under in calls:
                self._inside.setdefault(calls[entry.under], []).append(entry)
                continue
            parent = self._main_parent(entry)
            self.parents[entry.id] = parent
            self._kids.setdefault(parent, []).append(entry.id)
        for entry in reversed(self.tree.entries):
            if entry.id in self.parents:
                newest = max(entry.time, self._latest.get(entry.id, 0))
                self._latest[entry.id] = newest
                parent = self.parents[entry.id]
                if parent is not None:
                    self._latest[parent] = max(newest, self._latest.get(parent, 0))

    def _main_parent(self, entry: Entry) -> str | None:
        """The nearest entry before it that belongs to no sub-agent."""
        parent = entry.parent
        while parent is not None and parent not in self.parents:
            above = self.entries.get(parent)
            parent = above.parent if above else None
        return parent

    def _active_path(self) -> set[str]:
        path: set[str] = set()
        at = self.tree.here.talk
        while at is not None and at in self.parents:
            path.add(at)
            at = self.parents[at]
        return path

    def _place(self) -> None:
        """Gives every checkpoint and operation the entry at which it stands."""
        main = [entry for entry in self.tree.entries if entry.id in (self.path or self.parents)]
        lines: dict[str, list[Entry]] = {}
        for entry in self.tree.entries:
            if entry.id in self.parents:
                lines.setdefault(self.tree.branch_of.get(entry.id, ""), []).append(entry)
        for point in sorted(self.tree.points, key=lambda point: (point.time, point.side == "after")):
            at = point.entry if point.entry in self.entries else None
            at = at or newest_before(lines.get(point.branch, main), point.time) or newest_before(main, point.time)
            if at is None:
                self._first.append(point)
            else:
                self._home[point.id] = self._alias.get(at, at)
                self.own.setdefault(self._home[point.id], []).append(point)
        for point in self.tree.gone:
            if point.entry in self.entries:
                self._gone.setdefault(self._alias.get(point.entry, point.entry), []).append(point)
        for operation in self.tree.operations:
            if operation.kind in MARKS_ONLY:
                continue
            if (guard := operation.data.get("guard")) and isinstance(guard, str):
                self._guards[operation.id] = guard
                self._guarded.add(guard)
            at = operation.entry if operation.entry in self.parents else newest_before(main, operation.time)
            self._acts.setdefault(self._alias.get(at, at) if at else None, []).append(operation)

    # Rows

    def _emit(self) -> None:
        stack: list[Steps] = [self._everything()]
        while stack:
            deeper = next(stack[-1], None)
            if deeper is None:
                stack.pop()
            else:
                stack.append(deeper)
        for at, row in enumerate(self.rows):
            row.end = row.end or at + 1

    def _everything(self) -> Steps:
        roots = self._kids.get(None, [])
        first = self._spine(roots)
        loose: list[tuple[int, Loose]] = [(point.time, point) for point in self._first]
        loose.extend((operation.time, operation) for operation in self._acts.get(None, ()))
        loose.extend((self.entries[root].time, root) for root in roots if root != first)
        yield from self._between(loose, 0, "")
        if first is not None:
            yield self._line(first, 0)

    def _line(self, start: str, depth: int) -> Steps:
        """A run of entries at one level, and what stands between its turns."""
        header: Row | None = None
        loose: list[tuple[int, Loose]] = []
        at: str | None = start
        while at is not None:
            entry = self.entries[at]
            if entry.kind in ("prompt", "summary"):
                self._close(header, before=self.own.get(at, []))
                yield from self._between(loose, depth, entry.parent or "")
                loose = []
                header = self._add("prompt" if entry.kind == "prompt" else "summary", entry, depth, 0, -1)
            elif at not in self._alias:
                yield from self._inner(entry, depth, 0 if header is None else 1, header)
            loose.extend(self._loose(at))
            kids = self._kids.get(at, [])
            spine = None if at == self.tree.here.talk else self._spine(kids)
            loose.extend((self.entries[kid].time, kid) for kid in kids if kid != spine)
            at = spine
        self._close(header, before=[])
        yield from self._between(loose, depth, start)

    def _inner(self, entry: Entry, depth: int, inset: int, header: Row | None) -> Steps:
        """An entry of a turn, with its sub-agent inside."""
        parent = self.index[header.key] if header else -1
        for point in self.own.get(entry.id, ()):
            if point.reason == "tool" and point.side == "before":
                self._add_point(point, "changed by somebody else before this call", depth, inset, parent, entry.id)
        row = self._add("entry", entry, depth, inset, parent)
        if header is not None:
            header.moved.extend(row.moved)
        inside = self._inside.get(entry.id)
        if inside:
            yield self._agent(row, inside, depth, inset + 1, header)

    def _agent(self, call: Row, inside: list[Entry], depth: int, inset: int, header: Row | None) -> Steps:
        for entry in inside:
            if entry.id in self._alias:
                continue
            row = self._add("entry", entry, depth, inset, self.index[call.key])
            if header is not None:
                header.moved.extend(row.moved)
            deeper = self._inside.get(entry.id)
            if deeper:
                yield self._agent(row, deeper, depth, inset + 1, header)
        call.end = len(self.rows)

    def _branch(self, first: str, depth: int, parent_line: str) -> Steps:
        entry = self.entries[first]
        named = self._branches.get(self.tree.branch_of.get(first, "")) or self._nameless(first, entry)
        row = Row(f"b:{first}", "branch", depth, 0, entry.text, self._latest[first], False, -1)
        row.branch = replace(named, fork=entry.parent, first=first)
        row.at = parent_line
        self._append(row)
        yield self._line(first, depth)
        row.end = len(self.rows)
        for inner in self.rows[self.index[row.key] + 1 : row.end]:
            if inner.parent < 0:
                inner.parent = self.index[row.key]
                if inner.kind != "branch":
                    row.moved.extend(inner.moved)

    def _add_unused(self, branch: Branch, depth: int) -> None:
        """A branch without an entry of its own: a fork that waits for its first prompt."""
        active = branch.state == "active"
        row = Row(f"b:{branch.name}", "branch", depth, 0, "nothing said yet", branch.updated, active, -1)
        row.branch, row.at = branch, branch.head
        self._append(row)

    def _nameless(self, first: str, entry: Entry) -> Branch:
        """Stands for a line of entries that the engine has not named."""
        head = first
        while kids := self._kids.get(head):
            head = self._spine(kids) or kids[0]
        return Branch("", head, "left", entry.parent, "")

    def _between(self, loose: list[tuple[int, Loose]], depth: int, at: str) -> Steps:
        for _, what in sorted(loose, key=lambda pair: pair[0]):
            if isinstance(what, str):
                yield self._branch(what, depth + 1, at)
            elif isinstance(what, Branch):
                self._add_unused(what, depth + 1)
            elif isinstance(what, Point):
                self._add_point(what, "", depth, 0, -1, what.entry or at)
            else:
                self._add_operation(what, depth, at)

    def _loose(self, at: str) -> list[tuple[int, Loose]]:
        """What stands after this entry and is none; a guard belongs to its operation's row."""
        guards = self._guarded
        found: list[tuple[int, Loose]] = [
            (point.time, point)
            for point in self.own.get(at, ())
            if point.reason in OF_A_PERSON
            and point.id not in guards
            and not stands_on_its_entry(point, self.entries[at])
        ]
        found.extend((branch.updated, branch) for branch in self._unused.get(at, ()))
        found.extend((operation.time, operation) for operation in self._acts.get(at, ()))
        return found

    def _spine(self, kids: list[str]) -> str | None:
        """The child that goes on at the same level: the one on the active line, else the one used last."""
        if not kids:
            return None
        return next((kid for kid in kids if kid in self.path), None) or max(kids, key=lambda kid: self._latest[kid])

    def _close(self, header: Row | None, before: list[Point]) -> None:
        """Ends a turn; where it has no checkpoint after its calls, what the next prompt's one found is its work."""
        if header is None:
            return
        header.end = len(self.rows)
        if not header.moved:
            header.moved.extend(point for point in before if not point.complete)

    def _add(self, kind: RowKind, entry: Entry, depth: int, inset: int, parent: int) -> Row:
        row = Row(f"e:{entry.id}", kind, depth, inset, entry.text, entry.time, entry.id in self.path, parent)
        row.entry = entry
        row.result = self._results.get(entry.id)
        row.at = entry.id
        row.gone = self._gone.get(entry.id, [])
        own = self.own.get(entry.id)
        if own:
            row.points = [point for point in own if stands_on_its_entry(point, entry)]
            row.points.sort(key=lambda point: point.reason in ("prompt", "tool"))
            if kind == "entry":
                row.moved = [point for point in row.points if point.side == "after"]
        self._append(row)
        if row.result is not None:
            self.index[row.result.id] = self.index[row.key]
        return row

    def _add_point(self, point: Point, text: str, depth: int, inset: int, parent: int, at: str) -> None:
        row = Row(f"p:{point.id}", "point", depth, inset, text or point_words(point), point.time, True, parent)
        row.points, row.moved, row.at = [point], [point], at
        row.active = not at or at in self.path or at not in self.entries
        self._append(row)

    def _add_operation(self, operation: Operation, depth: int, at: str) -> None:
        row = Row(f"o:{operation.id}", "operation", depth, 0, operation.summary, operation.time, depth == 0, -1)
        row.operation, row.at = operation, operation.entry or at
        self._append(row)
        if guard := self._guards.get(operation.id):
            self.index[guard] = self.index[row.key]

    def _append(self, row: Row) -> None:
        at = len(self.rows)
        self.rows.append(row)
        self.index[row.key] = at
        if row.entry is not None:
            self.index[row.entry.id] = at
        if row.operation is not None:
            self.index[row.operation.id] = at
        for point in row.points:
            self.index[point.id] = at

    # Moments

    def checkpoint_at(self, row: Row) -> Point | None:
        """The newest checkpoint at or before a row on its branch: what the row stands for."""
        if row.branch is not None:
            return self._newest(row.branch.head)
        return row.point or (self._newest(row.at) if row.at else None)

    def place_of_files(self, point: str | None) -> str | None:
        """The entry at whose end the files of a checkpoint stand; the checkpoint itself where it is bound to none.

        What stands before a prompt that was left stands at the end of what came before it.
        """
        at = self._home.get(point or "")
        if point is None or at is None:
            return point
        found = next((held for held in self.own[at] if held.id == point), None)
        above = self.parents.get(at)
        if found is not None and found.side == "before" and at not in self.path and above is not None:
            return self._alias.get(above, above)
        return point

    def checkpoint_before(self, point: Point) -> Point | None:
        """The newest checkpoint that stands before another one on its branch."""
        at = self._home.get(point.id)
        if at is None:
            place = self._first.index(point) if point in self._first else 0
            return self._first[place - 1] if place else None
        if place := self.own[at].index(point):
            return self.own[at][place - 1]
        above = self.parents.get(at, self.entries[at].parent)
        return self._newest(above) if above is not None else self._first[-1] if self._first else None

    def ends(self, row: Row) -> tuple[Point, Point] | None:
        """The two checkpoints between which a row's own changes lie; None where there are no two."""
        if row.kind in ("prompt", "summary"):
            if not row.moved:
                return None
            right = row.moved[-1]
            left = row.point or self.checkpoint_before(row.moved[0])
        elif row.branch is not None:
            right = self._newest(row.branch.head)
            left = self._newest(row.branch.fork) if row.branch.fork else None
        else:
            right = row.point
            left = self.checkpoint_before(right) if right else None
        return (left, right) if left and right and left.id != right.id else None

    def _newest(self, at: str | None) -> Point | None:
        while at is not None:
            own = self.own.get(self._alias.get(at, at))
            if own:
                return own[-1]
            at = self.parents[at] if at in self.parents else self.entries[at].parent if at in self.entries else None
        return self._first[-1] if self._first else None


def stands_on_its_entry(point: Point, entry: Entry) -> bool:
    """Whether a checkpoint is a mark of its entry's row; the others have rows of their own."""
    if entry.flavour == "save":
        return True
    return point.reason not in OF_A_PERSON and not (point.reason == "tool" and point.side == "before")


def newest_before(entries: list[Entry], time: int) -> str | None:
    """The last of these entries that is not younger than a moment."""
    place = bisect_right(entries, time, key=lambda entry: entry.time)
    return entries[place - 1].id if place else None


def point_words(point: Point) -> str:
    """What a checkpoint with a row of its own is called."""
    if point.text:
        return point.text
    words = {
        "manual": "saved by hand",
        "guard": "taken before something was changed",
        "start": "session started",
        "stop": "agent stopped",
        "end": "session ended",
        "import": "recorded by the agent",
    }
    return words.get(point.reason, f"checkpoint ({point.reason})")
