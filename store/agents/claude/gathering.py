"""The records of a session's files as nodes: read once, folded by their ids, told apart by what they are.

Files of one origin are folded by the records' ids, the earliest file owning a record. Whatever is broken is kept as
what it is and named among the problems.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from ...model import Problem, SessionInfo
from ...text import first_line
from ..base import Source
from .faces import AGENT_TOOLS, BOOKKEEPING, CHAIN, Face, call_prompt, faces, text_of, unknown
from .filenames import META, session_of, sub_agent_of
from .records import Line, Unreadable, from_raw, nanoseconds, parse, records
from .tree import HIDDEN, NOTICE, PROMPT, RESULT, ROOT, SUMMARY, WORK, Node

_KINDS = {
    "prompt": PROMPT,
    "reply": WORK,
    "tool_call": WORK,
    "tool_result": RESULT,
    "notice": NOTICE,
    "summary": SUMMARY,
}
_FINISHED = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})
_END_OF_TURN = frozenset({"stop_hook_summary", "turn_duration"})
_THROWN_AWAY = ("acompact-", "aprompt_suggestion-")
SPOKEN, GOOD_LEAF = 1, 2


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

    def read(self, sources: Sequence[Source]) -> None:
        """Reads the main files in the order of their age, then the sub-agents'."""
        for source in sources:
            if not sub_agent_of(source.name):
                self._read_file(source, "")
        for source in sources:
            agent = sub_agent_of(source.name)
            if agent.startswith(_THROWN_AWAY):
                continue
            if source.name.endswith(META):
                with source.open() as file:
                    call = parse(file.read()).get("toolUseId")
                if isinstance(call, str):
                    self.call_of_agent[agent] = call
            elif agent:
                self._read_file(source, agent)

    def _read_file(self, source: Source, agent: str) -> None:
        number = len(self.files)
        self.files.append(source.name)
        self.sessions.append(session_of(source.name) or self.info.id)
        state = _File(number, agent)
        if not agent:
            self.seen[number] = state.seen
        with source.open() as file:
            for offset, length, line in records(file):
                if isinstance(line, Unreadable):
                    self._unreadable(state, offset, length, line)
                elif line.uuid is None or line.type in BOOKKEEPING:
                    if line.type not in BOOKKEEPING:
                        self._no_place(state, offset, length, line)
                    elif line.title and not agent:
                        self.titles[self.sessions[number]] = first_line(line.title)
                else:
                    self._record(state, offset, length, line, line.uuid)
        for index, count in state.unknown.values():
            if count > 1:
                face = cast("Face", self.nodes[index].faces[0])
                self.nodes[index].faces = (face._replace(text=f"{face.text} ({count} of them)"),)

    def _record(self, state: _File, offset: int, length: int, line: Line, uid: str) -> None:
        shown = faces(line, self.info.cwd)
        known = self.index.get(uid)
        if known is not None:
            node = self.nodes[known]
            if node.faces == shown or not shown or node.kind == HIDDEN:
                state.seen.append(known)
                if not node.side:
                    state.last = known
                return
            self.problems.append(Problem("two records have the same id", self.files[state.number]))
            uid = f"{uid}~{offset}"
        elif line.forked is not None and line.forked.message != uid:
            original = self.index.get(line.forked.message)
            if original is not None and self.nodes[original].faces == shown:
                self.index[uid] = original
                state.seen.append(original)
                state.last = original
                return
        index = self._add(uid, shown, nanoseconds(line.timestamp), state, offset, length)
        self.index.setdefault(uid, index)
        state.seen.append(index)
        self._place(index, line, state)
        if line.type == "assistant":
            self._note_answer(index, line)
        elif line.type == "user":
            self._note_results(index, line)
        elif line.subtype in _END_OF_TURN and self.nodes[index].parent >= 0:
            self.nodes[self.nodes[index].parent].complete = True

    def _add(self, uid: str, shown: tuple[Face, ...], time: int, state: _File, offset: int, length: int) -> int:
        kind = _KINDS[shown[0].kind] if shown else HIDDEN
        node = Node(uid, kind, time, state.number, offset, length)
        node.faces = shown
        self.nodes.append(node)
        self.spoken.append(0)
        return len(self.nodes) - 1

    def _place(self, index: int, line: Line, state: _File) -> None:
        """Its parent, its sub-agent, and whether the agent could go on from it."""
        node = self.nodes[index]
        above = line.parent
        if line.subtype == "compact_boundary" and line.type == "system":
            self.boundaries.add(index)
            above = line.logical_parent
            if above not in self.index:
                node.parent, above = state.last, None
        if above is not None:
            parent = self.index.get(above, ROOT)
            if parent >= 0:
                node.parent = parent
            else:
                self.parents[index] = above
        if line.summary and node.parent in self.boundaries:
            boundary = self.nodes[node.parent]
            if boundary.kind != HIDDEN:
                node.faces, boundary.faces, boundary.kind = boundary.faces, (), HIDDEN
        node.prompt = line.prompt or ""
        if state.agent or line.sidechain:
            node.side = state.agent or line.agent or self._inline_side(node)
            if line.type == "user" and node.side not in self.first_prompts:
                self.first_prompts[node.side] = text_of(line.message).strip()
        else:
            state.last = index
        if line.type in ("user", "assistant"):
            self.spoken[index] = SPOKEN if node.side or line.meta or line.team else GOOD_LEAF

    def _inline_side(self, node: Node) -> str:
        """Versions 1.0.x wrote sub-agents into the session's own file, each with a root of its own."""
        side = self.nodes[node.parent].side if node.parent >= 0 else ""
        return side or f"inline-{node.uuid}"

    def _note_answer(self, index: int, line: Line) -> None:
        node, message = self.nodes[index], line.message
        if message is None:
            return
        if node.kind == WORK:
            node.message = message.id
        node.complete = message.stop_reason in _FINISHED
        shown = cast("tuple[Face, ...]", node.faces)
        calls: list[str] = []
        for place, face in enumerate(shown):
            if face.kind != "tool_call":
                continue
            calls.append(face.call)
            self.tools[face.call] = face.tool
            self.calls.setdefault(face.call, (index, entry_id(node.uuid, place)))
            if face.tool in AGENT_TOOLS and not isinstance(message.content, str):
                for part in message.content:
                    if part.id == face.call:
                        self.agent_prompts.setdefault(call_prompt(part).strip(), []).append(face.call)
        node.calls = tuple(calls)

    def _note_results(self, index: int, line: Line) -> None:
        node = self.nodes[index]
        if node.kind != RESULT:
            return
        shown = cast("tuple[Face, ...]", node.faces)
        node.answers = tuple(face.call for face in shown if face.call)
        if any(self.tools.get(call) in AGENT_TOOLS for call in node.answers):
            told = from_raw(line.result)
            if isinstance(told, dict):
                agent = cast("dict[str, Any]", told).get("agentId")
                if isinstance(agent, str):
                    self.call_of_agent.setdefault(agent, node.answers[0])

    def _no_place(self, state: _File, offset: int, length: int, line: Line) -> None:
        """A record of an unknown type, or a chain record without an id: it stands after what was written before it."""
        if line.type in CHAIN:
            self.problems.append(Problem("a record has no id", self.files[state.number]))
            shown = faces(line, self.info.cwd)
        elif line.type in state.unknown:
            state.unknown[line.type][1] += 1
            return
        else:
            shown = (unknown(line.type, line.content),)
        if not shown:
            return
        index = self._add(f"{self._stem(state)}@{offset}", shown, nanoseconds(line.timestamp), state, offset, length)
        if line.type not in CHAIN:
            state.unknown[line.type] = [index, 1]
        self._hang_on_last(index, state)

    def _unreadable(self, state: _File, offset: int, length: int, line: Unreadable) -> None:
        self.problems.append(Problem(line.why, self.files[state.number], line.number))
        if line.last:
            return
        face = Face("notice", f"line {line.number} cannot be read ({length:,} bytes)", "unreadable")
        self._hang_on_last(self._add(f"{self._stem(state)}@{offset}", (face,), 0, state, offset, length), state)

    def _hang_on_last(self, index: int, state: _File) -> None:
        node = self.nodes[index]
        node.side = state.agent
        node.parent = state.last if not state.agent else (state.seen[-1] if state.seen else ROOT)
        if not node.time and node.parent >= 0:
            node.time = self.nodes[node.parent].time

    def _stem(self, state: _File) -> str:
        return os.path.basename(self.files[state.number]).removesuffix(".jsonl")


class _File:
    """What is remembered while one file is read."""

    def __init__(self, number: int, agent: str) -> None:
        self.number = number
        self.agent = agent
        self.seen: list[int] = []
        self.last = ROOT
        """The newest record of the main conversation."""
        self.unknown: dict[str, list[int]] = {}
        """Unknown type → node that stands for it, how many there are."""


def entry_id(uid: str, number: int) -> str:
    """The id of the entry that a record's face of this number becomes."""
    return uid if number == 0 else f"{uid}#{number + 1}"
