"""Reads all sources of an OpenCode session into one conversation.

A session is one tree of rows (`tree.py`). Sub-agents are sessions of their own and stand under the call that started
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...model import Conversation, Entry, SessionInfo, Span
from ..base import Source
from ..forms.uncollected import uncollected
from .rows import Read, read_source
from .tree import Tree, are_children, line_up, main

_DEEPEST = 50
"""Levels of sub-agents that start sub-agents; what is deeper stands beside."""


def read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    """All of a session that its sources hold, the main ones in the order of their age."""
    with uncollected():
        return _read(info, sources)


def _read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    reads = [read_source(source, info.cwd) for source in sources]
    is_child = are_children(reads, info)
    tree, ends = main(reads, is_child, info)
    children: dict[str, tuple[Tree, int]] = {}
    for number, found in sorted(enumerate(reads), key=lambda item: item[1].is_former):
        if is_child[number]:
            inner, _ = children.setdefault(found.id, (Tree(), number))
            line_up(inner, found, number)
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


def _newest(tree: Tree, ends: dict[str, int], leaves: dict[str, str]) -> str | None:
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

    def __init__(self, reads: list[Read], children: dict[str, tuple[Tree, int]]) -> None:
        self.reads = reads
        self.children = children
        self.last: dict[int, list[str | None]] = {}

    def all(self, tree: Tree) -> tuple[Entry, ...]:
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

    def shown(self, tree: Tree, at: int) -> str | None:
        """The last entry at or before a node."""
        return self.last[id(tree)][at] if at >= 0 else None

    def _of(self, tree: Tree, under: _Under, made: list[Entry], seen: set[str]) -> None:
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
