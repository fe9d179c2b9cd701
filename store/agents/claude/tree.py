"""From the parent links of a session's records to the tree that people mean.

Most records with several children are no forks: calls of one message run in parallel, hidden records and late notices
hang at the side, an interrupted answer stands beside the one that replaced it, old versions wrote copies. Only where
two lines of work go on from one place is there a fork. Everything here is iterative: chains are 50,000 deep.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from msgspec import Struct

from ..forms.face import Face
from ..forms.links import DETACHED, HIDDEN, ROOT, break_cycles, skip_hidden

__all__ = [
    "DETACHED",
    "HIDDEN",
    "NOTICE",
    "PROMPT",
    "RESULT",
    "ROOT",
    "SUMMARY",
    "WORK",
    "Arranged",
    "Node",
    "break_cycles",
]

PROMPT, WORK, RESULT, NOTICE, SUMMARY = range(HIDDEN + 1, 6)
"""What a node is for the tree; WORK is a reply or a call."""

_PROMPTS, _RESULTS, _COMPLETE, _MESSAGE, _MESSAGES = 1, 2, 4, 8, 16
"""What a tree holds; the last one stands for two or more."""
_HOLDS = (0, _PROMPTS, 0, _RESULTS, 0, _PROMPTS)


class Node(Struct, gc=False):
    """A record of a chain."""

    uuid: str
    kind: int
    time: int
    file: int
    offset: int
    length: int
    faces: tuple[Face, ...]
    """What it shows."""
    shown: tuple[Face, ...]
    """What its own record shows: a summary takes over what the boundary before it did."""
    message: str = ""
    """Id of the API's message that the record is a part of."""
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    prompt: str = ""
    complete: bool = False
    """The answer was finished: what follows elsewhere is no second try of it."""
    parent: int = ROOT
    side: str = ""
    """The sub-agent that it belongs to; "" for the main conversation."""
    stub: bool = False
    """An answer that was given up for another one."""
    dead: int = ROOT
    """The node that this one is a copy of; ROOT when it is none."""


class Arranged:
    """Shown nodes with their parents in the tree that people mean."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.parent = skip_hidden(nodes)
        """Of every shown node: index of the node above it, ROOT or DETACHED."""
        self.children: dict[int, list[int]] = {}
        self.group: list[int] = []
        self.tails: dict[int, int] = {}
        """Group → its last node."""
        self._part_sub_agents()
        self._list_children()
        self._fold_copies()
        self._gather_batches()
        self._list_children()
        self._straighten()
        self.order = self._ordered()
        """Every shown node, a parent before its children."""

    def roots(self) -> list[int]:
        """Nodes without a parent, in the order of the file."""
        return sorted(self.children.get(ROOT, []) + self.children.get(DETACHED, []))

    def _part_sub_agents(self) -> None:
        """A sub-agent's records are a tree of their own, whatever they hang on."""
        nodes, parent = self.nodes, self.parent
        for index, node in enumerate(nodes):
            above = parent[index]
            if above >= 0 and nodes[above].side != node.side:
                parent[index] = ROOT if node.side else DETACHED

    def _list_children(self) -> None:
        children: defaultdict[int, list[int]] = defaultdict(list)
        parent = self.parent
        for index, node in enumerate(self.nodes):
            if node.kind and node.dead < 0:
                children[parent[index]].append(index)
        self.children = dict(children)

    def _fold_copies(self) -> None:
        """Old versions copied the history when resuming: same time, same content, new ids (formats 1.3, rule 3)."""
        children = self.children
        waiting = [place for place, below in children.items() if len(below) > 1]
        while waiting:
            place = waiting.pop()
            first: dict[tuple[object, ...], int] = {}
            kept: list[int] = []
            for index in children.get(place, ()):
                node = self.nodes[index]
                key = (node.time, node.kind, node.side, node.faces)
                original = first.setdefault(key, index)
                if original == index or not node.time:
                    kept.append(index)
                    continue
                node.dead = original
                self.nodes[original].complete |= node.complete
                moved = children.pop(index, [])
                for child in moved:
                    self.parent[child] = original
                if moved:
                    children[original] = sorted(children.get(original, []) + moved)
                    waiting.append(original)
            children[place] = kept

    def _gather_batches(self) -> None:
        """Puts the calls of one message and their results in one line, in the order of the file (rule 2)."""
        nodes, parent = self.nodes, self.parent
        group = self.group = [-1] * len(nodes)
        members: dict[int, list[int]] = {}
        answers: dict[int, dict[str, int]] = {}
        """Batch → tool-use id of each of its calls → the node that answers it, or ROOT."""
        again: dict[int, int] = {}
        """A second answer, made up when the session went on from the middle of a batch → the first one."""
        for index in self._downwards():
            node, above = nodes[index], parent[index]
            batch = group[above] if above >= 0 else -1
            if node.kind == WORK and node.message:
                if batch < 0 or nodes[batch].message != node.message:
                    batch = index
                    members[batch], answers[batch] = [], {}
                for call in node.calls:
                    answers[batch][call] = ROOT
            elif node.kind == RESULT and batch >= 0:
                asked = [call for call in node.answers if call in answers[batch]]
                if not asked:
                    continue
                first = answers[batch][asked[0]]
                if first >= 0:
                    again[index] = first
                    continue
                answers[batch].update(dict.fromkeys(asked, index))
            else:
                continue
            group[index] = batch
            members[batch].append(index)
        for batch, found in members.items():
            found.sort()
            self.tails[batch] = found[-1]
            if len(found) > 1:
                self._line_up(batch, found, again)

    def _line_up(self, batch: int, members: list[int], again: dict[int, int]) -> None:
        parent, tail = self.parent, members[-1]
        others = [child for member in members for child in self.children.get(member, ()) if self.group[child] != batch]
        above = parent[batch]
        for before, after in pairwise(members):
            parent[after] = before
        parent[members[0]] = above
        for child in others:
            if child in again:
                parent[child] = parent[again[child]]
            elif self.nodes[child].kind != PROMPT:
                # A prompt in the middle of a batch stays there: it may be a fork; if it is none, it is straightened.
                parent[child] = tail

    def _downwards(self) -> list[int]:
        """Shown nodes, parents first: nearly always the order of the files."""
        parent = self.parent
        shown = [index for index, node in enumerate(self.nodes) if node.kind and node.dead < 0]
        return shown if all(parent[index] < index for index in shown) else self._walk()

    def _walk(self) -> list[int]:
        """Shown nodes, parents first, however they stand in the files."""
        order: list[int] = []
        waiting = sorted(self.children.get(ROOT, []) + self.children.get(DETACHED, []), reverse=True)
        children = self.children
        while waiting:
            index = waiting.pop()
            order.append(index)
            below = children.get(index)
            if below is not None:
                if len(below) > 1:
                    waiting.extend(reversed(below))
                else:
                    waiting.append(below[0])
        return order

    def _straighten(self) -> None:
        """Leaves a fork only where two lines of work go on (rules 1, 4, 5 and 6)."""
        many = {place for place, below in self.children.items() if len(below) > 1 and place != DETACHED}
        if not many:
            return
        order = self._downwards()
        self._measure(order)
        if ROOT in many:
            many |= self._adopt_stray_roots()
        for place in reversed(order):
            if place in many:
                self._straighten_below(place)
        if ROOT in many:
            self._straighten_roots()

    def _measure(self, order: list[int]) -> None:
        """What the tree below each node holds, as flags, and how large it is."""
        nodes, parent, group = self.nodes, self.parent, self.group
        self._size = size = [1] * len(nodes)
        self._holds = holds = bytearray(len(nodes))
        for index in reversed(order):
            node, above = nodes[index], parent[index]
            found = holds[index] | _HOLDS[node.kind]
            if node.complete:
                found |= _COMPLETE
            if node.kind == WORK and (group[index] == index or group[index] < 0):
                found |= _MESSAGES if found & _MESSAGE else _MESSAGE
            holds[index] = found
            if above >= 0:
                if holds[above] & found & _MESSAGE:
                    found |= _MESSAGES
                holds[above] |= found
                size[above] += size[index]

    def _is_side(self, index: int) -> bool:
        """Only notices and late results: nobody went on from here."""
        return not self._holds[index] & (_PROMPTS | _MESSAGE)

    def _is_stub(self, index: int) -> bool:
        """An answer that was given up: one unfinished message without any result."""
        return self._holds[index] == _MESSAGE

    def _adopt_stray_roots(self) -> set[int]:
        """A notice without parent stands after what was written before it, not beside the conversation."""
        kept: list[int] = []
        touched: set[int] = set()
        last = -1
        shown = sorted(index for index in self._downwards() if not self.nodes[index].side)
        before: dict[int, int] = {}
        for index in shown:
            before[index] = last
            last = index
        for index in self.children[ROOT]:
            place = before.get(index, -1)
            if place < 0 or not self._is_side(index) or not self._follows(index):
                kept.append(index)
                continue
            self.parent[index] = place
            self.children[place] = sorted([*self.children.get(place, []), index])
            if len(self.children[place]) > 1:
                touched.add(place)
        self.children[ROOT] = kept
        return touched

    def _follows(self, root: int) -> bool:
        """Whether all below a root was written after it, so that nothing written before it can be below it."""
        waiting = [root]
        while waiting:
            index = waiting.pop()
            if index < root:
                return False
            waiting.extend(self.children.get(index, ()))
        return True

    def _straighten_roots(self) -> None:
        """Notices at the very beginning stand before the first prompt; several first prompts stay several roots."""
        roots = self.children.get(ROOT, [])
        ours = [index for index in roots if not self.nodes[index].side]
        line = [index for index in ours if self._is_side(index)]
        rest = [index for index in ours if not self._is_side(index)]
        if not line or not rest:
            return
        at = ROOT
        for child in line:
            self.parent[child] = at
            if at != ROOT:
                self.children[at] = [child]
            at = self._end(child)
        for child in rest:
            self.parent[child] = at
        self.children[at] = rest
        self.children[ROOT] = sorted([line[0], *(index for index in roots if self.nodes[index].side)])

    def _straighten_below(self, place: int) -> None:
        below = self.children[place]
        side = [child for child in below if self._is_side(child)]
        going_on = [child for child in below if not self._is_side(child)]
        stubs = [child for child in going_on if self._is_stub(child)]
        if len(stubs) == len(going_on):
            stubs = stubs[:-1]
        if not side and not stubs:
            return
        waiting = list(stubs)
        while waiting:
            child = waiting.pop()
            self.nodes[child].stub = True
            waiting.extend(self.children.get(child, ()))
        given_up = set(stubs)
        rest = [child for child in going_on if child not in given_up]
        line = sorted(side + stubs)
        if not rest:
            # Nothing follows them, so the longest can come last: it needs no walk to its end.
            longest = max(line, key=lambda child: self._size[child])
            line.remove(longest)
            rest = [longest]
        at = place
        for child in line:
            self.parent[child] = at
            self.children[at] = [child]
            at = self._end(child)
        for child in rest:
            self.parent[child] = at
        self.children[at] = rest

    def _end(self, index: int) -> int:
        """Where a straight line ends."""
        while below := self.children.get(index):
            index = below[-1]
        return index

    def _ordered(self) -> list[int]:
        """By time, but no child before its parent."""
        late = [0] * len(self.nodes)
        keyed: list[tuple[int, int, int]] = []
        for place, index in enumerate(self._downwards()):
            above = self.parent[index]
            time = self.nodes[index].time
            if above >= 0 and late[above] > time:
                time = late[above]
            late[index] = time
            keyed.append((time, place, index))
        keyed.sort()
        return [index for _, _, index in keyed]
