"""What is noted of each record of one file, on its own: how the records of all files belong together comes later.

Notes are a function of the file's lines alone, so they are kept while the file grows and only new lines are read.
"""

from __future__ import annotations

from typing import BinaryIO, cast

from msgspec import Struct

from ..base import Source
from ..forms.face import Face
from ..forms.jsonl import Reached, Unreadable, from_raw, nanoseconds, parse
from .faces import AGENT_TOOLS, BOOKKEEPING, CHAIN, call_prompt, faces, text_of, unknown
from .filenames import META
from .records import Line, records
from .tree import HIDDEN, NOTICE, PROMPT, RESULT, SUMMARY, WORK

SPOKEN, GOOD_LEAF = 1, 2
"""A record that the agent could go on from when there is no better one; and a better one."""

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
_LARGEST_META = 1 << 20


class Noted(Struct, gc=False):
    """One record, as far as its own line tells."""

    offset: int
    length: int
    type: str = ""
    uid: str = ""
    time: int = 0
    kind: int = HIDDEN
    faces: tuple[Face, ...] = ()
    parent: str | None = None
    prompt: str = ""
    message: str = ""
    """Id of the API's message that it is a part of."""
    calls: tuple[str, ...] = ()
    """Tool-use ids of the calls that it shows."""
    answers: tuple[str, ...] = ()
    """Tool-use ids that it answers."""
    complete: bool = False
    spoken: int = 0
    side: bool = False
    agent: str = ""
    more: More | None = None


class More(Struct, gc=False):
    """What only few records tell."""

    boundary: bool = False
    logical_parent: str | None = None
    summary: bool = False
    ends_turn: bool = False
    forked: str = ""
    """Id that the record had where it was copied from."""
    text: str = ""
    """The whole text of what may be a sub-agent's first prompt."""
    starts: tuple[tuple[str, str], ...] = ()
    """Calls that start sub-agents: tool-use id and prompt."""
    told_agent: str = ""
    """The sub-agent that a result names."""
    title: str = ""
    unreadable: Unreadable | None = None


class Notes:
    """Of one file, in its order."""

    def __init__(self, source: Source, cwd: str) -> None:
        self.name = source.name
        self.file = source.file
        """The agent's file of which this may be a former version."""
        self.cwd = cwd
        self.noted: list[Noted] = []
        self.tail: list[Noted] = []
        """Of a last line without its line feed: it may still be being written."""
        self.call = ""
        """Of what is written about a sub-agent: the call that started it."""
        self._starting: set[str] = set()
        """Calls that start sub-agents."""

    def read_on(self, file: BinaryIO, reached: Reached) -> None:
        """Notes what stands behind the place."""
        self.tail = []
        if self.file.endswith(META):
            found = parse(file.read(_LARGEST_META)).get("toolUseId")
            self.call = found if isinstance(found, str) else ""
            return
        side = self.file.rpartition("/")[2].startswith("agent-")
        add = self.noted.append
        for offset, length, line in records(file, reached):
            keep = add if offset < reached.offset else self.tail.append
            if isinstance(line, Unreadable):
                keep(Noted(offset, length, more=More(unreadable=line)))
                continue
            kind = line.type
            if line.uuid is not None and kind not in BOOKKEEPING:
                keep(self._record(offset, length, line, line.uuid, side))
            elif kind not in BOOKKEEPING:
                keep(self._no_place(offset, length, line))
            elif line.title:
                keep(Noted(offset, length, kind, more=More(title=line.title)))

    def _record(self, offset: int, length: int, line: Line, uid: str, side: bool) -> Noted:
        kind = line.type
        shown = faces(line, self.cwd)
        found = Noted(
            offset,
            length,
            kind,
            uid,
            nanoseconds(line.timestamp),
            _KINDS[shown[0].kind] if shown else HIDDEN,
            shown,
            line.parent,
            line.prompt or "",
        )
        if kind == "assistant":
            found.spoken = SPOKEN if line.meta or line.team else GOOD_LEAF
            if line.message is not None:
                _note_answer(found, line, self._starting)
        elif kind == "user":
            found.spoken = SPOKEN if line.meta or line.team else GOOD_LEAF
            if found.kind == RESULT:
                _note_result(found, line, self._starting)
            if line.summary:
                _more(found).summary = True
        elif kind == "system":
            if line.subtype == "compact_boundary":
                more = _more(found)
                more.boundary, more.logical_parent = True, line.logical_parent
            elif line.subtype in _END_OF_TURN:
                _more(found).ends_turn = True
        if line.sidechain or side:
            found.side, found.agent = True, line.agent or ""
            if kind == "user":
                _more(found).text = text_of(line.message).strip()
        if line.forked is not None and line.forked.message != uid:
            _more(found).forked = line.forked.message
        return found

    def _no_place(self, offset: int, length: int, line: Line) -> Noted:
        """A record of an unknown type, or a chain record without an id."""
        shown = faces(line, self.cwd) if line.type in CHAIN else (unknown(line.type, line.content),)
        kind = _KINDS[shown[0].kind] if shown else HIDDEN
        return Noted(offset, length, line.type, "", nanoseconds(line.timestamp), kind, shown)


def _more(found: Noted) -> More:
    if found.more is None:
        found.more = More()
    return found.more


def _note_answer(found: Noted, line: Line, starting: set[str]) -> None:
    message = line.message
    assert message is not None
    if found.kind == WORK:
        found.message = message.id
    found.complete = message.stop_reason in _FINISHED
    calls = tuple([face.call for face in found.faces if face.kind == "tool_call"])
    if not calls:
        return
    found.calls = calls
    if not isinstance(message.content, str) and any(face.tool in AGENT_TOOLS for face in found.faces):
        started = {face.call for face in found.faces if face.tool in AGENT_TOOLS}
        starting |= started
        parts = [part for part in message.content if part.id in started]
        _more(found).starts = tuple((part.id, call_prompt(part).strip()) for part in parts)


def _note_result(found: Noted, line: Line, starting: set[str]) -> None:
    found.answers = answers = tuple([face.call for face in found.faces if face.call])
    if not starting.isdisjoint(answers):
        told = from_raw(line.result)
        agent = cast("dict[str, object]", told).get("agentId") if isinstance(told, dict) else None
        if isinstance(agent, str):
            _more(found).told_agent = agent
