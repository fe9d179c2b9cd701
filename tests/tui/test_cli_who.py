"""Who changed what, as `log --path` and `show` tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.cli import forkpoint, keys
from tests.builders.folders import make
from tests.builders.recorded import Recorded

WHO = {"kind", "agent", "session", "subagent", "call", "tool", "shell", "text", "operation", "maybe", "words"}


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """A session that writes a file, deletes one in the shell, and lets another session and a person at it."""
    root = make(tmp_path, {"shop/a.txt": "one\n", "shop/gone.txt": "one\n"}) / "shop"
    monkeypatch.chdir(root)
    found = Recorded(root)
    found.starts()
    found.asked("Change them")
    found.writes("a.txt", "two\n")
    found.runs("rm gone.txt", lambda folder: (folder / "gone.txt").unlink())
    found.stops()
    other = Recorded(root)
    other.starts()
    other.asked("Change it too")
    other.writes("a.txt", "three\n")
    other.stops()
    make(root, {"a.txt": "mine\n"})
    found.asked("Go on")
    return found


def test_log_of_a_path_tells_all_who_changed_it_in_order(agent: Recorded) -> None:
    found = forkpoint("log", agent.session.id, "--path", "a.txt", "--json").json
    assert [item["who"]["kind"] for item in found] == ["tool", "session", "person"]
    assert keys(found) == {"checkpoint", "time", "path", "status", "added", "removed", "who"}
    assert set(found[0]["who"]) == WHO
    assert [(item["status"], item["added"], item["removed"]) for item in found] == [("modified", 1, 1)] * 3
    out = forkpoint("log", agent.session.id, "--path", "a.txt").out
    assert "Write a.txt" in out and "another session (Claude Code " in out and "a person" in out
    assert found[1]["checkpoint"]["id"][:8] in out


def test_a_restore_in_a_path_s_log_is_a_person_s_act_and_no_checkpoint(agent: Recorded) -> None:
    (first, *_) = forkpoint("log", agent.session.id, "--json").json["checkpoints"]
    assert forkpoint("restore", first["id"], "--files", "--path", "gone.txt", "--all", "--yes").code == 0
    last = forkpoint("log", agent.session.id, "--path", "gone.txt", "--json").json[-1]
    assert (last["checkpoint"], last["status"], last["who"]["kind"]) == (None, "added", "person")
    assert last["who"]["operation"] == forkpoint("operations", "--json").json[0]["id"]


def test_show_tells_who_changed_each_file(agent: Recorded) -> None:
    points = forkpoint("log", agent.session.id, "--json").json["checkpoints"]
    shell = [point["id"] for point in points if point["reason"] == "tool"][1]
    (file,) = forkpoint("show", shell, "--json").json["changes"]["files"]
    assert (file["path"], file["who"]["kind"], set(file["who"]), file["also"]) == ("gone.txt", "shell", WHO, [])
    assert "by the shell in Bash rm gone.txt" in forkpoint("show", shell).out


def test_show_of_a_call_has_the_files_that_its_shell_changed(agent: Recorded) -> None:
    entries = forkpoint("log", agent.session.id, "--json").json["entries"]
    call = next(entry["id"] for entry in entries if entry["text"] == "Bash rm gone.txt")
    (file,) = forkpoint("show", call, "--json").json["changes"]["files"]
    assert (file["path"], file["status"], file["who"]["kind"]) == ("gone.txt", "deleted", "shell")
    assert "gone.txt" in forkpoint("show", call).out.split("by the shell")[0]


def test_a_restore_tells_whose_work_a_conflict_is(agent: Recorded) -> None:
    (first, *_) = forkpoint("log", agent.session.id, "--json").json["checkpoints"]
    plan = forkpoint("restore", first["id"], "--files", "--dry-run", "--json").json
    assert {item["path"]: item["why"] for item in plan["conflicts"]} == {"a.txt": "changed since by a person"}
