"""Lines of a Pi session file, read in part: what the tree needs, and where each line stands (formats 4.2).

Version 1 has neither ids nor parents: there the lines get ids by their number, each the child of the one before, as
Pi itself does when it opens such a file. Version 2 calls the role "custom" otherwise.
"""

from __future__ import annotations

from io import BytesIO

from msgspec import UNSET, Raw, Struct, UnsetType, field

from ..forms.jsonl import Records, Unreadable, beginning, from_raw, nanoseconds, parse

__all__ = [
    "HEADER",
    "NEWEST",
    "Line",
    "Message",
    "Part",
    "Unreadable",
    "beginning",
    "from_raw",
    "nanoseconds",
    "old_id",
    "parse",
    "records",
]
NEWEST = 3
"""The version of the format that is known here."""
HEADER = b'{"type":"session"'
_STARTS = (b'{"type":', b'{"id":', b'{"role":')


class Part(Struct, gc=False):
    """A content block of a message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    arguments: Raw | UnsetType = UNSET
    mime: str = field(name="mimeType", default="")


class Message(Struct, gc=False):
    """What a message record carries; which fields there are depends on the role."""

    role: str = ""
    content: str | list[Part] | None = None
    timestamp: float | None = None
    """Milliseconds since the epoch."""
    call: str = field(name="toolCallId", default="")
    tool: str = field(name="toolName", default="")
    is_error: bool | None = field(name="isError", default=None)
    stop: str | None = field(name="stopReason", default=None)
    error: str | None = field(name="errorMessage", default=None)
    command: str = ""
    output: Raw | UnsetType = UNSET
    exit_code: int | None = field(name="exitCode", default=None)
    cancelled: bool | None = None
    custom: str = field(name="customType", default="")
    display: bool | None = None
    summary: Raw | UnsetType = UNSET
    tokens_before: int | None = field(name="tokensBefore", default=None)


class Line(Struct, gc=False):
    """What is read of a record; absent fields have their defaults."""

    type: str = ""
    id: str | None = None
    parent: str | None = field(name="parentId", default=None)
    timestamp: str = ""
    message: Message | None = None
    version: int | None = None
    cwd: str = ""
    parent_session: str | None = field(name="parentSession", default=None)
    branched_from: str | None = field(name="branchedFrom", default=None)
    """Version 1: the file that it was branched from."""
    summary: Raw | UnsetType = UNSET
    tokens_before: int | None = field(name="tokensBefore", default=None)
    target: str | None = field(name="targetId", default=None)
    label: str | None = None
    name: str | None = None
    custom: str = field(name="customType", default="")
    content: Raw | UnsetType = UNSET
    replacement: Raw | UnsetType = UNSET
    display: bool | None = None


_records = Records(Line, _STARTS)
records = _records.read
"""Offset, length and record of every line of a file; the length is without the line feed."""


def old_id(number: int) -> str:
    """The id that the record of this number, from 1, gets in a file of version 1."""
    return f"v1-{number}"


def first_record(data: bytes) -> Line | None:
    """The first record that some lines hold."""
    return next((line for _, _, line in records(BytesIO(data)) if not isinstance(line, Unreadable)), None)
