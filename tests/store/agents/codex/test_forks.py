"""Forks of Codex CLI's sessions: whole files up to the cut, with ids of their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Fork, Source
from forkpoint.store.agents.codex.filenames import rollout
from forkpoint.store.agents.forms.regular import open_regular
from forkpoint.store.errors import ForkpointError, Refused, UnknownId
from forkpoint.store.model import Conversation

from tests.builders.codex import CodexSession

codex = agents.get("codex")


def read(session: CodexSession) -> Conversation:
    (info,) = codex.sessions(str(session.cwd))
    return codex.read(info)


def fork(session: CodexSession, entry: str, **more: object) -> Fork:
    return codex.plan_fork(read(session), entry, title="alt", **more)  # type: ignore[arg-type]


def lines(fork: Fork) -> list[dict[str, object]]:
    return [json.loads(line) for line in fork.data.splitlines()]


def texts(session: CodexSession, fork: Fork) -> list[str]:
    """The rows that the fork's own session goes on from, read back as a file of its own."""
    codex.write_fork(fork)
    (info,) = codex.sessions(str(session.cwd))
    conversation = codex.read(info)
    by_id = {entry.id: entry for entry in conversation.entries}
    at = conversation.leaves.get(fork.session)
    found: list[str] = []
    while at is not None:
        found.append(by_id[at].text)
        at = by_id[at].parent
    return found[::-1]


def two_turns(session: CodexSession) -> tuple[str, str]:
    """Prompts "one" and "two", each with a command; returns their ids."""
    first = session.prompt("one")
    session.shell("echo 1", "1\n")
    session.reply("about one")
    session.end()
    second = session.prompt("two")
    session.shell("echo 2", "2\n")
    session.reply("about two")
    session.end()
    return first, second


def test_a_fork_before_a_prompt_ends_with_the_turn_before_and_hands_the_prompt_back(session: CodexSession) -> None:
    _, second = two_turns(session)
    made = fork(session, second)
    assert made.prompt_text == "two"
    assert texts(session, made) == ["one", "Bash echo 1", "1", "about one"]
    assert made.entries == 4
    kinds = [(line["type"], line["payload"].get("type")) for line in lines(made)]  # type: ignore[attr-defined]
    assert kinds[-2:] == [("event_msg", "task_complete"), ("event_msg", "thread_name_updated")]


def test_a_fork_has_ids_of_its_own_and_says_where_it_comes_from(session: CodexSession) -> None:
    _, second = two_turns(session)
    made = fork(session, second)
    first = lines(made)[0]["payload"]
    assert isinstance(first, dict)
    assert (first["id"], first["session_id"], first["forked_from_id"]) == (made.session, made.session, session.id)
    assert made.data.count(session.id.encode()) == 1
    assert [line["ordinal"] for line in lines(made)] == list(range(len(lines(made))))
    assert rollout(made.file).thread == made.session
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made.session)
    assert hashlib.sha256(made.data).hexdigest() == made.digest


def test_it_is_written_for_its_owner_alone_and_never_over_anything(session: CodexSession) -> None:
    _, second = two_turns(session)
    made = fork(session, second)
    codex.write_fork(made)
    status = os.stat(made.file)
    assert status.st_mode & 0o777 == 0o600
    assert status.st_mtime_ns < session.file.stat().st_mtime_ns
    assert codex.untouched(made.file, made.digest)
    with pytest.raises(ForkpointError, match="already there"):
        codex.write_fork(made)
    with open(made.file, "a") as file:
        file.write("\n")
    assert not codex.untouched(made.file, made.digest)


def test_the_session_itself_is_not_touched(session: CodexSession) -> None:
    _, second = two_turns(session)
    before = (session.file.read_bytes(), session.file.stat().st_mtime_ns)
    codex.write_fork(fork(session, second))
    assert (session.file.read_bytes(), session.file.stat().st_mtime_ns) == before


def test_every_line_but_the_first_is_as_it_was_but_for_ids_and_ordinals(session: CodexSession) -> None:
    two_turns(session)
    entry = session.item("message", role="assistant", content=[{"type": "output_text", "text": "ü \ud83d \u2028"}])
    made = fork(session, entry, before=False)
    kept = made.data.splitlines(keepends=True)[1:-1]
    for ours, theirs in zip(kept, session.file.read_bytes().splitlines(keepends=True)[1:], strict=True):
        assert ours == theirs.replace(session.id.encode(), made.session.encode())


def test_before_the_first_prompt_only_the_session_itself_is_left(session: CodexSession) -> None:
    first, _ = two_turns(session)
    made = fork(session, first)
    assert [line["type"] for line in lines(made)] == ["session_meta", "event_msg"]
    assert (made.entries, made.last) == (0, "")
    assert codex.resume_command(made.session, "/x") == (("codex", "resume", made.session), "/x")


def test_a_cut_behind_a_call_takes_its_result_along(session: CodexSession) -> None:
    session.prompt("one")
    call = session.shell("echo 1", "1\n")
    session.reply("about one")
    assert texts(session, fork(session, call.entry)) == ["one", "Bash echo 1", "1"]


def test_a_cut_inside_of_calls_that_ran_side_by_side_moves_to_their_end(session: CodexSession) -> None:
    session.prompt("one")
    calls = [session.call("exec_command", {"cmd": f"echo {number}"}) for number in range(3)]
    results = [session.output(call, "done") for call in (calls[2], calls[0], calls[1])]
    session.reply("about one")
    whole = ["one", "Bash echo 0", "Bash echo 1", "Bash echo 2", "done", "done", "done"]
    for entry in (calls[0].entry, calls[1].entry, results[0], results[1]):
        made = fork(session, entry)
        assert "moved to the end" in made.note
        assert made.last == results[2]
    made = fork(session, results[2])
    assert (made.note, texts(session, made)) == ("", whole)
    assert fork(session, calls[1].entry, before=True).entries == 1


def test_a_call_without_result_may_be_the_end(session: CodexSession) -> None:
    session.prompt("one")
    call = session.call("exec_command", {"cmd": "sleep 60"})
    assert texts(session, fork(session, call.entry)) == ["one", "Bash sleep 60"]


def test_calls_one_after_the_other_are_no_batch(session: CodexSession) -> None:
    session.prompt("one")
    first = session.shell("echo 1", "1\n")
    session.shell("echo 2", "2\n")
    made = fork(session, first.entry)
    assert (made.note, texts(session, made)) == ("", ["one", "Bash echo 1", "1"])


def test_a_prompt_in_the_middle_of_a_turn_is_left_out_alone(session: CodexSession) -> None:
    session.prompt("one")
    session.reply("I do.")
    steered = session.prompt("no, the other", same_turn=True)
    session.reply("Then that.")
    assert texts(session, fork(session, steered)) == ["one", "I do."]


def test_a_fork_of_a_rewound_session_holds_all_that_it_goes_on_from(session: CodexSession) -> None:
    two_turns(session)
    cut = next(number for number, line in enumerate(session.file.read_text().splitlines()) if "task_complete" in line)
    segment = session.rewound(cut + 1)
    segment.prompt("three")
    entry = segment.reply("about three")
    made = fork(session, entry)
    assert "history_base" not in lines(made)[0]["payload"]  # type: ignore[operator]
    assert [line["type"] for line in lines(made)].count("session_meta") == 1
    session.file.unlink()
    segment.file.unlink()
    assert texts(session, made) == ["one", "Bash echo 1", "1", "about one", "three", "about three"]


def test_a_fork_of_a_fork_names_no_other_session(session: CodexSession) -> None:
    two_turns(session)
    pointer = session.pointer(session.ordinal)
    entry = pointer.prompt("three")
    made = fork(session, entry, before=False)
    assert session.id.encode() not in made.data
    assert made.data.count(pointer.id.encode()) == 1


def test_a_cut_in_a_branch_that_was_rolled_back_is_as_it_was_then(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project, paginated=False)
    two_turns(session)
    session.roll_back(1)
    session.prompt("three")
    left = next(entry.id for entry in read(session).entries if entry.text == "about two")
    made = fork(session, left)
    assert texts(session, made)[-1] == "about two"
    assert all("ordinal" not in line for line in lines(made))


def test_a_fork_behind_a_compaction_keeps_it(session: CodexSession) -> None:
    two_turns(session)
    session.compact("We did both.")
    entry = session.prompt("three")
    made = fork(session, entry)
    assert [line["type"] for line in lines(made)].count("compacted") == 1
    assert texts(session, made)[-1] == "Conversation compacted"


def test_in_another_folder_the_agent_stands_there(session: CodexSession, tmp_path: Path) -> None:
    _, second = two_turns(session)
    made = fork(session, second, cwd="/copy/of it")
    folders = {line["payload"]["cwd"] for line in lines(made) if "cwd" in line["payload"]}  # type: ignore[index, operator]
    assert folders == {"/copy/of it"}


def test_the_bytes_of_the_store_serve_where_the_file_is_gone(session: CodexSession) -> None:
    _, second = two_turns(session)
    conversation = read(session)
    kept = session.file.with_suffix(".kept")
    session.file.rename(kept)
    source = Source(str(session.file), lambda: open_regular(str(kept)))
    made = codex.plan_fork(conversation, second, title="alt", sources=[source])
    assert made.entries == 4
    with pytest.raises(ForkpointError):
        codex.plan_fork(conversation, second, title="alt", sources=[])


def test_a_row_of_a_sub_agent_or_of_nobody_is_refused(session: CodexSession) -> None:
    session.prompt("one")
    helper = session.sub_agent(session.call("spawn_agent", {"message": "job"}))
    inner = helper.prompt("job")
    with pytest.raises(Refused, match="sub-agent"):
        fork(session, inner)
    with pytest.raises(UnknownId):
        fork(session, "nobody")


def test_a_record_that_is_there_no_more_is_told(session: CodexSession) -> None:
    _, second = two_turns(session)
    conversation = read(session)
    session.file.write_bytes(session.file.read_bytes()[:2000])
    with pytest.raises(ForkpointError, match="not in its file any more"):
        codex.plan_fork(conversation, second, title="alt")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\nno record\n", 5),
        lambda data: data + b'{"timestamp":"2026',
    ],
    ids=["CRLF", "junk", "torn"],
)
def test_broken_lines_do_not_go_along(session: CodexSession, spoil: Callable[[bytes], bytes]) -> None:
    _, second = two_turns(session)
    session.file.write_bytes(spoil(session.file.read_bytes()))
    made = fork(session, second)
    assert [line["ordinal"] for line in lines(made)] == list(range(len(lines(made))))
    assert texts(session, made) == ["one", "Bash echo 1", "1", "about one"]
