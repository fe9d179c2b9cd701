"""Pi's sessions as a tree: every kind of record, every odd way in which records hang together."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store import agents

from tests.builders.pi import Job, PiSession
from tests.builders.reading import only, read_only, row, rows, texts

pi = agents.get("pi")


def test_a_turn_is_its_prompt_answers_calls_and_results(session: PiSession, shop: Path) -> None:
    session.prompt("Fold the lines\nand more")
    session.calls(
        Job("write", {"path": "a.py", "content": "x\n"}, "Successfully wrote to a.py"),
        Job("bash", {"command": "rm b.py"}, "\x1b[31mgone\x1b[0m", error=True),
        text="I begin.",
    )
    session.reply("All done.", thinking="Was that all?")
    found = read_only("pi", shop)
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
    assert read_only("pi", shop).entries[1].paths == (str(shop / named),)


def test_what_is_no_conversation_is_walked_through(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.append("model_change", provider="stub", modelId="other")
    session.append("thinking_level_change", thinkingLevel="high")
    session.append("usage", kind="cache_warm", provider="stub", model="m", usage={"input": 0})
    session.append("custom", customType="my-extension", data={"count": 42})
    session.append("custom_message", customType="my-extension", content="hidden", display=False)
    session.message("system", content="", sections={"skills": "…"})
    session.turn("Two")
    found = read_only("pi", shop)
    assert [text for _, text in rows(found)] == ["One", "Done.", "Two", "Done."]
    assert texts(found, found.leaf) == ["One", "Done.", "Two", "Done."]


def test_messages_of_extensions_are_shown_where_they_want_it(session: PiSession, shop: Path) -> None:
    session.turn()
    session.append("custom_message", customType="reviewer", content="Look again", display=True)
    session.append("custom_message", customType="reviewer", content=[{"type": "text", "text": "And again"}])
    session.message("custom", customType="old", content="As a message", display=True)
    session.message("hookMessage", customType="older", content="In version 2", display=True)
    assert [text for _, text in rows(read_only("pi", shop))][2:] == [
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
    found = read_only("pi", shop)
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
    found = read_only("pi", shop)
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
    found = read_only("pi", shop)
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
    found = read_only("pi", shop)
    assert [text for kind, text in rows(found) if kind == "prompt"] == ["[start] One", "Two", "Three"]
    assert found.info.branches == 1


def test_the_newest_name_is_the_session_s(session: PiSession, shop: Path) -> None:
    session.turn("One")
    assert only("pi", shop).title == "One"
    session.name("A first name")
    session.name("Refactor auth")
    assert only("pi", shop).title == "Refactor auth"
    assert read_only("pi", shop).titles == {session.id: "Refactor auth"}


def test_what_the_person_ran_in_the_shell_is_shown(session: PiSession, shop: Path) -> None:
    session.turn()
    session.message("bashExecution", command="make", output="no rule\nat all", exitCode=2, cancelled=False)
    found = read_only("pi", shop)
    assert rows(found)[2:] == [("notice", "! make"), ("notice", "no rule")]
    assert found.entries[-1].error
    assert pi.blocks(found.entries[-2])[0].text == "! make"
    assert pi.blocks(found.entries[-1])[0].text == "no rule\nat all"


def test_errors_and_interruptions_are_told(session: PiSession, shop: Path) -> None:
    session.prompt("One")
    session.reply("", stop="error", errorMessage="529 overloaded")
    session.reply("I was about", stop="aborted")
    found = read_only("pi", shop)
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
    assert [text for _, text in rows(read_only("pi", shop))][2:] == [
        "an earlier message was taken out of what the model sees",
        "an earlier message was replaced in what the model sees",
    ]


def test_a_skill_is_shown_as_it_was_called(session: PiSession, shop: Path) -> None:
    session.prompt('<skill name="review" location="/s/SKILL.md">\nReferences …\n\nBody\n</skill>\n\nthe parser')
    (found,) = read_only("pi", shop).entries
    assert (found.text, found.flavour) == ("/skill:review the parser", "command")
    assert pi.blocks(found)[0].text == "/skill:review the parser"


def test_a_prompt_of_pictures_only_says_so(session: PiSession, shop: Path) -> None:
    session.begin()
    session.message("user", content=[{"type": "image", "data": "QUJD", "mimeType": "image/png"}])
    (found,) = read_only("pi", shop).entries
    assert found.text == "[image]"
    assert [block.text for block in pi.blocks(found) if block.kind == "image"] == ["image/png, 0 kB"]


def test_records_of_an_unknown_kind_are_one_notice_each_kind(session: PiSession, shop: Path) -> None:
    session.turn("One")
    for number in range(3):
        session.append("telepathy", content=f"thought {number}")
    session.message("oracle", content="42")
    session.turn("Two")
    found = read_only("pi", shop)
    assert [text for _, text in rows(found)][2:4] == ["telepathy thought 0 (3 of them)", "oracle 42"]
    assert texts(found, found.leaf)[-2:] == ["Two", "Done."]
    assert found.info.branches == 1


def test_an_unknown_record_that_nobody_went_on_from_is_no_fork(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.append("telepathy", content="aside")
    session.rewind(place)
    session.turn("Two")
    assert read_only("pi", shop).info.branches == 1
