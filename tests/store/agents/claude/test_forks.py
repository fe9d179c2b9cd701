"""Forks of sessions: exactly the path, every call with its result, nothing of the source changed.

What the real Claude Code 2.1.332 makes of such files was tried at 70 points of sessions it had written itself: the
request log held the conversation up to the point each time. Two things it adds on its own: "No response requested."
after a fork that ends with a tool result, and the messages that a compaction kept, which it looks up by their ids
among the records before the boundary. So these go along.
"""

from __future__ import annotations

import json
import os
import pickle
import stat
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Fork, Source
from forkpoint.store.errors import ForkpointError, Refused, UnknownId
from forkpoint.store.model import Conversation

from tests.builders.claude import ClaudeSession, Job

claude = agents.get("claude")
Json = dict[str, Any]


@pytest.fixture
def session(tmp_path: Path, machine: Path) -> ClaudeSession:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return ClaudeSession(machine / "claude", project)


def read(session: ClaudeSession) -> Conversation:
    return next(claude.read(info) for info in claude.sessions(str(session.cwd)) if session.id in info.ids)


def plan(session: ClaudeSession, entry: str, **more: Any) -> Fork:
    return claude.plan_fork(read(session), entry, title="alt", **more)


def records(fork: Fork) -> list[Json]:
    assert fork.data.endswith(b"\n")
    return [json.loads(line) for line in fork.data.splitlines()]


def chain(fork: Fork) -> list[Json]:
    return [record for record in records(fork) if "uuid" in record]


def spoken(fork: Fork) -> list[str]:
    """What the conversation of a fork says, call and result ids included."""
    said: list[str] = []
    for record in chain(fork):
        content = record.get("message", {}).get("content", ())
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            said.append(part.get("text") or part.get("id") or part.get("tool_use_id") or part["type"])
    return said


def test_a_prompt_point_leaves_the_prompt_out_and_hands_its_text_back(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    second = session.turn("two\n\nin \x1b full", "Second.")
    session.turn("three", "Third.")
    fork = plan(session, second)
    assert spoken(fork) == ["one", "First."]
    assert fork.prompt_text == "two\n\nin \x1b full"
    assert (fork.entries, fork.note) == (2, "")
    conversation = read(session)
    assert fork.last == next(entry.id for entry in conversation.entries if entry.text == "First.")


def test_any_other_point_is_the_end_of_the_fork(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    second = session.turn("two", "Second.")
    reply = next(entry for entry in read(session).entries if entry.text == "Second.")
    assert spoken(plan(session, reply.id)) == ["one", "First.", "two", "Second."]
    assert spoken(plan(session, reply.id, before=True)) == ["one", "First.", "two"]
    assert spoken(plan(session, second, before=False)) == ["one", "First.", "two"]


def test_every_line_says_where_it_comes_from_and_where_it_belongs(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.bookkeeping()
    session.turn("two", "Second.")
    fork = plan(session, read(session).leaf or "")
    for record in records(fork):
        if "sessionId" in record:
            assert record["sessionId"] == fork.session
        assert not record["type"].startswith("api-request")
    lines = [json.loads(line) for line in session.file.read_bytes().splitlines()]
    original = {record["uuid"]: record for record in lines if "uuid" in record}
    before = None
    for record in chain(fork):
        assert record["forkedFrom"] == {"sessionId": session.id, "messageUuid": record["uuid"]}
        assert record["parentUuid"] == before
        before = record["uuid"]
        mine = original[record["uuid"]]
        changed = {name for name in {*mine, *record} if mine.get(name) != record.get(name)}
        assert changed <= {"sessionId", "session_id", "forkedFrom", "requestSessionId", "parentUuid"}
    title, name = records(fork)[-2:]
    assert title == {"type": "custom-title", "customTitle": "alt", "sessionId": fork.session}
    assert name == {"type": "agent-name", "agentName": "alt", "sessionId": fork.session}
    assert {record["type"] for record in records(fork)} >= {"mode", "file-history-snapshot"}
    assert "last-prompt" not in {record["type"] for record in records(fork)}


def test_values_go_along_byte_for_byte(session: ClaudeSession) -> None:
    session.prompt("one")
    session.reply("First.")
    odd = '{"number": 1.50e3, "big": 12345678901234567890123, "text": "\\u00e9\\/é", "empty": {}}'.encode()
    data = session.file.read_bytes()
    session.file.write_bytes(data.replace(b'"userType":"external"', b'"userType":"external","odd": ' + odd, 1))
    assert b'"odd":' + odd in plan(session, read(session).leaf or "").data


def test_half_a_surrogate_pair_goes_along(session: ClaudeSession) -> None:
    session.turn("half \ud83d of it", "First.")
    fork = plan(session, read(session).leaf or "")
    assert spoken(fork)[0] == "half \ud83d of it"
    assert chain(fork)[0]["sessionId"] == fork.session


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("chosen", ["call", "result"])
def test_a_cut_inside_of_parallel_calls_moves_to_their_end(
    session: ClaudeSession, order: tuple[int, ...], chosen: str
) -> None:
    session.prompt("one")
    calls = session.parallel(*(Job("Bash", {"command": name}, name) for name in "abc"), text="Three.", order=order)
    session.reply("Seen.")
    for call in calls:
        fork = plan(session, call.uuid if chosen == "call" else call.result)
        said = spoken(fork)
        assert sorted(said[2:]) == sorted([call.id for call in calls] * 2)
        assert said[:2] == ["one", "Three."]
    first = plan(session, calls[0].uuid)
    assert first.note == "the cut was moved to the end of the calls that ran in parallel"
    assert first.entries == 8
    assert plan(session, calls[0].uuid, before=True).entries == plan(session, calls[2].uuid, before=True).entries == 2


def test_results_that_no_walk_from_the_end_would_find_go_along(session: ClaudeSession) -> None:
    """The next answer hangs on the last result only."""
    session.prompt("one")
    calls = session.parallel(*(Job("Bash", {"command": name}, name) for name in "ab"))
    session.leaf = calls[0].result
    side = session.attachment("edited_text_file", filename="/x", snippet="1")
    session.leaf = calls[1].result
    session.turn("two", "Second.")
    fork = plan(session, read(session).leaf or "")
    kept = [record["uuid"] for record in chain(fork)]
    assert calls[0].result in kept
    assert side in kept
    assert fork.note == ""


def test_a_call_that_was_never_answered_goes_along_as_it_is(session: ClaudeSession) -> None:
    session.prompt("one")
    call = session.tool("Bash", {"command": "kill -9 $PPID"}, answered=False)
    assert spoken(plan(session, call.uuid)) == ["one", call.id]


def test_a_left_branch_is_forked_without_its_siblings(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    second = session.turn("two", "Second.")
    session.rewind(second)
    session.turn("other", "Other.")
    conversation = read(session)
    left = next(entry.id for entry in conversation.entries if entry.text == "Second.")
    assert spoken(plan(session, left)) == ["one", "First.", "two", "Second."]
    other = next(entry.id for entry in conversation.entries if entry.text == "Other.")
    assert spoken(plan(session, other)) == ["one", "First.", "other", "Other."]


def test_an_answer_that_was_given_up_does_not_go_along(session: ClaudeSession) -> None:
    session.prompt("one")
    start = session.leaf
    session.parallel(Job("Bash", {"command": "x"}, answered=False), text="I sta")
    session.leaf = start
    session.reply("I start again.")
    assert spoken(plan(session, session.leaf or "")) == ["one", "I start again."]


def test_what_was_before_a_compaction_goes_along_and_is_joined(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.compact("All of it.")
    session.turn("two", "Second.")
    fork = plan(session, read(session).leaf or "")
    assert spoken(fork)[0] == "one"
    (boundary,) = [record for record in chain(fork) if record.get("subtype") == "compact_boundary"]
    assert boundary["parentUuid"] is None
    assert boundary["logicalParentUuid"] in {record["uuid"] for record in chain(fork)}


def test_the_history_of_files_goes_along_as_far_as_the_path_goes(session: ClaudeSession) -> None:
    session.prompt("one")
    session.edit("a.txt", "two", "2")
    session.end_turn()
    second = session.prompt("two")
    session.write("new.txt", "new\n")
    session.end_turn()
    fork = plan(session, second)
    kept = [record for record in records(fork) if record["type"].startswith("file-history")]
    assert [record["type"] for record in kept] == ["file-history-snapshot", "file-history-delta"]
    assert [os.path.basename(name) for name, _ in fork.backups] == [kept[1]["backup"]["backupFileName"]]


def test_a_written_fork_is_a_session_of_its_own(session: ClaudeSession, machine: Path) -> None:
    session.prompt("one")
    session.edit("a.txt", "two", "2")
    session.end_turn()
    second = session.turn("two", "Second.")
    source = session.file.read_bytes()
    fork = plan(session, second)
    claude.write_fork(fork)
    written = Path(fork.file)
    assert written == session.file.parent / f"{fork.session}.jsonl"
    assert written.read_bytes() == fork.data
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert written.stat().st_mtime_ns < session.file.stat().st_mtime_ns
    assert session.file.read_bytes() == source
    assert [item.name for item in written.parent.iterdir() if item.suffix == ".tmp"] == []
    conversation = read(session)
    assert conversation.info.ids == (session.id, fork.session)
    assert conversation.leaves[fork.session] == fork.last
    assert len(conversation.entries) == len(read(session).entries)
    assert claude.untouched(fork.file, fork.digest)
    for name, copy in fork.backups:
        old, new = os.stat(name), os.stat(copy)
        assert Path(name).read_bytes() == Path(copy).read_bytes()
        assert old.st_ino != new.st_ino
        assert (old.st_mtime_ns, old.st_mode) == (new.st_mtime_ns, new.st_mode)
    assert {Path(copy).parent for _, copy in fork.backups} == {machine / "claude" / "file-history" / fork.session}


def test_a_fork_is_touched_once_the_agent_went_on_with_it(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    fork = plan(session, read(session).leaf or "")
    assert not claude.untouched(fork.file, fork.digest)
    claude.write_fork(fork)
    assert claude.untouched(fork.file, fork.digest)
    with open(fork.file, "ab") as file:
        file.write(b"{}\n")
    assert not claude.untouched(fork.file, fork.digest)


def test_a_fork_of_a_fork_names_the_file_it_was_cut_from(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    first = plan(session, read(session).leaf or "")
    claude.write_fork(first)
    other = ClaudeSession(session.home, session.cwd, id=first.session, leaf=first.last, now=session.now)
    other.parents = {"": None}
    other.turn("two", "Second.")
    second = plan(session, read(session).leaf or "")
    assert spoken(second) == ["one", "First.", "two", "Second."]
    assert {record["forkedFrom"]["sessionId"] for record in chain(second)} == {first.session}
    claude.write_fork(second)
    assert set(read(session).info.ids) == {session.id, first.session, second.session}


def test_a_fork_never_overwrites(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    fork = plan(session, read(session).leaf or "")
    Path(fork.file).write_text("mine")
    with pytest.raises(ForkpointError):
        claude.write_fork(fork)
    assert Path(fork.file).read_text() == "mine"


def test_a_fork_that_cannot_be_written_leaves_nothing(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    fork = plan(session, read(session).leaf or "")
    before = sorted(item.name for item in session.file.parent.iterdir())
    limit = len(fork.data) // 2
    program = f"""
import pickle, resource, sys
from forkpoint.store import agents
from forkpoint.store.errors import StoreUnwritable
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    agents.get("claude").write_fork(pickle.load(sys.stdin.buffer))
except StoreUnwritable as error:
    print(error.exit_code)
"""
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(fork), capture_output=True, check=True)
    assert done.stdout == b"1\n"
    assert sorted(item.name for item in session.file.parent.iterdir()) == before


def test_a_fork_for_a_copy_of_the_folder_speaks_of_the_copy(session: ClaudeSession, tmp_path: Path) -> None:
    session.prompt("one")
    session.edit("a.txt", "two", "2")
    session.write("deep/new.txt", "new\n")
    session.end_turn()
    second = session.turn("two")
    copy = tmp_path / "copy"
    copy.mkdir()
    fork = plan(session, second, cwd=str(copy))
    assert {record["cwd"] for record in chain(fork)} == {str(copy)}
    places = [record["backup"]["realParentDir"] for record in records(fork) if record["type"] == "file-history-delta"]
    assert places == [str(copy), str(copy / "deep")]
    claude.write_fork(fork)
    (info,) = claude.sessions(str(copy))
    assert info.id == fork.session
    (state,) = claude.file_states(claude.read(info), str(copy))
    assert set(state.files) == {b"a.txt", b"deep/new.txt"}
    assert claude.resume_command(fork.session, str(copy)) == (("claude", "--resume", fork.session), str(copy))


def test_before_the_first_prompt_a_fresh_session_begins(session: ClaudeSession) -> None:
    first = session.turn("one", "First.")
    fork = plan(session, first)
    assert (fork.file, fork.data, fork.entries, fork.prompt_text) == ("", b"", 0, "one")
    claude.write_fork(fork)
    assert [info.id for info in claude.sessions(str(session.cwd))] == [session.id]
    assert claude.resume_command(fork.session, "/x", fresh=True) == (("claude", "--session-id", fork.session), "/x")


def test_a_slash_command_is_handed_back_as_it_was_typed(session: ClaudeSession) -> None:
    session.turn("one")
    command = session.command_prompt("review", "Review all.", "src tests")
    assert plan(session, command).prompt_text == "/review src tests"
    queued = session.queued("wait, also this")
    assert plan(session, queued).prompt_text == "wait, also this"


def test_a_row_without_a_record_stands_for_the_one_before(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.line({"type": "x-tool"})
    odd = next(entry for entry in read(session).entries if entry.text == "x-tool")
    assert spoken(plan(session, odd.id)) == ["one", "First."]


def test_a_sub_agent_s_row_is_no_place_for_a_fork(session: ClaudeSession) -> None:
    session.prompt("one")
    inner = session.subagent("look")
    inner.reply("Looking.")
    session.finish_subagent(inner)
    conversation = read(session)
    with pytest.raises(Refused, match="sub-agent"):
        plan(session, next(entry.id for entry in conversation.entries if entry.text == "Looking."))
    call = next(entry for entry in conversation.entries if entry.tool == "Agent")
    assert len(spoken(plan(session, call.id))) == 3


def test_a_row_that_is_not_there_is_told(session: ClaudeSession) -> None:
    session.turn("one")
    with pytest.raises(UnknownId):
        plan(session, "nothing")


def test_a_session_that_is_only_in_the_store_can_be_forked(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.turn("two", "Second.")
    conversation = read(session)
    data = session.file.read_bytes()
    session.file.unlink()
    source = Source(str(session.file), lambda: BytesIO(data))
    fork = claude.plan_fork(conversation, conversation.leaf or "", title="alt", sources=[source])
    claude.write_fork(fork)
    assert [info.id for info in claude.sessions(str(session.cwd))] == [fork.session]
    with pytest.raises(ForkpointError, match="cannot be read"):
        claude.plan_fork(conversation, conversation.leaf or "", title="alt")


def test_a_torn_tail_and_junk_are_left_behind(session: ClaudeSession) -> None:
    session.turn("one", "First.")
    session.raw(b"%%%%\n")
    session.turn("two", "Second.")
    session.torn()
    fork = plan(session, read(session).leaf or "")
    assert spoken(fork) == ["one", "First.", "two", "Second."]
    assert b"%%%%" not in fork.data
