"""Sessions of Gemini CLI as trees: each kind of record, what rewinds and compressions leave, and what is broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.model import Conversation

from tests.builders.gemini import GeminiSession, Job, as_json
from tests.builders.reading import row, texts

gemini = agents.get("gemini")

Read = Callable[[], Conversation]


def told(conversation: Conversation, kind: str = "") -> list[str]:
    return [entry.text for entry in conversation.entries if kind in ("", entry.kind)]


def heads(conversation: Conversation) -> set[str]:
    parents = {item.parent for item in conversation.entries}
    return {item.text for item in conversation.entries if item.id not in parents and not item.under}


def test_a_turn_is_prompt_thoughts_reply_calls_with_their_results_and_the_last_word(
    session: GeminiSession, read: Read
) -> None:
    session.prompt("Fold the lines")
    session.message(
        "gemini",
        "I look.",
        thoughts=[{"subject": "Where", "description": "in parse.py", "timestamp": session.stamp()}],
        tokens=None,
        model="gemini-2.5-pro",
    )
    session.calls([Job("read_file", {"file_path": str(session.cwd / "a.py")}, "x = 1")], "Now")
    session.reply("Done.")
    found = read()
    assert [(item.kind, item.flavour, item.text) for item in found.entries] == [
        ("prompt", "", "Fold the lines"),
        ("reply", "thinking", "Where in parse.py"),
        ("reply", "", "I look."),
        ("reply", "", "Now"),
        ("tool_call", "", "read_file a.py"),
        ("tool_result", "", "x = 1"),
        ("reply", "", "Done."),
    ]
    assert [item.turn for item in found.entries] == [1] * 7
    assert texts(found) == told(found)
    assert found.problems == ()


def test_calls_side_by_side_stand_in_one_line_each_with_its_result(session: GeminiSession, read: Read) -> None:
    session.prompt("Both")
    session.calls([session.writing("a.txt", "a\n"), Job("run_shell_command", {"command": "ls"}, "a.txt", "a.txt")])
    found = read()
    calls = [item for item in found.entries if item.kind == "tool_call"]
    assert [item.text for item in calls] == ["write_file a.txt", "run_shell_command ls"]
    assert [item.paths for item in calls] == [(str(session.cwd / "a.txt"),), ()]
    results = {item.call: item.text for item in found.entries if item.kind == "tool_result"}
    assert results[calls[1].call] == "a.txt"
    assert len(heads(found)) == 1


def test_a_later_line_of_the_same_id_takes_the_place_of_the_earlier(session: GeminiSession, read: Read) -> None:
    session.prompt("Hello")
    uid = session.reply("Hel")
    session.line({**session.listed[-1], "content": "Hello you"})
    session.prompt("Bye")
    found = read()
    assert told(found) == ["Hello", "Hello you", "Bye"]
    assert found.entries[1].id == uid


def test_failed_and_cancelled_calls_are_told_as_such(session: GeminiSession, read: Read) -> None:
    session.prompt("Try")
    session.tool("run_shell_command", {"command": "false"}, "Exit Code: 1", status="error")
    session.info("Request cancelled.")
    session.tool("run_shell_command", {"command": "sleep 9"}, "[Operation Cancelled]", status="cancelled")
    found = read()
    results = [item for item in found.entries if item.kind == "tool_result"]
    assert [(item.error, item.flavour) for item in results] == [(True, ""), (True, "interrupted")]
    assert row(found, "Request cancelled.").flavour == "interrupted"


def test_notices_errors_and_unknown_types_stand_where_they_came(session: GeminiSession, read: Read) -> None:
    session.prompt("Hello")
    session.info("Update available")
    session.info("API Error", "error")
    session.info("Careful", "warning")
    session.message("hologram", "wave")
    session.reply("Hi")
    found = read()
    assert [(item.kind, item.text) for item in found.entries] == [
        ("prompt", "Hello"),
        ("notice", "Update available"),
        ("notice", "API Error"),
        ("notice", "Careful"),
        ("notice", "hologram wave"),
        ("reply", "Hi"),
    ]
    assert row(found, "API Error").error


def test_a_prompt_is_shown_as_it_was_typed_without_what_was_injected(session: GeminiSession, read: Read) -> None:
    parts = [
        {"text": "Explain @a.py"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "x = 1"},
    ]
    session.message("user", parts, displayContent=[{"text": "Explain @a.py"}])
    session.message("user", [{"text": "And this\n\n<hook_context>by a hook</hook_context>"}])
    session.message("user", [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}])
    session.message("user", [{"text": "System: Please continue."}])
    found = read()
    assert told(found) == ["Explain @a.py", "And this", "look [image]", "System: Please continue."]
    assert [item.kind for item in found.entries] == ["prompt", "prompt", "prompt", "notice"]


def test_a_resume_tells_nothing_twice(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.write("a.txt", "a\n", "I write")
    session.info("Saved")
    before = read()
    session.begin()
    session.resume()
    session.prompt("Two")
    session.begin()
    session.resume()
    session.reply("Yes")
    found = read()
    assert found.entries[: len(before.entries)] == before.entries
    assert told(found)[len(before.entries) :] == ["Two", "Yes"]
    assert len(heads(found)) == 1


def test_what_a_rewind_drops_stays_as_a_branch(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.reply("First")
    two = session.prompt("Two")
    session.write("a.txt", "a\n", "I write")
    session.rewind(two)
    session.prompt("Three")
    session.reply("Third")
    found = read()
    assert texts(found) == ["One", "First", "Three", "Third"]
    assert row(found, "Two").parent == row(found, "Three").parent
    assert heads(found) == {"Third", next(iter(heads(found) - {"Third"}))}
    assert [item.turn for item in found.entries if item.kind == "prompt"] == [1, 2, 2]


def test_after_a_rewind_the_conversation_goes_on_from_where_it_went(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.reply("First")
    two = session.prompt("Two")
    session.reply("Second")
    session.rewind(two)
    assert texts(read()) == ["One", "First"]


def test_a_rewind_to_an_unknown_message_empties_the_list_as_the_agent_has_it(
    session: GeminiSession, read: Read
) -> None:
    session.prompt("One")
    session.reply("First")
    session.line({"$rewindTo": "nothing"})
    session.prompt("Anew")
    found = read()
    assert texts(found) == ["Anew"]
    assert told(found) == ["One", "First", "Anew"]


def test_the_same_prompt_again_after_a_rewind_is_another_one(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.reply("First")
    again = session.prompt("Try")
    session.reply("Badly")
    session.rewind(again)
    session.prompt("Try")
    session.reply("Well")
    session.begin()
    session.resume()
    session.prompt("Go on")
    found = read()
    assert texts(found) == ["One", "First", "Try", "Well", "Go on"]
    assert told(found).count("Try") == 2


def test_a_restore_begins_a_branch_where_it_went(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.write("a.txt", "a\n", "I write a")
    session.write("b.txt", "b\n", "I write b")
    session.reply("Done")
    # The list: prompt, reply with its call, what the call gave, reply …
    session.restore(2)
    session.prompt("Otherwise")
    found = read()
    assert told(found).count("One") == 1
    assert told(found).count("I write a") == 1
    assert texts(found)[-3:] == [
        texts(found)[-3],
        "Restored project to the state before the tool call.",
        "Otherwise",
    ]
    assert "I write b" not in texts(found)
    assert heads(found) == {"Done", "Otherwise"}


def test_a_compression_is_a_summary_and_what_it_kept_is_not_told_twice(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.reply("First")
    session.prompt("Two")
    session.reply("Second")
    session.compress("<state_snapshot>all of it</state_snapshot>", keep=2)
    session.prompt("Three")
    found = read()
    assert texts(found) == ["One", "First", "Two", "Second", "Conversation compressed", "Three"]
    assert row(found, "Conversation compressed").kind == "summary"
    (block,) = gemini.blocks(row(found, "Conversation compressed"))
    assert "all of it" in block.text


def test_a_rewind_into_what_a_compression_kept_goes_back_before_it(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.reply("First")
    session.prompt("Two")
    session.reply("Second")
    session.compress("a summary", keep=2)
    session.rewind(session.listed[-2]["id"])
    session.prompt("Otherwise")
    found = read()
    assert texts(found) == ["One", "First", "Otherwise"]
    assert told(found).count("Two") == 1


def test_a_sub_agent_stands_under_its_call(session: GeminiSession, read: Read) -> None:
    session.prompt("Do")
    agent = session.sub_agent("generalist", "Write sub.txt")
    agent.write("sub.txt", "s\n", "I write")
    session.reply("It is done")
    found = read()
    call = row(found, "invoke_agent generalist Write sub.txt")
    inner = [item for item in found.entries if item.under]
    assert {item.under for item in inner} == {call.id}
    assert [item.text for item in inner[:3]] == ["Write sub.txt", "I write", "write_file sub.txt"]
    assert {item.turn for item in inner} == {1}
    assert texts(found) == ["Do", call.text, "done", "It is done"]


def test_a_sub_agent_whose_call_is_not_recorded_yet_is_shown_apart(session: GeminiSession, read: Read) -> None:
    session.prompt("Do")
    agent = GeminiSession(session.home, session.cwd, kind="subagent", parent=session.id)
    agent.message("user", [{"text": "Write sub.txt"}])
    found = read()
    assert row(found, "Write sub.txt").flavour == "detached"
    assert texts(found) == ["Do"]


def test_a_session_of_the_old_form_is_read_and_goes_on_in_lines(session: GeminiSession, read: Read) -> None:
    session.prompt("Old prompt")
    session.write("a.txt", "a\n", "I write")
    told_before, messages, cwd = told(read()), session.listed, session.cwd
    file = as_json(session)
    found = read()
    assert told(found) == told_before
    assert [item.turn for item in found.entries] == [1] * len(found.entries)
    assert gemini.blocks(row(found, "Old prompt"))[0].text == "Old prompt"

    beside = GeminiSession(session.home, cwd, id=session.id)
    for message in messages:
        beside.line(message)
    beside.listed = messages
    beside.resume()
    beside.prompt("New prompt")
    (info,) = gemini.sessions(str(cwd))
    assert [source.name for source in gemini.sources(info)] == [str(file), str(beside.file)]
    assert told(read()) == [*told_before, "New prompt"]
    assert len(heads(read())) == 1


def test_a_session_of_the_old_form_that_is_cut_off_is_told_as_such(session: GeminiSession, read: Read) -> None:
    session.prompt("Old prompt")
    file = as_json(session)
    file.write_bytes(file.read_bytes()[:-40])
    found = read()
    assert found.info.problem


def test_a_resume_in_a_later_minute_leaves_no_second_session(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    GeminiSession(session.home, session.cwd, id=session.id, now=session.now.replace(hour=11))
    session.resume()
    session.prompt("Two")
    assert told(read(), "prompt") == ["One", "Two"]


def test_an_imported_copy_is_the_same_tree(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.reply("First")
    copy = GeminiSession(session.home, session.cwd, now=session.now)
    copy.info("Imported session from /elsewhere/s.jsonl")
    for message in session.listed:
        copy.line(message)
    copy.prompt("In the copy")
    session.prompt("In the original")
    found = read()
    assert found.info.ids == (session.id, copy.id)
    assert told(found, "prompt") == ["One", "In the original", "In the copy"]
    assert row(found, "In the copy").session == copy.id
    assert texts(found, found.leaves[copy.id]) == ["One", "First", "In the copy"]
    assert texts(found, found.leaves[session.id]) == ["One", "First", "In the original"]
    assert len([item for item in found.entries if item.parent is None]) == 1


def test_a_torn_line_to_which_the_next_was_glued_hides_nothing_else(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.raw(b'{"id":"torn","timestamp":"2026')
    session.prompt("Two")
    session.reply("Second")
    found = read()
    assert told(found, "prompt") == ["One", "Two"]
    assert [problem.what for problem in found.problems] == ["the line is not a record"]


def test_crlf_nuls_and_half_surrogates_are_read(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.raw(b"\0\0\0")
    session.prompt("Two \ud83d")
    session.file.write_bytes(session.file.read_bytes().replace(b"\n", b"\r\n"))
    assert told(read(), "prompt") == ["One", "Two \ufffd"]


def test_values_of_other_types_are_passed_over(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.line({"id": "odd", "type": "gemini", "content": 7, "toolCalls": [{"id": 1, "name": ["x"]}], "timestamp": 0})
    session.line({"$set": 7})
    session.line({"$set": {"messages": "none"}})
    session.line({"$rewindTo": 7})
    session.prompt("Two")
    found = read()
    assert told(found, "prompt") == ["One", "Two"]


def test_a_line_that_is_being_written_is_waited_for(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    whole = json.dumps({"id": "x", "type": "gemini", "content": "Later", "timestamp": session.stamp()}).encode()
    session.raw(whole[:20])
    assert told(read()) == ["One"]
    session.raw(whole[20:] + b"\n")
    assert told(read()) == ["One", "Later"]


def test_entries_keep_their_ids_as_the_session_goes_on(session: GeminiSession, read: Read) -> None:
    seen: dict[str, str] = {}
    session.prompt("One")
    session.calls([session.writing("a.txt", "a\n"), session.writing("b.txt", "b\n")], "I write")
    for step in (
        lambda: None,
        session.begin,
        session.resume,
        lambda: session.prompt("Two"),
        lambda: session.reply("x"),
    ):
        step()
        for item in read().entries:
            assert seen.setdefault(item.id, item.text) == item.text
    assert len(seen) == 8, "prompt, reply, two calls with results, prompt, reply"


def test_the_place_of_an_entry_is_that_of_its_record(session: GeminiSession, read: Read, shop: Path) -> None:
    session.prompt("One")
    session.compress("a summary", keep=0)
    session.write("a.txt", "a\n", "I write")
    for item in read().entries:
        assert item.span is not None
        data = Path(item.span.file).read_bytes()[item.span.offset :][: item.span.length]
        assert json.loads(data)["id"] == item.id.partition("#")[0]
