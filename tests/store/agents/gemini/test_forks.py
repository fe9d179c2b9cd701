"""Forks of Gemini CLI's sessions: new files, which the program would take for its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Fork
from forkpoint.store.errors import ForkpointError, Refused, UnknownId
from forkpoint.store.model import Conversation, Entry

from tests.builders.gemini import GeminiSession, Json, as_json

gemini = agents.get("gemini")

Read = Callable[[], Conversation]


def entry(conversation: Conversation, text: str) -> Entry:
    return next(item for item in conversation.entries if item.text == text)


def fork(conversation: Conversation, text: str, **options: object) -> Fork:
    return gemini.plan_fork(conversation, entry(conversation, text).id, title="alt", **options)  # type: ignore[arg-type]


def records(made: Fork) -> list[Json]:
    return [json.loads(line) for line in made.data.splitlines()]


def said(made: Fork) -> list[str]:
    """What the messages of a fork say, with the calls that they make and answer."""
    return [_said(record) for record in records(made)[1:]]


def _said(record: Json) -> str:
    content = record["content"]
    parts: list[Json] = [{"text": content}] if isinstance(content, str) else content
    texts = [part["text"] if "text" in part else f"answers {part['functionResponse']['name']}" for part in parts]
    return " ".join([*texts, *(f"calls {call['name']}" for call in record.get("toolCalls", []))]).strip()


@pytest.fixture
def long(session: GeminiSession) -> GeminiSession:
    """Two turns, of which the first makes a call."""
    session.prompt("One")
    session.write("a.txt", "a\n", "I write")
    session.reply("First")
    session.prompt("Two")
    session.reply("Second")
    return session


def test_a_fork_before_a_prompt_holds_what_was_said_before_it(long: GeminiSession, read: Read) -> None:
    made = fork(read(), "Two")
    assert said(made) == ["One", "I write calls write_file", "answers write_file", "First"]
    assert made.prompt_text == "Two"
    assert made.last == entry(read(), "First").id
    assert made.entries == 5
    assert made.source == str(long.file)
    header = records(made)[0]
    assert header["sessionId"] == made.session
    assert header["kind"] == "main"
    assert header["forkedFrom"]["sessionId"] == long.id
    assert Path(made.file).parent == long.file.parent


def test_a_fork_after_an_entry_holds_it(long: GeminiSession, read: Read) -> None:
    made = fork(read(), "Second")
    assert said(made)[-1] == "Second"
    assert (made.prompt_text, made.note) == ("", "")


def test_a_cut_at_a_call_keeps_its_answer_and_those_beside_it(session: GeminiSession, read: Read) -> None:
    session.prompt("Both")
    session.calls([session.writing("a.txt", "a\n"), session.writing("b.txt", "b\n")], "I write")
    session.reply("Done")
    made = fork(read(), "write_file a.txt")
    assert said(made) == ["Both", "I write calls write_file calls write_file", "answers write_file answers write_file"]
    assert made.note == "the cut was moved to the end of the calls that ran in parallel"
    assert fork(read(), "write_file b.txt").note == ""
    before = fork(read(), "write_file b.txt", before=True)
    assert said(before) == ["Both"]
    assert "moved to before the calls" in before.note


def test_a_fork_before_the_first_prompt_is_empty(long: GeminiSession, read: Read) -> None:
    made = fork(read(), "One")
    assert (made.data, made.file, made.entries) == (b"", "", 0)
    assert made.prompt_text == "One"
    assert made.note
    gemini.write_fork(made)
    assert gemini.resume_command(made.session, "/shop", fresh=True) == (
        ("gemini", "--session-id", made.session),
        "/shop",
    )


def test_what_a_rewind_dropped_can_be_gone_on_with(long: GeminiSession, read: Read) -> None:
    long.rewind(long.listed[-2]["id"])
    long.prompt("Three")
    assert said(fork(read(), "Second"))[-2:] == ["Two", "Second"]
    assert said(fork(read(), "Three", before=False))[-2:] == ["First", "Three"]


def test_after_a_compression_a_fork_begins_with_the_summary_and_what_was_kept(long: GeminiSession, read: Read) -> None:
    long.compress("<state_snapshot>so far</state_snapshot>", keep=2)
    long.prompt("Three")
    long.reply("Third")
    made = fork(read(), "Third")
    assert said(made) == [
        "<state_snapshot>so far</state_snapshot>",
        "Got it. Thanks for the additional context!",
        "Two",
        "Second",
        "Three",
        "Third",
    ]
    gemini.write_fork(made)
    found = read()
    assert [item.text for item in found.entries if item.kind == "prompt"] == ["One", "Two", "Three"]
    assert found.leaves[made.session] == entry(found, "Third").id


def test_a_session_that_was_resumed_often_is_forked_from_its_first_records(long: GeminiSession, read: Read) -> None:
    for _ in range(2):
        long.begin()
        long.resume()
    long.prompt("Three")
    made = fork(read(), "Three")
    assert said(made) == ["One", "I write calls write_file", "answers write_file", "First", "Two", "Second"]
    assert all("$set" not in record for record in records(made))
    assert sum("projectHash" in record for record in records(made)) == 1


def test_a_session_of_the_old_form_is_forked_into_lines(long: GeminiSession, read: Read) -> None:
    as_json(long)
    made = fork(read(), "Two")
    assert said(made) == ["One", "I write calls write_file", "answers write_file", "First"]
    assert made.file.endswith(".jsonl")


def test_a_torn_tail_and_junk_are_left_behind(long: GeminiSession, read: Read) -> None:
    long.raw(b"not a record\n")
    long.prompt("Three")
    long.raw(b'{"id":"torn')
    made = fork(read(), "Three", before=False)
    assert said(made)[-2:] == ["Second", "Three"]
    assert made.data.endswith(b"\n")


def test_a_written_fork_is_the_same_conversation_and_another_branch(long: GeminiSession, read: Read) -> None:
    before = {file: file.read_bytes() for file in long.file.parent.iterdir()}
    made = fork(read(), "Two")
    gemini.write_fork(made)
    assert Path(made.file).read_bytes() == made.data
    assert Path(made.file).stat().st_mode & 0o777 == 0o600
    assert {file: file.read_bytes() for file in before} == before
    assert gemini.untouched(made.file, made.digest)
    with open(made.file, "ab") as stream:
        stream.write(b'{"id":"n","timestamp":"2026-11-30T10:00:00.000Z","type":"user","content":"Other"}\n')
    assert not gemini.untouched(made.file, made.digest)
    found = read()
    assert found.info.ids == (long.id, made.session)
    assert [item.text for item in found.entries if item.kind == "prompt"] == ["One", "Two", "Other"]
    assert entry(found, "Other").parent == entry(found, "Two").parent
    with pytest.raises(ForkpointError):
        gemini.write_fork(made)


def test_the_program_s_own_clean_up_cannot_take_a_fork_for_a_broken_session(long: GeminiSession, read: Read) -> None:
    made = fork(read(), "Two")
    name = Path(made.file).name
    assert name.startswith("session-")
    assert name.endswith(f"-{made.session}.jsonl"), "the program deletes what ends with the first eight characters"
    others = {file.name for file in long.file.parent.iterdir()}
    assert not any(made.session[:8] in other for other in others)


def test_the_newest_session_stays_the_one_that_it_was(long: GeminiSession, read: Read) -> None:
    made = fork(read(), "Two")
    gemini.write_fork(made)
    assert records(made)[0]["startTime"] < json.loads(long.file.read_bytes().partition(b"\n")[0])["startTime"]
    assert Path(made.file).stat().st_mtime_ns < long.file.stat().st_mtime_ns


def test_a_fork_for_another_folder_goes_where_the_program_looks_for_it(
    long: GeminiSession, read: Read, shop: Path
) -> None:
    copy = shop.with_name("Shop Copy")
    copy.mkdir()
    (long.home / ".gemini" / "tmp" / "shop-copy").mkdir()
    made = fork(read(), "Two", cwd=str(copy))
    gemini.write_fork(made)
    folder = Path(made.file).parent.parent
    assert folder.name == "shop-copy-1"
    assert (folder / ".project_root").read_text() == str(copy)
    (call,) = records(made)[2]["toolCalls"]
    assert call["resultDisplay"]["filePath"] == str(copy / "a.txt")
    assert gemini.sessions(str(copy))[0].ids == (made.session,)


def test_inside_of_a_sub_agent_there_is_nothing_to_fork(session: GeminiSession, read: Read) -> None:
    session.prompt("Do")
    session.sub_agent("generalist", "Write sub.txt")
    with pytest.raises(Refused):
        fork(read(), "Write sub.txt")
    with pytest.raises(UnknownId):
        gemini.plan_fork(read(), "nothing", title="x")


def test_a_file_that_went_meanwhile_is_told(long: GeminiSession, read: Read) -> None:
    found = read()
    os.unlink(long.file)
    with pytest.raises(ForkpointError):
        fork(found, "Two")
