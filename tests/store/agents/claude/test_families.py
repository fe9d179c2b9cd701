"""Files of one origin are one tree: forks, copies, and what only looks like one."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta

from forkpoint.store import agents

from tests.builders.claude import ClaudeSession, Job
from tests.builders.reading import forks, path, read_only, row, texts

claude = agents.get("claude")


def test_a_branch_is_the_same_tree_and_the_earlier_file_owns_what_both_have(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    other = session.branch("alt")
    session.turn("two", "Second.")
    other.now = session.now + timedelta(minutes=1)
    other.turn("other two", "Else.")
    conversation = read_only("claude", session.cwd)
    assert conversation.info.ids == (session.id, other.id)
    assert conversation.info.id == session.id
    assert forks(conversation) == [row(conversation, "First.").id]
    assert {item.session for item in path(conversation, row(conversation, "First.").id)} == {session.id}
    assert row(conversation, "Else.").session == other.id
    assert conversation.leaves == {
        session.id: row(conversation, "Second.").id,
        other.id: row(conversation, "Else.").id,
    }
    assert conversation.leaf == row(conversation, "Else.").id
    assert conversation.titles == {other.id: "alt"}


def test_a_fork_without_a_mark_is_the_same_tree_too(session: ClaudeSession) -> None:
    session.bookkeeping()
    session.turn("one", "First.")
    other = session.branch(mark=False)
    other.turn("two", "Second.")
    conversation = read_only("claude", session.cwd)
    assert set(conversation.info.ids) == {session.id, other.id}
    assert texts(conversation) == ["one", "First.", "two", "Second."]


def test_a_fork_of_the_sdk_with_new_ids_is_the_same_tree(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    other = ClaudeSession(session.home, session.cwd, now=session.now)
    new: dict[str | None, str | None] = {None: None}
    for record in (json.loads(line) for line in session.file.read_bytes().splitlines()):
        if "uuid" in record:
            old = record["uuid"]
            new[old] = record["uuid"] = str(uuid.uuid4())
            record["parentUuid"] = new[record["parentUuid"]]
            record["sessionId"] = other.id
            record["forkedFrom"] = {"sessionId": session.id, "messageUuid": old}
            other.line(record)
    other.leaf = new[session.leaf]
    other.turn("two", "Second.")
    conversation = read_only("claude", session.cwd)
    assert conversation.info.ids == (session.id, other.id)
    assert texts(conversation) == ["one", "First.", "two", "Second."]
    assert len(conversation.entries) == 4


def test_a_second_answer_made_up_by_a_fork_is_a_fork(session: ClaudeSession) -> None:
    """Forked in the middle of a batch: the agent invents a result for the call that has none there."""
    session.prompt("Do it")
    calls = session.parallel(Job("Bash", {"command": "a"}, "A"), Job("Bash", {"command": "b"}, "B"))
    session.reply("Both.")
    other = session.branch()
    kept = [
        line
        for line in other.file.read_bytes().splitlines(keepends=True)
        if b'"B"' not in line and b"Both." not in line
    ]
    other.file.write_bytes(b"".join(kept))
    other.result(calls[1].uuid, calls[1].id, "[Tool call interrupted]", error=True)
    other.turn("go on", "Yes.")
    conversation = read_only("claude", session.cwd)
    assert texts(conversation, row(conversation, "Both.").id)[-3:] == ["A", "B", "Both."]
    assert texts(conversation, row(conversation, "Yes.").id) == [
        "Do it",
        "Bash a",
        "Bash b",
        "A",
        "[Tool call interrupted]",
        "go on",
        "Yes.",
    ]


def test_sessions_that_began_apart_stay_apart(session: ClaudeSession) -> None:
    session.turn("one")
    ClaudeSession(session.home, session.cwd).turn("another")
    assert len(claude.sessions(str(session.cwd))) == 2
