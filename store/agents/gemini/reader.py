"""Reads all files of a Gemini CLI session into one conversation (formats 3.2 and 3.3).

Sub-agents stand under the call that started them. Whatever is broken is shown as what it is and named among the
problems; the rest stays whole.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ..base import PartialState, Source
from ..forms.growing import Followed, Growing
from ..forms.uncollected import uncollected
from .faces import Face
from .filenames import sub_agent_of
from .history import file_states
from .notes import Notes, Restated, Rewind
from .replay import ROOT, Log, Node, Tree


class Following:
    """Reads a session again and again, of its files only what is new."""

    def __init__(self) -> None:
        self._files = Growing(Notes, Notes.read_on)

    def read(self, info: SessionInfo, sources: Sequence[Source]) -> Conversation:
        """All of the session that its sources hold now."""
        with uncollected():
            return Reading(info, self.notes(info, sources)).conversation()

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States of files from the agent's own records, the oldest first."""
        return file_states(conversation, root, sources)

    def notes(self, info: SessionInfo, sources: Sequence[Source]) -> list[Followed[Notes]]:
        """What the files tell, each by itself."""
        return self._files.read(sources, info.cwd)


follow = Following


class Reading:
    """The files of one session, joined into one tree."""

    def __init__(self, info: SessionInfo, files: Sequence[Followed[Notes]]) -> None:
        self.info = info
        self._followed = files
        self.files = [item.state.source.name for item in files]
        former = {place for place, item in enumerate(files) if item.state.source.former}
        self.tree = Tree(frozenset(former))
        self.problems: list[Problem] = []
        self.sessions = [self._session_of(item.state) for item in files]
        """Of every file: the session that owns its messages."""
        self.tips: dict[str, int] = {}
        for number, item in enumerate(files):
            if not sub_agent_of(item.state.source.file):
                self._replay(number, item, "")

    def conversation(self) -> Conversation:
        """All of it, the sub-agents' files included."""
        for number, item in enumerate(self._followed):
            if side := sub_agent_of(item.state.source.file):
                self._replay(number, item, side)
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
        return Conversation(info, entries, self._newest(leaves), leaves, tuple(self.problems))

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

    def _replay(self, number: int, item: Followed[Notes], side: str) -> None:
        log = Log(number, side)
        name = self.files[number]
        for note in item.state.all():
            if isinstance(note, Rewind):
                self.tree.rewind(log, note.to)
            elif isinstance(note, Restated):
                self.tree.restate(log, note)
            elif note.id:
                self.tree.append(log, note)
            else:
                note.id = f"{os.path.basename(name).partition('.')[0]}@{note.offset}"
                log.listed.append((note.id, self.tree.place(log, note, note.faces)))
        self.problems += [Problem(item.failure, name)] if item.failure else item.state.troubles()
        if not side and not item.state.source.former:
            session = self.sessions[number]
            self.tips[session] = max(self.tips.get(session, ROOT), log.tip, key=self._time_of)

    def _time_of(self, tip: int) -> int:
        return self.tree.nodes[tip].time if tip != ROOT else -1

    def _session_of(self, notes: Notes) -> str:
        file = notes.source.file
        if sub_agent_of(file):
            return os.path.basename(os.path.dirname(file))
        pairs = dict(zip(self.info.files, self.info.ids, strict=False))
        return pairs.get(file) or notes.session or self.info.id


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
