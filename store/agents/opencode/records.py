"""The lines as which a session of OpenCode is read and kept, wherever it stood: in a database or in older JSON files.

A session is no file of its own, so its bytes are made by us, in this order, one JSON object a line:

    {"kind":"session","id":…,"data":{…}}                 the session's own record, as `opencode export` gives it
    {"kind":"message","id":…,"data":{…}}                 a message, then its parts, in OpenCode's own order
    {"kind":"part","id":…,"message":…,"data":{…}}        data is OpenCode's own JSON, byte for byte but for line feeds
    {"kind":"message","id":…,"gone":true,"data":{…}}     one that OpenCode removed: a prompt after a revert does that
    {"kind":"part","id":…,"message":…,"gone":true,…}     its event log still has them, in versions that keep one
    {"kind":"past","after":…,"rows":[…]}                 how these stood, the newest removal first: after which row
                                                         (null: at the beginning), then which rows in which order
    {"kind":"problem","what":…}                          what could not be read, in words

The name of such a source is "<database>#<session>", or the path of the session's JSON file. What the store keeps of a
session that OpenCode no longer has are these lines, and they are read by the same code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw, Struct

from ..forms.jsonl import Records

SESSION, MESSAGE, PART, PAST, PROBLEM = "session", "message", "part", "past", "problem"
MILLISECOND = 1_000_000

Json = dict[str, Any]


class Time(Struct, gc=False):
    """When something was; milliseconds."""

    created: float = 0
    completed: float = 0
    updated: float = 0
    start: float = 0
    end: float = 0
    compacted: float = 0


class Meta(Struct, gc=False):
    """What a tool tells of its call: only what is needed of it."""

    session: str = msgspec.field(name="sessionId", default="")


class Given(Struct, gc=False):
    """The parts of a call's input that can stand for it in a line."""

    filePath: str = ""
    path: str = ""
    command: str = ""
    pattern: str = ""
    url: str = ""
    query: str = ""
    description: str = ""
    name: str = ""
    patchText: str = ""


class State(Struct, gc=False):
    """How a call stands."""

    status: str = ""
    output: Raw = Raw(b"null")
    given: Given | None = msgspec.field(name="input", default=None)
    title: str = ""
    error: str = ""
    metadata: Meta | None = None
    time: Time | None = None


class Place(Struct, gc=False):
    """Where the agent stood."""

    cwd: str = ""
    root: str = ""


class Failure(Struct, gc=False):
    """Why an answer failed."""

    name: str = ""
    data: Raw = Raw(b"null")


class Revert(Struct, gc=False):
    """A pending revert: what comes from there on is hidden, and goes when the next prompt is sent."""

    message: str = msgspec.field(name="messageID", default="")
    part: str = msgspec.field(name="partID", default="")
    snapshot: str = ""


class Data(Struct, gc=False):
    """What is needed of a session's, a message's or a part's own JSON; all else is skipped."""

    # of a message
    role: str = ""
    time: Time | None = None
    summary: Raw = Raw(b"null")
    path: Place | str | None = None
    error: Failure | None = None
    # of a part
    type: str = ""
    text: str = ""
    synthetic: bool = False
    ignored: bool = False
    call: str = msgspec.field(name="callID", default="")
    tool: str = ""
    state: State | None = None
    snapshot: str = ""
    hash: str = ""
    files: tuple[str, ...] = ()
    reason: str = ""
    filename: str = ""
    url: str = ""
    mime: str = ""
    name: str = ""
    prompt: str = ""
    description: str = ""
    command: str = ""
    auto: bool = False
    attempt: float = 0
    # of a session
    directory: str = ""
    title: str = ""
    parent: str = msgspec.field(name="parentID", default="")
    """Of a sub-agent's session: the session that started it. Of an answer: the prompt."""
    project: str = msgspec.field(name="projectID", default="")
    version: str = ""
    revert: Revert | None = None


class Line(Struct, gc=False):
    """One line of a source."""

    kind: str = ""
    id: str = ""
    message: str = ""
    data: Data | None = None
    gone: bool = False
    after: str | None = None
    rows: tuple[str, ...] = ()
    what: str = ""


class Message(Struct, gc=False):
    """A message with its parts, and where its lines stand."""

    id: str
    data: Data
    offset: int
    length: int
    gone: bool = False
    parts: list[tuple[str, Data, int, int]] = []


reading = Records(Line, (b'{"kind":"',))
decode_line = msgspec.json.Decoder(Line).decode
decode_data = msgspec.json.Decoder(Data).decode
_NUMBERS = (int, float)
_BLANKS = bytes.maketrans(b"\r\n", b"  ")
MESSAGE_LENGTH, PART_LENGTH = (
    len(b'{"kind":"message","id":"","data":}'),
    len(b'{"kind":"part","id":"","message":"","data":}'),
)
"""Bytes of a line without its ids, its JSON and its line feed, where each id is a plain word."""
_NAMED = re.compile(rb'\{"kind":"(?:message|part)","id":"([^"\\]*)"')


def session_line(info: Json) -> bytes:
    """The line of a session's own record."""
    return b'{"kind":"session","id":%b,"data":%b}\n' % (_word(info.get("id")), dumped(info))


def message_line(uid: str, data: bytes, *, gone: bool = False) -> bytes:
    """The line of a message; data is JSON."""
    return b'{"kind":"message","id":%b%b,"data":%b}\n' % (_word(uid), _gone(gone), one_line(data))


def part_line(uid: str, message: str, data: bytes, *, gone: bool = False) -> bytes:
    """The line of a part; data is JSON."""
    words = (_word(uid), _word(message), _gone(gone), one_line(data))
    return b'{"kind":"part","id":%b,"message":%b%b,"data":%b}\n' % words


def past_line(after: str | None, rows: Iterable[str]) -> bytes:
    """The line that tells how removed rows stood."""
    return dumped({"kind": PAST, "after": after, "rows": list(rows)}) + b"\n"


def problem_line(what: str) -> bytes:
    """The line that tells what could not be read."""
    return dumped({"kind": PROBLEM, "what": what}) + b"\n"


def one_line(data: bytes) -> bytes:
    """JSON on one line, as long as before: outside of strings a line end means what a blank does."""
    return data.translate(_BLANKS) if b"\n" in data or b"\r" in data else data


def dumped(value: object) -> bytes:
    """Compact JSON; a lone surrogate stays the escape that it was."""
    return json.dumps(value, separators=(",", ":")).encode()


def nanoseconds(milliseconds: object) -> int:
    """OpenCode's times, which are milliseconds, as nanoseconds; 0 for what is none."""
    if isinstance(milliseconds, _NUMBERS) and 0 <= milliseconds < 1 << 53:
        return int(milliseconds) * MILLISECOND
    return 0


def ids_in(stream: BinaryIO) -> frozenset[str]:
    """The ids of all messages and parts that the lines of a session tell of."""
    found = (_NAMED.match(line) for line in stream)
    return frozenset(match[1].decode("utf-8", "replace") for match in found if match is not None)


def session_of(name: str) -> str:
    """The session that a source's name stands for."""
    base, mark, part = name.rpartition("#")
    if mark and base:
        return part
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".json")


def _word(uid: object) -> bytes:
    """An id as JSON; nearly all are plain words."""
    text = uid if isinstance(uid, str) else ""
    # Quicker than an expression, and there are two of them in each line.
    return b'"%b"' % text.encode() if text.isascii() and text.replace("_", "").isalnum() else dumped(text)


def _gone(gone: bool) -> bytes:
    return b',"gone":true' if gone else b""
