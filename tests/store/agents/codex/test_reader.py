"""Codex CLI's lines of records as one tree: segments, forks, rollbacks, compaction, sub-agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.codex import CodexSession
from tests.builders.reading import by_text, path, read_only, texts


def test_a_turn_is_a_line_of_what_a_person_would_miss(session: CodexSession) -> None:
    session.prompt("Fold the lines")
    session.think("How?\nSo.")
    session.reply("I look.")
    session.shell("cat a.txt", "one\ntwo\n")
    session.patch({"b.txt": {"type": "add", "content": "b\n"}})
    session.reply("Done.")
    session.end()
    conversation = read_only("codex", session.cwd)
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
    assert [entry.text for entry in read_only("codex", session.cwd).entries] == ["<div> should be a section"]


def test_a_command_that_the_person_ran_is_told_as_theirs(session: CodexSession) -> None:
    text = (
        "<user_shell_command>\n<command>\nls -l\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>"
    )
    session.item("message", role="user", content=[{"type": "input_text", "text": text}])
    session.prompt("Go on")
    assert texts(read_only("codex", session.cwd)) == ["! ls -l", "Go on"]


def test_images_stand_beside_the_words_of_a_prompt(session: CodexSession) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    session.prompt([{"type": "input_text", "text": "What is it?"}, image])
    session.prompt([image])
    assert [entry.text for entry in read_only("codex", session.cwd).entries] == ["What is it? [image]", "[image]"]


def test_a_steered_prompt_of_the_same_turn_is_a_prompt_of_its_own(session: CodexSession) -> None:
    session.prompt("Start")
    session.reply("I do.")
    session.prompt("No, the other one", same_turn=True)
    conversation = read_only("codex", session.cwd)
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
    call, result = read_only("codex", session.cwd).entries[-2:]
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
    assert [entry.text for entry in read_only("codex", session.cwd).entries] == [text]


def test_what_ended_a_turn_is_told(session: CodexSession) -> None:
    session.prompt("Go")
    session.abort()
    session.event("error", message="quota\nexceeded")
    session.event("entered_review_mode", target="x")
    session.event("exited_review_mode")
    session.event("undo_completed", success=True, message="3 files")
    conversation = read_only("codex", session.cwd)
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
    assert texts(read_only("codex", session.cwd))[1:] == ["telemetry_of_2027 (3 of them)", "dream_began", "hologram"]


def test_compaction_is_joined_with_what_was_before(session: CodexSession) -> None:
    session.about("one")
    session.compact("We did one.")
    session.about("two")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation) == ["one", "about one", "We did one.", "Conversation compacted", "two", "about two"]
    assert by_text(conversation)["We did one."].flavour == "compaction"
    assert by_text(conversation)["Conversation compacted"].kind == "summary"
    assert by_text(conversation)["two"].turn == 2
