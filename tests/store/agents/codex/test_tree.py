"""Files that go on from one another, forks, turns that were taken back, and sub-agents."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.model import SessionInfo

from tests.builders.codex import CodexSession
from tests.builders.reading import by_text, read_only, texts

codex = agents.get("codex")


def test_a_rewind_begins_a_file_that_goes_on_from_a_place_in_the_one_before(session: CodexSession) -> None:
    end = session.about("one")
    session.about("two")
    other = session.rewound(end)
    other.about("three")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation) == ["one", "about one", "three", "about three"]
    assert by_text(conversation)["two"].parent == by_text(conversation)["three"].parent
    assert conversation.leaves == {session.id: conversation.leaf}
    assert conversation.info.branches == 2
    assert conversation.info.ids == (session.id, session.id)


def test_a_rewind_of_a_rewind_is_cut_out_of_both_files(session: CodexSession) -> None:
    end = session.about("one")
    session.about("two")
    second = session.rewound(end)
    middle = second.about("three")
    second.about("four")
    third = second.rewound(middle)
    third.about("five")
    fourth = second.rewound(end, now=third.now)
    fourth.about("six")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation) == ["one", "about one", "six", "about six"]
    five = by_text(conversation)["about five"].id
    assert texts(conversation, five) == ["one", "about one", "three", "about three", "five", "about five"]


def test_a_rewind_to_before_everything_begins_a_second_root(session: CodexSession) -> None:
    session.about("one")
    other = CodexSession(session.home, session.cwd, session.id, session.now, segment=str(uuid.uuid4()))
    other.about("two")
    conversation = read_only("codex", session.cwd)
    assert [entry.text for entry in conversation.entries if entry.parent is None] == ["one", "two"]
    assert texts(conversation) == ["two", "about two"]


def test_codex_s_own_fork_points_into_its_base(session: CodexSession) -> None:
    end = session.about("one")
    session.about("two")
    fork = session.pointer(end)
    fork.about("three")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation) == ["one", "about one", "three", "about three"]
    assert set(conversation.leaves) == {session.id, fork.id}
    assert by_text(conversation)["three"].session == fork.id


def test_a_fork_that_copies_history_shows_it_once(project: Path, machine: Path) -> None:
    for number, ids in enumerate((True, False)):
        session = CodexSession(machine / f".codex{number}", project, paginated=False, ids=ids)
        session.about("one")
        lines = session.ordinal
        session.about("two")
        fork = session.copy(lines)
        fork.about("three")
        infos = _sessions(session)
        assert len(infos) == 1
        conversation = codex.read(infos[0])
        assert texts(conversation) == ["one", "about one", "three", "about three"]
        assert len(conversation.entries) == 6


def _sessions(session: CodexSession) -> list[SessionInfo]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEX_HOME", str(session.home))
        return list(codex.sessions(str(session.cwd)))


def test_turns_that_were_rolled_back_are_a_branch_that_was_left(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    for word in ("one", "two", "three"):
        session.about(word)
    session.roll_back(2)
    session.about("four")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation) == ["one", "about one", "four", "about four"]
    assert by_text(conversation)["two"].parent == by_text(conversation)["four"].parent
    assert texts(conversation, by_text(conversation)["about three"].id)[2:4] == ["two", "about two"]


@pytest.mark.parametrize(("turns", "after"), [(0, 3), (1, 2), (3, 0), (99, 0)])
def test_a_rollback_takes_away_so_many_prompts_and_no_more(
    project: Path, machine: Path, turns: int, after: int
) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    for word in ("one", "two", "three"):
        session.about(word)
    session.roll_back(turns)
    session.about("four")
    conversation = read_only("codex", session.cwd)
    assert by_text(conversation)["four"].turn == after + 1


def test_a_rollback_does_not_reach_behind_a_compaction(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    session.about("one")
    session.compact("We did one.")
    session.about("two")
    session.roll_back(5)
    session.about("three")
    assert texts(read_only("codex", session.cwd)) == [
        "one",
        "about one",
        "We did one.",
        "Conversation compacted",
        "three",
        "about three",
    ]


@pytest.mark.parametrize("link", ["CollabAgentToolCall", "SubAgentActivity", "result"])
def test_a_sub_agent_stands_under_the_call_that_started_it(session: CodexSession, link: str) -> None:
    session.prompt("Share the work")
    call = session.call("spawn_agent", {"message": "small job"})
    helper = session.sub_agent(call, link=link)
    session.reply("It is done.")
    helper.prompt("small job")
    helper.patch({"sub.txt": {"type": "add", "content": "sub\n"}})
    conversation = read_only("codex", session.cwd)
    assert texts(conversation)[-1] == "It is done."
    inner = [entry for entry in conversation.entries if entry.under]
    assert [entry.text for entry in inner] == ["small job", "apply_patch sub.txt", "ok"]
    assert {(entry.under, entry.session, entry.turn) for entry in inner} == {(call.entry, session.id, 1)}
    assert inner[0].flavour == "sub-agent"
    assert conversation.leaves == {session.id: conversation.leaf}


def test_a_sub_agent_s_own_sub_agent_stands_under_its_call(session: CodexSession) -> None:
    session.prompt("Share the work")
    helper = session.sub_agent(session.call("spawn_agent", {"message": "job"}))
    helper.prompt("job")
    call = helper.call("spawn_agent", {"message": "smaller job"})
    helper.sub_agent(call).prompt("smaller job")
    conversation = read_only("codex", session.cwd)
    assert by_text(conversation)["smaller job"].under == call.entry
    assert by_text(conversation)["smaller job"].session == session.id


def test_what_a_sub_agent_inherited_is_not_shown_again(session: CodexSession) -> None:
    session.prompt("Share the work")
    call = session.call("spawn_agent", {"task_name": "small"}, namespace="collaboration")
    helper = session.sub_agent(call, link="SubAgentActivity")
    text = helper.file.read_text()
    helper.file.write_text(text.replace('"source":', '"subagent_history_start_ordinal":9,"source":'))
    helper.prompt("Share the work")
    helper.ordinal = 9
    helper.item("agent_message", author="/root", content=[{"type": "input_text", "text": "Payload:\nsmall job"}])
    helper.reply("I did.")
    inner = [entry.text for entry in read_only("codex", session.cwd).entries if entry.under]
    assert inner == ["message from /root: small job", "I did."]


def test_a_sub_agent_whose_session_is_gone_is_listed_by_itself(session: CodexSession) -> None:
    session.prompt("Share the work")
    helper = session.sub_agent(session.call("spawn_agent", {"message": "job"}))
    helper.prompt("job")
    session.file.unlink()
    conversation = read_only("codex", helper.cwd)
    assert texts(conversation) == ["job"]
    assert conversation.info.id == helper.id
