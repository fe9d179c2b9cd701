"""Pi's sessions as a tree: every kind of record, every odd way in which records hang together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.model import Conversation

from tests.builders.pi import Job, PiSession
from tests.builders.reading import only, read_only, row, texts

pi = agents.get("pi")


def read(root: Path) -> Conversation:
    return read_only("pi", root)


def rows(conversation: Conversation) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text) for entry in conversation.entries]


# --- what is shown --------------------------------------------------------------------------------------------------


def test_a_turn_is_its_prompt_answers_calls_and_results(session: PiSession, shop: Path) -> None:
    session.prompt("Fold the lines\nand more")
    session.calls(
        Job("write", {"path": "a.py", "content": "x\n"}, "Successfully wrote to a.py"),
        Job("bash", {"command": "rm b.py"}, "\x1b[31mgone\x1b[0m", error=True),
        text="I begin.",
    )
    session.reply("All done.", thinking="Was that all?")
    found = read(shop)
    assert rows(found) == [
        ("prompt", "Fold the lines"),
        ("reply", "I begin."),
        ("tool_call", "write a.py"),
        ("tool_call", "bash rm b.py"),
        ("tool_result", "Successfully wrote to a.py"),
        ("tool_result", "gone"),
        ("reply", "Was that all?"),
        ("reply", "All done."),
    ]
    assert [item.parent for item in found.entries[1:]] == [item.id for item in found.entries[:-1]]
    assert {item.turn for item in found.entries} == {1}
    assert {item.prompt for item in found.entries} == {found.entries[0].prompt} != {""}
    assert found.entries[2].paths == (str(shop / "a.py"),)
    assert found.entries[3].paths == ()
    assert found.entries[4].call == found.entries[2].call != ""
    assert [item.error for item in found.entries].index(True) == 5
    assert found.entries[6].flavour == "thinking"
    assert found.problems == ()
    assert found.leaf == found.entries[-1].id


@pytest.mark.parametrize(
    ("path", "named"), [("@a.py", "a.py"), ("sub/../a.py", "a.py"), ("/elsewhere/a.py", "/elsewhere/a.py")]
)
def test_an_edit_s_path_is_the_one_that_the_tool_takes(session: PiSession, shop: Path, path: str, named: str) -> None:
    session.prompt("Do it")
    session.call("edit", {"path": path, "edits": []})
    assert read(shop).entries[1].paths == (str(shop / named),)


def test_what_is_no_conversation_is_walked_through(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.append("model_change", provider="stub", modelId="other")
    session.append("thinking_level_change", thinkingLevel="high")
    session.append("usage", kind="cache_warm", provider="stub", model="m", usage={"input": 0})
    session.append("custom", customType="my-extension", data={"count": 42})
    session.append("custom_message", customType="my-extension", content="hidden", display=False)
    session.message("system", content="", sections={"skills": "…"})
    session.turn("Two")
    found = read(shop)
    assert [text for _, text in rows(found)] == ["One", "Done.", "Two", "Done."]
    assert texts(found, found.leaf) == ["One", "Done.", "Two", "Done."]


def test_messages_of_extensions_are_shown_where_they_want_it(session: PiSession, shop: Path) -> None:
    session.turn()
    session.append("custom_message", customType="reviewer", content="Look again", display=True)
    session.append("custom_message", customType="reviewer", content=[{"type": "text", "text": "And again"}])
    session.message("custom", customType="old", content="As a message", display=True)
    session.message("hookMessage", customType="older", content="In version 2", display=True)
    assert [text for _, text in rows(read(shop))][2:] == [
        "reviewer: Look again",
        "reviewer: And again",
        "old: As a message",
        "older: In version 2",
    ]


def test_a_compaction_joins_what_was_before_it(session: PiSession, shop: Path) -> None:
    session.turn("One")
    kept = session.turn("Two")
    summary = session.compact("They did one thing.", kept)
    session.turn("Three")
    found = read(shop)
    assert texts(found, found.leaf) == [
        "One",
        "Done.",
        "Two",
        "Done.",
        "Conversation compacted (50,000 tokens before)",
        "Three",
        "Done.",
    ]
    (told,) = [item for item in found.entries if item.id == summary]
    assert (told.kind, told.flavour) == ("summary", "compaction")
    assert pi.blocks(told)[0].text == "They did one thing."


def test_a_branch_summary_tells_of_the_branch_that_was_left(session: PiSession, shop: Path) -> None:
    first = session.prompt("One")
    answer = session.reply("Done.")
    session.turn("Two")
    left = session.leaf
    session.rewind(answer)
    session.append("branch_summary", fromId=left, summary="Two was tried.\nIn vain.")
    session.turn("Three")
    found = read(shop)
    assert texts(found, found.leaf) == [
        "One",
        "Done.",
        "Summary of the branch that was left: Two was tried.",
        "Three",
        "Done.",
    ]
    assert row(found, "Two").parent == row(found, "Summary of the branch that was left: Two was tried.").parent
    assert found.info.branches == 2
    assert first != answer


def test_summaries_that_older_versions_wrote_as_messages_are_shown(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.message("compactionSummary", summary="So far", tokensBefore=1200)
    session.message("branchSummary", summary="Tried\nin vain", fromId=None)
    found = read(shop)
    assert rows(found)[2:] == [
        ("summary", "Conversation compacted (1,200 tokens before)"),
        ("summary", "Summary of the branch that was left: Tried"),
    ]
    assert [pi.blocks(item)[0].text for item in found.entries[2:]] == ["So far", "Tried\nin vain"]


def test_a_label_stands_before_the_text_of_what_it_is_on(session: PiSession, shop: Path) -> None:
    one = session.turn("One")
    two = session.turn("Two")
    session.label(one, "start")
    session.label(two, "wrong")
    session.label(two, None)
    session.turn("Three")
    found = read(shop)
    assert [text for kind, text in rows(found) if kind == "prompt"] == ["[start] One", "Two", "Three"]
    assert found.info.branches == 1


def test_the_newest_name_is_the_session_s(session: PiSession, shop: Path) -> None:
    session.turn("One")
    assert only("pi", shop).title == "One"
    session.name("A first name")
    session.name("Refactor auth")
    assert only("pi", shop).title == "Refactor auth"
    assert read(shop).titles == {session.id: "Refactor auth"}


def test_what_the_person_ran_in_the_shell_is_shown(session: PiSession, shop: Path) -> None:
    session.turn()
    session.message("bashExecution", command="make", output="no rule\nat all", exitCode=2, cancelled=False)
    found = read(shop)
    assert rows(found)[2:] == [("notice", "! make"), ("notice", "no rule")]
    assert found.entries[-1].error
    assert pi.blocks(found.entries[-2])[0].text == "! make"
    assert pi.blocks(found.entries[-1])[0].text == "no rule\nat all"


def test_errors_and_interruptions_are_told(session: PiSession, shop: Path) -> None:
    session.prompt("One")
    session.reply("", stop="error", errorMessage="529 overloaded")
    session.reply("I was about", stop="aborted")
    found = read(shop)
    assert rows(found)[1:] == [
        ("notice", "529 overloaded"),
        ("reply", "I was about"),
        ("notice", "Interrupted by the person"),
    ]
    assert [item.flavour for item in found.entries[1:]] == ["api-error", "", "interrupted"]


def test_a_context_edit_is_told(session: PiSession, shop: Path) -> None:
    one = session.turn("One")
    session.append("context_edit", targetId=one, replacement=None)
    session.append("context_edit", targetId=one, replacement={"content": "Uno"})
    assert [text for _, text in rows(read(shop))][2:] == [
        "an earlier message was taken out of what the model sees",
        "an earlier message was replaced in what the model sees",
    ]


def test_a_skill_is_shown_as_it_was_called(session: PiSession, shop: Path) -> None:
    session.prompt('<skill name="review" location="/s/SKILL.md">\nReferences …\n\nBody\n</skill>\n\nthe parser')
    (found,) = read(shop).entries
    assert (found.text, found.flavour) == ("/skill:review the parser", "command")
    assert pi.blocks(found)[0].text == "/skill:review the parser"


def test_a_prompt_of_pictures_only_says_so(session: PiSession, shop: Path) -> None:
    session.begin()
    session.message("user", content=[{"type": "image", "data": "QUJD", "mimeType": "image/png"}])
    (found,) = read(shop).entries
    assert found.text == "[image]"
    assert [block.text for block in pi.blocks(found) if block.kind == "image"] == ["image/png, 0 kB"]


def test_records_of_an_unknown_kind_are_one_notice_each_kind(session: PiSession, shop: Path) -> None:
    session.turn("One")
    for number in range(3):
        session.append("telepathy", content=f"thought {number}")
    session.message("oracle", content="42")
    session.turn("Two")
    found = read(shop)
    assert [text for _, text in rows(found)][2:4] == ["telepathy thought 0 (3 of them)", "oracle 42"]
    assert texts(found, found.leaf)[-2:] == ["Two", "Done."]
    assert found.info.branches == 1


def test_an_unknown_record_that_nobody_went_on_from_is_no_fork(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.append("telepathy", content="aside")
    session.rewind(place)
    session.turn("Two")
    assert read(shop).info.branches == 1


# --- the tree -------------------------------------------------------------------------------------------------------


def test_a_rewind_in_the_tree_is_a_fork(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.turn("Two")
    session.rewind(place)
    session.turn("Three")
    found = read(shop)
    assert row(found, "Two").parent == row(found, "Three").parent == place
    assert texts(found, found.leaf) == ["One", "Done.", "Three", "Done."]
    assert [item.turn for item in found.entries] == [1, 1, 2, 2, 2, 2]
    assert found.info.branches == 2


def test_another_first_prompt_is_another_beginning(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.rewind(None)
    session.turn("Uno")
    found = read(shop)
    assert texts(found, found.leaf) == ["Uno", "Done."]
    assert row(found, "One").parent is None


def test_pi_goes_on_from_the_last_record(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.turn("Two")
    session.rewind(place)
    session.append("model_change", provider="stub", modelId="other")
    found = read(shop)
    assert found.leaf == place
    assert found.leaves == {session.id: place}


def test_a_fork_and_its_source_are_one_session(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.turn("Two")
    assert place is not None
    fork = session.fork(place)
    fork.turn("Three")
    info = only("pi", shop)
    assert info.ids == (session.id, fork.id)
    assert info.title == "One"
    found = read(shop)
    assert sorted(text for _, text in rows(found)) == ["Done.", "Done.", "Done.", "One", "Three", "Two"]
    assert texts(found, found.leaves[fork.id]) == ["One", "Done.", "Three", "Done."]
    assert texts(found, found.leaves[session.id]) == ["One", "Done.", "Two", "Done."]
    assert row(found, "Three").session == fork.id
    assert row(found, "One").session == session.id


def test_forks_of_a_file_that_is_gone_are_one_session_too(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf or ""
    forks = [session.fork(place), session.fork(place)]
    for number, fork in enumerate(forks):
        fork.turn(f"Fork {number}")
    session.file.unlink()
    assert set(only("pi", shop).ids) == {fork.id for fork in forks}
    assert sorted(text for kind, text in rows(read(shop)) if kind == "prompt") == ["Fork 0", "Fork 1", "One"]


def test_a_session_that_only_names_another_one_is_a_session_of_its_own(
    session: PiSession, shop: Path, home: Path
) -> None:
    session.turn("One")
    handed_over = PiSession(home, shop, now=session.now, parent=str(session.file))
    handed_over.turn("Go on with what is told here")
    assert {info.id for info in pi.sessions(str(shop))} == {session.id, handed_over.id}


def test_equal_ids_of_different_records_stay_two(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf or ""
    fork = session.fork(place)
    fork.turn("Three")
    session.now = fork.now
    session.append("message", message={"role": "user", "content": "Other"})
    text = session.file.read_text().replace(f'"id":"{session.leaf}"', f'"id":"{fork.records[-2]["id"]}"')
    session.file.write_text(text)
    found = read(shop)
    assert {"Three", "Other"} <= {text for _, text in rows(found)}
    assert len({item.id for item in found.entries}) == len(found.entries)


# --- old versions ---------------------------------------------------------------------------------------------------


def test_version_1_is_one_line_without_ids(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=1)
    old.turn("One")
    old.turn("Two")
    old.append("compaction", summary="So far", firstKeptEntryIndex=6, tokensBefore=10)
    old.turn("Three")
    found = read(shop)
    assert texts(found, found.leaf)[-3:] == ["Conversation compacted (10 tokens before)", "Three", "Done."]
    assert len(texts(found, found.leaf)) == len(found.entries) == 7
    assert found.problems == ()
    assert not pi.sources(only("pi", shop))[0].grows


def test_version_2_is_read_as_version_3(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=2)
    old.turn("One")
    old.message("hookMessage", customType="hook", content="Hello", display=True)
    assert [text for _, text in rows(read(shop))] == ["One", "Done.", "hook: Hello"]


def test_what_was_branched_in_version_1_is_joined(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=1)
    old.turn("One")
    branch = PiSession(home, shop, version=1, now=old.now, parent=str(old.file))
    for record in old.records:
        branch.raw(json.dumps(record).encode() + b"\n")
    branch.turn("Two")
    assert only("pi", shop).ids == (old.id, branch.id)
    assert [text for kind, text in rows(read(shop)) if kind == "prompt"] == ["One", "Two"]


def test_a_newer_version_is_read_and_told(home: Path, shop: Path) -> None:
    newer = PiSession(home, shop, version=9)
    newer.turn("One")
    found = read(shop)
    assert [text for _, text in rows(found)] == ["One", "Done."]
    assert "version 9" in found.info.problem


# --- bad input ------------------------------------------------------------------------------------------------------


def test_lines_that_are_broken_hide_nothing_else(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.raw(b"this is no JSON\n")
    session.raw(b"\0" * 64 + b"\n")
    session.raw(b"[1,2]\n\n")
    session.turn("Two")
    found = read(shop)
    assert [text for _, text in rows(found)] == [
        "One",
        "Done.",
        "line 7 cannot be read (15 bytes)",
        "line 9 cannot be read (5 bytes)",
        "Two",
        "Done.",
    ]
    assert texts(found, found.leaf)[-2:] == ["Two", "Done."]
    assert [problem.line for problem in found.problems] == [7, 9]
    assert found.info.problem


def test_two_records_in_one_line_are_two(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.file.write_bytes(session.file.read_bytes().removesuffix(b"\n"))
    session.turn("Two")
    found = read(shop)
    assert [text for _, text in rows(found)] == ["One", "Done.", "Two", "Done."]


def test_a_record_that_was_cut_off_is_told_and_the_next_one_read(session: PiSession, shop: Path) -> None:
    session.turn("One")
    data = session.file.read_bytes()
    session.file.write_bytes(data[:-40])
    session.rewind(session.records[-2]["id"])
    session.turn("Two")
    found = read(shop)
    assert [text for kind, text in rows(found) if kind == "prompt"] == ["One", "Two"]
    assert len(found.problems) == 1


def test_a_last_line_that_is_being_written_waits(session: PiSession, shop: Path) -> None:
    session.turn("One")
    data = session.file.read_bytes()
    session.raw(b'{"type":"message","id":"abcdef01","parentId":')
    found = read(shop)
    assert [text for _, text in rows(found)] == ["One", "Done."]
    assert found.problems[0].what == "the line is not finished"
    session.file.write_bytes(data)
    assert read(shop).problems == ()


def test_carriage_returns_and_odd_separators_are_no_line_ends(session: PiSession, shop: Path) -> None:
    session.turn("One\u2028two\u0085three")
    session.file.write_bytes(session.file.read_bytes().replace(b"\n", b"\r\n"))
    found = read(shop)
    assert len(found.entries) == 2
    assert found.problems == ()
    assert "\u2028" not in found.entries[0].text


def test_half_a_surrogate_pair_is_read(session: PiSession, shop: Path) -> None:
    session.begin()
    session.raw(
        b'{"type":"message","id":"0badcafe","parentId":null,"timestamp":"2026-11-30T10:00:00.000Z",'
        b'"message":{"role":"user","content":"half \\ud83d","timestamp":1}}\n'
    )
    found = read(shop)
    assert found.entries[-1].text.startswith("half")
    found.entries[-1].text.encode()


@pytest.mark.parametrize(
    "broken",
    [
        {"message": None},
        {"message": [1]},
        {"message": {"role": "user", "content": None}},
        {"message": {"role": "user", "content": [{"type": 7}, "odd", {"type": "text"}]}},
        {"message": {"role": "assistant", "content": "a plain text"}},
        {"message": {"role": "assistant", "content": [{"type": "toolCall", "arguments": [1], "name": 7}]}},
        {"message": {"role": "assistant", "content": [{"type": "new-kind", "text": "x"}]}},
        {"message": {"role": "toolResult", "content": {"a": 1}, "isError": "yes"}},
        {"message": {"role": "bashExecution", "exitCode": "none", "output": 7}},
        {"message": {"role": 7}},
        {"timestamp": 12},
        {"parentId": 12},
        {"type": None},
    ],
)
def test_fields_of_another_type_hide_nothing(session: PiSession, shop: Path, broken: dict[str, object]) -> None:
    session.turn("One")
    record = {"type": "message", "id": "0badcafe", "parentId": session.leaf, "timestamp": "2026-11-30T10:00:00.000Z"}
    session.raw(json.dumps({**record, **broken}).encode() + b"\n")
    session.turn("Two")
    found = read(shop)
    assert [text for kind, text in rows(found) if kind == "prompt"][-1] == "Two"
    for item in found.entries:
        assert pi.blocks(item)
        assert pi.facts(item)


def test_a_missing_parent_begins_a_tree_that_is_told_apart(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.rewind("deadbeef")
    session.turn("Two")
    found = read(shop)
    assert row(found, "Two").parent is None
    assert row(found, "Two").flavour == "detached"
    assert [problem.what for problem in found.problems] == ["a record hangs on one that is not there"]


def test_records_that_are_each_other_s_parents_are_told(session: PiSession, shop: Path) -> None:
    session.append("message", parent="0000000b", message={"role": "user", "content": "One"})
    text = session.file.read_text().replace(session.leaf or "", "0000000a")
    session.file.write_text(text)
    session.append("message", parent="0000000a", message={"role": "user", "content": "Two"})
    session.file.write_text(session.file.read_text().replace(session.leaf or "", "0000000b"))
    found = read(shop)
    assert sorted(text for _, text in rows(found)) == ["One", "Two"]
    assert "records are each other's parents" in {problem.what for problem in found.problems}


def test_a_record_that_is_its_own_parent_is_a_first_one(session: PiSession, shop: Path) -> None:
    session.append("message", parent="0000000a", message={"role": "user", "content": "One"})
    session.file.write_text(session.file.read_text().replace(session.leaf or "", "0000000a"))
    found = read(shop)
    assert [(item.parent, item.flavour) for item in found.entries] == [(None, "")]


def test_a_child_before_its_parent_is_joined(session: PiSession, shop: Path) -> None:
    session.turn("One")
    lines = session.file.read_bytes().splitlines(keepends=True)
    session.file.write_bytes(b"".join([*lines[:-2], lines[-1], lines[-2]]))
    found = read(shop)
    assert rows(found) == [("prompt", "One"), ("reply", "Done.")]
    assert found.entries[1].parent == found.entries[0].id


def test_the_same_id_twice_in_a_file_is_told(session: PiSession, shop: Path) -> None:
    session.turn("One")
    first = session.records[-2]["id"]
    session.turn("Two")
    session.file.write_text(session.file.read_text().replace(session.records[-2]["id"], first))
    found = read(shop)
    assert [text for kind, text in rows(found) if kind == "prompt"] == ["One", "Two"]
    assert "two records have the same id" in {problem.what for problem in found.problems}


def test_a_long_chain_is_read_without_deep_calls(session: PiSession, shop: Path) -> None:
    parent = None
    lines: list[bytes] = []
    for number in range(20_000):
        uid = f"{number:08x}"
        message = {"role": "user", "content": "x", "timestamp": number}
        record = {"type": "message", "id": uid, "parentId": parent, "timestamp": "", "message": message}
        lines.append(json.dumps(record).encode() + b"\n")
        parent = uid
    session.raw(b"".join(lines))
    found = read(shop)
    assert len(found.entries) == 20_000
    assert found.entries[-1].turn == 20_000
