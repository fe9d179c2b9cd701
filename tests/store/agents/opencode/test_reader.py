"""Every kind of message and part as entries, and the lines of a session's sources as one tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.opencode.listing import source_of
from forkpoint.store.model import Conversation, Entry

from tests.builders.opencode import Act, Json, OpenCode, OpenCodeSession
from tests.builders.reading import read_only, texts

agent = agents.get("opencode")
Shown = tuple[str, str, str]


@pytest.fixture
def session(opencode: OpenCode, project: Path) -> OpenCodeSession:
    return opencode.session(project)


def read(session: OpenCodeSession) -> Conversation:
    """The session's conversation; it must be the only one of its folder."""
    return read_only("opencode", session.cwd)


def shown(conversation: Conversation) -> list[Shown]:
    return [(entry.kind, entry.flavour, entry.text) for entry in conversation.entries]


def prompts(conversation: Conversation) -> dict[str, Entry]:
    return {entry.text: entry for entry in conversation.entries if entry.kind == "prompt"}


# --- kinds of records


def test_a_turn_is_a_prompt_a_reply_and_a_call_with_its_result(session: OpenCodeSession) -> None:
    uid = session.prompt("Write it")
    session.answer("I write.", Act("write", {"filePath": str(session.cwd / "a.txt"), "content": "a"}, "Written."))
    found = read(session)
    assert shown(found) == [
        ("prompt", "", "Write it"),
        ("reply", "", "I write."),
        ("tool_call", "", "write a.txt"),
        ("tool_result", "", "Written."),
    ]
    prompt, _, call, result = found.entries
    assert (prompt.id, prompt.turn, prompt.prompt, call.prompt) == (uid, 1, uid, uid)
    assert call.paths == (str(session.cwd / "a.txt"),)
    assert (call.call, call.tool, result.call, result.tool) == (result.call, "write", call.call, "write")
    assert found.leaf == result.id and found.leaves == {session.id: result.id}


EMPTIED = {
    "status": "completed",
    "output": "x",
    "title": "a",
    "metadata": {},
    "time": {"start": 1, "end": 2, "compacted": 3},
    "attachments": [{"type": "file", "mime": "image/png", "url": "data:,"}],
}
"""A call whose result was taken out of what the model sees, though it is there."""
PARTS: list[tuple[Json, list[Shown]]] = [
    ({"type": "text", "text": "One\ntwo"}, [("reply", "", "One")]),
    ({"type": "text", "text": "  "}, []),
    ({"type": "text", "text": "hidden", "ignored": True}, []),
    ({"type": "reasoning", "text": "Hm."}, [("reply", "thinking", "Hm.")]),
    ({"type": "reasoning", "text": ""}, []),
    ({"type": "step-start", "snapshot": "0" * 40}, []),
    ({"type": "step-start"}, []),
    ({"type": "step-finish", "reason": "stop", "cost": 0}, []),
    ({"type": "snapshot", "snapshot": "0" * 40}, []),
    ({"type": "patch", "hash": "0" * 40, "files": ["/a"]}, []),
    ({"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:,"}, [("reply", "file", "[a.png]")]),
    (
        {"type": "retry", "attempt": 2, "error": {"name": "APIError", "data": {"message": "busy"}}},
        [("notice", "api-error", "attempt 2: busy")],
    ),
    ({"type": "compaction", "auto": True}, [("notice", "compaction", "Conversation compacted")]),
    (
        {"type": "compaction", "overflow": True, "tail_start_id": "msg_1"},
        [("notice", "compaction", "Conversation compacted")],
    ),
    ({"type": "agent", "name": "general"}, [("reply", "agent", "@general")]),
    ({"type": "subtask", "prompt": "p", "description": "d", "agent": "a"}, [("reply", "subtask", "d")]),
    ({"type": "hologram", "text": "new"}, [("notice", "unknown", "hologram new")]),
    ({}, [("notice", "unknown", "part without a type")]),
]


@pytest.mark.parametrize(("part", "expected"), PARTS, ids=lambda value: str(value)[:40])
def test_what_a_part_of_an_answer_shows(part: Json, expected: list[Shown], session: OpenCodeSession) -> None:
    session.prompt("Go")
    uid = session.message({"role": "assistant", "parentID": session.prompts[0]})
    session.part(uid, part)
    assert shown(read(session)) == [("prompt", "", "Go"), *expected]


CALLS: list[tuple[Act, list[str], bool]] = [
    (Act("bash", {"command": "ls"}, status="pending"), ["bash ls"], False),
    (Act("bash", {"command": "ls"}, status="running"), ["bash ls"], False),
    (Act("bash", {"command": "ls\nrm"}, "a\nb"), ["bash ls", "a"], False),
    (Act("bash", {"command": "ls"}, ""), ["bash ls", "(no output)"], False),
    (Act("edit", {"filePath": "/else/a"}, "Tool execution aborted", status="error"), ["edit /else/a", "…"], True),
    (Act("grep", {"pattern": "x.*"}, "none"), ["grep x.*", "none"], False),
    (Act("webfetch", {"url": "http://a"}, "page"), ["webfetch http://a", "page"], False),
    (Act("apply_patch", {"patchText": "*** Add File: a\n+x\n*** Delete File: b"}), ["apply_patch a b", "ok"], False),
    (Act("mystery", {"count": 3}), ["mystery", "ok"], False),
]


@pytest.mark.parametrize(("act", "expected", "bad"), CALLS, ids=lambda value: getattr(value, "tool", None))
def test_what_a_call_shows(act: Act, expected: list[str], bad: bool, session: OpenCodeSession) -> None:
    session.prompt("Go")
    session.answer("", act)
    _, *calls = read(session).entries
    assert [entry.text for entry in calls] == [text.replace("…", act.output) for text in expected]
    assert calls[-1].error is bad


ASKED: list[tuple[list[Json], list[Shown]]] = [
    ([{"type": "text", "text": "Fix\nit"}], [("prompt", "", "Fix")]),
    (
        [
            {"type": "text", "text": "See"},
            {"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "file:///a"},
        ],
        [("prompt", "", "See [a.txt]")],
    ),
    (
        [
            {"type": "text", "text": "Look at @a.txt"},
            {"type": "text", "text": "Called the Read tool", "synthetic": True},
            {"type": "text", "text": "whole file", "synthetic": True},
        ],
        [("prompt", "", "Look at @a.txt")],
    ),
    ([{"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"}], [("prompt", "", "[image/png]")]),
    ([{"type": "agent", "name": "general"}], [("prompt", "", "@general")]),
    (
        [{"type": "subtask", "agent": "general", "command": "review", "prompt": "Review all", "description": "d"}],
        [("prompt", "command", "/review")],
    ),
    ([{"type": "compaction", "auto": True}], [("notice", "compaction", "Conversation compacted (automatically)")]),
    ([{"type": "compaction", "auto": False}], [("notice", "compaction", "Conversation compacted (by the person)")]),
    ([{"type": "text", "text": "Go on if you have next steps", "synthetic": True}], []),
    ([{"type": "wish", "text": "x"}], [("notice", "unknown", "wish x")]),
    ([], []),
]


@pytest.mark.parametrize(("parts", "expected"), ASKED, ids=lambda value: str(value)[:50])
def test_what_a_message_of_the_person_shows(parts: list[Json], expected: list[Shown], session: OpenCodeSession) -> None:
    session.prompt("", *parts)
    session.answer("Yes.")
    assert shown(read(session)) == [*expected, ("reply", "", "Yes.")]


ENDS = [
    (
        {"name": "MessageAbortedError", "data": {"message": "Aborted"}},
        ("notice", "interrupted", "Interrupted by the person"),
    ),
    ({"name": "APIError", "data": {"message": "no credit\nleft"}}, ("notice", "api-error", "no credit")),
    ({"name": "ProviderAuthError"}, ("notice", "api-error", "ProviderAuthError")),
]


@pytest.mark.parametrize(("error", "expected"), ENDS, ids=lambda value: str(value)[:40])
def test_why_an_answer_ended_stands_behind_its_parts(error: Json, expected: Shown, session: OpenCodeSession) -> None:
    session.prompt("Go")
    session.answer("I begin.", error=error)
    assert shown(read(session))[1:] == [("reply", "", "I begin."), expected]


def test_the_summary_of_a_compaction_is_joined_with_what_came_before(session: OpenCodeSession) -> None:
    session.turn("One", "First.")
    session.prompt("", {"type": "compaction", "auto": True})
    session.answer("What happened so far", summary=True)
    session.prompt("", {"type": "text", "text": "Continue", "synthetic": True})
    session.answer("Second.")
    session.turn("Two", "Third.")
    found = read(session)
    assert texts(found) == [
        "One",
        "First.",
        "Conversation compacted (automatically)",
        "What happened so far",
        "Second.",
        "Two",
        "Third.",
    ]
    assert [entry.kind for entry in found.entries if entry.flavour == "compaction"] == ["notice", "summary"]
    assert prompts(found)["Two"].turn == 2


# --- sub-agents


def task(session: OpenCodeSession, child: str) -> Act:
    told = {"description": "small job", "prompt": "Do it", "subagent_type": "general"}
    return Act("task", told, "done", metadata={"sessionId": child})


def test_a_sub_agent_stands_under_its_call(session: OpenCodeSession, opencode: OpenCode) -> None:
    session.prompt("Start one")
    child = opencode.session(session.cwd, parent=session.id)
    child.turn("Do it", "Did it.", child.shell("true"))
    inner = opencode.session(session.cwd, parent=child.id)
    inner.turn("Deeper", "Deep.")
    child.answer("", task(child, inner.id))
    session.answer("I start.", task(session, child.id))
    found = read(session)
    call = next(entry for entry in found.entries if entry.text == "task small job" and not entry.under)
    below = [entry for entry in found.entries if entry.under == call.id]
    assert [entry.text for entry in below][:2] == ["Do it", "I work."]
    assert (below[0].flavour, below[0].parent, below[0].turn) == ("sub-agent", None, 1)
    assert {entry.session for entry in found.entries} == {session.id}
    deeper = next(entry for entry in found.entries if entry.text == "Deeper")
    assert next(entry for entry in found.entries if entry.id == deeper.under).under == call.id
    assert "Do it" not in texts(found)


def test_a_sub_agent_that_no_call_names_is_shown_as_detached(session: OpenCodeSession, opencode: OpenCode) -> None:
    session.turn("Start one")
    opencode.session(session.cwd, parent=session.id).turn("Do it")
    found = read(session)
    assert (prompts(found)["Do it"].flavour, prompts(found)["Do it"].parent) == ("detached", None)


def test_sub_agents_that_start_each_other_end_somewhere(session: OpenCodeSession, opencode: OpenCode) -> None:
    session.prompt("Start one")
    child = opencode.session(session.cwd, parent=session.id)
    child.prompt("Again")
    child.answer("", task(child, child.id))
    session.answer("", task(session, child.id), task(session, child.id))
    assert [entry.text for entry in read(session).entries].count("Again") == 1


# --- reverts


def test_a_pending_revert_is_a_fork_that_waits(session: OpenCodeSession) -> None:
    session.turn("One", "First.")
    second = session.turn("Two", "Second.")
    session.revert(second)
    found = read(session)
    assert texts(found)[:2] == ["One", "First."]
    notice = found.entries[-1]
    assert (notice.kind, notice.flavour, notice.id) == ("notice", "rewind", found.leaf)
    assert prompts(found)["Two"].parent == notice.parent
    assert found.info.branches == 2


def test_a_revert_to_a_part_hides_the_rest_of_its_message(session: OpenCodeSession) -> None:
    session.prompt("One")
    uid = session.answer("I begin.", session.shell("true"))
    parts = session.opencode.run("SELECT id FROM part WHERE message_id = ? ORDER BY id", uid)
    session.revert(uid, parts[2][0])
    assert texts(read(session))[:-1] == ["One", "I begin."]


def test_what_a_prompt_after_a_revert_deletes_is_a_branch_from_the_event_log(session: OpenCodeSession) -> None:
    session.turn("One", "First.")
    second = session.turn("Two", "Second.", session.shell("true"))
    session.turn("Three", "Third.")
    session.revert(second)
    session.clean_up()
    session.turn("Instead", "Other.")
    found = read(session)
    assert texts(found) == ["One", "First.", "Instead", "Other."]
    assert prompts(found)["Two"].parent == prompts(found)["Instead"].parent
    assert texts(found, prompts(found)["Three"].id) == [
        *("One", "First.", "Two", "I work.", "bash true", "(no output)", "Second.", "Three"),
    ]
    assert found.info.branches == 2
    whole = agent.blocks(prompts(found)["Two"])
    assert [block.text for block in whole] == ["Two"]


def test_reverts_upon_reverts_are_branches_of_what_they_left(session: OpenCodeSession) -> None:
    session.turn("One", "First.")
    second = session.turn("Two", "Second.")
    third = session.turn("Three", "Third.")
    session.revert(third)
    session.clean_up()
    session.turn("Four", "Fourth.")
    session.revert(second)
    session.clean_up()
    session.turn("Five", "Fifth.")
    found = read(session)
    assert texts(found) == ["One", "First.", "Five", "Fifth."]
    assert texts(found, prompts(found)["Three"].id) == ["One", "First.", "Two", "Second.", "Three"]
    assert texts(found, prompts(found)["Four"].id) == ["One", "First.", "Two", "Second.", "Four"]


def test_deleted_parts_of_a_message_that_stands_are_a_branch_too(session: OpenCodeSession) -> None:
    session.prompt("One")
    uid = session.answer("I begin.", session.shell("true"))
    parts = session.opencode.run("SELECT id FROM part WHERE message_id = ? ORDER BY id", uid)
    session.revert(uid, parts[2][0])
    session.clean_up()
    session.turn("Two", "Second.")
    found = read(session)
    assert texts(found) == ["One", "I begin.", "Two", "Second."]
    call = next(entry for entry in found.entries if entry.kind == "tool_call")
    assert texts(found, call.id) == ["One", "I begin.", "bash true"]


def kept(source: Source, number: int) -> Source:
    """What the store has of a source as it is now, once there is a newer version."""
    with source.open() as stream:
        data = stream.read()
    from io import BytesIO

    return Source(f"{source.name}@{number}", lambda: BytesIO(data), grows=False, former=source.name)


def test_without_an_event_log_the_store_s_copy_has_what_was_deleted(project: Path, machine: Path) -> None:
    opencode = OpenCode(machine / ".local" / "share" / "opencode", logs=False, snapshots=False)
    session = opencode.session(project)
    session.turn("One", "First.")
    second = session.turn("Two", "Second.")
    source = source_of(f"{opencode.database}#{session.id}")
    first = kept(source, 1)
    session.revert(second)
    between = kept(source, 2)
    session.clean_up()
    session.turn("Instead", "Other.")
    (info,) = agent.sessions(str(project))
    assert len(agent.read(info).entries) == 4
    found = agent.read(info, [first, between, source])
    assert texts(found) == ["One", "First.", "Instead", "Other."]
    assert prompts(found)["Two"].parent == prompts(found)["Instead"].parent
    assert [entry.text for entry in found.entries if entry.flavour == "rewind"] == []
    with source.open() as stream, first.open() as earlier:
        assert source.ids is not None and not source.ids(earlier) <= source.ids(stream)


def test_what_the_store_kept_is_read_by_the_same_code_when_the_database_is_gone(session: OpenCodeSession) -> None:
    session.turn("One", "First.", session.shell("true"))
    (info,) = agent.sessions(str(session.cwd))
    (source,) = agent.sources(info)
    copy = Source(source.name, kept(source, 1).opener, grows=False)
    before = agent.read(info)
    session.opencode.database.unlink()
    assert not agent.has(source.name)
    after = agent.read(info, [copy])
    assert after == before
    for entry in after.entries:
        assert agent.blocks(entry, lambda _: copy.open())[0].kind != "raw"


# --- forks


def test_a_fork_of_opencode_s_own_is_the_same_tree(session: OpenCodeSession) -> None:
    session.turn("One", "First.", session.shell("true"))
    second = session.turn("Two", "Second.")
    fork = session.fork(second)
    fork.turn("Instead", "Other.")
    found = read(session)
    assert found.info.ids == (session.id, fork.id)
    assert [entry.text for entry in found.entries].count("One") == 1
    assert prompts(found)["Two"].parent == prompts(found)["Instead"].parent
    assert (prompts(found)["One"].session, prompts(found)["Instead"].session) == (session.id, fork.id)
    assert texts(found, found.leaves[fork.id])[-2:] == ["Instead", "Other."]


def test_a_whole_copy_adds_nothing_until_it_goes_on(session: OpenCodeSession) -> None:
    session.turn("One", "First.")
    fork = session.fork()
    found = read(session)
    assert len(found.entries) == 2
    assert found.leaves == {session.id: found.leaf, fork.id: found.leaf}


def test_the_same_words_at_another_time_are_no_fork(session: OpenCodeSession, opencode: OpenCode) -> None:
    session.turn("One", "First.")
    opencode.session(session.cwd).turn("One", "First.")
    assert len(agent.sessions(str(session.cwd))) == 2
