"""Reads all files of a Pi session into one conversation (formats 4.3).

Every file is a true tree: each record names the one that it follows, and a rewind goes on from an earlier one. Files
of one origin share the records that were copied; the earliest file owns them. Whatever is broken is shown as what it
is and named among the problems.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from msgspec import Struct, structs

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ...text import first_line
from ..base import PartialState, Source
from ..forms.face import Face
from ..forms.growing import Followed, Growing
from ..forms.links import DETACHED, HIDDEN, ROOT, break_cycles, skip_hidden
from ..forms.uncollected import uncollected
from .history import Aims, file_states
from .notes import ASIDE, Noted, Notes
from .places import session_of
from .records import NEWEST, Unreadable


class Following:
    """Reads a session again and again, of its files only what is new."""

    def __init__(self) -> None:
        self._files = Growing(Notes, Notes.read_on)
        self._aims: Aims = {}

    def read(self, info: SessionInfo, sources: Sequence[Source]) -> Conversation:
        """All of the session that its sources hold now."""
        with uncollected():
            return _joined(info, self._files.read(_newest_first(sources), info.cwd))

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States of files at each prompt, as the calls of Pi's own tools tell them."""
        return file_states(conversation, root, sources, self._aims)


follow = Following


def _newest_first(sources: Sequence[Source]) -> list[Source]:
    """Each file before what it was formerly: what both tell is the newer one's."""
    groups: dict[str, list[Source]] = {}
    for source in sources:
        groups.setdefault(source.file, []).insert(0, source)
    return [source for group in groups.values() for source in group]


def _joined(info: SessionInfo, files: Sequence[Followed[Notes]]) -> Conversation:
    found = _Gathered(info)
    for file in files:
        found.add(file)
    found.finish()
    parents = _straightened(found.nodes)
    entries, last = _entries(found, parents)
    leaves, leaf = _leaves(found, parents, last)
    above = {parents[index] for index, node in enumerate(found.nodes) if node.kind}
    info = replace(
        info,
        entries=len(entries),
        branches=sum(1 for index, node in enumerate(found.nodes) if node.kind and index not in above),
        problem=found.problems[0].what if found.problems else info.problem,
    )
    return Conversation(info, entries, leaf, leaves, tuple(found.problems), found.titles)


class _Node(Struct, gc=False):
    """One record."""

    uid: str
    faces: tuple[Face, ...]
    kind: int
    time: int
    file: int
    offset: int
    length: int
    prompt: str = ""
    parent: int = ROOT


@dataclass(slots=True)
class _File:
    """What is remembered of one file while all are joined."""

    name: str
    session: str
    former: bool
    here: dict[str, int] = field(default_factory=dict[str, int])
    """Id → node."""
    last: int = ROOT
    """The node of the last record, from which Pi goes on."""
    newest: int = 0
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """Id of a record → the label on it now, "" when it was taken away."""
    unknown: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Unknown type → node that stands for it, how many there are."""


class _Gathered:
    """What the files of one session hold, before it is a tree."""

    def __init__(self, info: SessionInfo) -> None:
        self.nodes: list[_Node] = []
        self.files: list[_File] = []
        self.problems: list[Problem] = []
        self.titles: dict[str, str] = {}
        self.labels: dict[int, str] = {}
        self._index: dict[str, int] = {}
        """Id → the first node that has it, in any file."""
        self._late: dict[int, tuple[int, str]] = {}
        """Node → its file and the id of a parent that was not read before it."""
        self._alike: dict[tuple[int, tuple[Face, ...]], int] = {}
        """Time and faces → node, of the file whose former versions follow."""
        self._sessions = dict(zip(info.files, info.ids, strict=False))

    def add(self, followed: Followed[Notes]) -> None:
        notes = followed.state
        number = len(self.files)
        file = _File(notes.name, self._sessions.get(notes.file) or session_of(notes.file), notes.former)
        self.files.append(file)
        if followed.failure:
            self.problems.append(Problem(followed.failure, notes.name))
        if notes.former and not self._alike:
            before = self.files[number - 1].here.values() if number else ()
            self._alike = {(self.nodes[index].time, self.nodes[index].faces): index for index in before}
        elif not notes.former:
            self._alike = {}
        for found in (notes.noted, notes.tail):
            self._add_records(file, number, found)
        if not notes.former:
            self._note_header(notes)

    def _note_header(self, notes: Notes) -> None:
        if not notes.headed and (notes.noted or notes.tail):
            self.problems.append(Problem("it does not begin with a header: Pi itself would not open it", notes.name))
        if notes.version > NEWEST:
            what = f"it was written in a newer form (version {notes.version}) than the one that is known here"
            self.problems.append(Problem(what, notes.name))
        if notes.nameless:
            self.problems.append(Problem("a record has no id", notes.name))

    def _add_records(self, file: _File, number: int, found: Sequence[Noted]) -> None:
        nodes, index, here = self.nodes, self._index, file.here
        fresh = not self._alike
        for noted in found:
            uid = noted.uid
            if noted.type == "message" and fresh and uid not in index:
                # Nearly every record: a message that is no copy, on one that was read.
                at = index[uid] = here[uid] = file.last = len(nodes)
                parent = here.get(noted.parent, ROOT) if noted.parent is not None else ROOT
                node = _Node(
                    uid, noted.faces, noted.kind, noted.time, number, noted.offset, noted.length, noted.prompt, parent
                )
                nodes.append(node)
                if noted.parent is not None and not 0 <= parent < at:
                    self._late[at] = (number, noted.parent)
                if noted.time > file.newest:
                    file.newest = noted.time
            elif noted.unreadable is not None:
                self._unreadable(file, number, noted, noted.unreadable)
            else:
                self._record(file, number, noted)

    def _record(self, file: _File, number: int, noted: Noted) -> None:
        shown = noted.faces
        strange = noted.kind == ASIDE and shown[0].flavour == "unknown" and noted.type != "message"
        if strange and noted.type in file.unknown:
            file.unknown[noted.type][1] += 1
            shown, strange = (), False
        index = self._copied(noted, shown, number) if noted.uid in self._index or self._alike else ROOT
        if index < 0:
            index = self._added(noted, shown, file, number)
            self._place(index, noted.parent, file, number)
        if strange:
            file.unknown[noted.type] = [index, 1]
        file.here[noted.uid] = index
        file.last = index
        if noted.time > file.newest:
            file.newest = noted.time
        if noted.type == "message":
            return
        if noted.type == "label":
            file.labels[noted.target] = noted.text
        elif noted.type == "session_info" and not file.former:
            title = first_line(noted.text)
            if title:
                self.titles[file.session] = title
            else:
                self.titles.pop(file.session, None)

    def _copied(self, noted: Noted, shown: tuple[Face, ...], file: int) -> int:
        """The node of another file that this record is a copy of; ROOT when it is none."""
        known = self._index.get(noted.uid, ROOT)
        if known >= 0:
            node = self.nodes[known]
            if node.file != file and node.time == noted.time and node.faces == shown:
                return known
        return self._alike.get((noted.time, shown), ROOT)

    def _added(self, noted: Noted, shown: tuple[Face, ...], file: _File, number: int) -> int:
        uid = noted.uid
        known = self._index.get(uid)
        if known is not None:
            if self.nodes[known].file == number:
                self.problems.append(Problem("two records have the same id", file.name))
            # Eight digits are soon the same by chance in files that have nothing else in common.
            uid = f"{uid}~{file.session[:8]}~{noted.offset}"
            while uid in self._index:  # a copy of the file has another record there
                uid += "~"
        index = len(self.nodes)
        kind = noted.kind if shown else HIDDEN
        self.nodes.append(_Node(uid, shown, kind, noted.time, number, noted.offset, noted.length, noted.prompt))
        self._index.setdefault(uid, index)
        return index

    def _place(self, index: int, above: str | None, file: _File, number: int) -> None:
        if above is None:
            return
        parent = file.here.get(above, ROOT)
        if parent >= 0:
            self.nodes[index].parent = parent
        else:
            self._late[index] = (number, above)

    def _unreadable(self, file: _File, number: int, noted: Noted, line: Unreadable) -> None:
        self.problems.append(Problem(line.why, file.name, line.number))
        if line.last:
            return
        stem = os.path.basename(file.name).removesuffix(".jsonl")
        face = Face.unreadable(line.number, noted.length)
        time = self.nodes[file.last].time if file.last >= 0 else 0
        placed = Noted(noted.offset, noted.length, uid=f"{stem}@{noted.offset}", time=time, kind=ASIDE)
        index = self._added(placed, (face,), file, number)
        self.nodes[index].parent = file.last

    def finish(self) -> None:
        """What can only be told when every file was read: how many of an unknown kind, and parents."""
        many: dict[int, int] = {}
        for file in self.files:
            for index, count in file.unknown.values():
                many[index] = max(count, many.get(index, 0))
            for target, label in file.labels.items():
                if target in file.here:
                    self.labels[file.here[target]] = label
        for index, count in many.items():
            if count > 1:
                face = self.nodes[index].faces[0]
                self.nodes[index].faces = (structs.replace(face, text=f"{face.text} ({count} of them)"),)
        self._join_parents()

    def _join_parents(self) -> None:
        """Parents that were written after their children; missing ones; cycles."""
        lost: Counter[int] = Counter()
        for index, (file, above) in self._late.items():
            parent = self.files[file].here.get(above, DETACHED)
            # Pi takes a record that is its own parent for a first one.
            self.nodes[index].parent = ROOT if parent == index else parent
            lost[file] += parent == DETACHED
        for file, count in lost.items():
            if count:
                what = "a record hangs" if count == 1 else f"{count} records hang"
                self.problems.append(Problem(f"{what} on one that is not there", self.files[file].name))
        for index in break_cycles(self.nodes):
            name = self.files[self.nodes[index].file].name
            self.problems.append(Problem("records are each other's parents", name))


def _straightened(nodes: list[_Node]) -> list[int]:
    """Of every shown node the shown one above it; notices that nobody went on from stand before what follows."""
    parents = skip_hidden(nodes)
    children: defaultdict[int, list[int]] = defaultdict(list)
    for index, node in enumerate(nodes):
        if node.kind:
            children[parents[index]].append(index)
    for place, below in list(children.items()):
        if len(below) < 2 or place == DETACHED:
            continue
        aside = [child for child in below if nodes[child].kind == ASIDE and child not in children]
        rest = [child for child in below if nodes[child].kind != ASIDE or child in children]
        at = place
        for child in aside:
            parents[child] = at
            at = child
        for child in rest:
            parents[child] = at
    return parents


def _ordered(nodes: list[_Node], parents: list[int]) -> list[int]:
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
    nodes, files, labels = found.nodes, found.files, found.labels
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
        file = files[node.file]
        span = Span(file.name, node.offset, node.length)
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
                    file.session,
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
    for file in found.files:
        at = file.last
        if at >= 0 and not found.nodes[at].kind:
            at = parents[at]
        if at < 0 or file.former:
            continue
        leaves[file.session] = last[at]
        if file.newest > newest:
            newest, leaf = file.newest, last[at]
    return leaves, leaf
