"""Reads all files of a Claude Code session into one conversation (formats 1.3).

Sub-agents stand under the call that started them. Whatever is broken is shown as what it is and named among the
problems; the rest stays whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ..base import PartialState, Source
from ..forms.growing import Followed, Growing
from ..forms.uncollected import uncollected
from .gathering import Gathered, entry_id
from .history import Histories
from .notes import GOOD_LEAF, SPOKEN, Notes
from .tree import DETACHED, HIDDEN, PROMPT, ROOT, Arranged, break_cycles


class Following:
    """Reads a session again and again, of its files only what is new."""

    def __init__(self) -> None:
        self._files = Growing(Notes, Notes.read_on)
        self._histories = Histories()

    def read(self, info: SessionInfo, sources: Sequence[Source]) -> Conversation:
        """All of a session that its sources hold now."""
        with uncollected():
            return _joined(info, self._files.read(sources, info.cwd))

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States of files from Claude's own backups, the oldest first."""
        return self._histories.file_states(conversation, root, sources)


follow = Following


def _joined(info: SessionInfo, files: Sequence[Followed[Notes]]) -> Conversation:
    found = Gathered(info)
    found.add(files)
    _join_parents(found)
    arranged = Arranged(found.nodes)
    joined = _Joined(found, arranged)
    entries = joined.entries()
    leaves, leaf = joined.leaves()
    ends = (index for index in arranged.order if index not in arranged.children and not found.nodes[index].side)
    info = replace(
        info,
        entries=len(entries),
        branches=sum(1 for _ in ends),
        problem=found.problems[0].what if found.problems else info.problem,
    )
    return Conversation(info, entries, leaf, leaves, tuple(found.problems), found.titles)


def _join_parents(found: Gathered) -> None:
    """Parents that were written after their children; missing ones; cycles."""
    lost: Counter[int] = Counter()
    for index, above in found.parents.items():
        node = found.nodes[index]
        node.parent = found.index.get(above, DETACHED)
        if node.parent == DETACHED and not node.side:
            lost[node.file] += 1
    for file, count in lost.items():
        what = "a record hangs" if count == 1 else f"{count} records hang"
        found.problems.append(Problem(f"{what} on one that is not there", found.files[file]))
    for index in break_cycles(found.nodes):
        found.problems.append(Problem("records are each other's parents", found.files[found.nodes[index].file]))


class _Joined:
    """Nodes as the entries of one tree."""

    def __init__(self, found: Gathered, arranged: Arranged) -> None:
        self.found = found
        self.arranged = arranged
        self.last: list[str | None] = []
        """Of every node: its last entry."""

    def entries(self) -> tuple[Entry, ...]:
        nodes, parents, tools = self.found.nodes, self.arranged.parent, self.found.tools
        last: list[str | None] = [None] * len(nodes)
        prompts = [""] * len(nodes)
        under = self._sub_agents()
        turns = self._turns(under)
        made: list[Entry] = []
        for index in self.arranged.order:
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
            span = Span(self.found.files[node.file], node.offset, node.length)
            session = self.found.sessions[node.file]
            for number, face in enumerate(node.faces):
                uid = entry_id(node.uuid, number)
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

    def _turns(self, under: dict[str, tuple[str, int]]) -> list[int]:
        """Number of the prompt that each node follows; a sub-agent's nodes have that of its call."""
        nodes, parents = self.found.nodes, self.arranged.parent
        turns = [0] * len(nodes)
        for index in self.arranged.order:
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
        for index in self.arranged.order:
            if nodes[index].side:
                turns[index] = of_side.get(nodes[index].side, 0)
        return turns

    def _sub_agents(self) -> dict[str, tuple[str, int]]:
        """Sub-agent → entry and node of the call that started it."""
        found: dict[str, tuple[str, int]] = {}
        for agent, prompt in self.found.first_prompts.items():
            call = self.found.call_of_agent.get(agent)
            if call is None:
                calls = self.found.agent_prompts.get(prompt, [])
                call = calls.pop(0) if calls else ""
            if call in self.found.calls:
                index, entry = self.found.calls[call]
                found[agent] = (entry, index)
        return found

    def leaves(self) -> tuple[dict[str, str], str | None]:
        """For each session the entry that its agent would go on from, and the newest of them."""
        leaves: dict[str, str] = {}
        newest, leaf = -1, None
        for file, seen in self.found.seen.items():
            at = self._active(seen)
            while at >= 0 and (self.found.nodes[at].kind == HIDDEN or self.found.nodes[at].dead >= 0):
                at = self.found.nodes[at].dead if self.found.nodes[at].dead >= 0 else self.arranged.parent[at]
            if at < 0:
                continue
            at = self.arranged.tails.get(self.arranged.group[at], at)
            found = self.last[at]
            if found is None:
                continue
            leaves[self.found.sessions[file]] = found
            time = max(self.found.nodes[index].time for index in seen)
            if time > newest:
                newest, leaf = time, found
        return leaves, leaf

    def _active(self, seen: list[int]) -> int:
        """The record that the agent goes on from, by the rule of its SDK; ROOT when there is none."""
        nodes = self.found.nodes
        place = {index: position for position, index in enumerate(seen)}
        parents = {nodes[index].parent for index in place}
        best = [-1, -1, -1]
        chosen = [ROOT, ROOT, ROOT]
        visited: set[int] = set()
        for end in place:
            if end in parents:
                continue
            at = end
            while at >= 0 and not self.found.spoken[at] and at not in visited:
                visited.add(at)
                at = nodes[at].parent
            if at < 0 or at in visited:
                continue
            visited.add(at)
            rank = self.found.spoken[at]
            if place.get(at, -1) > best[rank]:
                best[rank], chosen[rank] = place.get(at, -1), at
        return chosen[GOOD_LEAF] if chosen[GOOD_LEAF] >= 0 else chosen[SPOKEN]
