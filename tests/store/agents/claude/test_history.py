"""Earlier states of files from Claude Code's own backups, and what its records prove."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Evidence, PartialState
from forkpoint.store.agents.claude.history import patched, written
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.builders.claude import ClaudeSession, patch

claude = agents.get("claude")


@pytest.fixture
def session(tmp_path: Path, machine: Path) -> ClaudeSession:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    return ClaudeSession(machine / "claude", tmp_path)


def states(session: ClaudeSession, root: Path | None = None) -> dict[str, PartialState]:
    """By the text of their prompts."""
    (info,) = claude.sessions(str(session.cwd))
    conversation = claude.read(info)
    texts = {entry.id: entry.text for entry in conversation.entries}
    return {texts[state.entry_id]: state for state in claude.file_states(conversation, str(root or session.cwd))}


def content(state: PartialState) -> dict[str, str | None]:
    """What each path held; None: it was not there."""
    return {
        path.decode(): Path(file.source).read_text() if file.kind == "file" else None
        for path, file in state.files.items()
    }


def evidence(session: ClaudeSession, root: Path | None = None) -> Evidence:
    (info,) = claude.sessions(str(session.cwd))
    return claude.evidence(claude.read(info), str(root or session.cwd))


def blob(text: str) -> str:
    done = subprocess.run(["git", "hash-object", "--stdin"], input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode().strip()


# ---- states


def test_states_are_those_before_each_prompt(session: ClaudeSession) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session.write("new.txt", "new\n")
    session.end_turn()
    session.prompt("second")
    session.edit("a.txt", "three", "3")
    session.end_turn()
    session.turn("third")
    found = states(session)
    assert list(found) == ["first", "second", "third"]
    assert content(found["first"]) == {"a.txt": "one\ntwo\nthree\n", "new.txt": None}
    assert content(found["second"]) == {"a.txt": "one\n2\nthree\n", "new.txt": "new\n"}
    assert content(found["third"]) == {"a.txt": "one\n2\n3\n", "new.txt": "new\n"}


def test_a_state_keeps_modes_and_is_named_the_same_each_time(session: ClaudeSession) -> None:
    prompt = session.prompt("first")
    session.edit("run.sh", "sh", "bash")
    first, again = states(session)["first"], states(session)["first"]
    assert first.files[b"run.sh"].mode == 0o755
    assert first.id == again.id == hashlib.sha256(f"claude\0{session.id}\0{prompt}".encode()).hexdigest()[:16]
    assert (first.session, first.prompt) == (session.id, session.prompt_id)


def test_a_file_that_was_first_touched_later_had_its_first_content_before(session: ClaudeSession) -> None:
    session.turn("first")
    session.prompt("second")
    session.edit("a.txt", "two", "2")
    found = states(session)
    assert content(found["first"]) == {"a.txt": "one\ntwo\nthree\n"}
    assert found["first"].files[b"a.txt"].inferred
    assert not found["second"].files[b"a.txt"].inferred


def test_what_the_shell_did_to_a_tracked_file_is_in_the_next_state_only(session: ClaudeSession) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session.bash("rm a.txt", lambda root: (root / "a.txt").unlink())
    session.bash("rm run.sh", lambda root: (root / "run.sh").unlink())
    session.turn("second")
    found = states(session)
    assert content(found["first"]) == {"a.txt": "one\ntwo\nthree\n"}
    assert content(found["second"]) == {"a.txt": None}


def test_states_after_a_rewind_are_those_of_their_own_branch(session: ClaudeSession) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session.end_turn()
    second = session.prompt("second")
    session.edit("a.txt", "2", "zwei")
    session.end_turn()
    session.rewind(second)
    (session.cwd / "a.txt").write_text("one\n2\nthree\n")
    session.turn("other second")
    found = states(session)
    assert content(found["second"]) == content(found["other second"]) == {"a.txt": "one\n2\nthree\n"}


def test_older_versions_wrote_whole_snapshots_again(session: ClaudeSession) -> None:
    """isSnapshotUpdate: the same prompt's snapshot once more, now with the file that is about to be edited."""
    prompt = session.prompt("first")
    before = {"messageId": prompt, "timestamp": "2026-11-30T09:00:00.000Z"}
    call = session.edit("a.txt", "two", "2")
    backup = session.snapshots[prompt]["a.txt"]
    lines = [line for line in session.file.read_bytes().splitlines(keepends=True) if b"history-delta" not in line]
    session.file.write_bytes(b"".join(lines))
    assert states(session) == {}
    del backup["realParentDir"]
    session.line(
        {
            "type": "file-history-snapshot",
            "messageId": call.uuid,
            "snapshot": {**before, "trackedFileBackups": {"a.txt": backup}},
            "isSnapshotUpdate": True,
        }
    )
    assert content(states(session)["first"]) == {"a.txt": "one\ntwo\nthree\n"}


def test_a_snapshot_of_a_prompt_that_never_came_is_passed_over(session: ClaudeSession) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session._snapshot("00000000-0000-4000-8000-000000000000")
    assert list(states(session)) == ["first"]


def test_paths_outside_of_the_root_are_counted_and_left_out(session: ClaudeSession, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "link").symlink_to("inner")
    session.prompt("first")
    session.write("inner/x.txt", "x\n")
    session.write("link/y.txt", "y\n")
    session.edit("a.txt", "two", "2")
    found = states(session, inner)["first"]
    assert set(found.files) == {b"x.txt", b"y.txt"}
    assert found.outside == 1


def test_a_backup_that_is_gone_is_unknown_and_told(session: ClaudeSession, machine: Path) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session.write("new.txt", "new\n")
    for file in (machine / "claude" / "file-history" / session.id).iterdir():
        file.unlink()
    found = states(session)["first"]
    assert content(found) == {"new.txt": None}
    assert found.missing == (b"a.txt",)


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "0123456789abcdef@v1/../x", "", "x"])
def test_only_names_of_backups_are_opened(session: ClaudeSession, name: str) -> None:
    prompt = session.prompt("first")
    backup = {"backupFileName": name, "version": 1, "realParentDir": str(session.cwd)}
    session.line(
        {
            "type": "file-history-delta",
            "messageId": "x",
            "snapshotMessageId": prompt,
            "trackingPath": "p",
            "backup": backup,
        }
    )
    found = states(session)["first"]
    assert found.files == {}
    assert found.missing == (b"p",)


def test_a_fork_without_backups_of_its_own_looks_where_it_came_from(session: ClaudeSession, machine: Path) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session.end_turn()
    other = session.branch()
    other.turn("second")
    for file in (machine / "claude" / "file-history" / other.id).iterdir():
        if file.name.endswith("@v1"):
            file.unlink()
    session.file.unlink()
    found = states(other)
    assert content(found["first"]) == {"a.txt": "one\ntwo\nthree\n"}
    assert session.id in found["first"].files[b"a.txt"].source


def test_sessions_without_checkpoints_have_no_states(session: ClaudeSession) -> None:
    session.history = False
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    assert states(session) == {}


# ---- evidence


def test_contents_that_edits_left_are_known_by_their_git_ids(session: ClaudeSession) -> None:
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    session.edit("a.txt", "three", "3")
    session.write("new.txt", "new\n")
    found = evidence(session)
    assert found.left == {
        b"a.txt": frozenset({blob("one\n2\nthree\n"), blob("one\n2\n3\n")}),
        b"new.txt": frozenset({blob("new\n")}),
    }


def test_steps_that_touched_a_path_are_known_with_their_calls(session: ClaudeSession) -> None:
    session.prompt("first")
    edit = session.edit("a.txt", "two", "2")
    shell = session.bash("rm a.txt; date > when", lambda root: (root / "a.txt").unlink(), changed=["a.txt", "when"])
    session.tool("Bash", {"command": "ls"}, "a.txt")
    found = evidence(session)
    assert {path: [entry for _, entry in steps] for path, steps in found.touched.items()} == {
        b"a.txt": [edit.uuid, shell.uuid],
        b"when": [shell.uuid],
    }


def test_what_a_sub_agent_wrote_is_the_session_s_too(session: ClaudeSession) -> None:
    session.prompt("first")
    inner = session.subagent("write it")
    inner.write("sub.txt", "by the sub-agent\n")
    session.finish_subagent(inner)
    assert evidence(session).left == {b"sub.txt": frozenset({blob("by the sub-agent\n")})}


def test_a_call_that_failed_left_nothing(session: ClaudeSession) -> None:
    session.prompt("first")
    target = str(session.cwd / "a.txt")
    session.tool("Edit", {"file_path": target}, "rejected", result="User rejected tool use", error=True)
    assert evidence(session) == Evidence()


def test_files_outside_are_counted(session: ClaudeSession, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    session.prompt("first")
    session.edit("a.txt", "two", "2")
    assert evidence(session, inner) == Evidence(outside=1)


TABS = {
    "filePath": "/p/tabs.py",
    "oldString": "\treturn 1",
    "newString": "\treturn 2\n\t\t# deeper",
    "originalFile": "def f():\n\treturn 1\n\n\tx = 2\n",
    "structuredPatch": [
        {
            "oldStart": 1,
            "oldLines": 4,
            "newStart": 1,
            "newLines": 5,
            "lines": [" def f():", "-  return 1", "+  return 2", "+    # deeper", " ", "   x = 2"],
        }
    ],
    "userModified": False,
    "replaceAll": False,
}
"""As Claude Code 2.1.332 wrote it: in its patches two blanks stand for a leading tab."""


def test_tabs_that_claude_shows_as_blanks_are_tabs() -> None:
    assert written(TABS) == "def f():\n\treturn 2\n\t\t# deeper\n\n\tx = 2\n"


def test_a_deleted_text_takes_its_line_end_along() -> None:
    told = {
        "oldString": "b",
        "newString": "",
        "originalFile": "a\nb\nc\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 2, "lines": [" a", "-b", " c"]}],
    }
    assert written(told) == "a\nc\n"


@pytest.mark.parametrize(
    "change",
    [
        {"originalFile": None},
        {"originalFile": "something else\n"},
        {"structuredPatch": []},
        {"oldString": "not in it"},
        {"newString": "other than the patch"},
        {"structuredPatch": [{"oldStart": 9, "oldLines": 1, "newStart": 9, "newLines": 1, "lines": ["-x", "+y"]}]},
        {"structuredPatch": [{"oldStart": "1", "lines": [7]}]},
        {"structuredPatch": ["odd"]},
        {"userModified": True},
    ],
)
def test_what_cannot_be_told_exactly_is_unknown(change: dict[str, object]) -> None:
    assert written({**TABS, **change}) is None


def test_a_proposal_that_the_person_changed_is_taken_from_the_patch() -> None:
    told = {
        "oldString": "two",
        "newString": "2",
        "originalFile": "one\ntwo\n",
        "structuredPatch": patch("one\ntwo\n", "one\nzwei\n"),
        "userModified": True,
    }
    assert written(told) == "one\nzwei\n"


@given(
    st.lists(st.sampled_from(["a", "b", "", "\tc"]), max_size=9), st.lists(st.sampled_from(["a", "x", ""]), max_size=9)
)
def test_a_patch_makes_the_new_text_of_the_old_one(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    assume(before and after and before != after)
    assert patched(before, patch(before, after)) == after
