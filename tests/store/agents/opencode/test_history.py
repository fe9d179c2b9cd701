"""Whole trees from OpenCode's own snapshots: complete but for what is ignored, read lazily, and gone when they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import LazyFiles, PartialState
from forkpoint.store.agents.opencode import history
from forkpoint.store.git.ids import blob_id

from tests.builders.opencode import PROJECT, Json, OpenCode, OpenCodeSession

agent = agents.get("opencode")


@pytest.fixture
def opencode(machine: Path) -> OpenCode:
    return OpenCode(machine / ".local" / "share" / "opencode")


@pytest.fixture
def session(opencode: OpenCode, project: Path) -> OpenCodeSession:
    (project / ".gitignore").write_text("*.log\n")
    (project / "a.txt").write_text("one\n")
    (project / "gone.txt").write_text("delete me\n")
    (project / "debug.log").write_text("ignored\n")
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "link").symlink_to("a.txt")
    return opencode.session(project)


def states(session: OpenCodeSession, root: Path | None = None) -> dict[str, PartialState]:
    """The states by the text of their prompts."""
    (info,) = agent.sessions(str(session.cwd))
    conversation = agent.read(info)
    named = {entry.id: entry.text for entry in conversation.entries}
    found = agent.file_states(conversation, str(root or session.cwd))
    return {named[state.entry_id]: state for state in found}


def contents(state: PartialState) -> dict[str, bytes | None]:
    return {os.fsdecode(path): file.data() if file.kind == "file" else None for path, file in state.files.items()}


def three_turns(session: OpenCodeSession) -> None:
    session.turn("One", "First.", session.write("a.txt", "two\n"), session.write("sub/new.txt", "new\n"))
    session.turn("Two", "Second.", session.shell("rm gone.txt; echo more >> a.txt"))
    session.turn("Three", "Third.")


def test_each_prompt_has_the_whole_tree_of_before_it_what_the_shell_did_included(session: OpenCodeSession) -> None:
    three_turns(session)
    found = states(session)
    same = {".gitignore": b"*.log\n", "run.sh": b"#!/bin/sh\n"}
    assert contents(found["One"]) == {**same, "a.txt": b"one\n", "gone.txt": b"delete me\n", "sub/new.txt": None}
    assert contents(found["Two"]) == {**same, "a.txt": b"two\n", "gone.txt": b"delete me\n", "sub/new.txt": b"new\n"}
    assert contents(found["Three"]) == {**same, "a.txt": b"two\nmore\n", "gone.txt": None, "sub/new.txt": b"new\n"}
    state = found["Two"]
    assert state.prompt == state.entry_id == session.prompts[1]
    assert {path: file.mode for path, file in state.files.items() if file.mode != 0o644} == {b"run.sh": 0o755}
    assert all(file.oid == blob_id(file.data()) for file in state.files.values() if file.kind == "file")
    assert list(found) == ["One", "Two", "Three"]


def test_a_tree_is_not_walked_before_a_file_of_it_is_asked_for(
    session: OpenCodeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_turns(session)
    walked: list[str] = []
    real = history.Foreign.files
    monkeypatch.setattr(history.Foreign, "files", lambda self, tree: walked.append(tree) or real(self, tree))
    found = states(session)
    assert [(len(state.files), state.present) for state in found.values()] == [(5, 4), (5, 5), (5, 4)]
    assert all(isinstance(state.files, LazyFiles) and state.files for state in found.values())
    assert walked == []
    assert found["Two"].files[b"a.txt"].data() == b"two\n"
    assert len(walked) == 1


def test_a_root_below_the_work_tree_sees_its_own_part(opencode: OpenCode, session: OpenCodeSession) -> None:
    inner = session.cwd / "sub"
    inner.mkdir()
    (inner / "old.txt").write_text("old\n")
    below = opencode.session(inner, worktree=session.cwd)
    below.turn("One", "First.", below.write("new.txt", "new\n"))
    assert contents(states(below)["One"]) == {"old.txt": b"old\n", "new.txt": None}


def test_a_root_above_the_work_tree_has_it_as_a_folder(session: OpenCodeSession) -> None:
    session.turn("One", "First.", session.write("a.txt", "two\n"))
    found = states(session, session.cwd.parent)
    assert contents(found["One"])[f"{session.cwd.name}/a.txt"] == b"one\n"


def test_a_fork_adds_no_second_state_of_a_prompt_that_it_copied(session: OpenCodeSession) -> None:
    three_turns(session)
    session.fork(session.prompts[1]).turn("Instead")
    assert list(states(session)) == ["One", "Two", "Three", "Instead"]


def test_what_a_revert_deleted_keeps_its_states(session: OpenCodeSession) -> None:
    three_turns(session)
    session.revert(session.prompts[1])
    session.clean_up()
    session.turn("Instead")
    assert list(states(session)) == ["One", "Two", "Three", "Instead"]


def test_without_snapshots_there_is_no_state(machine: Path, project: Path) -> None:
    made = OpenCode(machine / ".local" / "share" / "opencode", snapshots=False).session(project)
    made.turn("One")
    assert states(made) == {}


def test_the_repository_of_earlier_versions_stands_one_folder_higher(session: OpenCodeSession) -> None:
    session.turn("One", "First.", session.write("a.txt", "two\n"))
    folder = session.opencode.home / "snapshot" / PROJECT
    (inner,) = folder.iterdir()
    for item in inner.iterdir():
        shutil.move(item, folder / item.name)
    inner.rmdir()
    assert contents(states(session)["One"])["a.txt"] == b"one\n"


def test_reading_writes_nothing_into_the_repository(session: OpenCodeSession) -> None:
    three_turns(session)
    folder = session.opencode.home / "snapshot"

    def looks() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}

    before = looks()
    for state in states(session).values():
        contents(state)
    assert looks() == before


def test_what_git_cleaned_up_is_no_state_any_more(session: OpenCodeSession) -> None:
    three_turns(session)
    session.opencode.git(session.cwd, "gc", "-q", "--prune=now")
    found = states(session)
    assert list(found) == ["Three"], "its tree is that of the index: what nothing refers to is gone"


def test_a_blob_that_is_gone_is_told_when_it_is_read(session: OpenCodeSession) -> None:
    three_turns(session)
    state = states(session)["One"]
    oid = state.files[b"gone.txt"].oid
    (loose,) = (session.opencode.home / "snapshot").rglob(f"{oid[:2]}/{oid[2:]}")
    loose.unlink()
    with pytest.raises(OSError):
        states(session)["One"].files[b"gone.txt"].data()


def test_a_hostile_project_id_leads_nowhere(session: OpenCodeSession) -> None:
    session.turn("One", "First.", session.write("a.txt", "two\n"))
    for project in ("../../..", "/", ".", "a/b"):
        session.opencode.run("UPDATE session SET project_id = ?", project)
        assert states(session) == {}


# --- what they prove


def test_edit_tools_are_proven_and_the_shell_s_doing_is_known_to_have_happened(session: OpenCodeSession) -> None:
    three_turns(session)
    session.answer("", session.write("../outside.txt", "else\n"))
    (info,) = agent.sessions(str(session.cwd))
    conversation = agent.read(info)
    proven = agent.evidence(conversation, str(session.cwd))
    assert proven.left == {
        b"a.txt": frozenset({blob_id(b"two\n")}),
        b"sub/new.txt": frozenset({blob_id(b"new\n")}),
    }
    entries = {entry.id: entry.text for entry in conversation.entries}
    touched = {path: [entries[entry] for _, entry in steps] for path, steps in proven.touched.items()}
    shell = "bash rm gone.txt; echo more >> a.txt"
    assert touched == {b"a.txt": ["write a.txt", shell], b"sub/new.txt": ["write sub/new.txt"], b"gone.txt": [shell]}
    assert proven.outside == 1


def test_a_person_s_edit_during_a_step_without_calls_is_nobody_s(session: OpenCodeSession) -> None:
    session.prompt("One")
    tree = session.opencode.tree(session.cwd)
    uid = session.message({"role": "assistant", "parentID": session.prompts[0], "path": {"root": str(session.cwd)}})
    session.part(uid, {"type": "step-start", "snapshot": tree})
    (session.cwd / "mine.txt").write_text("mine\n")
    session.part(uid, {"type": "step-finish", "snapshot": session.opencode.tree(session.cwd)})
    (info,) = agent.sessions(str(session.cwd))
    proven = agent.evidence(agent.read(info), str(session.cwd))
    assert (proven.left, proven.touched) == ({}, {})


def test_a_forkpoint_command_goes_back_to_a_tree_of_before_it_was_there(
    session: OpenCodeSession, project: Path
) -> None:
    three_turns(session)
    program = Path(sys.executable).with_name("forkpoint")

    def forkpoint(*words: str) -> Json:
        done = subprocess.run([program, *words, "--json"], cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    log = forkpoint("log")
    points = [point["id"] for point in log["checkpoints"] if point["reason"] == "import"]
    assert len(points) == 3
    shown = forkpoint("restore", points[0], "--files", "--all", "--dry-run")
    assert "knows 5 files, what the shell did included" in shown["note"]
    forkpoint("restore", points[0], "--files", "--all", "--yes")
    assert (project / "a.txt").read_text() == "one\n"
    assert (project / "gone.txt").read_text() == "delete me\n"
    assert not (project / "sub" / "new.txt").exists()
    assert (project / "debug.log").read_text() == "ignored\n", "what no tree knows stays"
