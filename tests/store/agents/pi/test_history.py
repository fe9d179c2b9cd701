"""What Pi's own records tell of files: states at each prompt, and what is proven of this session's doing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Evidence, PartialState
from forkpoint.store.agents.pi.edits import edited
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.pi import Job, PiSession, hunk, shown

pi = agents.get("pi")


def states(root: Path) -> list[PartialState]:
    (info,) = pi.sessions(str(root))
    return pi.file_states(pi.read(info), str(root))


def evidence(root: Path) -> Evidence:
    (info,) = pi.sessions(str(root))
    return pi.evidence(pi.read(info), str(root))


def known(state: PartialState) -> dict[str, str | None]:
    """Path → content, None for one that was not there; "?" behind a content that is inferred."""
    return {
        os.fsdecode(path): (file.data().decode() if file.kind == "file" else None)
        if not file.inferred
        else f"{file.data().decode() if file.kind == 'file' else None}?"
        for path, file in state.files.items()
    }


def blob(text: str) -> str:
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def test_a_file_is_followed_through_writes_reads_and_edits(session: PiSession, shop: Path) -> None:
    (shop / "old.txt").write_text("one\ntwo\nthree\n")
    session.prompt("First")
    session.write("new.txt", "v1\n")
    session.read("old.txt")
    session.edit("old.txt", ("two", "2"), ("three", "3"))
    session.turn("Second")
    session.edit("new.txt", ("v1", "v2"))
    session.turn("Third")
    first, second, third = states(shop)
    assert known(first) == {"old.txt": "one\ntwo\nthree\n?"}
    assert known(second) == {"new.txt": "v1\n", "old.txt": "one\n2\n3\n"}
    assert known(third) == {"new.txt": "v2\n", "old.txt": "one\n2\n3\n"}
    assert third.files[b"new.txt"].oid == blob("v2\n")
    assert len({state.id for state in (first, second, third)}) == 3


def test_what_only_was_read_is_not_this_session_s(session: PiSession, shop: Path) -> None:
    (shop / "old.txt").write_text("one\n")
    session.prompt("First")
    session.read("old.txt")
    session.turn("Second")
    assert states(shop) == []


def test_after_a_shell_contents_are_inferred_until_they_are_seen_again(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.write("a.txt", "a\n")
    session.write("b.txt", "b\n")
    session.shell("make", lambda: (shop / "b.txt").write_text("made\n"))
    session.turn("Second")
    session.read("b.txt")
    session.turn("Third")
    second, third = states(shop)
    assert known(second) == {"a.txt": "a\n?", "b.txt": "b\n?"}
    assert known(third) == {"a.txt": "a\n?", "b.txt": "made\n"}


@pytest.mark.parametrize("tool", ["grep", "find", "ls", "read"])
def test_tools_that_only_look_change_nothing(session: PiSession, shop: Path, tool: str) -> None:
    session.prompt("First")
    session.write("a.txt", "a\n")
    session.call(tool, {"path": "other.txt", "pattern": "x"}, "1: x", error=True)
    session.turn("Second")
    assert known(states(shop)[0]) == {"a.txt": "a\n"}


def test_what_the_person_ran_may_have_changed_anything(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.write("a.txt", "a\n")
    session.message("bashExecution", command="make", output="", exitCode=0, cancelled=False)
    session.turn("Second")
    assert known(states(shop)[0]) == {"a.txt": "a\n?"}


def test_a_file_that_was_not_there_is_known_as_absent(session: PiSession, shop: Path) -> None:
    session.turn("First")
    session.prompt("Second")
    session.call("read", {"path": "new.txt"}, "ENOENT: no such file or directory, access '/x/new.txt'", error=True)
    session.write("new.txt", "v1\n")
    session.turn("Third")
    first, second, third = states(shop)
    assert known(first) == known(second) == {"new.txt": "None?"}
    assert known(third) == {"new.txt": "v1\n"}


def test_every_branch_has_its_own_contents(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.write("a.txt", "v1\n")
    session.reply("Done.")
    place = session.leaf
    session.prompt("Left")
    session.edit("a.txt", ("v1", "left"))
    session.turn("Left again")
    session.rewind(place)
    (shop / "a.txt").write_text("v1\n")
    session.prompt("Right")
    session.edit("a.txt", ("v1", "right"))
    session.turn("Right again")
    (info,) = pi.sessions(str(shop))
    conversation = pi.read(info)
    texts = {entry.id: entry.text for entry in conversation.entries}
    assert {texts[state.entry_id]: known(state) for state in pi.file_states(conversation, str(shop))} == {
        "Left": {"a.txt": "v1\n"},
        "Left again": {"a.txt": "left\n"},
        "Right": {"a.txt": "v1\n"},
        "Right again": {"a.txt": "right\n"},
    }


def test_an_edit_of_what_is_not_known_leaves_it_unknown(session: PiSession, shop: Path) -> None:
    (shop / "old.txt").write_text("one\ntwo\n")
    session.prompt("First")
    session.edit("old.txt", ("two", "2"))
    session.turn("Second")
    session.read("old.txt")
    session.turn("Third")
    (third,) = states(shop)
    assert known(third) == {"old.txt": "one\n2\n"}


def test_an_edit_that_does_not_fit_tells_that_the_file_was_another_one(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.write("a.txt", "one\ntwo\n")
    session.shell("sed", lambda: (shop / "a.txt").write_text("zero\none\ntwo\n"))
    session.edit("a.txt", ("two", "2"))
    session.turn("Second")
    assert states(shop) == []


def test_only_a_whole_file_is_a_content(session: PiSession, shop: Path) -> None:
    (shop / "a.txt").write_text("one\ntwo\n")
    session.prompt("First")
    session.call("read", {"path": "a.txt", "limit": 1}, "one\n\n[1 more lines in file. Use offset=2 to continue.]")
    session.call("read", {"path": "a.txt"}, "one\n\n[Showing lines 1-1 of 2 …]", details={"truncation": {}})
    session.call("read", {"path": "a.txt"}, "on\ufffd\n")
    session.edit("a.txt", ("two", "2"))
    session.turn("Second")
    assert states(shop) == []


def test_calls_that_failed_prove_nothing(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.call("write", {"path": "a.txt", "content": "a\n"}, "EACCES", error=True)
    session.calls(Job("write", {"path": "b.txt", "content": "b\n"}, answered=False))
    session.turn("Second")
    assert states(shop) == []
    assert evidence(shop) == Evidence()


def test_paths_outside_of_the_root_are_counted_only(session: PiSession, shop: Path, tmp_path: Path) -> None:
    session.prompt("First")
    session.write("../else.txt", "x\n")
    session.write("in.txt", "y\n")
    session.turn("Second")
    (state,) = states(shop)
    assert (known(state), state.outside) == ({"in.txt": "y\n"}, 1)
    assert evidence(shop).outside == 1
    assert list(evidence(shop).left) == [b"in.txt"]


def test_what_edit_tools_left_is_proven_with_the_steps_that_did_it(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.write("a.txt", "v1\n")
    session.edit("a.txt", ("v1", "v2"))
    found = evidence(shop)
    assert found.left == {b"a.txt": frozenset({blob("v1\n"), blob("v2\n")})}
    (info,) = pi.sessions(str(shop))
    calls = [entry.id for entry in pi.read(info).entries if entry.kind == "tool_call"]
    assert [call for _, call in found.touched[b"a.txt"]] == calls
    times = [time for time, _ in found.touched[b"a.txt"]]
    assert times == sorted(times) != [0, 0]


def test_half_a_surrogate_pair_is_written_as_node_writes_it(session: PiSession, shop: Path) -> None:
    session.prompt("First")
    session.raw(b"")
    arguments = {"path": "a.txt", "content": "x"}
    session.call("write", arguments)
    data = session.file.read_bytes().replace(b'"content":"x"', b'"content":"\\ud83d"')
    session.file.write_bytes(data)
    session.turn("Second")
    assert states(shop)[0].files[b"a.txt"].data() == "\ufffd".encode()


# --- the edit tool ---------------------------------------------------------------------------------------------------


def test_line_ends_of_windows_stay(session: PiSession, shop: Path) -> None:
    (shop / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    session.prompt("First")
    session.read("a.txt")
    session.edit("a.txt", ("two", "2\r\n3"))
    session.turn("Second")
    assert states(shop)[-1].files[b"a.txt"].data() == b"one\r\n2\r\n3\r\n" == (shop / "a.txt").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": [{"oldText": "two", "newText": "2"}]},
        {"edits": '[{"oldText": "two", "newText": "2"}]'},
        {"edits": '{"oldText": "two", "newText": "2"}'},
        {"edits": {"oldText": "two", "newText": "2"}},
        {"oldText": "two", "newText": "2"},
    ],
)
def test_edits_are_taken_in_every_form_that_models_send(arguments: dict[str, object]) -> None:
    assert edited("one\ntwo\n", arguments, {}) == "one\n2\n"


def test_a_text_that_only_looks_the_same_is_taken_from_the_patch() -> None:
    before, after = "say \u201chello\u201d  \nbye\n", 'say "hi"\nbye\n'
    arguments = {"edits": [{"oldText": 'say "hello"', "newText": 'say "hi"'}]}
    assert edited(before, arguments, {"patch": f"--- a\n+++ a\n{hunk(before, after)}"}) == after
    assert edited(before, arguments, {}) is None


@pytest.mark.parametrize(
    ("content", "arguments", "details"),
    [
        ("one\n", {"edits": [{"oldText": "two", "newText": "2"}]}, {}),
        ("two\ntwo\n", {"edits": [{"oldText": "two", "newText": "2"}]}, {}),
        ("one\n", {"edits": [{"oldText": "", "newText": "2"}]}, {}),
        ("one two\n", {"edits": [{"oldText": "one t", "newText": "1"}, {"oldText": "two", "newText": "2"}]}, {}),
        ("one\n", {}, {}),
        ("one\n", {"edits": "not json"}, {}),
        ("one\n", {"edits": [7, {"oldText": 7}]}, {}),
        ("one\rtwo\n", {"edits": [{"oldText": "two", "newText": "2"}]}, {}),
        ("one\r\ntwo\n", {"edits": [{"oldText": "two", "newText": "2"}]}, {}),
        ("one\ntwo\n", {"edits": [{"oldText": "two", "newText": "2"}]}, {"diff": " 1 uno\n-2 two\n+2 2"}),
        ("one\ntwo\n", {"edits": [{"oldText": "two", "newText": "2"}]}, {"patch": "@@ -9,1 +9,1 @@\n-two\n+2\n"}),
    ],
)
def test_what_cannot_be_told_exactly_is_unknown(
    content: str, arguments: dict[str, object], details: dict[str, object]
) -> None:
    assert edited(content, arguments, details) is None


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=9),
    st.lists(st.sampled_from(["a", "x", ""]), min_size=1, max_size=9),
    st.booleans(),
)
def test_an_edit_is_what_the_tool_made_of_the_file(old: list[str], new: list[str], patched: bool) -> None:
    before = "".join(f"{line}\n" for line in ["begin", *old, "end"])
    after = "".join(f"{line}\n" for line in ["begin", *new, "end"])
    if before != after:
        arguments = {"edits": [{"oldText": before.removesuffix("end\n"), "newText": after.removesuffix("end\n")}]}
        details = {"diff": shown(before, after)}
        if patched:
            details["patch"] = hunk(before, after)
        assert edited(before, arguments, details) == after
