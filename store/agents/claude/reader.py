"""Reads all files of a Claude Code session into one conversation (formats 1.3).

Files of one origin are folded by the records' ids, the earliest file owning a record; sub-agents stand under the call
that started them. Whatever is broken is shown as what it is and named among the problems; the rest stays whole.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ...text import first_line
from ..base import Source
from .faces import AGENT_TOOLS, BOOKKEEPING, CHAIN, Face, call_prompt, faces, text_of, unknown
from .records import Line, Unreadable, from_raw, nanoseconds, parse, records
from .tree import DETACHED, HIDDEN, NOTICE, PROMPT, RESULT, ROOT, SUMMARY, WORK, Arranged, Node, break_cycles

META = ".meta.json"
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
_SPOKEN, _GOOD_LEAF = 1, 2


def read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    """All of a session that its sources hold; the main files in the order of their age. Raises OSError only."""
    paused = gc.isenabled()
    # A hundred thousand small objects are made and none is garbage: the collector would only walk them again.
    gc.disable()
    try:
        return _Reader(info).read(sources)
    finally:
        if paused:
            gc.enable()


def session_of(name: str) -> str:
    """The session id that a file of an agent belongs to; "" for a sub-agent's file that stands beside the sessions."""
    folder, base = os.path.split(name)
    if not base.startswith("agent-"):
        return base.removesuffix(".jsonl")
    while folder and folder != os.path.dirname(folder):
        folder, last = os.path.split(folder)
        if last == "subagents":
            return os.path.basename(folder)
    return ""


def sub_agent_of(name: str) -> str:
    """The sub-agent's id in a file's name; "" for a session's own file."""
    base = os.path.basename(name)
    return base[6:].removesuffix(META).removesuffix(".jsonl") if base.startswith("agent-") else ""


class _Reader:
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

    def read(self, sources: Sequence[Source]) -> Conversation:
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
        self._join_parents()
        arranged = Arranged(self.nodes)
        entries = self._entries(arranged)
        leaves, leaf = self._leaves(arranged)
        info = replace(
            self.info,
            entries=len(entries),
            branches=sum(
                1 for index in arranged.order if index not in arranged.children and not self.nodes[index].side
            ),
            problem=self.problems[0].what if self.problems else self.info.problem,
        )
        return Conversation(info, entries, leaf, leaves, tuple(self.problems), self.titles)

    # ---- records to nodes

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
            self.spoken[index] = _SPOKEN if node.side or line.meta or line.team else _GOOD_LEAF

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
            self.calls.setdefault(face.call, (index, _entry_id(node.uuid, place)))
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

    # ---- nodes to a tree

    def _join_parents(self) -> None:
        """Parents that were written after their children; missing ones; cycles."""
        lost: Counter[int] = Counter()
        for index, above in self.parents.items():
            node = self.nodes[index]
            node.parent = self.index.get(above, DETACHED)
            if node.parent == DETACHED and not node.side:
                lost[node.file] += 1
        for file, count in lost.items():
            what = "a record hangs" if count == 1 else f"{count} records hang"
            self.problems.append(Problem(f"{what} on one that is not there", self.files[file]))
        for index in break_cycles(self.nodes):
            self.problems.append(Problem("records are each other's parents", self.files[self.nodes[index].file]))

    def _entries(self, arranged: Arranged) -> tuple[Entry, ...]:
        nodes, parents, tools = self.nodes, arranged.parent, self.tools
        last: list[str | None] = [None] * len(nodes)
        prompts = [""] * len(nodes)
        under = self._sub_agents()
        turns = self._turns(arranged, under)
        made: list[Entry] = []
        for index in arranged.order:
            node = nodes[index]
            above = parents[index]
            below: str | None = None
            prompt = node.prompt
            if above >= 0:
                below = last[above]
                prompt = prompt or prompts[above]
            place = under[node.side][0] if node.side in under else ""
            flavour = "detached" if above == DETACHED or (node.side and not place and above < 0) else ""
            flavour = flavour or ("sub-agent" if node.side and above < 0 else "") or ("retry" if node.stub else "")
            turn, prompts[index] = turns[index], prompt
            span = Span(self.files[node.file], node.offset, node.length)
            session = self.sessions[node.file]
            for number, face in enumerate(cast("tuple[Face, ...]", node.faces)):
                uid = _entry_id(node.uuid, number)
                made.append(
                    Entry(
                        uid,
                        below,
                        face.kind,
                        node.time,
                        face.text,
                        session,
                        turn,
                        flavour or face.flavour,
                        face.tool or tools.get(face.call, ""),
                        face.call,
                        prompt,
                        face.error,
                        face.paths,
                        place,
                        span,
                    )
                )
                below, flavour = uid, ""
            last[index] = below
        self.last = last
        return tuple(made)

    def _turns(self, arranged: Arranged, under: dict[str, tuple[str, int]]) -> list[int]:
        """Number of the prompt that each node follows; a sub-agent's nodes have that of its call."""
        nodes, parents = self.nodes, arranged.parent
        turns = [0] * len(nodes)
        for index in arranged.order:
            node, above = nodes[index], parents[index]
            if not node.side:
                turns[index] = (turns[above] if above >= 0 else 0) + (node.kind == PROMPT)
        of_side: dict[str, int] = {"": 0}
        for side in under:
            trail: list[str] = []
            at = side
            while at in under and at not in of_side and at not in trail:
                trail.append(at)
                at = nodes[under[at][1]].side
            turn = of_side.get(at, 0) if at or not trail else turns[under[trail[-1]][1]]
            of_side.update(dict.fromkeys(trail, turn))
        for index in arranged.order:
            if nodes[index].side:
                turns[index] = of_side.get(nodes[index].side, 0)
        return turns

    def _sub_agents(self) -> dict[str, tuple[str, int]]:
        """Sub-agent → entry and node of the call that started it."""
        found: dict[str, tuple[str, int]] = {}
        for agent, prompt in self.first_prompts.items():
            call = self.call_of_agent.get(agent)
            if call is None:
                calls = self.agent_prompts.get(prompt, [])
                call = calls.pop(0) if calls else ""
            if call in self.calls:
                index, entry = self.calls[call]
                found[agent] = (entry, index)
        return found

    def _leaves(self, arranged: Arranged) -> tuple[dict[str, str], str | None]:
        """For each session the entry that its agent would go on from, and the newest of them."""
        leaves: dict[str, str] = {}
        newest, leaf = -1, None
        for file, seen in self.seen.items():
            at = self._active(seen)
            while at >= 0 and (self.nodes[at].kind == HIDDEN or self.nodes[at].dead >= 0):
                at = self.nodes[at].dead if self.nodes[at].dead >= 0 else arranged.parent[at]
            if at < 0:
                continue
            at = arranged.tails.get(arranged.group[at], at)
            found = self.last[at]
            if found is None:
                continue
            leaves[self.sessions[file]] = found
            time = max(self.nodes[index].time for index in seen)
            if time > newest:
                newest, leaf = time, found
        return leaves, leaf

    def _active(self, seen: list[int]) -> int:
        """The record that the agent goes on from, by the rule of its SDK; ROOT when there is none."""
        nodes = self.nodes
        place = {index: position for position, index in enumerate(seen)}
        parents = {nodes[index].parent for index in place}
        best = [-1, -1, -1]
        chosen = [ROOT, ROOT, ROOT]
        visited: set[int] = set()
        for end in place:
            if end in parents:
                continue
            at = end
            while at >= 0 and not self.spoken[at] and at not in visited:
                visited.add(at)
                at = nodes[at].parent
            if at < 0 or at in visited:
                continue
            visited.add(at)
            rank = self.spoken[at]
            if place.get(at, -1) > best[rank]:
                best[rank], chosen[rank] = place.get(at, -1), at
        return chosen[_GOOD_LEAF] if chosen[_GOOD_LEAF] >= 0 else chosen[_SPOKEN]


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


def _entry_id(uid: str, number: int) -> str:
    return uid if number == 0 else f"{uid}#{number + 1}"
