"""Codex CLI's lines of records as one tree: segments, forks, rollbacks, compaction, sub-agents."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.model import Conversation, Entry

from tests.builders.codex import CodexSession, update
from tests.builders.reading import path, read_only, texts

codex = agents.get("codex")


def read(session: CodexSession) -> Conversation:
    """The session's conversation; it must be the only one of its folder."""
    return read_only("codex", session.cwd)


def by_text(conversation: Conversation) -> dict[str, Entry]:
    return {entry.text: entry for entry in conversation.entries}


def turn(session: CodexSession, text: str) -> int:
    """A turn of a prompt and an answer; returns the ordinal behind it."""
    session.prompt(text)
    session.reply(f"about {text}")
    session.end()
    return session.ordinal


# --- one file ---------------------------------------------------------------------------------------------------------


def test_a_turn_is_a_line_of_what_a_person_would_miss(session: CodexSession) -> None:
    session.prompt("Fold the lines")
    session.think("How?\nSo.")
    session.reply("I look.")
    session.shell("cat a.txt", "one\ntwo\n")
    session.patch({"b.txt": {"type": "add", "content": "b\n"}})
    session.reply("Done.")
    session.end()
    conversation = read(session)
    assert [(e.kind, e.text, e.tool, e.turn) for e in path(conversation, conversation.leaf)] == [
        ("prompt", "Fold the lines", "", 1),
        ("reply", "How?", "", 1),
        ("reply", "I look.", "", 1),
        ("tool_call", "Bash cat a.txt", "Bash", 1),
        ("tool_result", "one", "Bash", 1),
        ("tool_call", "apply_patch b.txt", "apply_patch", 1),
        ("tool_result", "ok", "apply_patch", 1),
        ("reply", "Done.", "", 1),
    ]
    assert conversation.problems == ()
    assert {entry.prompt for entry in conversation.entries if entry.kind == "prompt"} == {session.turn}
    assert by_text(conversation)["apply_patch b.txt"].paths == (str(session.cwd / "b.txt"),)


def test_what_codex_says_in_the_person_s_role_is_no_prompt(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    for text in (
        "# AGENTS.md instructions for /x",
        "<user_instructions>",
        "<environment_context>",
        "<turn_aborted>",
        "<skill>",
        "<permissions instructions>",
        "<subagent_notification>",
    ):
        session.item("message", role="user", content=[{"type": "input_text", "text": f"{text} more"}])
    session.prompt("<div> should be a section")
    assert [entry.text for entry in read(session).entries] == ["<div> should be a section"]


def test_a_command_that_the_person_ran_is_told_as_theirs(session: CodexSession) -> None:
    text = (
        "<user_shell_command>\n<command>\nls -l\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>"
    )
    session.item("message", role="user", content=[{"type": "input_text", "text": text}])
    session.prompt("Go on")
    assert texts(read(session)) == ["! ls -l", "Go on"]


def test_images_stand_beside_the_words_of_a_prompt(session: CodexSession) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    session.prompt([{"type": "input_text", "text": "What is it?"}, image])
    session.prompt([image])
    assert [entry.text for entry in read(session).entries] == ["What is it? [image]", "[image]"]


def test_a_steered_prompt_of_the_same_turn_is_a_prompt_of_its_own(session: CodexSession) -> None:
    session.prompt("Start")
    session.reply("I do.")
    session.prompt("No, the other one", same_turn=True)
    conversation = read(session)
    assert [(entry.text, entry.turn) for entry in path(conversation, conversation.leaf)][-1] == ("No, the other one", 2)
    assert len({entry.prompt for entry in conversation.entries}) == 1


@pytest.mark.parametrize(
    ("output", "text", "error"),
    [
        ("Exit code: 2\nWall time: 0 seconds\nOutput:\nno such file\n", "no such file", True),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", "(no output)", False),
        ("aborted", "aborted", True),
        ("unsupported call: spawn_agent", "unsupported call: spawn_agent", True),
        ("Wall time: 2.5 seconds\naborted by user", "aborted by user", True),
        (json.dumps({"output": "old\n", "metadata": {"exit_code": 1}}), "old", True),
        ([{"type": "input_text", "text": "a list"}], "a list", False),
        ({"content": "an object", "success": True}, "an object", False),
        (None, "(no output)", False),
    ],
)
def test_a_result_shows_its_first_line_and_whether_it_failed(
    session: CodexSession, output: object, text: str, error: bool
) -> None:
    session.prompt("Run")
    session.output(session.call("shell", {"command": ["bash", "-lc", "make it"]}), output)
    call, result = read(session).entries[-2:]
    assert call.text == "Bash make it"
    assert (result.text, result.error, result.call) == (text, error, call.call)


@pytest.mark.parametrize(
    ("kind", "members", "text"),
    [
        ("function_call", {"name": "update_plan", "arguments": '{"explanation": "first"}'}, "update_plan first"),
        ("function_call", {"name": "view_image", "arguments": '{"path": "a.png"}'}, "view_image a.png"),
        ("function_call", {"name": "shell", "arguments": "no JSON"}, "Bash"),
        ("local_shell_call", {"action": {"type": "exec", "command": ["ls", "-l a"]}}, "Bash ls '-l a'"),
        ("web_search_call", {"action": {"type": "search", "query": "codex"}}, "web_search codex"),
        (
            "function_call",
            {
                "name": "exec_command",
                "arguments": json.dumps({"cmd": "apply_patch <<E\n*** Begin Patch\n*** Add File: x"}),
            },
            "apply_patch x",
        ),
    ],
)
def test_a_call_is_named_by_what_it_does(
    session: CodexSession, kind: str, members: dict[str, object], text: str
) -> None:
    session.item(kind, call_id="call_1", **members)
    assert [entry.text for entry in read(session).entries] == [text]


def test_what_ended_a_turn_is_told(session: CodexSession) -> None:
    session.prompt("Go")
    session.abort()
    session.event("error", message="quota\nexceeded")
    session.event("entered_review_mode", target="x")
    session.event("exited_review_mode")
    session.event("undo_completed", success=True, message="3 files")
    conversation = read(session)
    assert texts(conversation)[1:] == [
        "Interrupted by the person",
        "quota",
        "Review begins",
        "Review ends",
        "3 files",
    ]
    assert by_text(conversation)["quota"].error


def test_unknown_records_are_told_once_for_each_kind(session: CodexSession) -> None:
    session.prompt("Go")
    for _ in range(3):
        session.line("telemetry_of_2027", {"x": 1})
    session.event("dream_began", depth=3)
    session.item("hologram", data="…")
    assert texts(read(session))[1:] == ["telemetry_of_2027 (3 of them)", "dream_began", "hologram"]


def test_compaction_is_joined_with_what_was_before(session: CodexSession) -> None:
    turn(session, "one")
    session.compact("We did one.")
    turn(session, "two")
    conversation = read(session)
    assert texts(conversation) == ["one", "about one", "We did one.", "Conversation compacted", "two", "about two"]
    assert by_text(conversation)["We did one."].flavour == "compaction"
    assert by_text(conversation)["Conversation compacted"].kind == "summary"
    assert by_text(conversation)["two"].turn == 2


# --- the tree ---------------------------------------------------------------------------------------------------------


def test_a_rewind_begins_a_file_that_goes_on_from_a_place_in_the_one_before(session: CodexSession) -> None:
    end = turn(session, "one")
    turn(session, "two")
    other = session.rewound(end)
    turn(other, "three")
    conversation = read(session)
    assert texts(conversation) == ["one", "about one", "three", "about three"]
    assert by_text(conversation)["two"].parent == by_text(conversation)["three"].parent
    assert conversation.leaves == {session.id: conversation.leaf}
    assert conversation.info.branches == 2
    assert conversation.info.ids == (session.id, session.id)


def test_a_rewind_of_a_rewind_is_cut_out_of_both_files(session: CodexSession) -> None:
    end = turn(session, "one")
    turn(session, "two")
    second = session.rewound(end)
    middle = turn(second, "three")
    turn(second, "four")
    third = second.rewound(middle)
    turn(third, "five")
    fourth = second.rewound(end, now=third.now)
    turn(fourth, "six")
    conversation = read(session)
    assert texts(conversation) == ["one", "about one", "six", "about six"]
    five = by_text(conversation)["about five"].id
    assert texts(conversation, five) == ["one", "about one", "three", "about three", "five", "about five"]


def test_a_rewind_to_before_everything_begins_a_second_root(session: CodexSession) -> None:
    turn(session, "one")
    other = CodexSession(session.home, session.cwd, session.id, session.now, segment=str(uuid.uuid4()))
    turn(other, "two")
    conversation = read(session)
    assert [entry.text for entry in conversation.entries if entry.parent is None] == ["one", "two"]
    assert texts(conversation) == ["two", "about two"]


def test_codex_s_own_fork_points_into_its_base(session: CodexSession) -> None:
    end = turn(session, "one")
    turn(session, "two")
    fork = session.pointer(end)
    turn(fork, "three")
    conversation = read(session)
    assert texts(conversation) == ["one", "about one", "three", "about three"]
    assert set(conversation.leaves) == {session.id, fork.id}
    assert by_text(conversation)["three"].session == fork.id


def test_a_fork_that_copies_history_shows_it_once(project: Path, machine: Path) -> None:
    for number, ids in enumerate((True, False)):
        session = CodexSession(machine / f".codex{number}", project, paginated=False, ids=ids)
        turn(session, "one")
        lines = session.ordinal
        turn(session, "two")
        fork = session.copy(lines)
        turn(fork, "three")
        infos = _sessions(session)
        assert len(infos) == 1
        conversation = codex.read(infos[0])
        assert texts(conversation) == ["one", "about one", "three", "about three"]
        assert len(conversation.entries) == 6


def _sessions(session: CodexSession) -> list[object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEX_HOME", str(session.home))
        return list(codex.sessions(str(session.cwd)))


def test_turns_that_were_rolled_back_are_a_branch_that_was_left(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    for word in ("one", "two", "three"):
        turn(session, word)
    session.roll_back(2)
    turn(session, "four")
    conversation = read(session)
    assert texts(conversation) == ["one", "about one", "four", "about four"]
    assert by_text(conversation)["two"].parent == by_text(conversation)["four"].parent
    assert texts(conversation, by_text(conversation)["about three"].id)[2:4] == ["two", "about two"]


@pytest.mark.parametrize(("turns", "after"), [(0, 3), (1, 2), (3, 0), (99, 0)])
def test_a_rollback_takes_away_so_many_prompts_and_no_more(
    project: Path, machine: Path, turns: int, after: int
) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    for word in ("one", "two", "three"):
        turn(session, word)
    session.roll_back(turns)
    turn(session, "four")
    conversation = read(session)
    assert by_text(conversation)["four"].turn == after + 1


def test_a_rollback_does_not_reach_behind_a_compaction(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    turn(session, "one")
    session.compact("We did one.")
    turn(session, "two")
    session.roll_back(5)
    turn(session, "three")
    assert texts(read(session)) == ["one", "about one", "We did one.", "Conversation compacted", "three", "about three"]


# --- sub-agents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["CollabAgentToolCall", "SubAgentActivity", "result"])
def test_a_sub_agent_stands_under_the_call_that_started_it(session: CodexSession, link: str) -> None:
    session.prompt("Share the work")
    call = session.call("spawn_agent", {"message": "small job"})
    helper = session.sub_agent(call, link=link)
    session.reply("It is done.")
    helper.prompt("small job")
    helper.patch({"sub.txt": {"type": "add", "content": "sub\n"}})
    conversation = read(session)
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
    conversation = read(session)
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
    inner = [entry.text for entry in read(session).entries if entry.under]
    assert inner == ["message from /root: small job", "I did."]


def test_a_sub_agent_whose_session_is_gone_is_listed_by_itself(session: CodexSession) -> None:
    session.prompt("Share the work")
    helper = session.sub_agent(session.call("spawn_agent", {"message": "job"}))
    helper.prompt("job")
    session.file.unlink()
    conversation = read(helper)
    assert texts(conversation) == ["job"]
    assert conversation.info.id == helper.id


# --- older forms and what is broken -----------------------------------------------------------------------------------


def test_the_oldest_form_has_bare_items(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project)
    environment = f"<environment_context>\n<cwd>{project}</cwd>\n</environment_context>"
    lines = [
        {"id": session.id, "timestamp": "2025-05-01T10:00:00.000Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": environment}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Old prompt"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "call_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": '{"output":"a\\n","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Old answer"}]},
    ]
    session.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert texts(read(session)) == ["Old prompt", "Bash ls", "a", "Old answer"]


def test_the_file_that_it_goes_on_from_may_be_gone(session: CodexSession) -> None:
    end = turn(session, "one")
    fork = session.pointer(end)
    turn(fork, "two")
    session.file.unlink()
    conversation = read(fork)
    assert texts(conversation) == ["two", "about two"]
    assert session.id in conversation.info.problem


def test_files_that_name_each_other_as_their_beginning_are_read_all_the_same(session: CodexSession) -> None:
    turn(session, "one")
    other = session.pointer(99)
    turn(other, "two")
    text = session.file.read_text()
    base = f'"history_base":{{"thread_id":"{other.id}","end_ordinal_exclusive":99}},"source":'
    session.file.write_text(text.replace('"source":', base, 1))
    (info,) = codex.sessions(str(session.cwd))
    conversation = codex.read(info)
    assert {"one", "two"} <= {entry.text for entry in conversation.entries}
    assert any("each other" in problem.what for problem in conversation.problems)


def test_broken_lines_hide_nothing_else(session: CodexSession) -> None:
    session.prompt("one")
    session.raw(b"\0\0\0\0\n")
    session.raw(b"this is no JSON\n")
    session.raw(b'{"timestamp":"2026-11-30T09:00:00.000Z","type":"response_it')
    session.reply("about one")
    session.raw(b'{"timestamp":"2026-11-30T09:')
    conversation = read(session)
    assert texts(conversation)[0] == "one"
    assert texts(conversation)[-1] == "about one"
    assert [problem.what for problem in conversation.problems] == [
        "the line is not a record",
        "the line is not a record",
        "the line is not finished",
    ]


def test_line_ends_of_windows_are_taken_too(session: CodexSession) -> None:
    turn(session, "one")
    session.file.write_bytes(session.file.read_bytes().replace(b"\n", b"\r\n"))
    conversation = read(session)
    assert (texts(conversation), conversation.problems) == (["one", "about one"], ())


def test_odd_fields_and_escaped_halves_of_characters_are_read(session: CodexSession) -> None:
    session.prompt("half a \ud83d pair")
    session.line("response_item", {"type": "function_call", "name": 7, "arguments": {"cmd": "ls"}, "call_id": ["x"]})
    session.line("event_msg", {"type": "thread_rolled_back", "num_turns": "many"})
    session.line("event_msg", {"type": "item_completed", "item": {"type": "CollabAgentToolCall", "id": 3}})
    session.line("session_meta", {"id": None, "history_base": 3})
    session.reply("fine")
    conversation = read(session)
    assert texts(conversation)[0].startswith("half a ")
    assert texts(conversation)[-1] == "fine"


def test_a_huge_line_is_a_line(session: CodexSession) -> None:
    session.prompt("one")
    session.shell("cat big", "x" * 8_000_000)
    session.reply("fine")
    conversation = read(session)
    assert texts(conversation)[-1] == "fine"
    assert len(by_text(conversation)["x" * 299 + "…"].text) == 300


def test_text_of_a_session_cannot_move_a_cursor(session: CodexSession) -> None:
    session.prompt("red \x1b[31m and \x07 bell")
    session.shell("printf '\x1b[2J'", "\x1b[2Jcleared")
    for entry in read(session).entries:
        assert entry.text.isprintable()


def test_ids_of_records_stay_the_same_when_the_file_grows(session: CodexSession) -> None:
    turn(session, "one")
    session.abort()
    before = [entry.id for entry in read(session).entries]
    turn(session, "two")
    assert [entry.id for entry in read(session).entries][: len(before)] == before


def test_two_records_with_the_same_id_are_both_shown(session: CodexSession) -> None:
    session.prompt("one")
    for text in ("first", "second"):
        content = [{"type": "output_text", "text": text}]
        session.line("response_item", {"type": "message", "id": "msg_1", "role": "assistant", "content": content})
    conversation = read(session)
    assert texts(conversation) == ["one", "first", "second"]
    assert len({entry.id for entry in conversation.entries}) == 3


def test_a_patch_of_a_moved_file_names_both_paths(session: CodexSession) -> None:
    (session.cwd / "a.txt").write_text("a\n")
    session.prompt("Move it")
    session.patch({"a.txt": update(["a"], ["b"], to="b.txt")})
    call = by_text(read(session))["apply_patch a.txt, b.txt"]
    assert call.paths == (str(session.cwd / "a.txt"), str(session.cwd / "b.txt"))
