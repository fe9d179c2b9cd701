"""Reads all files of a Pi session into one conversation (formats 4.3).

Every file is a true tree: each record names the one that it follows, and a rewind goes on from an earlier one. Files
of one origin share the records that were copied; the earliest file owns them. Whatever is broken is shown as what it
is and named among the problems.
"""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ...text import first_line
from ..base import Source
from ..forms.links import DETACHED, HIDDEN, ROOT, break_cycles, skip_hidden
from .faces import Face, faces
from .places import session_of
from .records import NEWEST, Line, Unreadable, nanoseconds, old_id, records

SHOWN, ASIDE = 1, 2
"""Kinds of nodes that are shown; what stands aside is no reason for a fork."""

_ASIDE = frozenset({"custom", "context-edit", "unknown", "unreadable", "shell", "shell-output"})


class Node:
    """One record."""

    __slots__ = ("faces", "file", "kind", "length", "offset", "parent", "prompt", "time", "uid")

    def __init__(self, uid: str, shown: tuple[Face, ...], time: int, file: int, offset: int, length: int) -> None:
        self.uid = uid
        self.faces = shown
        self.kind = HIDDEN if not shown else ASIDE if all(face.flavour in _ASIDE for face in shown) else SHOWN
        self.time = time
        self.file = file
        self.offset = offset
        self.length = length
        self.parent = ROOT
        self.prompt = ""
        """A prompt's own time as Pi's extensions know it."""


def read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    """All of a session that its sources hold, in the order of their age. Raises OSError only."""
    paused = gc.isenabled()
    # A hundred thousand small objects are made and none is garbage: the collector would only walk them again.
    gc.disable()
    try:
        return _read(info, sources)
    finally:
        if paused:
            gc.enable()


def _read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    found = _Gathered(info)
    for source in sources:
        found.read(source)
    found.finish()
    parents = _straightened(found.nodes)
    entries, last = _entries(found, parents)
    leaves, leaf = _leaves(found, parents, last)
    above = set(parents)
    info = replace(
        info,
        entries=len(entries),
        branches=sum(1 for index, node in enumerate(found.nodes) if node.kind and index not in above),
        problem=found.problems[0].what if found.problems else info.problem,
    )
    return Conversation(info, entries, leaf, leaves, tuple(found.problems), found.titles)


class _Gathered:
    """What the files of one session hold, before it is a tree."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.nodes: list[Node] = []
        self.index: dict[str, int] = {}
        """Id → the first node that has it, in any file."""
        self.late: dict[int, tuple[int, str]] = {}
        """Node → its file and the id of a parent that was not read before it."""
        self.here: list[dict[str, int]] = []
        """Of every file: id → node."""
        self.files: list[str] = []
        self.sessions: list[str] = []
        self.last: list[int] = []
        """Of every file: the node of its last record, from which Pi goes on."""
        self.newest: list[int] = []
        self.problems: list[Problem] = []
        self.titles: dict[str, str] = {}
        self.labels: dict[int, str] = {}
        self.many: dict[int, int] = {}
        """Node that stands for an unknown type → how many records of it there are."""

    def read(self, source: Source) -> None:
        number = len(self.files)
        named = dict(zip(self.info.files, self.info.ids, strict=False))
        self.files.append(source.name)
        self.sessions.append(named.get(source.name) or session_of(source.name))
        self.here.append({})
        self.last.append(ROOT)
        self.newest.append(0)
        state = _File(number, self.info.cwd)
        with source.open() as file:
            for offset, length, line in records(file):
                if isinstance(line, Unreadable):
                    self._unreadable(state, offset, length, line)
                elif line.type == "session":
                    self._header(state, line)
                else:
                    self._record(state, offset, length, line)
        if not state.headed and state.records:
            self.problems.append(Problem("it does not begin with a header: Pi itself would not open it", source.name))
        for index, count in state.unknown.values():
            self.many[index] = max(count, self.many.get(index, 0))

    def _header(self, state: _File, line: Line) -> None:
        if state.headed or state.records:
            return
        state.headed = True
        state.version = line.version if line.version is not None else 1
        state.cwd = line.cwd or state.cwd
        if state.version > NEWEST:
            what = f"it was written in a newer form (version {state.version}) than the one that is known here"
            self.problems.append(Problem(what, self.files[state.number]))

    def _record(self, state: _File, offset: int, length: int, line: Line) -> None:
        number = state.number
        state.records += 1
        here = self.here[number]
        above = line.parent
        uid = line.id or ""
        if not uid:
            if state.version > 1:
                self.problems.append(Problem("a record has no id", self.files[number]))
            uid = old_id(state.records) if state.version <= 1 else f"{self.sessions[number]}@{offset}"
            above = state.before
        shown = faces(line, state.cwd)
        time = nanoseconds(line.timestamp)
        state.before = uid
        self.newest[number] = max(self.newest[number], time)
        strange = bool(shown) and shown[0].flavour == "unknown" and line.type != "message"
        if strange and line.type in state.unknown:
            state.unknown[line.type][1] += 1
            shown, strange = (), False
        index = self._copied(uid, shown, time, number)
        if index < 0:
            index = self._added(uid, shown, time, state, offset, length)
            self._place(index, above, number)
            message = line.message
            if message is not None and message.role == "user" and message.timestamp is not None:
                self.nodes[index].prompt = str(int(message.timestamp))
        if strange:
            state.unknown[line.type] = [index, 1]
        here.setdefault(line.id or uid, index)
        self.last[number] = index
        if line.type == "session_info":
            self._title(number, line.name or "")
        elif line.type == "label" and line.target in here:
            self.labels[here[line.target]] = line.label or ""

    def _copied(self, uid: str, shown: tuple[Face, ...], time: int, file: int) -> int:
        """The node of another file that this record is a copy of; ROOT when it is none."""
        known = self.index.get(uid, ROOT)
        if known < 0:
            return ROOT
        node = self.nodes[known]
        same = node.file != file and node.time == time and node.faces == shown
        return known if same else ROOT

    def _added(self, uid: str, shown: tuple[Face, ...], time: int, state: _File, offset: int, length: int) -> int:
        known = self.index.get(uid)
        if known is not None:
            if self.nodes[known].file == state.number:
                self.problems.append(Problem("two records have the same id", self.files[state.number]))
            # Eight digits are soon the same by chance in files that have nothing else in common.
            uid = f"{uid}~{self.sessions[state.number][:8]}~{offset}"
        index = len(self.nodes)
        self.nodes.append(Node(uid, shown, time, state.number, offset, length))
        self.index.setdefault(uid, index)
        return index

    def _place(self, index: int, above: str | None, file: int) -> None:
        if above is None:
            return
        parent = self.here[file].get(above, ROOT)
        if parent >= 0 and parent != index:
            self.nodes[index].parent = parent
        else:
            self.late[index] = (file, above)

    def _title(self, file: int, name: str) -> None:
        title = first_line(name)
        if title:
            self.titles[self.sessions[file]] = title
        else:
            self.titles.pop(self.sessions[file], None)

    def _unreadable(self, state: _File, offset: int, length: int, line: Unreadable) -> None:
        self.problems.append(Problem(line.why, self.files[state.number], line.number))
        if line.last:
            return
        face = Face("notice", f"line {line.number} cannot be read ({length:,} bytes)", "unreadable")
        before = self.last[state.number]
        time = self.nodes[before].time if before >= 0 else 0
        stem = os.path.basename(self.files[state.number]).removesuffix(".jsonl")
        index = self._added(f"{stem}@{offset}", (face,), time, state, offset, length)
        self.nodes[index].parent = before

    def finish(self) -> None:
        """What can only be told when every file was read."""
        for index, count in self.many.items():
            if count > 1:
                face = self.nodes[index].faces[0]
                self.nodes[index].faces = (face._replace(text=f"{face.text} ({count} of them)"),)
        self._join_parents()

    def _join_parents(self) -> None:
        """Parents that were written after their children; missing ones; cycles."""
        lost: Counter[int] = Counter()
        for index, (file, above) in self.late.items():
            node = self.nodes[index]
            parent = self.here[file].get(above, DETACHED)
            if parent == index:
                # Pi takes a record that is its own parent for a first one.
                parent = ROOT
            node.parent = parent
            lost[file] += parent == DETACHED
        for file, count in lost.items():
            if count:
                what = "a record hangs" if count == 1 else f"{count} records hang"
                self.problems.append(Problem(f"{what} on one that is not there", self.files[file]))
        for index in break_cycles(self.nodes):
            self.problems.append(Problem("records are each other's parents", self.files[self.nodes[index].file]))


class _File:
    """What is remembered while one file is read."""

    def __init__(self, number: int, cwd: str) -> None:
        self.number = number
        self.cwd = cwd
        self.version = NEWEST
        self.headed = False
        self.records = 0
        self.before: str | None = None
        """Id of the record before."""
        self.unknown: dict[str, list[int]] = {}
        """Unknown type → node that stands for it, how many there are."""


def _straightened(nodes: list[Node]) -> list[int]:
    """Of every shown node the shown one above it; notices that nobody went on from stand before what follows."""
    parents = skip_hidden(nodes)
    children: defaultdict[int, list[int]] = defaultdict(list)
    for index, node in enumerate(nodes):
        if node.kind:
            children[parents[index]].append(index)
    for place, below in children.items():
        if len(below) < 2 or place == DETACHED:
            continue
        aside = [child for child in below if nodes[child].kind == ASIDE and child not in children]
        rest = [child for child in below if child not in aside]
        if not aside:
            continue
        at = place
        for child in aside:
            parents[child] = at
            at = child
        for child in rest:
            parents[child] = at
    return parents


def _ordered(nodes: list[Node], parents: list[int]) -> list[int]:
    """Every shown node, a parent before its children: nearly always the order of the files."""
    shown = [index for index, node in enumerate(nodes) if node.kind]
    if all(parents[index] < index for index in shown):
        return shown
    children: defaultdict[int, list[int]] = defaultdict(list)
    for index in shown:
        children[parents[index]].append(index)
    order: list[int] = []
    waiting = sorted(children[ROOT] + children[DETACHED], reverse=True)
    while waiting:
        index = waiting.pop()
        order.append(index)
        waiting.extend(reversed(children.get(index, ())))
    return order


def entry_id(uid: str, number: int) -> str:
    """The id of the entry that a record's face of this number becomes."""
    return uid if number == 0 else f"{uid}#{number + 1}"


def _entries(found: _Gathered, parents: list[int]) -> tuple[tuple[Entry, ...], dict[int, str]]:
    """The entries, and the last one of every node."""
    nodes, files, sessions, labels = found.nodes, found.files, found.sessions, found.labels
    last: dict[int, str] = {}
    turns = [0] * len(nodes)
    made: list[Entry] = []
    for index in _ordered(nodes, parents):
        node, above = nodes[index], parents[index]
        below = last[above] if above >= 0 else None
        starts = node.faces[0].kind == "prompt"
        turns[index] = (turns[above] if above >= 0 else 0) + starts
        if above >= 0 and not starts:
            node.prompt = nodes[above].prompt
        flavour = "detached" if above == DETACHED else ""
        label = labels.get(index)
        span = Span(files[node.file], node.offset, node.length)
        for number, face in enumerate(node.faces):
            uid = entry_id(node.uid, number)
            text = first_line(f"[{label}] {face.text}") if label and number == 0 else face.text
            made.append(
                Entry(
                    uid,
                    below,
                    face.kind,
                    node.time,
                    text,
                    sessions[node.file],
                    turns[index],
                    flavour or face.flavour,
                    face.tool,
                    face.call,
                    node.prompt,
                    face.error,
                    face.paths,
                    "",
                    span,
                )
            )
            below, flavour = uid, ""
        last[index] = below or ""
    return tuple(made), last


def _leaves(found: _Gathered, parents: list[int], last: dict[int, str]) -> tuple[dict[str, str], str | None]:
    """For each session the entry that Pi would go on from, which is that of its last record; and the newest of them."""
    leaves: dict[str, str] = {}
    newest, leaf = -1, None
    for file, at in enumerate(found.last):
        if at >= 0 and not found.nodes[at].kind:
            at = parents[at]
        if at < 0:
            continue
        leaves[found.sessions[file]] = last[at]
        if found.newest[file] > newest:
            newest, leaf = found.newest[file], last[at]
    return leaves, leaf
