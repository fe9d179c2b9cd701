"""The records of a session's files as nodes: folded by their ids, told apart by what they are.

Files of one origin are folded by the records' ids, the earliest file owning a record. Whatever is broken is kept as
what it is and named among the problems.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import structs

from ...model import Problem, SessionInfo
from ...text import first_line
from ..forms.face import Face
from ..forms.growing import Followed
from .faces import AGENT_TOOLS, BOOKKEEPING, CHAIN
from .filenames import META, session_of, sub_agent_of
from .notes import SPOKEN, More, Noted, Notes
from .tree import HIDDEN, NOTICE, ROOT, Node

_THROWN_AWAY = ("acompact-", "aprompt_suggestion-")
_NOTHING = More()


class Gathered:
    """What the files of one session hold, before it is a tree."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.nodes: list[Node] = []
        self.index: dict[str, int] = {}
        self.parents: dict[int, str] = {}
        """Ids of parents that were not read before their child."""
        self.problems: list[Problem] = []
        self.files: list[str] = []
        self.sessions: list[str] = []
        """Of every file: the session id that owns its records."""
        self.seen: dict[int, list[int]] = {}
        """Main file → the nodes of its records, copies included, in its own order."""
        self.spoken: bytearray = bytearray()
        self.tools: dict[str, str] = {}
        self.calls: dict[str, tuple[int, str]] = {}
        """Tool-use id → node and entry id of the call."""
        self.boundaries: set[int] = set()
        self.call_of_agent: dict[str, str] = {}
        self.agent_prompts: dict[str, list[str]] = {}
        """Prompt of a call that starts a sub-agent → its tool-use ids, for files that name no call."""
        self.first_prompts: dict[str, str] = {}
        self.titles: dict[str, str] = {}

    def add(self, files: Sequence[Followed[Notes]]) -> None:
        """Takes the main files in the order of their age, then their former versions, then the sub-agents'."""
        own = [file for file in files if not sub_agent_of(file.state.file)]
        for file in sorted(own, key=lambda file: file.state.file != file.state.name):
            self._add_file(file, "")
        for file in files:
            agent = sub_agent_of(file.state.file)
            if not agent or agent.startswith(_THROWN_AWAY):
                continue
            if file.state.file.endswith(META):
                if file.state.call:
                    self.call_of_agent[agent] = file.state.call
            else:
                self._add_file(file, agent)

    def _add_file(self, file: Followed[Notes], agent: str) -> None:
        notes = file.state
        number = len(self.files)
        self.files.append(notes.name)
        self.sessions.append(session_of(notes.file) or self.info.id)
        if file.failure:
            self.problems.append(Problem(file.failure, notes.name))
        state = _File(number, agent, former=notes.file != notes.name)
        if not agent and not state.former:
            # What only a former version has is a branch that was left: nobody goes on from it.
            self.seen[number] = state.seen
        for found in (notes.noted, notes.tail):
            self._add_records(state, found)
        for index, count in state.unknown.values():
            if count > 1:
                face = self.nodes[index].faces[0]
                self.nodes[index].faces = (structs.replace(face, text=f"{face.text} ({count} of them)"),)

    def _add_records(self, state: _File, found: list[Noted]) -> None:
        index, nodes, seen, parents = self.index, self.nodes, state.seen, self.parents
        number, agent = state.number, state.agent
        for noted in found:
            uid = noted.uid
            if not uid:
                self._without_id(state, noted)
                continue
            more = noted.more
            if uid in index or (more is not None and more.forked):
                uid = self._folded(state, noted, uid)
                if not uid:
                    continue
            here = len(nodes)
            node = Node(
                uid,
                noted.kind,
                noted.time,
                number,
                noted.offset,
                noted.length,
                noted.faces,
                noted.faces,
                noted.message,
                noted.calls,
                noted.answers,
                noted.prompt,
                noted.complete,
            )
            nodes.append(node)
            index.setdefault(uid, here)
            seen.append(here)
            above = noted.parent
            if more is not None and more.boundary:
                self.boundaries.add(here)
                above = more.logical_parent
                if above not in index:
                    node.parent, above = state.last, None
            if above is not None:
                parent = index.get(above, ROOT)
                if parent >= 0:
                    node.parent = parent
                else:
                    parents[here] = above
            spoken = noted.spoken
            if agent or noted.side:
                node.side = agent or noted.agent or self._inline_side(node)
                spoken = min(spoken, SPOKEN)
                if noted.type == "user" and node.side not in self.first_prompts:
                    self.first_prompts[node.side] = more.text if more is not None else ""
            else:
                state.last = here
            self.spoken.append(spoken)
            if noted.calls:
                self._note_calls(here, noted)
            if more is not None:
                self._note_more(here, more)

    def _folded(self, state: _File, noted: Noted, uid: str) -> str:
        """The id for a record that may be a copy of one that is there; "" when it is."""
        known = self.index.get(uid)
        more = noted.more or _NOTHING
        if known is not None:
            node = self.nodes[known]
            if node.shown == noted.faces or not noted.faces or node.kind == HIDDEN:
                state.seen.append(known)
                if not node.side:
                    state.last = known
                return ""
            if not state.former:
                self.problems.append(Problem("two records have the same id", self.files[state.number]))
            return self._folded(state, noted, f"{uid}~{noted.offset}")  # which another file may have there, too
        original = self.index.get(more.forked)
        if original is not None and self.nodes[original].shown == noted.faces:
            self.index[uid] = original
            state.seen.append(original)
            state.last = original
            return ""
        return uid

    def _inline_side(self, node: Node) -> str:
        """Versions 1.0.x wrote sub-agents into the session's own file, each with a root of its own."""
        side = self.nodes[node.parent].side if node.parent >= 0 else ""
        return side or f"inline-{node.uuid}"

    def _note_calls(self, here: int, noted: Noted) -> None:
        for place, face in enumerate(noted.faces):
            if face.kind == "tool_call":
                self.tools[face.call] = face.tool
                self.calls.setdefault(face.call, (here, entry_id(self.nodes[here].uuid, place)))

    def _note_more(self, here: int, more: More) -> None:
        node = self.nodes[here]
        if more.summary and node.parent in self.boundaries:
            boundary = self.nodes[node.parent]
            if boundary.kind != HIDDEN:
                node.faces, boundary.faces, boundary.kind = boundary.faces, (), HIDDEN
        elif more.ends_turn and node.parent >= 0:
            self.nodes[node.parent].complete = True
        for call, prompt in more.starts:
            self.agent_prompts.setdefault(prompt, []).append(call)
        if more.told_agent and any(self.tools.get(call) in AGENT_TOOLS for call in node.answers):
            self.call_of_agent.setdefault(more.told_agent, node.answers[0])

    def _without_id(self, state: _File, noted: Noted) -> None:
        """What cannot be read, a title, a record of an unknown type, or a chain record without an id."""
        more = noted.more or _NOTHING
        if more.unreadable is not None:
            self._unreadable(state, noted, more.unreadable.why, more.unreadable.number, last=more.unreadable.last)
        elif noted.type in BOOKKEEPING:
            if not state.agent:
                self.titles[self.sessions[state.number]] = first_line(more.title)
        elif noted.type in CHAIN:
            self.problems.append(Problem("a record has no id", self.files[state.number]))
            if noted.faces:
                self._hang_on_last(state, noted, noted.faces, noted.kind)
        elif noted.type in state.unknown:
            state.unknown[noted.type][1] += 1
        else:
            state.unknown[noted.type] = [self._hang_on_last(state, noted, noted.faces, noted.kind), 1]

    def _unreadable(self, state: _File, noted: Noted, why: str, line: int, *, last: bool) -> None:
        self.problems.append(Problem(why, self.files[state.number], line))
        if not last:
            face = Face.unreadable(line, noted.length)
            self._hang_on_last(state, noted, (face,), NOTICE)

    def _hang_on_last(self, state: _File, noted: Noted, shown: tuple[Face, ...], kind: int) -> int:
        """A record that names no parent stands after what was written before it."""
        stem = os.path.basename(self.files[state.number]).replace(".jsonl", "")
        node = Node(f"{stem}@{noted.offset}", kind, noted.time, state.number, noted.offset, noted.length, shown, shown)
        node.side = state.agent
        node.parent = state.last if not state.agent else (state.seen[-1] if state.seen else ROOT)
        if not node.time and node.parent >= 0:
            node.time = self.nodes[node.parent].time
        self.nodes.append(node)
        self.spoken.append(0)
        return len(self.nodes) - 1


class _File:
    """What is remembered while one file is gathered."""

    def __init__(self, number: int, agent: str, *, former: bool) -> None:
        self.number = number
        self.former = former
        self.agent = agent
        self.seen: list[int] = []
        self.last = ROOT
        """The newest record of the main conversation."""
        self.unknown: dict[str, list[int]] = {}
        """Unknown type → node that stands for it, how many there are."""


def entry_id(uid: str, number: int) -> str:
    """The id of the entry that a record's face of this number becomes."""
    return uid if number == 0 else f"{uid}#{number + 1}"
