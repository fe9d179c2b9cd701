"""The whole text of a row, and what else its record tells."""

from __future__ import annotations

from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.model import Entry

from tests.builders.pi import Job, PiSession

pi = agents.get("pi")


def rows(root: Path) -> dict[str, Entry]:
    (info,) = pi.sessions(str(root))
    return {entry.text: entry for entry in pi.read(info).entries}


def shown(entry: Entry) -> list[tuple[str, str, str]]:
    return [(block.kind, block.text, block.title) for block in pi.blocks(entry)]


def test_texts_are_whole_and_clean(session: PiSession, shop: Path) -> None:
    session.prompt("Fold\nthe\x1b[2Jlines\r\n")
    session.reply("One\n\n\x1b[31mtwo\x1b[0m", thinking="Hm\nhm")
    found = rows(shop)
    assert shown(found["Fold"]) == [("text", "Fold\nthe␛[2Jlines\n", "")]
    assert shown(found["One"]) == [("text", "One\n\ntwo", "")]
    assert shown(found["Hm"]) == [("thinking", "Hm\nhm", "")]


def test_calls_show_what_they_do(session: PiSession, shop: Path) -> None:
    session.prompt("Do it")
    session.calls(
        Job("write", {"path": "a.py", "content": "x\ny\n"}),
        Job("edit", {"path": "b.py", "edits": [{"oldText": "one\ntwo", "newText": "2"}]}),
        Job("bash", {"command": "make &&\nmake test"}),
        Job("fetch", {"url": "https://example.org", "deep": {"a": [1]}}),
        text="All four.",
    )
    found = rows(shop)
    assert shown(found["write a.py"]) == [("tool_input", "x\ny\n", "write a.py")]
    assert shown(found["edit b.py"]) == [("diff", "-one\n-two\n+2", "edit b.py")]
    assert shown(found["bash make &&"]) == [("tool_input", "make &&\nmake test", "bash")]
    ((kind, text, title),) = shown(found["fetch https://example.org"])
    assert (kind, title) == ("tool_input", "fetch")
    assert '"deep"' in text


def test_results_show_their_output_and_what_changed(session: PiSession, shop: Path) -> None:
    (shop / "a.txt").write_text("one\ntwo\n")
    session.prompt("Do it")
    session.edit("a.txt", ("two", "2"))
    session.call("bash", {"command": "ls"}, "")
    found = rows(shop)
    output, diff = shown(found["Successfully replaced 1 block(s) in a.txt."])
    assert output[0] == "tool_output"
    assert diff[0] == "diff"
    assert diff[1].endswith("@@ -1,2 +1,2 @@\n one\n-two\n+2")
    assert shown(found["(no output)"]) == [("tool_output", "(no output)", "bash")]


def test_facts_name_model_tokens_and_cost(session: PiSession, shop: Path) -> None:
    session.turn("Do it")
    facts = pi.facts(rows(shop)["Done."])
    assert facts["model"] == "stub/stub-model"
    assert (facts["tokens in"], facts["tokens out"], facts["cost"]) == ("1392", "20", "0.2500 $")
    assert facts["stopped because"] == "stop"
    assert facts["file"] == str(session.file)


def test_a_compaction_names_the_files_that_it_knew(session: PiSession, shop: Path) -> None:
    session.turn("Do it")
    details = {"readFiles": ["a.py"], "modifiedFiles": ["b.py", 7]}
    session.append("compaction", summary="So far", firstKeptEntryId="x", tokensBefore=1200, details=details)
    assert shown(rows(shop)["Conversation compacted (1,200 tokens before)"]) == [
        ("text", "So far", ""),
        ("text", "a.py", "files read"),
        ("text", "b.py", "files changed"),
    ]


def test_a_record_that_is_gone_is_told(session: PiSession, shop: Path) -> None:
    session.turn("Do it")
    entry = rows(shop)["Do it"]
    session.file.unlink()
    assert shown(entry) == [("raw", "The record is no longer there.", "")]
    assert set(pi.facts(entry)) == {"file"}


def test_what_is_not_known_is_shown_raw(session: PiSession, shop: Path) -> None:
    session.turn("Do it")
    session.append("telepathy", content="a thought", strength=7)
    ((kind, text, _),) = shown(rows(shop)["telepathy a thought"])
    assert kind == "raw"
    assert '"strength": 7' in text
