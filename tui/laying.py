"""The rows of a tree in the order of display, made in one pass without recursion.

A line of entries stands at one level. A turn (a prompt and what follows) folds to its first row. What is no part of the
agent's conversation (branches that were left, operations, checkpoints saved by hand) stands between turns, at the place
in time where it happened. The line that the conversation goes on from is never indented; branches that left it are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ..store.model import Branch, Entry, Operation, Point
from .places import OF_A_PERSON, Places
from .rows import Row, RowKind

Loose = Point | Operation | Branch | str
"""What stands between turns: a checkpoint or operation of a person, a branch that nobody went on with, or the first
entry of a branch that was left."""
Steps = Iterator["Steps"]
"""Work that emits rows, and yields the work that must be done before it goes on: a call stack without recursion."""


class Layout:
    """Rows, and the row of each entry id, checkpoint id, operation id and row key."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.rows: list[Row] = []
        self.index: dict[str, int] = {}
        self.header = -1
        """The row of the last prompt or summary that stands at no branch: what comes after it may change."""
        self.columns = (0, 0)
        """The most lines that came, and that went, in one row."""
        self.results = 0
        """How many rows are results inside of their calls."""
        self.prompts = 0
        self._root = ""
        """The first entry of the line that stands at no branch."""
        self._branches = {branch.name: branch for branch in places.tree.branches}

    def lay(self) -> None:
        """Makes all rows."""
        self._work(self._everything())

    def grown(self, places: Places) -> Layout:
        """The rows for a tree that went on after its last turn began: those before are the same."""
        found = Layout(places)
        found.rows, found.index, found.columns = self.rows[: self.header], dict(self.index), self.columns
        found.results, found.prompts = self.results, self.prompts
        for row in self.rows[self.header :]:
            found.results -= row.kind == "result"
            found.prompts -= row.kind == "prompt"
            for name in _names(row):
                found.index.pop(name, None)
        found._root = self._root
        found._work(found._line(self.rows[self.header].at, 0))
        return found

    def _work(self, steps: Steps) -> None:
        first = len(self.rows)
        stack = [steps]
        while stack:
            deeper = next(stack[-1], None)
            if deeper is None:
                stack.pop()
            else:
                stack.append(deeper)
        came, went = self.columns
        for at, row in enumerate(islice(self.rows, first, None), first + 1):
            if not row.end:
                row.end = at
            if row.moved and (lines := row.lines):
                if lines[0] > came:
                    came = lines[0]
                if lines[1] > went:
                    went = lines[1]
        self.columns = came, went

    # Lines of entries

    def _everything(self) -> Steps:
        places = self.places
        roots = places.kids.get(None, [])
        first = places.spine(roots)
        loose: list[tuple[int, Loose]] = [(point.time, point) for point in places.first]
        loose.extend((operation.time, operation) for operation in places.acts.get(None, ()))
        loose.extend((places.entries[root].time, root) for root in roots if root != first)
        yield from self._between(loose, 0, "")
        if first is not None:
            self._root = first
            yield self._line(first, 0)

    def _line(self, start: str, depth: int) -> Steps:
        """A run of entries at one level, and what stands between its turns."""
        places = self.places
        entries, alias, busy, all_kids, talk = (
            places.entries,
            places.alias,
            places.busy,
            places.kids,
            places.tree.here.talk,
        )
        header: Row | None = None
        loose: list[tuple[int, Loose]] = []
        at: str | None = start
        while at is not None:
            entry = entries[at]
            kind = entry.kind
            if kind == "prompt" or kind == "summary":
                self._close(header, before=places.own.get(at, ()))
                if loose:
                    yield from self._between(loose, depth, entry.parent or "")
                    loose = []
                if depth == 0:
                    self.header = len(self.rows)
                header = self._add(kind, entry, depth, 0, -1)
            elif at not in alias:
                steps = self._inner(entry, depth, 0 if header is None else 1, header)
                if steps is not None:
                    yield steps
            if at in busy:
                loose.extend(self._loose(at))
            kids = all_kids.get(at, ())
            spine = None if at == talk else places.spine(kids)
            if len(kids) != (spine is not None):
                loose.extend((entries[kid].time, kid) for kid in kids if kid != spine)
            at = spine
        self._close(header, before=())
        yield from self._between(loose, depth, start if depth else self._root)

    def _inner(self, entry: Entry, depth: int, inset: int, header: Row | None) -> Steps | None:
        """An entry of a turn with its result; what its sub-agent did is left to be laid.

        There are very many: nothing is called for most of them that could stand here.
        """
        places, rows, ident = self.places, self.rows, entry.id
        parent = self.index[header.key] if header else -1
        own = places.own.get(ident)
        if own:
            for point in own:
                if point.reason == "tool" and point.side == "before":
                    self._add_point(point, "changed by somebody else before this call", depth, inset, parent, ident)
        row = Row(ident, "entry", depth, inset, entry.text, entry.time, ident in places.path, parent, entry, ident)
        result = row.result = places.results.get(ident) if entry.kind == "tool_call" else None
        if places.gone:
            row.gone = places.gone.get(ident, ())
        if own:
            self._mark(row, entry, own)
        at = self.index[ident] = len(rows)
        rows.append(row)
        if header is not None:
            self._sum_up(header, row)
        inside = places.inside.get(ident) if places.inside else None
        if inside:
            return self._agent(row, inside, depth, inset + 1, header)
        if result is not None:
            other, active = result.id, result.id in places.path
            found = Row(other, "result", depth, inset + 1, result.text, result.time, active, at, result, other)
            self.index[other] = at + 1
            rows.append(found)
            row.end = at + 2
            self.results += 1
        return None

    def _add_result(self, call: Row, depth: int, inset: int) -> None:
        """What a call brought back stands inside of its row, behind what its sub-agent did."""
        if call.result is not None:
            self._add("result", call.result, depth, inset, self.index[call.key])
            self.results += 1
            call.end = len(self.rows)

    def _agent(self, call: Row, inside: Sequence[Entry], depth: int, inset: int, header: Row | None) -> Steps:
        call.agents += 1
        if header is not None:
            header.agents += 1
        for entry in inside:
            if entry.id in self.places.alias:
                continue
            row = self._add("entry", entry, depth, inset, self.index[call.key])
            call.errors += row.error
            if header is not None:
                self._sum_up(header, row)
            deeper = self.places.inside.get(entry.id)
            if deeper:
                yield self._agent(row, deeper, depth, inset + 1, header)
            else:
                self._add_result(row, depth, inset + 1)
        self._add_result(call, depth, inset)
        call.end = len(self.rows)

    def _sum_up(self, header: Row, row: Row) -> None:
        if row.moved and isinstance(header.moved, list):
            header.moved.extend(row.moved)
        if row.error:
            header.errors += 1

    def _close(self, header: Row | None, before: Sequence[Point]) -> None:
        """Ends a turn; where it has no checkpoint after its calls, what the next prompt's one found is its work."""
        if header is None:
            return
        header.end = len(self.rows)
        if not header.moved:
            header.moved = [point for point in before if not point.complete]

    # Branches, and what else stands between turns

    def _branch(self, first: str, depth: int, parent_line: str) -> Steps:
        places = self.places
        entry = places.entries[first]
        named = self._branches.get(places.tree.branch_of.get(first, "")) or self._nameless(first, entry)
        row = Row(f"b:{first}", "branch", depth, 0, entry.text, places.latest.get(first, entry.time), False, -1)
        row.branch = replace(named, fork=entry.parent, first=first)
        row.at = parent_line
        self._append(row)
        yield self._line(first, depth)
        row.end = len(self.rows)
        at = self.index[row.key]
        moved: list[Point] = []
        for inner in self.rows[at + 1 : row.end]:
            if inner.parent < 0:
                inner.parent = at
                if inner.kind != "branch":
                    moved.extend(inner.moved)
                row.errors += inner.errors or inner.error
                row.agents += inner.agents
            row.entries += inner.entry is not None and inner.kind != "result"
        row.moved = moved

    def _nameless(self, first: str, entry: Entry) -> Branch:
        """Stands for a line of entries that the engine has not named."""
        head = first
        while kids := self.places.kids.get(head):
            head = self.places.spine(kids) or kids[0]
        return Branch("", head, "left", entry.parent, "")

    def _add_unused(self, branch: Branch, depth: int) -> None:
        """A branch without an entry of its own: a fork that waits for its first prompt."""
        active = branch.state == "active"
        row = Row(f"b:{branch.name}", "branch", depth, 0, "nothing said yet", branch.updated, active, -1)
        row.branch, row.at = branch, branch.head
        self._append(row)

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
        places = self.places
        found: list[tuple[int, Loose]] = [
            (point.time, point)
            for point in places.own.get(at, ())
            if point.reason in OF_A_PERSON
            and point.id not in places.guarded
            and not stands_on_its_entry(point, places.entries[at])
        ]
        found.extend((branch.updated, branch) for branch in places.unused.get(at, ()))
        found.extend((operation.time, operation) for operation in places.acts.get(at, ()))
        return found

    # Rows

    def _add(self, kind: RowKind, entry: Entry, depth: int, inset: int, parent: int) -> Row:
        places, ident = self.places, entry.id
        row = Row(ident, kind, depth, inset, entry.text, entry.time, ident in places.path, parent, entry, ident)
        if kind == "prompt" or kind == "summary":
            row.moved = []
            self.prompts += kind == "prompt"
        elif entry.kind == "tool_call":
            row.result = places.results.get(ident)
        if places.gone:
            row.gone = places.gone.get(ident, ())
        own = places.own.get(ident)
        if own:
            self._mark(row, entry, own)
        self.index[ident] = len(self.rows)
        self.rows.append(row)
        return row

    def _mark(self, row: Row, entry: Entry, own: Sequence[Point]) -> None:
        """Gives a row its checkpoints."""
        points = [point for point in own if stands_on_its_entry(point, entry)]
        if len(points) > 1:
            points.sort(key=lambda point: point.reason in ("prompt", "tool"))
        row.points = points
        at = len(self.rows)
        for point in points:
            self.index[point.id] = at
        if row.kind == "entry":
            row.moved = [point for point in points if point.side == "after"]

    def _add_point(self, point: Point, text: str, depth: int, inset: int, parent: int, at: str) -> None:
        places = self.places
        row = Row(f"p:{point.id}", "point", depth, inset, text or point_words(point), point.time, True, parent)
        row.points, row.moved, row.at = [point], [point], at
        row.active = not at or at in places.path or at not in places.entries
        self._append(row)

    def _add_operation(self, operation: Operation, depth: int, at: str) -> None:
        row = Row(f"o:{operation.id}", "operation", depth, 0, operation.summary, operation.time, depth == 0, -1)
        row.operation, row.at = operation, operation.entry or at
        self._append(row)
        if guard := self.places.guards.get(operation.id):
            self.index[guard] = self.index[row.key]

    def _append(self, row: Row) -> None:
        at = len(self.rows)
        self.rows.append(row)
        self.index[row.key] = at
        if row.operation is not None:
            self.index[row.operation.id] = at
        for point in row.points:
            self.index[point.id] = at


def _names(row: Row) -> Iterator[str]:
    """By what a row is found."""
    yield row.key
    if row.operation is not None:
        yield row.operation.id
    yield from (point.id for point in row.points)


def stands_on_its_entry(point: Point, entry: Entry) -> bool:
    """Whether a checkpoint is a mark of its entry's row; the others have rows of their own."""
    if entry.flavour == "save":
        return True
    return point.reason not in OF_A_PERSON and not (point.reason == "tool" and point.side == "before")


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
