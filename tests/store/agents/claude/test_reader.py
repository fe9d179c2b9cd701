"""The tree that people mean: forks only where two lines of work go on."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from forkpoint.store import agents

from tests.builders.claude import ClaudeSession, Job
from tests.builders.reading import forks, path, read_only, row, texts

claude = agents.get("claude")


def test_a_turn_is_one_line_and_hidden_records_are_skipped(session: ClaudeSession) -> None:
    session.prompt("Do it")
    session.bookkeeping()
    session.reply("First I look.", thinking="Hm.")
    session.tool("Read", {"file_path": str(session.cwd / "src/a.py")}, "1\tone\n2\ttwo")
    session.progress()
    session.reply("Done.")
    session.end_turn()
    conversation = read_only("claude", session.cwd)
    assert texts(conversation) == ["Do it", "Hm.", "First I look.", "Read src/a.py", "1 one", "Done."]
    assert [item.kind for item in conversation.entries] == [
        "prompt",
        "reply",
        "reply",
        "tool_call",
        "tool_result",
        "reply",
    ]
    assert conversation.entries[1].flavour == "thinking"
    assert {item.turn for item in conversation.entries} == {1}
    assert len({item.prompt for item in conversation.entries}) == 1
    assert conversation.problems == ()


def test_a_prompt_below_the_hidden_end_of_a_turn_follows_what_is_shown(session: ClaudeSession) -> None:
    session.turn("one")
    for _ in range(3):
        session.progress()
    session.turn("two")
    conversation = read_only("claude", session.cwd)
    assert texts(conversation) == ["one", "Done.", "two", "Done."]
    assert [item.turn for item in conversation.entries] == [1, 1, 2, 2]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_parallel_calls_are_one_line_whatever_answers_first(session: ClaudeSession, order: tuple[int, ...]) -> None:
    session.prompt("Look")
    jobs = [Job("Bash", {"command": f"cat {name}"}, output=f"it is {name}") for name in "abc"]
    session.parallel(*jobs, text="Three at once.", order=order)
    session.reply("Seen.")
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == []
    shown = texts(conversation)
    assert shown[:5] == ["Look", "Three at once.", "Bash cat a", "Bash cat b", "Bash cat c"]
    assert sorted(shown[5:8]) == ["it is a", "it is b", "it is c"]
    assert shown[8:] == ["Seen."]


def test_results_that_stand_between_parallel_calls_keep_their_place(session: ClaudeSession) -> None:
    """Newer versions write a result as soon as it is there, before the next call of the same message."""
    session.prompt("Look")
    (first,) = session.parallel(Job("Bash", {"command": "one"}, output="1"))
    lines = session.file.read_bytes().splitlines(keepends=True)
    message = json.loads(lines[-2])["message"]["id"]
    session.leaf = first.uuid
    uid, call = session._call(message, "Bash", {"command": "two"})
    session.attachment("prompt_snapshot")
    session.result(uid, call, "2")
    session.reply("Both.")
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == []
    assert texts(conversation) == ["Look", "Bash one", "1", "Bash two", "2", "Both."]


def test_results_know_their_tool_and_whether_they_failed(session: ClaudeSession) -> None:
    session.prompt("Run")
    call = session.tool("Bash", {"command": "exit 3"}, "Exit code 3", error=True)
    result = next(item for item in read_only("claude", session.cwd).entries if item.kind == "tool_result")
    assert (result.tool, result.call, result.error) == ("Bash", call.id, True)


def test_edit_calls_name_their_paths(session: ClaudeSession) -> None:
    session.prompt("Write")
    session.write("src/new.py", "x = 1\n")
    call = next(item for item in read_only("claude", session.cwd).entries if item.kind == "tool_call")
    assert call.text == "Write src/new.py"
    assert call.paths == (str(session.cwd / "src/new.py"),)


def test_a_rewind_is_a_fork_after_the_last_shown_entry(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    second = session.turn("two", "Second.")
    session.turn("three", "Third.")
    session.rewind(second)
    session.turn("two again", "Other.")
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == [row(conversation, "First.").id]
    assert texts(conversation) == ["one", "First.", "two again", "Other."]
    assert texts(conversation, row(conversation, "Third.").id) == [
        "one",
        "First.",
        "two",
        "Second.",
        "three",
        "Third.",
    ]
    assert row(conversation, "two again").turn == 2
    assert conversation.info.branches == 2


def test_an_edited_first_prompt_is_a_root_of_its_own(session: ClaudeSession) -> None:
    first = session.turn("one")
    session.rewind(first)
    session.turn("other one", "Well.")
    conversation = read_only("claude", session.cwd)
    assert [item.text for item in conversation.entries if item.parent is None] == ["one", "other one"]
    assert texts(conversation) == ["other one", "Well."]


def test_an_answer_that_was_given_up_stands_before_the_one_that_counts(session: ClaudeSession) -> None:
    prompt = session.prompt("Do it")
    start = session.leaf
    session.parallel(Job("Bash", {"command": "slow"}, answered=False), text="I star")
    session.leaf = start
    session.reply("I start again.")
    session.end_turn()
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == []
    assert texts(conversation) == ["Do it", "I star", "Bash slow", "I start again."]
    assert [item.flavour for item in conversation.entries] == ["", "retry", "retry", ""]
    assert prompt == conversation.entries[0].id


def test_a_finished_answer_beside_a_prompt_is_no_retry(session: ClaudeSession) -> None:
    """What `--resume-session-at` in the middle of a turn leaves behind."""
    session.prompt("Do it")
    call = session.tool("Bash", {"command": "make"}, "made")
    session.reply("All done.")
    session.end_turn()
    session.leaf = call.result
    session.turn("But first", "Yes.")
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == [call.result]


def test_a_prompt_after_an_interrupted_batch_follows_all_of_it(session: ClaudeSession) -> None:
    session.prompt("Do it")
    calls = session.parallel(*(Job("Bash", {"command": name}, "rejected", error=True) for name in ("a", "b")))
    session.leaf = calls[0].result
    session.interrupt(tool=True)
    session.turn("Rather this", "Fine.")
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == []
    assert texts(conversation) == [
        "Do it",
        "Bash a",
        "Bash b",
        "rejected",
        "rejected",
        "Interrupted by the person",
        "Rather this",
        "Fine.",
    ]
    assert [item.flavour for item in conversation.entries if item.kind == "notice"] == ["interrupted"]


def test_a_copy_of_the_history_with_new_ids_is_folded(session: ClaudeSession) -> None:
    """Old versions replayed the history on resume: same times, same content, new ids."""
    session.prompt("one")
    session.reply("First.")
    records = [json.loads(line) for line in session.file.read_bytes().splitlines() if b'"uuid"' in line]
    new = {record["uuid"]: str(uuid.uuid4()) for record in records}
    for record in records:
        session.line({**record, "uuid": new[record["uuid"]], "parentUuid": new.get(record["parentUuid"])})
    session.leaf = new[records[-1]["uuid"]]
    session.turn("two", "Second.")
    conversation = read_only("claude", session.cwd)
    assert forks(conversation) == []
    assert texts(conversation) == ["one", "First.", "two", "Second."]
    assert len(conversation.entries) == 4


def test_a_compaction_joins_what_was_before_it(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.compact("All about one.", tokens=15809)
    session.turn("two", "Second.")
    conversation = read_only("claude", session.cwd)
    assert texts(conversation) == [
        "one",
        "First.",
        "Conversation compacted (by the person, 15,809 tokens before)",
        "two",
        "Second.",
    ]
    assert conversation.entries[2].kind == "summary"
    assert forks(conversation) == []


def test_a_compaction_whose_past_is_not_named_joins_the_record_before(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.leaf = str(uuid.uuid4())
    session.compact()
    conversation = read_only("claude", session.cwd)
    assert [item.kind for item in path(conversation, conversation.leaf)] == ["prompt", "reply", "summary"]


def test_a_sub_agent_stands_under_its_call(session: ClaudeSession) -> None:
    session.prompt("Delegate")
    inner = session.subagent("SUBJOB: look around")
    inner.reply("Looking.")
    inner.tool("Bash", {"command": "ls"}, "a.txt")
    session.finish_subagent(inner, "There is a.txt.")
    session.reply("It found a.txt.")
    conversation = read_only("claude", session.cwd)
    call = row(conversation, "Agent small job")
    under = [item for item in conversation.entries if item.under]
    assert [item.text for item in under] == ["SUBJOB: look around", "Looking.", "Bash ls", "a.txt"]
    assert {item.under for item in under} == {call.id}
    assert under[0].parent is None
    assert under[0].flavour == "sub-agent"
    assert {item.turn for item in conversation.entries} == {1}
    assert forks(conversation) == []
    assert texts(conversation)[-1] == "It found a.txt."


def test_a_sub_agent_of_a_sub_agent_stands_under_its_own_call(session: ClaudeSession) -> None:
    session.turn("before")
    session.prompt("Delegate")
    outer = session.subagent("outer job", description="outer")
    inner = outer.subagent("inner job", description="inner")
    inner.reply("Inside.")
    outer.finish_subagent(inner)
    session.finish_subagent(outer)
    conversation = read_only("claude", session.cwd)
    assert row(conversation, "inner job").under == row(conversation, "Agent inner").id
    assert row(conversation, "Agent inner").under == row(conversation, "Agent outer").id
    assert row(conversation, "Inside.").turn == 2


def test_a_sub_agent_without_any_link_is_found_by_its_prompt(session: ClaudeSession) -> None:
    session.prompt("Delegate")
    inner = session.subagent("look around")
    inner.file.with_suffix(".meta.json").unlink()
    session.tool("Bash", {"command": "true"})
    conversation = read_only("claude", session.cwd)
    assert row(conversation, "look around").under == row(conversation, "Agent small job").id


def test_a_sub_agent_written_into_the_session_itself_is_one_too(session: ClaudeSession) -> None:
    """Versions 1.0.x: records with isSidechain in the session's own file, with a root of their own."""
    session.prompt("Delegate")
    call = session.tool("Task", {"description": "old job", "prompt": "do it the old way"}, answered=False)
    main = session.leaf
    session.leaf = None
    session._chain("user", message={"role": "user", "content": "do it the old way"})
    session.reply("Old answer.")
    lines = session.file.read_bytes().splitlines(keepends=True)
    lines[-2:] = [line.replace(b'"isSidechain":false', b'"isSidechain":true') for line in lines[-2:]]
    session.file.write_bytes(b"".join(lines))
    session.leaf = main
    session.result(call.uuid, call.id, "done")
    conversation = read_only("claude", session.cwd)
    assert row(conversation, "Old answer.").under == row(conversation, "Task old job").id
    assert texts(conversation) == ["Delegate", "Task old job", "done"]


def test_what_the_person_did_besides_prompts_is_shown_as_what_it_was(session: ClaudeSession) -> None:
    session.prompt("start")
    session.queued("and also this")
    session.reply("Ok.")
    session.command("model", "Set to \x1b[1mfast\x1b[22m", "fast")
    session.shell("ls", "a.txt")
    session.command_prompt("review", "Review the code.", "src")
    session.api_error("API Error: 529")
    session.interrupt()
    conversation = read_only("claude", session.cwd)
    assert [(item.kind, item.flavour, item.text) for item in path(conversation, conversation.leaf)] == [
        ("prompt", "", "start"),
        ("prompt", "queued", "and also this"),
        ("reply", "", "Ok."),
        ("notice", "command", "/model fast"),
        ("notice", "command-output", "Set to fast"),
        ("notice", "shell", "! ls"),
        ("notice", "shell-output", "a.txt"),
        ("prompt", "command", "/review src"),
        ("notice", "api-error", "API Error: 529"),
        ("notice", "interrupted", "Interrupted by the person"),
    ]


def test_a_message_of_another_agent_is_no_prompt(session: ClaudeSession) -> None:
    session.turn("one")
    session._chain(
        "user",
        message={"role": "user", "content": "<task-notification><summary>Job finished</summary></task-notification>"},
        origin={"kind": "task-notification"},
    )
    session._chain("user", message={"role": "user", "content": "Are you there?"}, origin={"kind": "peer"})
    shown = [(item.kind, item.flavour, item.text) for item in read_only("claude", session.cwd).entries[2:]]
    assert shown == [("notice", "task", "Job finished"), ("notice", "peer", "Are you there?")]


def test_records_with_several_blocks_are_several_entries(session: ClaudeSession) -> None:
    session.prompt("start")
    message = session._assistant_message("msg_1", {"type": "text", "text": "I do"})
    message["content"] += [
        {"type": "thinking", "thinking": "", "signature": "x"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "brand_new_block", "x": 1},
    ]
    uid = session._chain("assistant", message=message)
    conversation = read_only("claude", session.cwd)
    assert [item.id for item in conversation.entries[1:]] == [uid, f"{uid}#2", f"{uid}#3"]
    assert [item.parent for item in conversation.entries[2:]] == [uid, f"{uid}#2"]
    assert [item.flavour for item in conversation.entries[1:]] == ["", "", "unknown"]
    assert [claude.blocks(item)[0].kind for item in conversation.entries[1:]] == ["text", "tool_input", "raw"]


def test_a_conversation_can_be_read_from_bytes_that_are_no_file(session: ClaudeSession) -> None:
    from io import BytesIO

    from forkpoint.store.agents.base import Source

    session.prompt("one")
    inner = session.subagent("look")
    session.finish_subagent(inner)
    (info,) = claude.sessions(str(session.cwd))
    stored = {source.name: source.open().read() for source in claude.sources(info)}
    before = claude.read(info)
    for name in stored:
        Path(name).unlink()
    sources = [Source(name, lambda data=data: BytesIO(data)) for name, data in stored.items()]
    after = claude.read(info, sources)
    assert after.entries == before.entries
    assert claude.blocks(after.entries[0], lambda name: BytesIO(stored[name]))[0].text == "one"
