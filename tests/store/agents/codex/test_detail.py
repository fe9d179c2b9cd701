"""The whole text of an entry of Codex CLI's, and what else its record tells."""

from __future__ import annotations

import json

import pytest
from forkpoint.store import agents
from forkpoint.store.model import Block, Entry

from tests.builders.codex import CodexSession

codex = agents.get("codex")


def entries(session: CodexSession) -> list[Entry]:
    (info,) = codex.sessions(str(session.cwd))
    return list(codex.read(info).entries)


def blocks(session: CodexSession, place: int = -1) -> list[Block]:
    return codex.blocks(entries(session)[place])


def test_a_prompt_and_a_reply_are_shown_whole(session: CodexSession) -> None:
    session.prompt("first\nsecond\x1b[2J")
    session.reply("answer\n\nwith lines")
    assert blocks(session, 0) == [Block("text", "first\nsecond␛[2J")]
    assert blocks(session, 1) == [Block("text", "answer\n\nwith lines")]


def test_an_image_is_told_by_kind_and_size(session: CodexSession) -> None:
    session.prompt(
        [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 4000},
        ]
    )
    assert blocks(session) == [Block("text", "see"), Block("image", "image/png, 3 kB")]


def test_thoughts_are_shown_as_such(session: CodexSession) -> None:
    session.prompt("x")
    session.think("First.\nThen.")
    assert blocks(session) == [Block("thinking", "First.\nThen.")]


def test_a_patch_is_shown_as_a_diff_and_a_command_as_typed(session: CodexSession) -> None:
    session.prompt("x")
    session.patch({"a.txt": {"type": "add", "content": "a\n"}})
    session.shell("make it\nand that", "made\n")
    patch, _, command, output = (codex.blocks(entry)[0] for entry in entries(session)[1:])
    assert (patch.kind, patch.title, "*** Add File: a.txt" in patch.text) == ("diff", "apply_patch", True)
    assert command == Block("tool_input", "make it\nand that", "Bash")
    assert output.kind == "tool_output" and output.text.endswith("Output:\nmade\n")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (json.dumps({"output": "old\nform\n", "metadata": {"exit_code": 0}}), "old\nform\n"),
        ([{"type": "input_text", "text": "a list"}], "a list"),
        ({"content": "an object", "success": True}, "an object"),
        ("\x1b[31mred\x1b[0m", "red"),
    ],
)
def test_a_result_is_shown_in_each_of_its_forms(session: CodexSession, output: object, text: str) -> None:
    session.prompt("x")
    session.output(session.call("shell", {"command": ["ls"]}), output)
    assert [block.text for block in blocks(session)] == [text]


def test_the_task_of_a_sub_agent_and_other_arguments_are_shown(session: CodexSession) -> None:
    session.prompt("x")
    session.call("spawn_agent", {"message": "do\nthis"})
    assert blocks(session) == [Block("tool_input", "do\nthis", "spawn_agent")]
    session.call("update_plan", {"plan": [{"step": "one"}]})
    assert '"step": "one"' in blocks(session)[0].text


def test_a_compaction_shows_its_summary(session: CodexSession) -> None:
    session.prompt("x")
    session.compact("All is done.")
    assert [block.text for block in blocks(session)] == [
        "So far:\nAll is done.",
        "The model goes on with 1 messages instead of all before.",
    ]


def test_what_is_not_known_is_shown_as_it_stands(session: CodexSession) -> None:
    session.prompt("x")
    session.line("of_later", {"depth": 3})
    assert '"depth": 3' in blocks(session)[0].text


def test_facts_name_turn_session_record_and_file(session: CodexSession) -> None:
    session.prompt("x")
    call = session.shell("ls")
    told = codex.facts(entries(session)[1])
    assert told["turn"] == session.turn
    assert (told["session"], told["record"], told["file"]) == (session.id, call.entry, str(session.file))


def test_a_record_that_is_gone_is_told(session: CodexSession) -> None:
    session.prompt("x")
    entry = entries(session)[0]
    session.file.unlink()
    assert codex.blocks(entry) == [Block("raw", "The record is no longer there.")]
    assert codex.facts(entry)["session"] == session.id
