"""Older forms, and whatever is broken: shown as what it is, hiding nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from forkpoint.store import agents

from tests.builders.codex import CodexSession, update
from tests.builders.reading import by_text, read_only, texts

codex = agents.get("codex")


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
    assert texts(read_only("codex", session.cwd)) == ["Old prompt", "Bash ls", "a", "Old answer"]


def test_the_file_that_it_goes_on_from_may_be_gone(session: CodexSession) -> None:
    end = session.about("one")
    fork = session.pointer(end)
    fork.about("two")
    session.file.unlink()
    conversation = read_only("codex", fork.cwd)
    assert texts(conversation) == ["two", "about two"]
    assert session.id in conversation.info.problem


def test_files_that_name_each_other_as_their_beginning_are_read_all_the_same(session: CodexSession) -> None:
    session.about("one")
    other = session.pointer(99)
    other.about("two")
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
    conversation = read_only("codex", session.cwd)
    assert texts(conversation)[0] == "one"
    assert texts(conversation)[-1] == "about one"
    assert [problem.what for problem in conversation.problems] == [
        "the line is not a record",
        "the line is not a record",
        "the line is not finished",
    ]


def test_line_ends_of_windows_are_taken_too(session: CodexSession) -> None:
    session.about("one")
    session.file.write_bytes(session.file.read_bytes().replace(b"\n", b"\r\n"))
    conversation = read_only("codex", session.cwd)
    assert (texts(conversation), conversation.problems) == (["one", "about one"], ())


def test_odd_fields_and_escaped_halves_of_characters_are_read(session: CodexSession) -> None:
    session.prompt("half a \ud83d pair")
    session.line("response_item", {"type": "function_call", "name": 7, "arguments": {"cmd": "ls"}, "call_id": ["x"]})
    session.line("event_msg", {"type": "thread_rolled_back", "num_turns": "many"})
    session.line("event_msg", {"type": "item_completed", "item": {"type": "CollabAgentToolCall", "id": 3}})
    session.line("session_meta", {"id": None, "history_base": 3})
    session.reply("fine")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation)[0].startswith("half a ")
    assert texts(conversation)[-1] == "fine"


def test_a_huge_line_is_a_line(session: CodexSession) -> None:
    session.prompt("one")
    session.shell("cat big", "x" * 8_000_000)
    session.reply("fine")
    conversation = read_only("codex", session.cwd)
    assert texts(conversation)[-1] == "fine"
    assert len(by_text(conversation)["x" * 299 + "…"].text) == 300


def test_text_of_a_session_cannot_move_a_cursor(session: CodexSession) -> None:
    session.prompt("red \x1b[31m and \x07 bell")
    session.shell("printf '\x1b[2J'", "\x1b[2Jcleared")
    for entry in read_only("codex", session.cwd).entries:
        assert entry.text.isprintable()


def test_ids_of_records_stay_the_same_when_the_file_grows(session: CodexSession) -> None:
    session.about("one")
    session.abort()
    before = [entry.id for entry in read_only("codex", session.cwd).entries]
    session.about("two")
    assert [entry.id for entry in read_only("codex", session.cwd).entries][: len(before)] == before


def test_two_records_with_the_same_id_are_both_shown(session: CodexSession) -> None:
    session.prompt("one")
    for text in ("first", "second"):
        content = [{"type": "output_text", "text": text}]
        session.line("response_item", {"type": "message", "id": "msg_1", "role": "assistant", "content": content})
    conversation = read_only("codex", session.cwd)
    assert texts(conversation) == ["one", "first", "second"]
    assert len({entry.id for entry in conversation.entries}) == 3


def test_a_patch_of_a_moved_file_names_both_paths(session: CodexSession) -> None:
    (session.cwd / "a.txt").write_text("a\n")
    session.prompt("Move it")
    session.patch({"a.txt": update(["a"], ["b"], to="b.txt")})
    call = by_text(read_only("codex", session.cwd))["apply_patch a.txt, b.txt"]
    assert call.paths == (str(session.cwd / "a.txt"), str(session.cwd / "b.txt"))
