"""Branches of a file, files of one origin, and the forms of older versions."""

from __future__ import annotations

import json
from pathlib import Path

from forkpoint.store import agents

from tests.builders.pi import PiSession
from tests.builders.reading import only, read_only, row, rows, texts

pi = agents.get("pi")


def test_a_rewind_in_the_tree_is_a_fork(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.turn("Two")
    session.rewind(place)
    session.turn("Three")
    found = read_only("pi", shop)
    assert row(found, "Two").parent == row(found, "Three").parent == place
    assert texts(found, found.leaf) == ["One", "Done.", "Three", "Done."]
    assert [item.turn for item in found.entries] == [1, 1, 2, 2, 2, 2]
    assert found.info.branches == 2


def test_another_first_prompt_is_another_beginning(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.rewind(None)
    session.turn("Uno")
    found = read_only("pi", shop)
    assert texts(found, found.leaf) == ["Uno", "Done."]
    assert row(found, "One").parent is None


def test_pi_goes_on_from_the_last_record(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.turn("Two")
    session.rewind(place)
    session.append("model_change", provider="stub", modelId="other")
    found = read_only("pi", shop)
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
    found = read_only("pi", shop)
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
    assert sorted(text for kind, text in rows(read_only("pi", shop)) if kind == "prompt") == ["Fork 0", "Fork 1", "One"]


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
    found = read_only("pi", shop)
    assert {"Three", "Other"} <= {text for _, text in rows(found)}
    assert len({item.id for item in found.entries}) == len(found.entries)


def test_version_1_is_one_line_without_ids(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=1)
    old.turn("One")
    old.turn("Two")
    old.append("compaction", summary="So far", firstKeptEntryIndex=6, tokensBefore=10)
    old.turn("Three")
    found = read_only("pi", shop)
    assert texts(found, found.leaf)[-3:] == ["Conversation compacted (10 tokens before)", "Three", "Done."]
    assert len(texts(found, found.leaf)) == len(found.entries) == 7
    assert found.problems == ()
    assert not pi.sources(only("pi", shop))[0].grows


def test_version_2_is_read_as_version_3(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=2)
    old.turn("One")
    old.message("hookMessage", customType="hook", content="Hello", display=True)
    assert [text for _, text in rows(read_only("pi", shop))] == ["One", "Done.", "hook: Hello"]


def test_what_was_branched_in_version_1_is_joined(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=1)
    old.turn("One")
    branch = PiSession(home, shop, version=1, now=old.now, parent=str(old.file))
    for record in old.records:
        branch.raw(json.dumps(record).encode() + b"\n")
    branch.turn("Two")
    assert only("pi", shop).ids == (old.id, branch.id)
    assert [text for kind, text in rows(read_only("pi", shop)) if kind == "prompt"] == ["One", "Two"]


def test_a_newer_version_is_read_and_told(home: Path, shop: Path) -> None:
    newer = PiSession(home, shop, version=9)
    newer.turn("One")
    found = read_only("pi", shop)
    assert [text for _, text in rows(found)] == ["One", "Done."]
    assert "version 9" in found.info.problem
