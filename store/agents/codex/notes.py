"""What is noted of each record of one file, on its own: how the files belong together comes later.

Notes are a function of the file's lines alone, so they are kept while the file grows and only new lines are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, cast

from msgspec import Struct, structs

from ...text import first_line
from ..base import Source
from ..forms.face import Face
from ..forms.jsonl import Reached, Unreadable, from_raw, nanoseconds
from .faces import AGENT_TOOLS, HIDDEN_KINDS, face, text_of
from .filenames import rollout
from .records import EVENT, META, Item, Line, Payload, body_of, kind_of, records

ROLLBACK, COMPACTION = 1, 2


class Noted(Struct, gc=False):
    """One record, as far as its own line tells."""

    offset: int
    length: int
    ordinal: int = -1
    time: int = 0
    uid: str = ""
    """Its own id where it has one, else that of the call; "" for others."""
    turn: str = ""
    face: Face | None = None
    effect: int = 0
    """What it does to the tree: ROLLBACK, COMPACTION, or nothing."""
    turns: int = 0
    """How many turns are rolled back."""
    unreadable: Unreadable | None = None


@dataclass(slots=True)
class Link:
    """What a file's first line says of others."""

    base: str = ""
    """Id of the file that it goes on from …"""
    ordinal: int | None = None
    """… and the first record of that one that does not belong to it any more."""
    forked_from: str = ""
    parent: str = ""
    """The thread that started it as a sub-agent."""
    own_from: int = 0
    """Sub-agents that inherit a history: the ordinal of their first own record."""


class Notes:
    """Of one file, in its order."""

    def __init__(self, source: Source, cwd: str) -> None:
        name = rollout(source.file)
        self.name = source.name
        self.file = source.file
        """The agent's file of which this may be a former version."""
        self.id, self.thread, self.stamp = name.id, name.thread, name.stamp
        self.link = Link()
        self.noted: list[Noted] = []
        self.tail: list[Noted] = []
        """Of a last line without its line feed: it may still be being written."""
        self.callers: dict[str, str] = {}
        """Thread of a sub-agent → id of the call that started it."""
        self.title = ""
        self._cwd = cwd
        self._turn = ""
        self._met = False
        """Its own first line was read; a fork repeats that of its source."""
        self._starting: set[str] = set()
        """Calls that start sub-agents."""

    def read_on(self, file: BinaryIO, reached: Reached) -> None:
        """Notes what stands behind the place."""
        self.tail = []
        add = self.noted.append
        for offset, length, line in records(file, reached):
            if isinstance(line, Unreadable):
                found = Noted(offset, length, unreadable=line)
            else:
                found = self._note(offset, length, line)
            if found is not None:
                (add if offset < reached.offset else self.tail.append)(found)

    def _note(self, offset: int, length: int, line: Line) -> Noted | None:
        kind, body = kind_of(line), body_of(line)
        if kind == META:
            if not self._met:
                self._met, self.link, self._cwd = True, _linked(body), body.cwd or self._cwd
            return None
        if body.turn and kind in (EVENT, "turn_context"):
            self._turn = body.turn
        if kind in HIDDEN_KINDS:
            if kind == "turn_context":
                self._cwd = body.cwd or self._cwd
            return None
        if kind == EVENT and self._is_silent(body):
            return None
        ordinal = -1 if line.ordinal is None else line.ordinal
        if kind == EVENT and body.type == "thread_rolled_back":
            return Noted(offset, length, ordinal, effect=ROLLBACK, turns=body.turns or 0)
        shown = face(kind, body, self._cwd)
        if shown is None:
            return None
        turn = (body.passed.turn if body.passed else None) or self._turn
        found = Noted(offset, length, ordinal, nanoseconds(line.timestamp), _uid(body, shown), turn, shown)
        if kind == "compacted":
            found.effect = COMPACTION
            self._mark_summary(body)
        elif shown.kind == "tool_call" and shown.tool in AGENT_TOOLS:
            self._starting.add(shown.call)
        elif shown.kind == "tool_result" and shown.call in self._starting:
            self._note_started(body, shown.call)
        return found

    def _is_silent(self, body: Payload) -> bool:
        """What an event tells of others; gives whether it shows nothing itself."""
        kind = body.type
        if kind == "item_completed":
            if body.item is not None:
                self._note_item(body.item)
            return True
        if kind == "thread_name_updated" and body.title:
            self.title = first_line(body.title)
        elif kind == "collab_agent_spawn_end" and body.new_thread and body.call:
            self.callers.setdefault(body.new_thread, body.call)
        return False

    def _note_item(self, item: Item) -> None:
        if item.id is None:
            return
        if item.type == "CollabAgentToolCall" and item.tool in (None, *AGENT_TOOLS):
            for thread in item.receivers or ():
                self.callers.setdefault(thread, item.id)
        elif item.type == "SubAgentActivity" and item.kind == "started" and item.agent:
            self.callers.setdefault(item.agent, item.id)

    def _note_started(self, body: Payload, call: str) -> None:
        """Older versions name the sub-agent in the result of the call that started it alone."""
        for word in text_of(body.output).split('"'):
            if len(word) == 36 and word.count("-") == 4:
                self.callers.setdefault(word, call)

    def _mark_summary(self, body: Payload) -> None:
        """The reply before a compaction is the summary that the agent goes on with."""
        last = self.noted[-1] if self.noted else None
        if last is None or last.face is None or last.face.kind != "reply":
            return
        if last.face.text.removesuffix("…") in text_of(body.message):
            last.face = structs.replace(last.face, flavour="compaction")


def _uid(body: Payload, shown: Face) -> str:
    if body.id:
        return body.id
    if shown.call:
        return shown.call if shown.kind == "tool_call" else f"{shown.call}="
    return ""


def _linked(body: Payload) -> Link:
    base = body.base
    return Link(
        (base.thread or "") if base else "",
        base.ordinal if base else None,
        body.forked_from or "",
        body.parent or _spawned_by(from_raw(body.source)),
        body.own_from or 0,
    )


def _spawned_by(source: object) -> str:
    """The thread that started a sub-agent, from what its first line says of where it comes from."""
    at = source
    for name in ("subagent", "thread_spawn", "parent_thread_id"):
        at = cast("dict[str, object]", at).get(name) if isinstance(at, dict) else None
    return at if isinstance(at, str) else ""
