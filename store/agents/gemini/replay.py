"""Replays the logs of a session into a tree: what a rewind or a restore drops stays as a branch.

The agent keeps one list of messages and forgets what it drops. Here each message becomes a node that hangs on the one
that it followed when it came. A new list (`$set.messages`) is mostly the old one told again: at a resume with the same
ids, after /restore and /compress with new ones. It is laid over the path that is there, and only what is new in it
becomes a node. What is new at its beginning is the summary of a compression; the conversation goes on below that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .faces import Face
from .notes import Message, Restated
from .records import Brief

ROOT = -1
COMPRESSED = Face("summary", "Conversation compressed", "compaction")


Place = tuple[int, int, int]
"""File, offset and length of a message."""


@dataclass(slots=True)
class Node:
    """A message in the tree."""

    id: str
    time: int
    file: int
    offset: int
    length: int
    parent: int
    faces: tuple[Face, ...]
    side: str = ""
    """The sub-agent whose it is."""
    dead: bool = False
    """It only told another one again."""
    answers: dict[str, Place] = field(default_factory=dict[str, Place])
    """Messages that give the model what its calls gave: they are not shown, but a fork needs them."""
    instead: tuple[Place, ...] = ()
    """Summary of a compression: the whole list that took the place of all that was said before."""

    @property
    def place(self) -> Place:
        return (self.file, self.offset, self.length)

    @property
    def spoken(self) -> bool:
        return any(face.kind != "notice" for face in self.faces)


@dataclass(slots=True)
class Log:
    """One file while it is replayed: its list of messages, and where it goes on."""

    file: int
    side: str = ""
    listed: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Ids in the agent's list, each with the node that stands for it; ROOT for what is not shown."""
    hidden: set[str] = field(default_factory=set[str])
    """Ids of messages that are not shown."""
    tip: int = ROOT
    """The node that the next message hangs on."""
    own: dict[str, int] = field(default_factory=dict[str, int])
    """Ids that mean another node here than in the files before."""


class Tree:
    """The messages of all files of a session, read in the order of their age."""

    def __init__(self, former: frozenset[int] = frozenset()) -> None:
        """former: the files that are earlier versions of later ones; these outrank them."""
        self.nodes: list[Node] = []
        self.index: dict[str, int] = {}
        self._ids: set[str] = set()
        self._former = former
        self._answered: set[str] = set()
        """Calls whose results are shown with them."""

    def shown(self, message: Message) -> tuple[Face, ...]:
        """What a message shows after those before it."""
        self._answered.update(message.calls)
        if not message.answers:
            return message.faces
        answers = (face for call, face in message.answers if face is not None and call not in self._answered)
        return (*answers, *message.faces)

    def append(self, log: Log, message: Message) -> None:
        """A message that was written: a new one, a later version of one in the list, or a copy of a known one."""
        known = self._known(log, message.id)
        if known is not None and any(node == known for _, node in reversed(log.listed)):
            self._renew(known, log, message)
            return
        if known is not None and self._is_kept(log, known):
            log.listed.append((message.id, known))
            return
        if known is not None and self._follows(log, known):
            self._renew(known, log, message)
            if self.nodes[known].file != log.file:
                self._bury_notices(log)
        else:
            faces = self.shown(message)
            if not faces and message.type == "user":
                log.listed.append((message.id, ROOT))
                log.hidden.add(message.id)
                if log.tip != ROOT and message.answers:
                    self.nodes[log.tip].answers[message.id] = (log.file, message.offset, message.length)
                return
            known = self._add(log, message, faces)
        log.listed.append((message.id, known))
        log.tip = known

    def rewind(self, log: Log, to: str) -> None:
        """The list ends before a message; an unknown one empties it, as the agent has it."""
        node = self._known(log, to)
        at = next((place for place, item in enumerate(log.listed) if item[0] == to or item[1] == node), -1)
        if at < 0:
            log.listed, log.tip = [], ROOT
            return
        dropped = log.listed[at][1]
        log.listed = log.listed[:at]
        if dropped != ROOT:
            log.tip = self.nodes[dropped].parent
        else:
            log.tip = next((item for _, item in reversed(log.listed) if item != ROOT), ROOT)

    def restate(self, log: Log, told: Restated) -> None:
        """A whole new list; its messages are asked for only when it is not the old one."""
        path = self._path(log.tip)
        if self._is_old(log, told.briefs, path):
            ids = [brief.id for brief in told.briefs if brief.id is not None]
            log.listed = [(uid, ROOT if (node := self._known(log, uid)) is None else node) for uid in ids]
            self.go_on(log, path, [node for _, node in log.listed if node != ROOT])
            return
        _Overlay(self, log, path).lay(told.read())

    def known_elsewhere(self, log: Log, uid: str, after: int) -> int | None:
        """A node of this id that is not on the path, but follows the same one."""
        node = self._known(log, uid)
        if node is None or self.nodes[node].dead:
            return None
        return node if after == ROOT or self._heard(self.nodes[node].parent) == self._heard(after) else None

    def place(self, log: Log, message: Message, faces: tuple[Face, ...]) -> int:
        """Hangs a new message on where the log goes on."""
        log.tip = self._add(log, message, faces)
        return log.tip

    def look(self, log: Log, message: Message) -> tuple[int | None, tuple[Face, ...]]:
        """The node of a message, and what it shows."""
        known = self._known(log, message.id)
        return known, self.shown(message) if known is None else self.nodes[known].faces

    def _known(self, log: Log, uid: str) -> int | None:
        return log.own.get(uid, self.index.get(uid))

    def _add(self, log: Log, message: Message, faces: tuple[Face, ...]) -> int:
        uid = message.id
        if uid in self.index:
            uid = f"{uid}~{message.offset}"
            while uid in self._ids:  # another file has another message there
                uid += "~"
            log.own[message.id] = len(self.nodes)
        self._ids.add(uid)
        self.index.setdefault(message.id, len(self.nodes))
        self.nodes.append(Node(uid, message.time, log.file, message.offset, message.length, log.tip, faces, log.side))
        return len(self.nodes) - 1

    def _renew(self, known: int, log: Log, message: Message) -> None:
        """A later version takes the place of the earlier; a copy in another file only where it tells more."""
        node = self.nodes[known]
        faces = self.shown(message)
        if node.file == log.file or node.file in self._former or len(faces) > len(node.faces):
            node.faces, node.file, node.offset, node.length = faces, log.file, message.offset, message.length

    def _follows(self, log: Log, known: int) -> bool:
        """Whether a known message follows where the log goes on; a summary follows nothing in a copy that begins so."""
        node = self.nodes[known]
        return self._heard(node.parent) == self._heard(log.tip) or (log.tip == ROOT and bool(node.instead))

    def _is_kept(self, log: Log, known: int) -> bool:
        """Whether a known message was said before the compression that the log has behind it."""
        path = self._path(log.tip)
        return known in path and any(self.nodes[node].instead for node in path[path.index(known) + 1 :])

    def _heard(self, index: int) -> int:
        """The nearest node upwards that is more than a notice."""
        while index >= 0 and not self.nodes[index].spoken:
            index = self.nodes[index].parent
        return index

    def _bury_notices(self, log: Log) -> None:
        """Notices of a copy ("Imported session …") between messages that it has in common are no conversation."""
        at = log.tip
        while at >= 0 and not self.nodes[at].spoken:
            self.nodes[at].dead = self.nodes[at].dead or self.nodes[at].file == log.file
            at = self.nodes[at].parent

    def _path(self, tip: int) -> list[int]:
        found: list[int] = []
        while tip >= 0:
            if not self.nodes[tip].dead:
                found.append(tip)
            tip = self.nodes[tip].parent
        return found[::-1]

    def _is_old(self, log: Log, briefs: Iterable[Brief], path: list[int]) -> bool:
        """Whether a list tells the path again, or its beginning, with the same ids."""
        places = {node: place for place, node in enumerate(path)}
        at = 0
        for brief in briefs:
            node = self._known(log, brief.id or "")
            if node is None:
                if brief.type == "user" and self._answers(log, brief.id or ""):
                    continue
                return False
            place = places.get(node, -1)
            if place < at or any(self.nodes[passed].spoken for passed in path[at:place]):
                return False
            at = place + 1
        return True

    def _answers(self, log: Log, uid: str) -> bool:
        """Whether a message of a list is known as one that is not shown."""
        return uid in log.hidden or (uid.endswith("_response") and self._known(log, uid[:-9]) is not None)

    def go_on(self, log: Log, path: list[int], kept: list[int]) -> None:
        """The next message hangs on the last one that is kept, and on the notices that followed it."""
        if not kept:
            return
        log.tip = kept[-1]
        if log.tip in path:
            after = path[path.index(log.tip) + 1 :]
            if after and not any(self.nodes[node].spoken for node in after):
                log.tip = after[-1]


class _Overlay:
    """A new list, laid over the path that is there."""

    def __init__(self, tree: Tree, log: Log, path: list[int]) -> None:
        self.tree = tree
        self.log = log
        self.path = path
        self.places = {node: place for place, node in enumerate(path)}
        self.words = [words(tree.nodes[node].faces) for node in path]
        self.at = 0
        """How much of the path is told."""

    def lay(self, messages: Iterable[Message]) -> None:
        told: list[tuple[Message, int | None, tuple[Face, ...]]] = []
        kept: list[int] = []
        for message in messages:
            known, faces = self.tree.look(self.log, message)
            if not faces:
                told.append((message, ROOT, ()))
                self.log.hidden.add(message.id)
                continue
            node = self._node_of(message, known, faces, kept[-1] if kept else ROOT)
            if node is not None and self.tree.nodes[node].instead and node not in self.places and self.path:
                # A summary that the conversation went back behind: it says what stands on the path.
                told.append((message, ROOT, ()))
                continue
            if node is not None:
                kept.append(node)
                self._join(message.id, known, node)
            told.append((message, node, faces))
        self._settle(told, kept)

    def _node_of(self, message: Message, known: int | None, faces: tuple[Face, ...], last: int) -> int | None:
        """The node that a message tells again: that of its id, or an earlier one on the path that says the same."""
        own = self.places.get(known, -1) if known is not None else -1
        said = words(faces)
        end = own if own >= self.at else len(self.path)
        place = next((p for p in range(self.at, end) if said[0] and self.words[p] == said), own)
        if place >= self.at:
            self.at = place + 1
            return self.path[place]
        return self.tree.known_elsewhere(self.log, message.id, last) if own < 0 else None

    def _join(self, uid: str, known: int | None, node: int) -> None:
        if known != node:
            if known is not None:
                self.tree.nodes[known].dead = True
            self.log.own[uid] = node
            self.tree.index.setdefault(uid, node)

    def _settle(self, told: list[tuple[Message, int | None, tuple[Face, ...]]], kept: list[int]) -> None:
        """Makes nodes of what is new, below all that was said: at the beginning of a list it is a summary."""
        first = next((place for place, item in enumerate(told) if item[1] in kept), len(told))
        last = next((place for place in range(len(told) - 1, -1, -1) if told[place][1] in kept), -1)
        compressed = bool(self.path) and any(node is None for _, node, _ in told[:first])
        if compressed:
            self.log.tip = next((node for node in reversed(self.path) if not self.tree.nodes[node].dead), ROOT)
        else:
            self.tree.go_on(self.log, [node for node in self.path if not self.tree.nodes[node].dead], kept)
        made: dict[int, int] = {}
        for place, (message, node, faces) in enumerate(told):
            # Between messages that are kept the program puts words of its own; what a person said is never dropped.
            if node is None and (not first < place < last or faces[0].kind == "prompt"):
                summary = compressed and not made
                made[place] = self.tree.place(self.log, message, (COMPRESSED,) if summary else faces)
                if summary:
                    whole = ((self.log.file, item.offset, item.length) for item, _, _ in told if item.said)
                    self.tree.nodes[made[place]].instead = tuple(whole)
        self.log.listed = [
            (message.id, made.get(place, ROOT) if node is None else node)
            for place, (message, node, _) in enumerate(told)
        ]


def words(faces: tuple[Face, ...]) -> tuple[str, str]:
    """What a copy under another id has in common with a message; ("", "") when nothing tells."""
    for face in faces:
        if face.kind in ("prompt", "reply") and face.flavour in ("", "command"):
            return face.kind, face.text
    return next(((face.kind, face.about) for face in faces if face.about), ("", ""))
