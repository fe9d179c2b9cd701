"""Lines of a Claude Code session file, read in part: what the tree needs, and where each line stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec import UNSET, Raw, Struct, UnsetType, field

from ..forms.jsonl import Reached, Records, Unreadable, beginning, from_raw, lines, nanoseconds, parse

__all__ = [
    "WIRE_LOG",
    "Line",
    "Message",
    "Origin",
    "Part",
    "Unreadable",
    "beginning",
    "from_raw",
    "lines",
    "nanoseconds",
    "parse",
    "records",
]

WIRE_LOG = b'{"type":"api-request'
"""How lines of the wire log begin: half of a file's bytes, and nothing of the conversation."""

_STARTS = (b'{"parentUuid":', b'{"type":', b'{"logicalParentUuid":')


class Part(Struct, gc=False):
    """A content block of a message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw | UnsetType = UNSET
    tool_use_id: str = ""
    content: Raw | UnsetType = UNSET
    is_error: bool | None = None


class Message(Struct, gc=False):
    """The API's message inside of a user or assistant record."""

    id: str = ""
    model: str = ""
    content: str | list[Part] = ""
    stop_reason: str | None = None


class Origin(Struct, gc=False):
    """Where a record came from; a copy's own message, or who sent a prompt."""

    kind: str = ""
    session: str = field(name="sessionId", default="")
    message: str = field(name="messageUuid", default="")


class Line(Struct, gc=False):
    """What is read of a record; absent fields have their defaults."""

    parent: str | None = field(name="parentUuid", default=None)
    logical_parent: str | None = field(name="logicalParentUuid", default=None)
    sidechain: bool | None = field(name="isSidechain", default=None)
    prompt: str | None = field(name="promptId", default=None)
    agent: str | None = field(name="agentId", default=None)
    message: Message | None = None
    attachment: Raw | UnsetType = UNSET
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    timestamp: str = ""
    result: Raw | UnsetType = field(name="toolUseResult", default=UNSET)
    content: Raw | UnsetType = UNSET
    meta: bool | None = field(name="isMeta", default=None)
    summary: bool | None = field(name="isCompactSummary", default=None)
    api_error: bool | None = field(name="isApiErrorMessage", default=None)
    compaction: Raw | UnsetType = field(name="compactMetadata", default=UNSET)
    origin: Origin | None = None
    prompt_source: str | None = field(name="promptSource", default=None)
    forked: Origin | None = field(name="forkedFrom", default=None)
    hook_errors: list[Any] | None = field(name="hookErrors", default=None)
    prevented: bool | None = field(name="preventedContinuation", default=None)
    team: str | None = field(name="teamName", default=None)
    cwd: str = ""
    title: str = field(name="customTitle", default="")
    session: str = field(name="sessionId", default="")


_records = Records(Line, _STARTS, WIRE_LOG)


def records(file: BinaryIO, reached: Reached | None = None) -> Iterator[tuple[int, int, Line | Unreadable]]:
    """Offset, length and record of every line that is not of the wire log; the length is without the line feed."""
    return _records.read(file, reached)
