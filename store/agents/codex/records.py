"""The records of Codex CLI's session files, read in part (formats 2.2 to 2.4)."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType, field

from ..forms.jsonl import Records


class Base(Struct, gc=False):
    """The file that a file goes on from, and where it is cut."""

    thread: str | None = field(name="thread_id", default=None)
    """Id of the file: a thread's for its first one, a segment's for a further one."""
    ordinal: int | None = field(name="end_ordinal_exclusive", default=None)
    bytes: int | None = field(name="end_byte_offset", default=None)


class Passed(Struct, gc=False):
    """What the program notes of a message that is sent to the model."""

    turn: str | None = field(name="turn_id", default=None)
    kinds: list[str] | None = field(name="content_item_kinds", default=None)


class Item(Struct, gc=False):
    """An item of the person's view of a turn."""

    type: str | None = None
    id: str | None = None
    tool: str | None = None
    kind: str | None = None
    status: str | None = None
    changes: Raw | UnsetType = UNSET
    text: Raw | UnsetType = UNSET
    review: Raw | UnsetType = UNSET
    command: Raw | UnsetType = UNSET
    source: Raw | UnsetType = UNSET
    receivers: list[str] | None = field(name="receiver_thread_ids", default=None)
    agent: str | None = field(name="agent_thread_id", default=None)


class Payload(Struct, gc=False):
    """What is read of any record; what a kind of record does not have is None."""

    type: str | None = None
    id: str | None = None
    # session_meta
    session: str | None = field(name="session_id", default=None)
    forked_from: str | None = field(name="forked_from_id", default=None)
    parent: str | None = field(name="parent_thread_id", default=None)
    cwd: str | None = None
    mode: str | None = field(name="history_mode", default=None)
    base: Base | None = field(name="history_base", default=None)
    own_from: int | None = field(name="subagent_history_start_ordinal", default=None)
    source: Raw | UnsetType = UNSET
    nickname: str | None = field(name="agent_nickname", default=None)
    # response_item
    role: str | None = None
    content: Raw | UnsetType = UNSET
    name: str | None = None
    call: str | None = field(name="call_id", default=None)
    arguments: Raw | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    output: Raw | UnsetType = UNSET
    action: Raw | UnsetType = UNSET
    summary: Raw | UnsetType = UNSET
    status: str | None = None
    author: str | None = None
    passed: Passed | None = field(name="internal_chat_message_metadata_passthrough", default=None)
    # event_msg
    turn: str | None = field(name="turn_id", default=None)
    message: Raw | UnsetType = UNSET
    item: Item | None = None
    turns: int | None = field(name="num_turns", default=None)
    reason: str | None = None
    title: str | None = field(name="thread_name", default=None)
    changes: Raw | UnsetType = UNSET
    success: bool | None = None
    new_thread: str | None = field(name="new_thread_id", default=None)


class Line(Payload, gc=False):
    """A record. The oldest form has no payload: there the record is the item itself."""

    timestamp: str = ""
    ordinal: int | None = None
    payload: Payload | None = None
    record_type: str | None = None


_STARTS = (b'{"timestamp":', b'{"type":', b'{"id":', b'{"record_type":')

records = Records(Line, _STARTS).read
"""Offset, length and record of every line; what is none is told as unreadable."""

META = "session_meta"
ITEM = "response_item"
EVENT = "event_msg"


def kind_of(line: Line) -> str:
    """The kind of a record; the oldest form has items alone, and a first line that stands for the session."""
    if line.payload is not None:
        return line.type or ""
    if line.record_type is not None:
        return "state"
    if line.type is None:
        return META if line.id else ""
    return ITEM


def body_of(line: Line) -> Payload:
    """What a record says."""
    return line if line.payload is None else line.payload
