"""Reads all files of a Gemini CLI session into one conversation (formats 3.2 and 3.3).

Sub-agents stand under the call that started them. Whatever is broken is shown as what it is and named among the
problems; the rest stays whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ..base import Source
from ..forms.regular import why
from ..forms.uncollected import uncollected
from .faces import Face, faces
from .filenames import sub_agent_of
from .records import Brief, Line, Unreadable, messages_in, read_json, records
from .replay import ROOT, Log, Message, Node, Tree


def read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    """All of a session that its sources hold; the main files in the order of their age. Never raises."""
    with uncollected():
        return Reading(info).conversation(sources)


class Reading:
    """The files of one session while they are read."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.answered: set[str] = set()
        """Calls whose results are shown with them."""
        self.tree = Tree(self._look)
        self.problems: list[Problem] = []
        self.files: list[str] = []
        self.sessions: list[str] = []
        """Of every file: the session that owns its messages."""
        self.tips: dict[str, int] = {}
        self.titles: dict[str, str] = {}

    def _look(self, line: Line) -> tuple[Face, ...]:
        self.answered.update(call.id for call in line.calls)
        return faces(line, self.info.cwd, self.answered)

    def replay(self, sources: Sequence[Source]) -> None:
        """The sessions' own files; none of its sub-agents."""
        for source in sources:
            if not sub_agent_of(source.file):
                self._read(source, "")

    def conversation(self, sources: Sequence[Source]) -> Conversation:
        self.replay(sources)
        for source in sources:
            if side := sub_agent_of(source.file):
                self._read(source, side)
        made = _Entries(self)
        entries = made.entries()
        ends = {session: made.last[tip] for session, tip in self.tips.items() if tip != ROOT}
        leaves = {session: uid for session, uid in ends.items() if uid is not None}
        info = replace(
            self.info,
            entries=len(entries),
            branches=_heads(entries),
            problem=self.problems[0].what if self.problems else self.info.problem,
        )
        return Conversation(info, entries, self._newest(leaves), leaves, tuple(self.problems), self.titles)

    def _newest(self, leaves: dict[str, str]) -> str | None:
        """The entry that the file with the newest message goes on from."""
        newest: dict[int, int] = {}
        for node in self.tree.nodes:
            if not node.side and not node.dead:
                newest[node.file] = max(newest.get(node.file, 0), node.time)
        best = max(newest, key=lambda file: (newest[file], -file), default=None)
        if best is not None and self.sessions[best] in leaves:
            return leaves[self.sessions[best]]
        return next(iter(leaves.values()), None)

    def _read(self, source: Source, side: str) -> None:
        number = len(self.files)
        self.files.append(source.name)
        self.sessions.append(self._session_of(source, side))
        log = Log(number, side)
        try:
            with source.open() as file:
                if source.file.endswith(".json"):
                    self._read_json(file, log)
                else:
                    self._read_lines(file, log)
        except OSError as error:
            self.problems.append(Problem(why(error), source.name))
        if not side:
            session = self.sessions[number]
            self.tips[session] = max(self.tips.get(session, ROOT), log.tip, key=self._time_of)

    def _time_of(self, tip: int) -> int:
        return self.tree.nodes[tip].time if tip != ROOT else -1

    def _session_of(self, source: Source, side: str) -> str:
        if side:
            return os.path.basename(os.path.dirname(source.file))
        pairs = dict(zip(self.info.files, self.info.ids, strict=False))
        return pairs.get(source.file) or _id_inside(source) or self.info.id

    def _read_json(self, file: BinaryIO, log: Log) -> None:
        found = read_json(file.read())
        if found is None:
            self.problems.append(Problem("the file is not a session", self.files[log.file]))
            return
        for offset, length, line in found[1]:
            if line.id:
                self.tree.append(log, Message(line.id, offset, length, line))

    def _read_lines(self, file: BinaryIO, log: Log) -> None:
        unknown = 0
        for offset, length, line in records(file):
            if isinstance(line, Unreadable):
                self._unreadable(log, offset, length, line)
            elif line.rewind is not None:
                self.tree.rewind(log, line.rewind)
            elif line.id is not None:
                self.tree.append(log, Message(line.id, offset, length, line))
            elif line.set is not None:
                if not isinstance(line.set.messages, list):
                    continue
                self._restate(file, log, offset, length, line.set.messages)
            elif line.session and line.project:
                if isinstance(line.messages, list):
                    for message in self._messages(file, offset, length):
                        self.tree.append(log, message)
            else:
                unknown += 1
        if unknown:
            what = "a record is of a kind" if unknown == 1 else f"{unknown} records are of a kind"
            self.problems.append(Problem(f"{what} that is not known here", self.files[log.file]))

    def _restate(self, file: BinaryIO, log: Log, offset: int, length: int, briefs: list[Brief]) -> None:
        self.tree.restate(log, briefs, lambda: self._messages(file, offset, length))

    def _messages(self, file: BinaryIO, offset: int, length: int) -> Iterator[Message]:
        """The messages in a line's list. The file stands afterwards where it stood."""
        at = file.tell()
        file.seek(offset)
        data = file.read(length)
        file.seek(at)
        for inside, size, line in messages_in(data):
            if line.id:
                yield Message(line.id, offset + inside, size, line)

    def _unreadable(self, log: Log, offset: int, length: int, line: Unreadable) -> None:
        self.problems.append(Problem(line.why, self.files[log.file], line.number))
        if line.last:
            return
        stem = os.path.basename(self.files[log.file]).partition(".")[0]
        face = Face("notice", f"line {line.number} cannot be read ({length:,} bytes)", "unreadable")
        message = Message(f"{stem}@{offset}", offset, length, Line(id=f"{stem}@{offset}"))
        log.listed.append((message.id, self.tree.place(log, message, (face,))))


class _Entries:
    """The nodes of a tree as entries."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.nodes = reading.tree.nodes
        self.last: list[str | None] = [None] * len(self.nodes)
        """Of every node: its last entry, or that of the node above it."""
        self.turns = [0] * len(self.nodes)

    def entries(self) -> tuple[Entry, ...]:
        calls: dict[str, tuple[str, int]] = {}
        """Sub-agent → entry and turn of the call that started it."""
        made: list[Entry] = []
        for index in self._order():
            node = self.nodes[index]
            above = node.parent
            below = self.last[above] if above >= 0 else None
            turn = self.turns[above] if above >= 0 else 0
            if node.dead:
                self.last[index], self.turns[index] = below, turn
                continue
            under, outer = calls.get(node.side, ("", 0))
            turn = outer if node.side else turn + any(face.kind == "prompt" for face in node.faces)
            self.turns[index] = turn
            flavour = ("sub-agent" if under else "detached") if node.side and below is None else ""
            for number, face in enumerate(node.faces):
                made.append(self._entry(node, number, face, below, turn, flavour, under))
                below, flavour = made[-1].id, ""
                if face.agent:
                    calls[face.agent] = (below, turn)
            self.last[index] = below
        return tuple(made)

    def _entry(
        self, node: Node, number: int, face: Face, below: str | None, turn: int, flavour: str, under: str
    ) -> Entry:
        reading = self.reading
        return Entry(
            node.id if number == 0 else f"{node.id}#{number + 1}",
            below,
            face.kind,
            face.time or node.time or self._time_above(node),
            face.text,
            reading.sessions[node.file],
            turn,
            flavour or face.flavour,
            face.tool,
            face.call,
            "",
            face.error,
            face.paths,
            under,
            Span(reading.files[node.file], node.offset, node.length),
        )

    def _time_above(self, node: Node) -> int:
        at = node.parent
        while at >= 0 and not self.nodes[at].time:
            at = self.nodes[at].parent
        return self.nodes[at].time if at >= 0 else 0

    def _order(self) -> list[int]:
        """Main conversation first, then each sub-agent after the one that called it; parents before children."""
        sides: dict[str, list[int]] = {}
        for index, node in enumerate(self.nodes):
            sides.setdefault(node.side, []).append(index)
        callers = {face.agent: node.side for node in self.nodes for face in node.faces if face.agent}
        depth = {side: self._depth(side, callers) for side in sides}
        return [index for side in sorted(sides, key=lambda name: depth[name]) for index in sides[side]]

    @staticmethod
    def _depth(side: str, callers: dict[str, str]) -> int:
        seen: set[str] = set()
        while side and side not in seen:
            seen.add(side)
            side = callers.get(side, "")
        return len(seen)


def _heads(entries: Sequence[Entry]) -> int:
    parents = {entry.parent for entry in entries}
    return sum(1 for entry in entries if entry.id not in parents and not entry.under)


def _id_inside(source: Source) -> str:
    """The session that a file's own header names."""
    try:
        with source.open() as file:
            for _, _, line in records(file):
                if not isinstance(line, Unreadable) and line.session:
                    return line.session
    except OSError:
        pass
    return ""
