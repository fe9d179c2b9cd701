"""A session in a database is read without its lines, and means what they mean: those that the store keeps of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.opencode import stored
from forkpoint.store.agents.opencode.stored import Stored
from forkpoint.store.model import Conversation

from tests.builders.opencode import OpenCode, OpenCodeSession
from tests.builders.reading import only, row, rows, texts

agent = agents.get("opencode")

SHAPES = [
    '{"type":"text","text":"cut of',
    "",
    "null",
    '"a text"',
    '{"type":"text","text":5}',
    '{"type":\r\n\n "text",\n "text": "pretty"}',
    '{"type":"text","text":"feed\n inside"}',
    '{"type":"text","text":"first"}{"type":"text","text":"second"}',
    '{"type":"text","text":"over"},"gone":true,"more":{}',
    '{"type":"text","text":"\\ud83d alone"}',
    '{"type":"odd","deep":' + "[" * 100_000 + "]" * 100_000 + "}",
    "\ufeff{}",
    "5",
]
"""JSON of a row as it should not be."""


def as_lines(source: Source) -> Source:
    """What the store would keep of a source."""
    with source.open() as stream:
        return replace(source, opener=partial(BytesIO, stream.read()))


def both(project: Path) -> Conversation:
    """The only conversation, which has to be the same from the database and from its lines."""
    info = only("opencode", project)
    sources = agent.sources(info)
    assert all(isinstance(source.opener, Stored) for source in sources)
    found = agent.read(info, sources)
    assert agent.read(info, [as_lines(source) for source in sources]) == found
    return found


@pytest.fixture
def session(opencode: OpenCode, project: Path) -> OpenCodeSession:
    made = opencode.session(project)
    made.turn("One", "First.", made.shell("true"), made.write("a.txt", "a\n"))
    return made


def put(session: OpenCodeSession, table: str, *values: object) -> None:
    session.opencode.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", *values)


def test_rows_of_any_shape_between_others_mean_the_same_and_stand_at_the_same_place(
    session: OpenCodeSession, project: Path
) -> None:
    for number, shape in enumerate(SHAPES):
        for role in ("user", "assistant"):
            uid = session.message({"role": role})
            session.part(uid, {"type": "text", "text": f"{role} {number} before"})
            put(session, "part", session.opencode.new_id("prt"), uid, session.id, 0, 0, shape)
            session.part(uid, {"type": "text", "text": f"{role} {number} behind"})
        time = session.opencode.now
        put(session, "message", uid := session.opencode.new_id("msg"), session.id, time, time, shape)
        session.part(uid, {"type": "text", "text": "of an odd one"})
    session.turn("Two", "Second.")
    found = both(project)
    shown = [text for _, text in rows(found)]
    for number in range(len(SHAPES)):
        assert f"assistant {number} before" in shown
        assert f"assistant {number} behind" in shown, "a part that cannot be read hides no other one"
        assert f"user {number} before" in shown
    assert shown[-2:] == ["Two", "Second."]
    assert found.problems
    span = row(found, "Second.").span
    assert span is not None
    with agent.sources(found.info)[0].open() as stream:
        stream.seek(span.offset)
        assert json.loads(stream.read(span.length))["data"]["text"] == "Second."


@pytest.mark.parametrize("uid", ["prt-zz", 'prt "zz"', "prt_zz\n", "prtü", "9", b"prt_\xff"], ids=repr)
def test_ids_of_any_shape_mean_the_same(uid: str | bytes, session: OpenCodeSession, project: Path) -> None:
    message = session.message({"role": "assistant"}, f"msg_zz{uid!r}")
    query = "INSERT INTO part VALUES (CAST(? AS TEXT), ?, ?, 0, 0, ?)"
    session.opencode.run(query, uid, message, session.id, '{"type":"text","text":"Odd."}')
    session.turn("Two", "Second.")
    assert texts(both(project))[-3:] == ["Odd.", "Two", "Second."]


def test_what_was_removed_and_what_a_revert_hides_mean_the_same(session: OpenCodeSession, project: Path) -> None:
    uid = session.answer("I begin.", session.shell("false || true"))
    parts = session.opencode.run("SELECT id FROM part WHERE message_id = ? ORDER BY id", uid)
    session.remove_part(uid, parts[2][0])
    assert both(project).leaf != parts[2][0]
    second = session.turn("Two", "Second.")
    session.revert(second)
    assert texts(both(project))[-1].startswith("Reverted")
    session.clean_up()
    session.turn("Instead", "Other.")
    found = both(project)
    assert texts(found)[-2:] == ["Instead", "Other."]
    assert row(found, "Two").parent == row(found, "Instead").parent
    assert row(found, "bash false || true").parent == row(found, "I begin.").id, "the part that was removed is a branch"


def test_a_row_that_is_too_long_is_told_at_the_same_place(
    session: OpenCodeSession, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.turn("Two", "long " * 1000)
    session.turn("Three", "Third.")
    monkeypatch.setattr(stored, "LONGEST", 2000)
    found = both(project)
    assert texts(found)[-2:] == ["Three", "Third."]


def test_what_breaks_off_in_the_middle_of_a_message_means_the_same(session: OpenCodeSession, project: Path) -> None:
    uid = session.prompt("Two")
    for number in range(400):
        session.part(uid, {"type": "text", "text": f"{number} " + "x" * 3000})
    session.opencode.run("PRAGMA wal_checkpoint(TRUNCATE)")
    file = session.opencode.database
    data = bytearray(file.read_bytes())
    place = data.index(b'"200 x')
    page = place - place % 4096
    data[page : page + 4096] = b"\xff" * 4096
    file.write_bytes(data)
    found = both(project)
    assert texts(found)[0] == "One"
    assert any(entry.text.startswith("Two") for entry in found.entries)
    assert "the database cannot be read" in found.problems[-1].what
