"""Where a fork of a Codex CLI session is cut: the records that it was made of, and which of them belong together.

A cut inside of calls that run side by side moves to their end: a call without result would be answered by an invented
one. What only announces a record, or says again what it said, goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..base import Source
from ..forms.jsonl import Unreadable
from ..forms.newfile import BATCH, opened
from ..forms.regular import on_disk
from .faces import face
from .filenames import rollout
from .records import EVENT, ITEM, META, Line, Payload, body_of, kind_of, records

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})
_BEGINS = frozenset({"task_started", "turn_started"})
_FOLLOWING = frozenset(
    {"token_count", "user_message", "patch_apply_end", "exec_command_end", "mcp_tool_call_end", "web_search_end"}
)
"""Events that say again what the item before them said."""
_FOLLOWING_ITEMS = frozenset({"UserMessage", "CommandExecution", "FileChange", "McpToolCall", "CollabAgentToolCall"})


@dataclass(slots=True)
class Record:
    """One line of the history that a fork is cut from."""

    source: Source
    offset: int
    length: int
    kind: str
    type: str
    item: str = ""
    turn: str = ""
    call: str = ""
    """The call that it makes."""
    answer: str = ""
    """The call that it answers."""
    shows: str = ""
    """The kind of its entry; "" when it has none."""


@dataclass
class History:
    """All records that an agent would go on from, those of the files before included."""

    records: list[Record] = field(default_factory=list[Record])
    legacy: bool = True
    """Its records have no ordinals."""

    def place(self, file: str, offset: int) -> int:
        """Where a record stands; -1 when it is not there."""
        for index, record in enumerate(self.records):
            if record.offset == offset and record.source.name == file:
                return index
        return -1


def read_history(file: str, sources: Sequence[Source]) -> History:
    """The records of a file, before them those of the file that it goes on from up to the cut, and so on."""
    by_id = {rollout(source.file).id: source for source in sources}
    history = History()
    chain: list[tuple[Source, int | None]] = []
    source = next((item for item in sources if item.name == file), on_disk(file))
    end: int | None = None
    seen: set[str] = set()
    while source.name not in seen:
        seen.add(source.name)
        chain.append((source, end))
        meta = _meta(source)
        if meta is None or meta.base is None or meta.base.thread not in by_id:
            break
        source, end = by_id[meta.base.thread], meta.base.ordinal
    for number, (item, limit) in enumerate(reversed(chain)):
        _read_into(history, item, limit, first=number == 0)
    return history


def cut_before(history: History, at: int) -> tuple[int, str]:
    """Where the records end that stand before a row; and what a person should know."""
    records = history.records
    if records[at].call or records[at].answer:
        # Before a call means before all that runs side by side with it.
        at = _batch(history, at)[0]
    turn = records[at].turn
    if records[at].shows == "prompt" and not any(
        other.shows and other.turn == turn for other in reversed(records[:at]) if turn
    ):
        start = _turn_start(records, at)
        return max(start, 1), ""
    while at and _leads(records[at - 1], records[at]):
        at -= 1
    return max(at, 1), ""


def _turn_start(records: list[Record], at: int) -> int:
    """Where the turn of a first prompt begins: behind all that belongs to what was said before."""
    for index in range(at - 1, -1, -1):
        record = records[index]
        if record.kind == EVENT and record.type in _BEGINS:
            return index
        if record.shows or (record.kind == EVENT and record.type in _ENDS):
            return index + 1
    return at


def cut_after(history: History, at: int) -> tuple[int, str]:
    """Where the records end that a row and all that belongs to it need; and what a person should know."""
    records = history.records
    note = ""
    if records[at].call or records[at].answer:
        first, last = _batch(history, at)
        if sum(1 for record in records[first : last + 1] if record.call) > 1 and last > at:
            note = BATCH
        at = last
    end = at + 1
    while end < len(records) and _follows(records[end]):
        end += 1
    return end, note


def _batch(history: History, at: int) -> tuple[int, int]:
    """The first and the last record of the calls that run side by side with one; without results only the calls."""
    records = history.records
    first = at
    if records[at].answer:
        first = next((i for i in range(at, -1, -1) if records[i].call == records[at].answer), at)
    while True:
        above = next((i for i in range(first - 1, -1, -1) if _counts(records[i])), -1)
        if above < 0 or not records[above].call:
            break
        first = above
    open_calls: set[str] = set()
    last = at
    for index in range(first, len(records)):
        record = records[index]
        if record.call:
            if index > first and not open_calls:
                break
            open_calls.add(record.call)
        elif record.answer in open_calls:
            open_calls.discard(record.answer)
            last = max(last, index)
            if not open_calls and index >= at:
                break
        elif record.shows in ("prompt", "summary") or (record.kind == EVENT and record.type in _ENDS):
            break
    return first, last


def _counts(record: Record) -> bool:
    """Whether a record is a part of the conversation: two calls with nothing of it between run side by side."""
    return bool(record.shows) or bool(record.answer)


def _leads(record: Record, shown: Record) -> bool:
    """Whether a record only announces the one after it."""
    if record.kind != EVENT or shown.shows not in ("reply",):
        return False
    return record.type in ("agent_message", "agent_reasoning") or record.item in ("AgentMessage", "Reasoning", "Plan")


def _follows(record: Record) -> bool:
    """Whether a record only completes what was before it."""
    if record.kind == "token_usage_record":
        return True
    if record.kind != EVENT:
        return False
    return record.type in _FOLLOWING or record.type in _ENDS or record.item in _FOLLOWING_ITEMS


def _meta(source: Source) -> Payload | None:
    with opened(source) as file:
        for _, _, line in records(file):
            if not isinstance(line, Unreadable) and kind_of(line) == META:
                return body_of(line)
    return None


def _read_into(history: History, source: Source, limit: int | None, *, first: bool) -> None:
    met = False
    with opened(source) as file:
        for offset, length, line in records(file):
            if isinstance(line, Unreadable):
                continue
            if limit is not None and line.ordinal is not None and line.ordinal >= limit:
                break
            kind = kind_of(line)
            history.legacy &= line.ordinal is None
            if kind == META and not met:
                met = True
                if not first:
                    # Only the first file's own beginning goes along: the others belong to segments.
                    continue
            history.records.append(_record(source, offset, length, kind, line))


def _record(source: Source, offset: int, length: int, kind: str, line: Line) -> Record:
    body = body_of(line)
    shown = face(kind, body, "")
    made = body.call or "" if kind == ITEM and body.type in _CALLS else ""
    answered = body.call or "" if kind == ITEM and (body.type or "").endswith("_output") else ""
    turn = (body.passed.turn if body.passed else None) or body.turn or ""
    item = (body.item.type or "") if body.item is not None else ""
    shows = shown.kind if shown else ""
    return Record(source, offset, length, kind, body.type or "", item, turn, made, answered, shows)
