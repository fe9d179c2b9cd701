"""Forks of Pi's sessions: new files of its own form, cut at any row."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Fork
from forkpoint.store.errors import ForkpointError, UnknownId
from forkpoint.store.model import Conversation

from tests.builders.pi import Job, PiSession, folder_name

pi = agents.get("pi")


def read(root: Path) -> Conversation:
    (info,) = pi.sessions(str(root))
    return pi.read(info)


def planned(root: Path, text: str, **options: Any) -> Fork:
    conversation = read(root)
    (entry,) = [item for item in conversation.entries if item.text == text]
    return pi.plan_fork(conversation, entry.id, title=options.pop("title", "alt"), **options)


def records(fork: Fork) -> list[dict[str, Any]]:
    return [json.loads(line) for line in fork.data.splitlines()]


def roles(fork: Fork) -> list[str]:
    return [record.get("message", {}).get("role") or record["type"] for record in records(fork)]


def is_chain(fork: Fork) -> bool:
    """Whether every record hangs on the one before it."""
    body = records(fork)[1:]
    return [record["parentId"] for record in body] == [None, *(record["id"] for record in body[:-1])]


def test_a_fork_before_a_prompt_leaves_it_out_and_hands_it_back(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.turn("Two\nwith more", "Answered.")
    session.turn("Three")
    before = session.file.read_bytes()
    fork = planned(shop, "Two")
    head = records(fork)[0]
    assert (head["type"], head["version"], head["cwd"]) == ("session", 3, str(shop))
    assert head["id"] == fork.session != session.id
    assert head["parentSession"] == fork.source == str(session.file)
    assert roles(fork)[1:] == [
        "model_change",
        "thinking_level_change",
        "system",
        "user",
        "assistant",
        "session_info",
    ]
    assert [record["id"] for record in records(fork)[1:-1]] == [record["id"] for record in session.records[:5]]
    assert is_chain(fork)
    assert fork.prompt_text == "Two\nwith more"
    assert (fork.entries, fork.last) == (2, session.records[4]["id"])
    assert records(fork)[-1]["name"] == "alt"
    pi.write_fork(fork)
    assert os.path.basename(fork.file).endswith(f"_{fork.session}.jsonl")
    assert Path(fork.file).parent == session.file.parent
    assert Path(fork.file).stat().st_mode & 0o777 == 0o600
    assert Path(fork.file).stat().st_mtime_ns < session.file.stat().st_mtime_ns
    assert session.file.read_bytes() == before
    assert pi.untouched(fork.file, fork.digest)
    assert not pi.untouched(fork.file + "x", fork.digest)


def test_lines_are_kept_byte_for_byte_but_for_their_links(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.raw(
        b'{"type":"message","id":"0badcafe","parentId":"' + (session.leaf or "").encode() + b'","timestamp":'
        b'"2026-11-30T10:00:00.000Z","message":{"role":"user","content":"\\u00e9","timestamp":1.50},"x":1e2}\n'
    )
    line = session.file.read_bytes().splitlines()[-1]
    session.leaf = "0badcafe"
    session.turn("Two")
    assert line in planned(shop, "Two").data.splitlines()


def test_a_fork_after_an_answer_keeps_it(session: PiSession, shop: Path) -> None:
    session.turn("One", "First answer.")
    session.turn("Two")
    fork = planned(shop, "First answer.")
    assert roles(fork)[-2:] == ["assistant", "session_info"]
    assert fork.prompt_text == ""
    assert planned(shop, "Two", before=False).last == session.records[-2]["id"]
    assert planned(shop, "First answer.", before=True).entries == 1


def test_the_fork_is_the_same_session_and_shown_once(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.turn("Two")
    fork = planned(shop, "Two")
    pi.write_fork(fork)
    found = read(shop)
    assert found.info.ids == (session.id, fork.session)
    assert [entry.text for entry in found.entries] == ["One", "Done.", "Two", "Done."]
    assert found.leaves[fork.session] == fork.last
    assert found.leaf == found.entries[-1].id
    assert found.titles == {fork.session: "alt"}
    assert found.info.title == "One"


def test_only_the_line_to_the_cut_goes_along(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf
    session.turn("Left")
    session.rewind(place)
    session.turn("Two")
    session.turn("Three")
    fork = planned(shop, "Three")
    texts = [
        record["message"]["content"][0]["text"]
        for record in records(fork)
        if "message" in record and record["message"]["content"]
    ]
    assert texts == ["One", "Done.", "Two", "Done."]
    assert is_chain(fork)


def test_a_cut_between_calls_that_ran_side_by_side_moves_to_their_end(session: PiSession, shop: Path) -> None:
    session.prompt("One")
    session.calls(
        Job("bash", {"command": "a"}, "out a"),
        Job("bash", {"command": "b"}, "out b"),
        Job("read", {"path": "c"}, "out c"),
    )
    session.reply("Done.")
    for text in ("bash a", "bash b", "out a", "out b"):
        fork = planned(shop, text)
        assert roles(fork)[-4:-1] == ["toolResult"] * 3
        assert fork.note == "the cut was moved to the end of the calls that ran in parallel"
    assert planned(shop, "out b", before=True).last == planned(shop, "out c").last
    assert roles(planned(shop, "bash a", before=True))[-2:] == ["user", "session_info"]
    assert planned(shop, "out c").note == ""
    assert planned(shop, "out c").data.count(b"toolResult") == 3
    session.turn("Two")
    session.call("bash", {"command": "alone"}, "out alone")
    assert planned(shop, "bash alone").note == ""
    assert roles(planned(shop, "bash alone"))[-2] == "toolResult"


def test_a_call_without_an_answer_is_where_the_fork_ends(session: PiSession, shop: Path) -> None:
    session.prompt("One")
    session.calls(Job("bash", {"command": "sleep 60"}, answered=False))
    session.turn("Two")
    fork = planned(shop, "bash sleep 60")
    assert roles(fork)[-2:] == ["assistant", "session_info"]
    assert "Two" not in fork.data.decode()


def test_labels_are_made_again_on_what_is_kept(session: PiSession, shop: Path) -> None:
    one = session.turn("One")
    session.label(one, "start")
    two = session.turn("Two")
    session.label(two, "gone")
    session.label(two, None)
    three = session.turn("Three")
    session.label(three, "late")
    session.turn("Four")
    fork = planned(shop, "Four")
    labels = [(record["targetId"], record["label"]) for record in records(fork) if record["type"] == "label"]
    assert labels == [(one, "start"), (three, "late")]
    assert is_chain(fork)
    assert fork.data.count(b'"type":"label"') == 2
    assert [label for label in planned(shop, "Two").data.splitlines() if b"late" in label] == []


def test_a_compaction_keeps_what_it_refers_to(session: PiSession, shop: Path) -> None:
    session.turn("One")
    label = session.label(session.records[0]["id"], "x")
    kept = session.turn("Two")
    session.compact("So far", label)
    session.turn("Three")
    session.turn("Four")
    (compaction,) = [record for record in records(planned(shop, "Four")) if record["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == kept


def test_a_session_of_version_1_is_brought_to_the_newest_form(home: Path, shop: Path) -> None:
    old = PiSession(home, shop, version=1)
    old.turn("One")
    old.append("compaction", summary="So far", firstKeptEntryIndex=4, tokensBefore=10)
    old.message("hookMessage", customType="hook", content="Hello", display=True)
    old.turn("Two")
    fork = planned(shop, "Two")
    body = records(fork)
    assert body[0]["version"] == 3
    assert is_chain(fork)
    assert len({record["id"] for record in body}) == len(body)
    (compaction,) = [record for record in body if record["type"] == "compaction"]
    assert "firstKeptEntryIndex" not in compaction
    assert compaction["firstKeptEntryId"] == next(r["id"] for r in body if r.get("message", {}).get("role") == "user")
    assert "hookMessage" not in fork.data.decode()


def test_before_the_first_prompt_there_is_nothing_to_carry(session: PiSession, shop: Path) -> None:
    session.turn("One")
    fork = planned(shop, "One")
    assert (fork.file, fork.data, fork.entries, fork.prompt_text) == ("", b"", 0, "One")
    assert "new session" in fork.note
    pi.write_fork(fork)
    assert pi.resume_command(fork.session, str(shop), fresh=True) == (
        ("pi", "--session-id", fork.session),
        str(shop),
    )


def test_a_fork_for_a_copy_of_the_folder_goes_where_pi_looks_there(session: PiSession, shop: Path, home: Path) -> None:
    session.turn("One")
    session.turn("Two")
    copy = shop.parent / "shop-alt"
    copy.mkdir()
    fork = planned(shop, "Two", cwd=str(copy))
    assert Path(fork.file).parent == home / "sessions" / folder_name(copy)
    assert records(fork)[0]["cwd"] == str(copy)
    pi.write_fork(fork)
    assert pi.sessions(str(copy))[0].id == fork.session
    assert pi.resume_command(fork.session, str(copy)) == (("pi", "--session", fork.session), str(copy))


def test_a_session_that_pi_would_not_find_by_its_id_is_named_by_its_file(session: PiSession, shop: Path) -> None:
    session.turn("One")
    assert pi.resume_command(session.id, str(shop)) == (("pi", "--session", session.id), str(shop))
    moved = shop.parent / "moved"
    moved.mkdir()
    assert pi.resume_command(session.id, str(moved)) == (("pi", "--session", str(session.file)), str(moved))


def test_a_fork_at_a_row_that_another_file_owns_names_that_file(session: PiSession, shop: Path) -> None:
    session.turn("One")
    place = session.leaf or ""
    session.turn("Two")
    other = session.fork(place)
    other.turn("Three")
    other.turn("Four")
    assert planned(shop, "Four").source == str(other.file)
    assert planned(shop, "Four").entries == 4
    assert planned(shop, "Two").source == str(session.file)


def test_it_can_be_cut_from_the_store_s_copy_when_pi_s_file_is_gone(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.turn("Two")
    conversation = read(shop)
    (source,) = pi.sources(conversation.info)
    data = session.file.read_bytes()
    session.file.unlink()
    prompt = next(entry.id for entry in conversation.entries if entry.text == "Two")
    with pytest.raises(ForkpointError, match="cannot be read"):
        pi.plan_fork(conversation, prompt, title="alt")
    kept = replace(source, opener=lambda: BytesIO(data))
    fork = pi.plan_fork(conversation, prompt, title="alt", sources=[kept])
    assert fork.entries == 2
    pi.write_fork(fork)
    assert Path(fork.file).exists()


def test_nothing_is_written_over(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.turn("Two")
    fork = planned(shop, "Two")
    Path(fork.file).write_text("mine")
    with pytest.raises(ForkpointError, match="already there"):
        pi.write_fork(fork)
    assert Path(fork.file).read_text() == "mine"


def test_a_row_that_is_not_there_is_told(session: PiSession, shop: Path) -> None:
    session.turn("One")
    with pytest.raises(UnknownId):
        pi.plan_fork(read(shop), "deadbeef", title="alt")


def test_a_row_that_cannot_be_read_stands_for_the_one_before_it(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.raw(b"junk\n")
    session.turn("Two")
    fork = planned(shop, "line 7 cannot be read (4 bytes)")
    assert fork.last == session.records[4]["id"]
    assert b"junk" not in fork.data


def test_a_session_is_read_with_the_file_s_own_rules_however_odd_it_is(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.raw(b'{"type":"x","id":"c1","parentId":"c2"}\n{"type":"x","id":"c2","parentId":"c1"}\n')
    session.rewind("c2")
    session.turn("Two")
    session.turn("Three")
    fork = planned(shop, "Three")
    assert [record["id"] for record in records(fork)][1:3] == ["c1", "c2"]
    assert is_chain(fork)


def test_half_a_surrogate_pair_goes_along(session: PiSession, shop: Path) -> None:
    session.turn("One")
    session.file.write_bytes(session.file.read_bytes().replace(b"Done.", b"half \\ud83d"))
    session.turn("Two")
    assert rb"half \ud83d" in planned(shop, "Two").data
