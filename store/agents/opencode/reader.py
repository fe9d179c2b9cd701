"""Reads all sources of an OpenCode session into one conversation.

A session is one line of rows: messages of the person, and parts of answers. Lines that begin alike are one tree: a fork
copies rows under new ids (folded by what they hold and when they began), an older copy of the store has rows that a
revert removed (folded by their ids), the event log tells how removed rows stood. Sub-agents are sessions of their own
and stand under the call that started them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ..base import Source
from ..forms.face import Face
from ..forms.jsonl import Unreadable
from ..forms.uncollected import uncollected
from .faces import AGENT_TOOL, answered, asked, failed, prompt_text
from .records import MESSAGE, PART, PAST, PROBLEM, SESSION, Data, Line, Revert, nanoseconds, session_of
from .records import reading as records

ROOT = -1
REVERT = "@revert-"
"""In the id of the notice that stands for a pending revert."""
_TRUE = b"true"
_DEEPEST = 50
"""Levels of sub-agents that start sub-agents; what is deeper stands beside."""


def read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    """All of a session that its sources hold, the main ones in the order of their age."""
    with uncollected():
        return _read(info, sources)


@dataclass(slots=True)
class Row:
    """A message of the person, a part of an answer, or why an answer ended: what becomes entries."""

    id: str
    key: tuple[object, ...]
    """What copies of it in forks have as well."""
    faces: tuple[Face, ...]
    time: int
    end: int
    offset: int
    length: int
    message: str = ""
    """Id of the message that it is, or is a part of."""
    child: str = ""
    """The session of the sub-agent that this call started."""


@dataclass(slots=True)
class Read:
    """One source, read."""

    name: str
    file: str
    """The name of the newest version, where this is a former one."""
    id: str
    data: Data
    rows: list[Row] = field(default_factory=list[Row])
    places: dict[str, int] = field(default_factory=dict[str, int])
    """Id of every message and part, hidden ones included → how many rows come up to it, itself included."""
    gone: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    """Message or part that was removed → its rows."""
    pasts: list[tuple[str | None, tuple[str, ...]]] = field(default_factory=list[tuple[str | None, tuple[str, ...]]])
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def is_former(self) -> bool:
        """Whether the session is otherwise by now: it is read for what was removed since."""
        return self.file != self.name


@dataclass(slots=True)
class _Message:
    """A message whose parts are being read."""

    id: str
    data: Data
    offset: int
    length: int
    gone: bool
    parts: list[tuple[str, Data, int, int]] = field(default_factory=list[tuple[str, Data, int, int]])


class _Reading:
    """Turns the lines of one source into rows."""

    def __init__(self, source: Source, cwd: str) -> None:
        self.found = Read(source.name, source.file, session_of(source.file), Data())
        self.cwd = cwd
        self._open: _Message | None = None

    def read(self, source: Source) -> Read:
        found = self.found
        try:
            with source.open() as stream:
                for offset, length, line in records.read(stream):
                    if isinstance(line, Unreadable):
                        self._unreadable(offset, length, line)
                    else:
                        self._line(offset, length, line)
        except OSError as error:
            found.problems.append(Problem(f"the session cannot be read ({error.strerror})", found.name))
        self._close()
        return found

    def _line(self, offset: int, length: int, line: Line) -> None:
        kind, data = line.kind, line.data
        if kind == PART:
            opened = self._open
            if data is None:
                self._odd(line.id, offset, length)
            elif opened is not None and opened.id == line.message:
                opened.parts.append((line.id, data, offset, length))
            elif line.gone:
                # Of a message that stands: only a part of it was removed.
                self._close()
                self.found.gone[line.id] = self._part(line.id, data, offset, length, line.message, Data())
        elif kind == MESSAGE:
            self._close()
            if data is None:
                self._odd(line.id, offset, length)
            else:
                self._open = _Message(line.id, data, offset, length, line.gone)
        elif kind == SESSION:
            self._close()
            self.found.id = line.id or self.found.id
            self.found.data = data or Data()
        elif kind == PAST:
            self._close()
            self.found.pasts.append((line.after, line.rows))
        elif kind == PROBLEM:
            self._close()
            self.found.problems.append(Problem(line.what, self.found.name))
        else:
            self._odd(f"{self.found.id}@{offset}", offset, length)

    def _close(self) -> None:
        """The message whose parts were read is whole."""
        message = self._open
        if message is None:
            return
        self._open = None
        if message.gone:
            rows: list[Row] = []
            self.found.gone[message.id] = rows
            for _ in self._rows_of(message, rows):
                pass
            return
        found = self.found
        for uid in self._rows_of(message, found.rows):
            found.places[uid] = len(found.rows)

    def _rows_of(self, message: _Message, rows: list[Row]) -> Iterable[str]:
        """Adds a message's rows; gives each id once its row, if it has one, is there."""
        data = message.data
        if data.role == "user":
            rows += self._asked(message)
            yield message.id
            for uid, *_ in message.parts:
                yield uid
            return
        yield message.id
        for uid, part, offset, length in message.parts:
            rows += self._part(uid, part, offset, length, message.id, data)
            yield uid
        if data.error is not None and data.error.name:
            time = nanoseconds(data.time.completed or data.time.created) if data.time is not None else 0
            key = (_created(data), "error", data.error.name)
            rows.append(
                Row(message.id, key, (failed(data.error),), time, time, message.offset, message.length, message.id)
            )

    def _asked(self, message: _Message) -> list[Row]:
        data = message.data
        parts = [part for _, part, _, _ in message.parts]
        face = asked(parts)
        time = nanoseconds(data.time.created) if data.time is not None else 0
        # The lines of its parts follow that of the message.
        end = max((offset + length for _, _, offset, length in message.parts), default=message.offset + message.length)
        key = (_created(data), "user", prompt_text(parts))
        faces = () if face is None else (face,)
        return [Row(message.id, key, faces, time, time, message.offset, end - message.offset, message.id)]

    def _part(self, uid: str, part: Data, offset: int, length: int, message: str, head: Data) -> list[Row]:
        faces = answered(part, self.cwd, summary=bytes(head.summary) == _TRUE)
        if not faces:
            return []
        begun = part.time
        child = ""
        if part.state is not None:
            begun = part.state.time or begun
            if part.tool == AGENT_TOOL and part.state.metadata is not None:
                child = part.state.metadata.session
        time = nanoseconds((begun.start if begun is not None else 0) or _created(head))
        end = nanoseconds(begun.end) if begun is not None else 0
        key = (_created(head), part.type, part.call, faces[0].text if part.type == "tool" else part.text)
        return [Row(uid, key, faces, time, end or time, offset, length, message, child)]

    def _odd(self, uid: str, offset: int, length: int) -> None:
        """A line without anything in it that can be shown."""
        self._close()
        self.found.problems.append(Problem("a record cannot be read", self.found.name))
        self._notice(uid, f"a record cannot be read ({length:,} bytes)", offset, length)

    def _unreadable(self, offset: int, length: int, line: Unreadable) -> None:
        self._close()
        self.found.problems.append(Problem(line.why, self.found.name, line.number))
        if not line.last:
            said = f"line {line.number} cannot be read ({length:,} bytes)"
            self._notice(f"{self.found.id}@{offset}", said, offset, length)

    def _notice(self, uid: str, said: str, offset: int, length: int) -> None:
        rows = self.found.rows
        time = rows[-1].end if rows else 0
        rows.append(Row(uid, (uid,), (Face("notice", said, "unreadable"),), time, time, offset, length))
        self.found.places[uid] = len(rows)


def _created(message: Data) -> float:
    return message.time.created if message.time is not None else 0


def read_source(source: Source, cwd: str) -> Read:
    """One source."""
    return _Reading(source, cwd).read(source)


# ---- one tree


@dataclass(slots=True)
class _Node:
    row: Row
    parent: int
    source: int


class _Tree:
    """Rows of several lines that begin alike, as one tree."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []
        self.by_id: dict[str, int] = {}
        self.below: dict[tuple[int, tuple[object, ...]], int] = {}
        self.ends: dict[int, int] = {}
        """Source → node of its last row."""

    def add(self, rows: Iterable[Row], source: int, at: int = ROOT) -> list[int]:
        """Walks along rows from a node, adding those that are new; gives the node of each."""
        nodes, by_id, below = self.nodes, self.by_id, self.below
        passed: list[int] = []
        for row in rows:
            known = by_id.get(row.id)
            if known is None:
                known = below.get((at, row.key))
                if known is None:
                    known = len(nodes)
                    nodes.append(_Node(row, at, source))
                    below[at, row.key] = known
                by_id[row.id] = known
            at = known
            passed.append(at)
        return passed


def _line_up(tree: _Tree, found: Read, number: int) -> int:
    """Adds a source to the tree: as it stands, then as it stood. Gives the node of its last row, or ROOT."""
    passed = tree.add(found.rows, number)
    places = {uid: passed[count - 1] if count else ROOT for uid, count in found.places.items()}
    for after, removed in found.pasts:
        at = places.get(after, ROOT) if after is not None else ROOT
        for uid in removed:
            if uid in found.gone:
                at = (tree.add(found.gone[uid], number, at) or [at])[-1]
            places[uid] = at
    return _reverted(tree, found, passed, places, number)


def _reverted(tree: _Tree, found: Read, passed: list[int], places: dict[str, int], number: int) -> int:
    """Where the agent goes on: at the end, or before what a pending revert hides; then a notice stands there."""
    last = passed[-1] if passed else ROOT
    revert = found.data.revert
    if revert is None or not revert.message or found.is_former:
        return last
    hidden = _first_hidden(found, revert)
    if hidden is None:
        return last
    at = passed[hidden - 1] if hidden else ROOT
    time = max((row.end for row in found.rows), default=0)
    face = Face("notice", "Reverted: what comes after is left out (not yet deleted, /redo brings it back)", "rewind")
    uid = f"{found.id}{REVERT}{revert.part or revert.message}"
    return tree.add([Row(uid, (uid,), (face,), time, time, 0, 0)], number, at)[-1]


def _first_hidden(found: Read, revert: Revert) -> int | None:
    """How many rows stand before what a revert hides; None when it names nothing that is there."""
    wanted = revert.part or revert.message
    for number, row in enumerate(found.rows):
        if row.id == wanted:
            return number
    place = found.places.get(wanted)
    return place if place is not None and place < len(found.rows) else None


# ---- entries


def path_to(info: SessionInfo, sources: Sequence[Source], uid: str) -> list[tuple[Source, Row]]:
    """The rows from the beginning up to one, hidden ones included, each with the source that it stands in."""
    reads = [read_source(source, info.cwd) for source in sources]
    tree, _ = _main(reads, _children(reads, info), info)
    at = tree.by_id.get(uid, ROOT)
    path: list[tuple[Source, Row]] = []
    while at >= 0:
        node = tree.nodes[at]
        path.append((sources[node.source], node.row))
        at = node.parent
    return path[::-1]


def _children(reads: list[Read], info: SessionInfo) -> list[bool]:
    """Which sources are sub-agents'."""
    ids = {found.id for found in reads} | set(info.ids)
    return [found.data.parent in ids and found.file not in info.files for found in reads]


def _main(reads: list[Read], is_child: list[bool], info: SessionInfo) -> tuple[_Tree, dict[str, int]]:
    """The tree of the main conversation, and for each session the node that it ends with."""
    order = {name: number for number, name in enumerate(info.files)}
    mains = [number for number, child in enumerate(is_child) if not child]
    tree = _Tree()
    ends: dict[str, int] = {}
    for number in sorted(mains, key=lambda n: (order.get(reads[n].file, -1), reads[n].is_former, -n)):
        end = _line_up(tree, reads[number], number)
        # A former version is read after the newest, for what was removed since: where it ends counts no more.
        ends.setdefault(reads[number].id, end)
    return tree, ends


def _read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    reads = [read_source(source, info.cwd) for source in sources]
    is_child = _children(reads, info)
    tree, ends = _main(reads, is_child, info)
    children: dict[str, tuple[_Tree, int]] = {}
    for number, found in sorted(enumerate(reads), key=lambda item: item[1].is_former):
        if is_child[number]:
            inner, _ = children.setdefault(found.id, (_Tree(), number))
            _line_up(inner, found, number)
    made = _Entries(reads, children)
    entries = made.all(tree)
    leaves = {session: leaf for session, end in ends.items() if (leaf := made.shown(tree, end)) is not None}
    problems = tuple(problem for found in reads for problem in found.problems)
    parents = {node.parent for node in tree.nodes}
    info = replace(
        info,
        entries=len(entries),
        branches=sum(1 for number in range(len(tree.nodes)) if number not in parents),
        problem=problems[0].what if problems else info.problem,
    )
    return Conversation(info, entries, _newest(tree, ends, leaves), leaves, problems)


def _newest(tree: _Tree, ends: dict[str, int], leaves: dict[str, str]) -> str | None:
    """Of all sessions' last entries the newest."""
    best, leaf = -1, None
    for session, found in leaves.items():
        time = tree.nodes[ends[session]].row.end
        if time > best:
            best, leaf = time, found
    return leaf


@dataclass(frozen=True, slots=True)
class _Under:
    """What the entries of a sub-agent have in common; nothing for the main conversation."""

    call: str = ""
    """Entry of the call that started it."""
    session: str = ""
    turn: int = 0
    flavour: str = ""
    """Of its first entry."""
    depth: int = 0


class _Entries:
    """Nodes as entries."""

    def __init__(self, reads: list[Read], children: dict[str, tuple[_Tree, int]]) -> None:
        self.reads = reads
        self.children = children
        self.last: dict[int, list[str | None]] = {}

    def all(self, tree: _Tree) -> tuple[Entry, ...]:
        """The entries of the whole tree, a sub-agent's right after the call that started it."""
        made: list[Entry] = []
        seen: set[str] = set()
        self._of(tree, _Under(), made, seen)
        for child, (inner, _) in self.children.items():
            if child not in seen:
                # No call is there that started it.
                seen.add(child)
                self._of(inner, _Under(session=self.reads[0].id, flavour="detached"), made, seen)
        return tuple(made)

    def shown(self, tree: _Tree, at: int) -> str | None:
        """The last entry at or before a node."""
        return self.last[id(tree)][at] if at >= 0 else None

    def _of(self, tree: _Tree, under: _Under, made: list[Entry], seen: set[str]) -> None:
        last: list[str | None] = [None] * len(tree.nodes)
        turns, prompts = [under.turn] * len(tree.nodes), [""] * len(tree.nodes)
        self.last[id(tree)] = last
        for number, node in enumerate(tree.nodes):
            row, above = node.row, node.parent
            below = last[above] if above >= 0 else None
            if above >= 0:
                turns[number], prompts[number] = turns[above], prompts[above]
            found = self.reads[node.source]
            span = Span(found.name, row.offset, row.length) if row.length else None
            first = under.flavour if above < 0 else ""
            session = under.session or found.id
            for place, face in enumerate(row.faces):
                if face.kind == "prompt":
                    turns[number] += 0 if under.session else 1
                    prompts[number] = row.id
                uid = row.id if place == 0 else f"{row.id}#{place + 1}"
                made.append(
                    Entry(
                        uid,
                        below,
                        face.kind,
                        row.end if face.kind == "tool_result" else row.time,
                        face.text,
                        session,
                        turns[number],
                        first or face.flavour,
                        face.tool,
                        face.call,
                        prompts[number],
                        face.error,
                        face.paths,
                        under.call,
                        span,
                    )
                )
                below, first = uid, ""
                inner = self.children.get(row.child) if place == 0 and row.child not in seen else None
                if inner is not None and under.depth < _DEEPEST:
                    seen.add(row.child)
                    inside = _Under(uid, session, turns[number], "sub-agent", under.depth + 1)
                    self._of(inner[0], inside, made, seen)
            last[number] = below
