"""Whatever is broken in a session is shown as what it is, and hides nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forkpoint.store import agents

from tests.builders.pi import PiSession
from tests.builders.reading import read_only, row, rows, texts

pi = agents.get("pi")


def test_lines_that_are_broken_hide_nothing_else(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.raw(b"this is no JSON\n")
    session.raw(b"\0" * 64 + b"\n")
    session.raw(b"[1,2]\n\n")
    session.turn("Two")
    found = read_only("pi", shop)
    assert [text for _, text in rows(found)] == [
        "One",
        "Done.",
        "line 7 cannot be read (15 bytes)",
        "line 9 cannot be read (5 bytes)",
        "Two",
        "Done.",
    ]
    assert texts(found, found.leaf)[-2:] == ["Two", "Done."]
    assert [problem.line for problem in found.problems] == [7, 9]
    assert found.info.problem


def test_two_records_in_one_line_are_two(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.file.write_bytes(session.file.read_bytes().removesuffix(b"\n"))
    session.turn("Two")
    found = read_only("pi", shop)
    assert [text for _, text in rows(found)] == ["One", "Done.", "Two", "Done."]


def test_a_record_that_was_cut_off_is_told_and_the_next_one_read(session: PiSession, shop: Path) -> None:
    session.turn("One")
    data = session.file.read_bytes()
    session.file.write_bytes(data[:-40])
    session.rewind(session.records[-2]["id"])
    session.turn("Two")
    found = read_only("pi", shop)
    assert [text for kind, text in rows(found) if kind == "prompt"] == ["One", "Two"]
    assert len(found.problems) == 1


def test_a_last_line_that_is_being_written_waits(session: PiSession, shop: Path) -> None:
    session.turn("One")
    data = session.file.read_bytes()
    session.raw(b'{"type":"message","id":"abcdef01","parentId":')
    found = read_only("pi", shop)
    assert [text for _, text in rows(found)] == ["One", "Done."]
    assert found.problems[0].what == "the line is not finished"
    session.file.write_bytes(data)
    assert read_only("pi", shop).problems == ()


def test_carriage_returns_and_odd_separators_are_no_line_ends(session: PiSession, shop: Path) -> None:
    session.turn("One\u2028two\u0085three")
    session.file.write_bytes(session.file.read_bytes().replace(b"\n", b"\r\n"))
    found = read_only("pi", shop)
    assert len(found.entries) == 2
    assert found.problems == ()
    assert "\u2028" not in found.entries[0].text


def test_half_a_surrogate_pair_is_read(session: PiSession, shop: Path) -> None:
    session.begin()
    session.raw(
        b'{"type":"message","id":"0badcafe","parentId":null,"timestamp":"2026-11-30T10:00:00.000Z",'
        b'"message":{"role":"user","content":"half \\ud83d","timestamp":1}}\n'
    )
    found = read_only("pi", shop)
    assert found.entries[-1].text.startswith("half")
    found.entries[-1].text.encode()


@pytest.mark.parametrize(
    "broken",
    [
        {"message": None},
        {"message": [1]},
        {"message": {"role": "user", "content": None}},
        {"message": {"role": "user", "content": [{"type": 7}, "odd", {"type": "text"}]}},
        {"message": {"role": "assistant", "content": "a plain text"}},
        {"message": {"role": "assistant", "content": [{"type": "toolCall", "arguments": [1], "name": 7}]}},
        {"message": {"role": "assistant", "content": [{"type": "new-kind", "text": "x"}]}},
        {"message": {"role": "toolResult", "content": {"a": 1}, "isError": "yes"}},
        {"message": {"role": "bashExecution", "exitCode": "none", "output": 7}},
        {"message": {"role": 7}},
        {"timestamp": 12},
        {"parentId": 12},
        {"type": None},
    ],
)
def test_fields_of_another_type_hide_nothing(session: PiSession, shop: Path, broken: dict[str, object]) -> None:
    session.turn("One")
    record = {"type": "message", "id": "0badcafe", "parentId": session.leaf, "timestamp": "2026-11-30T10:00:00.000Z"}
    session.raw(json.dumps({**record, **broken}).encode() + b"\n")
    session.turn("Two")
    found = read_only("pi", shop)
    assert [text for kind, text in rows(found) if kind == "prompt"][-1] == "Two"
    for item in found.entries:
        assert pi.blocks(item)
        assert pi.facts(item)


def test_a_missing_parent_begins_a_tree_that_is_told_apart(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.rewind("deadbeef")
    session.turn("Two")
    found = read_only("pi", shop)
    assert row(found, "Two").parent is None
    assert row(found, "Two").flavour == "detached"
    assert [problem.what for problem in found.problems] == ["a record hangs on one that is not there"]


def test_records_that_are_each_other_s_parents_are_told(session: PiSession, shop: Path) -> None:
    session.append("message", parent="0000000b", message={"role": "user", "content": "One"})
    text = session.file.read_text().replace(session.leaf or "", "0000000a")
    session.file.write_text(text)
    session.append("message", parent="0000000a", message={"role": "user", "content": "Two"})
    session.file.write_text(session.file.read_text().replace(session.leaf or "", "0000000b"))
    found = read_only("pi", shop)
    assert sorted(text for _, text in rows(found)) == ["One", "Two"]
    assert "records are each other's parents" in {problem.what for problem in found.problems}


def test_a_record_that_is_its_own_parent_is_a_first_one(session: PiSession, shop: Path) -> None:
    session.append("message", parent="0000000a", message={"role": "user", "content": "One"})
    session.file.write_text(session.file.read_text().replace(session.leaf or "", "0000000a"))
    found = read_only("pi", shop)
    assert [(item.parent, item.flavour) for item in found.entries] == [(None, "")]


def test_a_child_before_its_parent_is_joined(session: PiSession, shop: Path) -> None:
    session.turn("One")
    lines = session.file.read_bytes().splitlines(keepends=True)
    session.file.write_bytes(b"".join([*lines[:-2], lines[-1], lines[-2]]))
    found = read_only("pi", shop)
    assert rows(found) == [("prompt", "One"), ("reply", "Done.")]
    assert found.entries[1].parent == found.entries[0].id


def test_the_same_id_twice_in_a_file_is_told(session: PiSession, shop: Path) -> None:
    session.turn("One")
    first = session.records[-2]["id"]
    session.turn("Two")
    session.file.write_text(session.file.read_text().replace(session.records[-2]["id"], first))
    found = read_only("pi", shop)
    assert [text for kind, text in rows(found) if kind == "prompt"] == ["One", "Two"]
    assert "two records have the same id" in {problem.what for problem in found.problems}


def test_a_long_chain_is_read_without_deep_calls(session: PiSession, shop: Path) -> None:
    parent = None
    lines: list[bytes] = []
    for number in range(20_000):
        uid = f"{number:08x}"
        message = {"role": "user", "content": "x", "timestamp": number}
        record = {"type": "message", "id": uid, "parentId": parent, "timestamp": "", "message": message}
        lines.append(json.dumps(record).encode() + b"\n")
        parent = uid
    session.raw(b"".join(lines))
    found = read_only("pi", shop)
    assert len(found.entries) == 20_000
    assert found.entries[-1].turn == 20_000
