"""Lines of a session's file: broken ones are told, and hide nothing else."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from forkpoint.store.agents.claude.records import Line, Unreadable, beginning, lines, nanoseconds, parse, records
from forkpoint.store.agents.forms.jsonl import BUFFER
from msgspec import Raw


def read(data: bytes) -> list[tuple[int, int, Line | Unreadable]]:
    return list(records(BytesIO(data)))


def ids(data: bytes) -> list[str]:
    """Ids of the records, with "!" for what cannot be read."""
    return ["!" if isinstance(line, Unreadable) else str(line.uuid) for _, _, line in read(data)]


def record(uid: str, **more: object) -> bytes:
    return json.dumps({"parentUuid": None, "type": "user", "uuid": uid, **more}).encode()


def test_a_record_is_found_again_at_its_place() -> None:
    data = record("a") + b"\n" + record("b", message={"content": "é\u2028ü"}) + b"\r\n" + record("c")
    places = [(offset, length) for offset, length, _ in read(data)]
    assert [parse(data[offset : offset + length])["uuid"] for offset, length in places] == ["a", "b", "c"]


def test_lines_end_at_line_feeds_only() -> None:
    data = '{"uuid":"a","type":"user","message":{"content":"x\u2028y\u0085z"}}\n'.encode() + record("b") + b"\n"
    assert ids(data) == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\n\n" + record("a") + b"\n", ["a"]),
        (b"\0\0\0\0" + record("a") + b"\0\0\n\0\0\0\n", ["a"]),
        (record("a") + record("b") + b"\n", ["a", "b"]),
        (record("a") + record("b")[:20] + b"\n" + record("c"), ["a", "!", "c"]),
        (record("a")[:25] + record("b") + b"\n", ["!", "b"]),
        (b"\xef\xbb\xbf" + record("a") + b"\n", ["a"]),
        (b"not json\n" + record("a"), ["!", "a"]),
        (b"[1,2]\n7\n" + record("a"), ["!", "!", "a"]),
        (b'{"type":"user","uuid":"a","x":NaN}\n', ["a"]),
        (b'{"type":"user","uuid":"a","message":{"content":"b\xff\x00"}}\n', ["a"]),
        (b'{"type":"user","uuid":"a","message":{"content":"\\ud83d"}}\n', ["a"]),
        (b'{"type":"user","uuid":"a","isMeta":"yes","message":[1]}\n', ["a"]),
        (b'{"uuid":"a","x":' + b"[" * 100_000 + b"\n" + record("b"), ["!", "b"]),
        (b"", []),
    ],
)
def test_whatever_can_be_saved_is_saved(data: bytes, found: list[str]) -> None:
    assert ids(data) == found


def test_a_last_line_that_is_being_written_is_told_apart() -> None:
    (_, _, whole), (offset, _, torn) = read(record("a") + b"\n" + record("b")[:30])
    assert isinstance(whole, Line)
    assert isinstance(torn, Unreadable)
    assert torn.last
    assert torn.number == 2
    assert offset == len(record("a")) + 1


def test_the_wire_log_is_passed_over() -> None:
    data = b'{"type":"api-request-blob","hash":"x"}\n' + record("a") + b'\n{"type":"api-request"}\n'
    assert ids(data) == ["a"]


def test_fields_of_another_type_do_not_hide_the_others() -> None:
    content = [{"type": "tool_use", "id": "t", "name": 5}, "odd", {"type": "text", "text": None}]
    ((_, _, line),) = read(record("a", timestamp=12, message={"id": 3, "content": content}))
    assert isinstance(line, Line)
    assert line.timestamp == ""
    assert line.message is not None
    assert not isinstance(line.message.content, str)
    assert [(part.type, part.id) for part in line.message.content] == [("tool_use", "t"), ("text", "")]


def test_a_line_longer_than_many_chunks_is_one_line() -> None:
    long = b"x" * (2 * BUFFER + 17)
    assert [(offset, len(line)) for offset, line, _ in lines(BytesIO(b"a\n" + long + b"\nb"))] == [
        (0, 1),
        (2, len(long)),
        (3 + len(long), 1),
    ]


@pytest.mark.parametrize(
    "tail", ["plain", "é" * 3000, "\\u00e9" * 2000, "\\n\\t" * 2000, "\\ud83d" * 1000, '\\"' * 3000]
)
def test_the_beginning_of_a_string_is_read_without_the_rest(tail: str) -> None:
    whole = Raw(f'"start {tail}"'.encode())
    assert beginning(whole).startswith("start ")
    assert len(beginning(whole)) <= 2048


def test_times_are_nanoseconds_since_the_epoch() -> None:
    assert nanoseconds("1970-01-01T00:00:01.500Z") == 1_500_000_000
    assert nanoseconds("1970-01-01T01:00:00+01:00") == 0
    assert nanoseconds("2026-11-30T18:20:54.149Z") == nanoseconds("2026-11-30T18:20:54.149+00:00")
    assert nanoseconds("yesterday") == 0
