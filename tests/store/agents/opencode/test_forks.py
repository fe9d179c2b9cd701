"""Forks as exports that OpenCode imports: cut at any row, under new ids, joined with their source."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Fork
from forkpoint.store.errors import ForkpointError, Refused, UnknownId
from forkpoint.store.model import Conversation

from tests.builders.opencode import Act, Json, OpenCode, OpenCodeSession

agent = agents.get("opencode")


@pytest.fixture
def session(opencode: OpenCode, project: Path) -> OpenCodeSession:
    made = opencode.session(project, title="Lines")
    made.turn("One", "First.", made.shell("true"))
    made.turn("Two", "Second.", made.shell("true"))
    return made


def read(session: OpenCodeSession) -> Conversation:
    return agent.read(next(info for info in agent.sessions(str(session.cwd)) if session.id in info.ids))


def fork_at(conversation: Conversation, text: str, **more: Any) -> Fork:
    entry = next(item for item in conversation.entries if item.text == text)
    return agent.plan_fork(conversation, entry.id, title="alt", **more)


def texts(fork: Fork) -> list[str]:
    """What the export says, message by message."""
    told = json.loads(fork.data)
    parts = [part for message in told["messages"] for part in message["parts"]]
    return [part.get("text") or part["tool"] for part in parts if part["type"] in ("text", "tool")]


def imported(session: OpenCodeSession, fork: Fork) -> OpenCodeSession:
    """What `opencode import` makes of the file."""
    told = json.loads(Path(fork.file).read_text())
    info: Json = told["info"]
    made = OpenCodeSession(session.opencode, Path(info["directory"]), id=info["id"], title=info["title"])
    made.opencode.run("UPDATE session SET metadata = ? WHERE id = ?", json.dumps(info["metadata"]), made.id)
    for message in told["messages"]:
        head = {name: value for name, value in message["info"].items() if name not in ("id", "sessionID")}
        made.message(head, message["info"]["id"])
        for part in message["parts"]:
            inner = {name: value for name, value in part.items() if name not in ("id", "sessionID", "messageID")}
            made.part(message["info"]["id"], inner, part["id"])
    return made


def test_a_fork_at_a_prompt_leaves_it_out_and_hands_it_back(session: OpenCodeSession) -> None:
    found = read(session)
    fork = fork_at(found, "Two")
    assert texts(fork) == ["One", "I work.", "bash", "First."]
    assert (fork.prompt_text, fork.note, fork.title, fork.source) == ("Two", "", "alt", found.info.files[0])
    assert fork.last == next(item.id for item in found.entries if item.text == "First.")
    assert fork.entries == 5
    assert texts(fork_at(found, "Two", before=False)) == ["One", "I work.", "bash", "First.", "Two"]


def test_all_ids_are_new_keep_their_time_and_name_each_other(session: OpenCodeSession) -> None:
    fork = fork_at(read(session), "Second.")
    told = json.loads(fork.data)
    ids = [message["info"]["id"] for message in told["messages"]]
    old = [uid for (uid,) in session.opencode.run("SELECT id FROM message ORDER BY id")]
    assert [uid[:16] for uid in ids] == [uid[:16] for uid in old] and ids == sorted(ids)
    assert not set(ids) & set(old)
    for message in told["messages"]:
        assert message["info"]["sessionID"] == fork.session == told["info"]["id"]
        if message["info"]["role"] == "assistant":
            assert message["info"]["parentID"] in ids
        parts = [part["id"] for part in message["parts"]]
        assert parts == sorted(parts)
        assert {part["messageID"] for part in message["parts"]} == {message["info"]["id"]}
    assert {"id", "slug", "projectID", "directory", "title", "version", "time"} <= told["info"].keys()
    assert "revert" not in told["info"] and "parentID" not in told["info"]


def test_a_fork_of_the_middle_of_an_answer_ends_there(session: OpenCodeSession) -> None:
    found = read(session)
    calls = [item for item in found.entries if item.kind == "tool_call"]
    assert texts(agent.plan_fork(found, calls[0].id, title="alt"))[-1] == "bash"
    kinds = [
        part["type"]
        for part in json.loads(agent.plan_fork(found, calls[0].id, title="alt").data)["messages"][-1]["parts"]
    ]
    assert kinds[-1] == "step-finish"
    assert texts(agent.plan_fork(found, calls[0].id, title="alt", before=True))[-1] == "I work."
    replies = [item for item in found.entries if item.text == "I work."]
    assert texts(agent.plan_fork(found, replies[1].id, title="alt"))[-2:] == ["Two", "I work."]


def test_a_cut_inside_of_calls_that_ran_side_by_side_moves_to_their_end(session: OpenCodeSession) -> None:
    session.prompt("Three")
    session.answer("Both.", Act("read", {"filePath": "/a"}), Act("grep", {"pattern": "x"}))
    session.answer("Third.")
    found = read(session)
    call = next(item for item in found.entries if item.tool == "read" and item.kind == "tool_call")
    fork = agent.plan_fork(found, call.id, title="alt")
    assert (texts(fork)[-2:], "parallel" in fork.note) == (["read", "grep"], True)
    before = agent.plan_fork(found, next(i for i in found.entries if i.tool == "grep").id, title="alt", before=True)
    assert texts(before)[-1] == "Both."


def test_before_the_first_prompt_the_fork_is_empty_and_the_same_session_all_the_same(
    session: OpenCodeSession,
) -> None:
    fork = fork_at(read(session), "One")
    assert (texts(fork), fork.last, fork.entries, fork.prompt_text) == ([], "", 0, "One")
    assert "begins empty" in fork.note
    agent.write_fork(fork)
    assert fork.session in read(session).info.ids
    imported(session, fork).turn("Other")
    found = read(session)
    assert fork.session in found.info.ids
    assert [item.text for item in found.entries if item.kind == "prompt" and item.parent is None] == ["One", "Other"]


def test_a_fork_waits_as_a_file_and_joins_its_source(session: OpenCodeSession) -> None:
    before = session.opencode.run("SELECT * FROM session")
    fork = fork_at(read(session), "Two")
    agent.write_fork(fork)
    assert session.opencode.run("SELECT * FROM session") == before
    assert os.stat(fork.file).st_mode & 0o777 == 0o600
    assert hashlib.sha256(Path(fork.file).read_bytes()).hexdigest() == fork.digest
    found = read(session)
    assert found.info.ids == (session.id, fork.session) and found.info.files[1] == fork.file
    assert len(found.entries) == 10
    assert found.leaves[fork.session] == fork.last
    with pytest.raises(ForkpointError, match="already there"):
        agent.write_fork(fork)


def test_the_command_imports_a_fork_once(session: OpenCodeSession) -> None:
    fork = fork_at(read(session), "Two")
    told = f"opencode import {fork.file} && exec opencode --session {fork.session}"
    waiting = (("sh", "-c", told), str(session.cwd))
    assert agent.resume_command(fork.session, str(session.cwd)) == waiting, "it is planned before it is written"
    agent.write_fork(fork)
    assert agent.resume_command(fork.session, str(session.cwd)) == waiting
    assert agent.untouched(fork.file, fork.digest)
    imported(session, fork)
    assert agent.resume_command(fork.session, "/a") == (("opencode", "--session", fork.session), "/a")
    assert not agent.untouched(fork.file, fork.digest), "OpenCode has it now"
    assert agent.resume_command(session.id, "/a")[0] == ("opencode", "--session", session.id)


def test_an_imported_fork_goes_on_as_a_branch_of_the_same_session(session: OpenCodeSession) -> None:
    fork = fork_at(read(session), "Two")
    agent.write_fork(fork)
    made = imported(session, fork)
    made.turn("Instead", "Other.")
    found = read(session)
    assert found.info.ids == (session.id, fork.session)
    assert found.info.files[1] == f"{session.opencode.database}#{fork.session}", "its file is read no more"
    prompts = {item.text: item for item in found.entries if item.kind == "prompt"}
    assert prompts["Instead"].parent == prompts["Two"].parent
    again = fork_at(found, "Instead", before=False)
    assert texts(again) == ["One", "I work.", "bash", "First.", "Instead"]
    assert again.source == found.info.files[1]


def test_a_branch_that_a_revert_deleted_can_be_forked(session: OpenCodeSession) -> None:
    second = session.prompts[1]
    session.revert(second)
    session.clean_up()
    session.turn("Instead", "Other.")
    fork = fork_at(read(session), "Second.")
    assert texts(fork) == ["One", "I work.", "bash", "First.", "Two", "I work.", "bash", "Second."]


def test_the_fork_of_a_pending_revert_ends_before_what_is_hidden(session: OpenCodeSession) -> None:
    session.revert(session.prompts[1])
    found = read(session)
    notice = next(item for item in found.entries if item.flavour == "rewind")
    assert texts(agent.plan_fork(found, notice.id, title="alt"))[-1] == "First."


def test_hidden_messages_go_along(session: OpenCodeSession) -> None:
    session.prompt("", {"type": "text", "text": "Continue", "synthetic": True})
    session.answer("Go on.")
    fork = fork_at(read(session), "Go on.")
    assert texts(fork)[-2:] == ["Continue", "Go on."]


def test_a_fork_for_another_folder_takes_its_paths_along(session: OpenCodeSession, tmp_path: Path) -> None:
    fork = fork_at(read(session), "Second.", cwd=str(tmp_path / "copy"))
    told = json.loads(fork.data)
    assert told["info"]["directory"] == str(tmp_path / "copy")
    heads = [message["info"] for message in told["messages"]]
    paths = [head["path"] for head in heads if "path" in head]
    assert paths and all(path == {"cwd": str(tmp_path / "copy"), "root": str(tmp_path / "copy")} for path in paths)


def test_its_time_lies_just_before_the_source_s(session: OpenCodeSession) -> None:
    """`opencode --continue` in the next terminal takes the newest session."""
    fork = fork_at(read(session), "Second.")
    (updated,) = session.opencode.run("SELECT time_updated FROM session")[0]
    assert json.loads(fork.data)["info"]["time"]["updated"] == updated - 1000


def test_a_chosen_id_is_taken_and_a_made_one_sorts_as_the_newest(session: OpenCodeSession) -> None:
    assert fork_at(read(session), "Two", session="ses_mine").session == "ses_mine"
    made = fork_at(read(session), "Two").session
    assert made.startswith("ses_") and len(made) == 30


def test_rows_of_sub_agents_and_of_nobody_are_refused(session: OpenCodeSession, opencode: OpenCode) -> None:
    child = opencode.session(session.cwd, parent=session.id)
    child.turn("Sub")
    session.prompt("Three")
    session.answer("", Act("task", {"description": "job"}, metadata={"sessionId": child.id}))
    found = read(session)
    with pytest.raises(Refused):
        fork_at(found, "Sub")
    with pytest.raises(UnknownId):
        agent.plan_fork(found, "prt_nothing", title="alt")


def test_the_session_is_forked_from_the_json_storage_too(session: OpenCodeSession) -> None:
    session.as_files(session.opencode.home / "storage")
    session.opencode.database.unlink()
    fork = fork_at(read(session), "Two")
    assert texts(fork) == ["One", "I work.", "bash", "First."]
    agent.write_fork(fork)
    assert fork.session in read(session).info.ids
