"""Whatever is broken in a session is shown as what it is, and hides nothing else."""

from __future__ import annotations

import json
import uuid

from forkpoint.store import agents

from tests.builders.claude import ClaudeSession
from tests.builders.reading import forks, read_only, row, texts

claude = agents.get("claude")


def test_an_unknown_type_is_shown_and_what_hangs_on_it_stays(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session._chain("brand-new", content="something new")
    session.turn("two", "Second.")
    for _ in range(3):
        session.line({"type": "x-tool", "note": 1})
    conversation = read_only("claude", session.cwd)
    assert texts(conversation)[:5] == ["one", "First.", "brand-new something new", "two", "Second."]
    assert forks(conversation) == []
    assert row(conversation, "x-tool (3 of them)").flavour == "unknown"


def test_an_unreadable_line_is_told_and_shown_in_its_place(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.raw(b"this is not json\n")
    session.turn("two", "Second.")
    conversation = read_only("claude", session.cwd)
    (problem,) = conversation.problems
    assert problem.file == str(session.file)
    assert session.file.read_bytes().split(b"\n")[problem.line - 1] == b"this is not json"
    shown = texts(conversation)
    assert [text for text in shown if "cannot be read" not in text] == ["one", "First.", "two", "Second."]
    assert len(shown) == 5
    (broken,) = [item for item in conversation.entries if item.flavour == "unreadable"]
    assert claude.blocks(broken)[0].text == "this is not json"
    assert conversation.info.problem == problem.what


def test_a_torn_last_line_hides_nothing(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.torn()
    conversation = read_only("claude", session.cwd)
    assert texts(conversation) == ["one", "First."]
    assert [problem.what for problem in conversation.problems] == ["the line is not finished"]


def test_a_missing_parent_makes_a_detached_tree(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.leaf = str(uuid.uuid4())
    session.turn("lost", "Still here.")
    conversation = read_only("claude", session.cwd)
    assert row(conversation, "lost").flavour == "detached"
    assert row(conversation, "lost").parent is None
    assert texts(conversation) == ["lost", "Still here."]
    assert texts(conversation, row(conversation, "First.").id) == ["one", "First."]
    assert [problem.what for problem in conversation.problems] == ["a record hangs on one that is not there"]


def test_parents_that_go_in_a_circle_are_cut(session: ClaudeSession) -> None:
    prompt = session.prompt("one")
    session.reply("First.")
    data = session.file.read_bytes().replace(b'{"parentUuid":null', f'{{"parentUuid":"{session.leaf}"'.encode(), 1)
    session.file.write_bytes(data)
    conversation = read_only("claude", session.cwd)
    assert [item.text for item in conversation.entries] == ["one", "First."]
    assert conversation.entries[0].id == prompt
    assert [problem.what for problem in conversation.problems] == ["records are each other's parents"]


def test_a_record_that_is_its_own_parent_is_a_root(session: ClaudeSession) -> None:
    prompt = session.prompt("one")
    session.file.write_bytes(
        session.file.read_bytes().replace(b'{"parentUuid":null', f'{{"parentUuid":"{prompt}"'.encode(), 1)
    )
    session.reply("First.")
    assert texts(read_only("claude", session.cwd)) == ["one", "First."]


def test_children_before_their_parents_are_put_in_order(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.turn("two", "Second.")
    lines = session.file.read_bytes().splitlines(keepends=True)
    session.file.write_bytes(b"".join(reversed(lines)))
    conversation = read_only("claude", session.cwd)
    assert [item.text for item in conversation.entries] == ["one", "First.", "two", "Second."]
    assert forks(conversation) == []


def test_a_record_written_twice_is_one_entry(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.file.write_bytes(session.file.read_bytes() * 2)
    conversation = read_only("claude", session.cwd)
    assert texts(conversation) == ["one", "First."]
    assert len(conversation.entries) == 2
    assert conversation.problems == ()


def test_two_records_with_one_id_are_both_shown(session: ClaudeSession) -> None:
    prompt = session.prompt("one")
    session.reply("First.")
    lines = session.file.read_bytes().splitlines()
    session.line({**json.loads(lines[-1]), "message": {"role": "assistant", "content": "Other."}})
    conversation = read_only("claude", session.cwd)
    assert {item.text for item in conversation.entries} == {"one", "First.", "Other."}
    assert len({item.id for item in conversation.entries}) == 3
    assert conversation.entries[0].id == prompt
    assert [problem.what for problem in conversation.problems] == ["two records have the same id"]


def test_escapes_inside_of_a_conversation_are_harmless(session: ClaudeSession) -> None:
    session.turn("\x1b]0;title\x07 do it \ud83d", "ok \u202e")
    shown = read_only("claude", session.cwd)
    assert texts(shown) == ["␛]0;title␇ do it �", "ok <U+202E>"]
    assert claude.blocks(shown.entries[0])[0].text == "␛]0;title␇ do it <U+D83D>"


def test_a_line_of_a_megabyte_is_one_entry(session: ClaudeSession) -> None:
    session.prompt("look")
    session.tool("Read", {"file_path": "/x"}, "first line\n" + "y" * 1_000_000)
    conversation = read_only("claude", session.cwd)
    assert conversation.entries[-1].text == "first line"
    assert len(claude.blocks(conversation.entries[-1])[0].text) == 1_000_011


def test_fifty_thousand_records_in_one_chain_are_read(session: ClaudeSession) -> None:
    session.prompt("deep")
    template = session.file.read_bytes().splitlines()[0].decode()
    first = json.loads(template)["uuid"]
    before, chain = first, []
    for number in range(50_000):
        uid = str(uuid.UUID(int=number))
        chain.append(
            f'{{"parentUuid":"{before}","type":"assistant","uuid":"{uid}","timestamp":"2026-11-30T09:00:00.000Z",'
            f'"message":{{"id":"m{number}","content":[{{"type":"text","text":"{number}"}}]}}}}\n'
        )
        before = uid
    session.raw("".join(chain).encode())
    conversation = read_only("claude", session.cwd)
    assert len(conversation.entries) == 50_001
    assert conversation.leaf == before
    assert forks(conversation) == []
