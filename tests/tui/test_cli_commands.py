"""The commands on a folder without any agent: what they answer, in text and as documents, and what they change."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.cli import Answer, Talk, every_file, forkpoint, keys, process

ID = re.compile(r"\b[0-9a-f]{16}\b")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few files, and the folder that one stands in."""
    folder = tmp_path / "a project"
    (folder / "src").mkdir(parents=True)
    (folder / "src/app.py").write_text("one\ntwo\nthree\n")
    (folder / "notes.txt").write_text("notes\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    monkeypatch.chdir(folder)
    return folder


def saved(*arguments: str) -> str:
    answer = forkpoint("save", "--json", *arguments)
    assert answer.code == 0, answer.err
    return answer.json["id"]


def spoil(project: Path) -> None:
    """One file changed, one deleted, one made."""
    (project / "src/app.py").write_text("one\n2\nthree\nfour\n")
    (project / "notes.txt").unlink()
    (project / "new.txt").write_text("new\n")


def test_the_first_line_says_which_root(project: Path) -> None:
    point = saved()
    for command in (["save"], ["log"], ["show", point], ["diff", point], ["operations"], ["status"], ["verify"]):
        assert forkpoint(*command).lines[0] == str(project), command


def test_save_prints_its_id_and_stores_nothing_in_the_project(project: Path) -> None:
    before = every_file(project)
    answer = forkpoint("save", "-m", "before the big change")
    assert answer.code == 0
    assert ID.match(answer.lines[1])
    assert answer.lines[1].endswith("3 files saved [before the big change]")
    assert every_file(project) == before


def test_save_as_a_document(project: Path) -> None:
    os.mkfifo(project / "pipe")
    document = forkpoint("save", "--json", "--label", "green").json
    assert set(document) == {"id", "label", "files", "uncaptured", "unanswered"}
    assert (document["label"], document["files"]) == ("green", 3)
    assert document["uncaptured"] == [{"path": "pipe", "why": "a FIFO"}]
    assert "not captured: pipe (a FIFO)" in forkpoint("save").out


@pytest.mark.parametrize(
    "arguments", [[], ["-m", "a label"], ["--json"], ["--label", "x", "--json", "-C", "."]], ids=" ".join
)
def test_the_quick_way_of_save_answers_as_the_parser_does(project: Path, arguments: list[str]) -> None:
    os.mkfifo(project / "pipe")
    quick, parsed = process("save", *arguments), forkpoint("save", *arguments)
    assert (quick.code, quick.err) == (parsed.code, parsed.err) == (0, "")
    assert ID.sub("ID", quick.out) == ID.sub("ID", parsed.out)


@pytest.mark.parametrize(
    "arguments",
    [["-C", "gone"], ["--bogus"], ["-m"], ["extra"], ["--session", "abcdef"], ["-C", "/"], ["--json", "-C", "/"]],
    ids=" ".join,
)
def test_the_quick_way_of_save_fails_as_the_parser_does(project: Path, arguments: list[str]) -> None:
    forkpoint("save")
    quick, parsed = process("save", *arguments), forkpoint("save", *arguments)
    assert quick == parsed
    assert quick.code != 0


@pytest.fixture
def very_large(project: Path) -> Path:
    """A folder that holds more files than are recorded without being asked."""
    home = Path(os.environ["FORKPOINT_HOME"])
    home.mkdir()
    (home / "settings.toml").write_text("[limits]\nlargest_tree = 2\n")
    return project


@pytest.mark.parametrize("call", [forkpoint, process])
def test_a_very_large_folder_is_saved_only_when_told(very_large: Path, call: Callable[..., Answer]) -> None:
    answer = call("save")
    assert (answer.code, answer.out) == (3, "")
    assert "more than 2 files" in answer.err and "forkpoint save --yes" in answer.err
    assert forkpoint("status", "--json").json["checkpoints"] == 0
    assert call("save", "--yes", "--json").json["files"] == 3


@pytest.mark.parametrize("command", [["save"], ["install", "claude", "--yes"]])
def test_a_person_is_asked_before_a_very_large_folder_is_saved(very_large: Path, command: list[str]) -> None:
    if command[0] == "save":
        talk = Talk(*command, cwd=very_large)
        talk.until("Save it all the same? [y/N]")
        talk.type("y\n")
        assert talk.close() == 0
    else:
        assert forkpoint(*command).code == 0
    assert forkpoint("status", "--json").json["checkpoints"] == 1


def test_log_shows_every_checkpoint_with_its_label(project: Path) -> None:
    first, second = saved("-m", "green"), saved()
    out = forkpoint("log").out
    assert first[:8] in out and second[:8] in out
    assert out.count("green") == 1


def test_log_as_a_document(project: Path) -> None:
    point = saved("-m", "green")
    document = forkpoint("log", "--json").json
    assert {"session", "entries", "checkpoints", "branches", "here"} <= set(document)
    assert document["session"] == "files"
    (checkpoint,) = document["checkpoints"]
    expected = {"id", "entry", "branch", "reason", "label", "pinned", "time", "added", "removed", "files", "complete"}
    assert expected <= set(checkpoint)
    assert (checkpoint["id"], checkpoint["reason"], checkpoint["label"], checkpoint["pinned"]) == (
        point,
        "manual",
        "green",
        False,
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", checkpoint["time"])
    assert {"id", "parent", "kind", "time", "text", "turn"} <= keys(document["entries"])
    assert {"name", "head", "state", "origin"} <= keys(document["branches"])
    assert set(document["here"]) == {"files", "talk", "dirty"}
    assert document["here"]["files"] == point


def test_sessions_as_a_document(project: Path) -> None:
    saved()
    assert keys(forkpoint("sessions", "--json").json) == {
        "id",
        "agent",
        "title",
        "updated",
        "entries",
        "branches",
        "bytes",
        "live",
        "problem",
    }


def test_saves_by_hand_are_as_old_as_the_newest_of_them(project: Path) -> None:
    saved()
    (session,) = forkpoint("sessions", "--json").json
    (checkpoint,) = forkpoint("log", "--json").json["checkpoints"]
    assert session["updated"] == checkpoint["time"]
    assert "0 Bytes" not in forkpoint("sessions").out


def test_what_took_back_says_which_way_goes_on(project: Path) -> None:
    forkpoint("pin", saved())
    forkpoint("undo", "--yes")
    undo, pin = forkpoint("operations", "--json").json
    assert (undo["why"], pin["why"]) == ("redo goes the other way", "undone: redo brings it back")


def test_diff_to_now(project: Path) -> None:
    point = saved()
    spoil(project)
    out = forkpoint("diff", point).out
    assert "3 files +3 −2" in out
    assert "--- a/src/app.py\n+++ b/src/app.py\n" in out
    assert "\n-two\n+2\n three\n+four\n" in out
    assert "--- a/notes.txt\n+++ /dev/null\n" in out
    assert "--- /dev/null\n+++ b/new.txt\n" in out


def test_diff_between_two_points_and_of_some_paths(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = saved()
    spoil(project)
    second = saved()
    (project / "later.txt").write_text("later\n")
    document = forkpoint("diff", first, second, "--json").json
    assert [(file["path"], file["status"]) for file in document["files"]] == [
        ("new.txt", "added"),
        ("notes.txt", "deleted"),
        ("src/app.py", "modified"),
    ]
    monkeypatch.chdir(project / "src")
    document = forkpoint("diff", first, second, "--json", "--path", "app.py", "--path", "../new.txt").json
    assert [file["path"] for file in document["files"]] == ["new.txt", "src/app.py"]
    assert forkpoint("diff", second, second).lines[1].endswith("nothing differs")


def test_diff_of_a_path_outside_is_a_mistake(project: Path) -> None:
    answer = forkpoint("diff", saved(), "--path", "../elsewhere")
    assert answer.code == 2
    assert "outside" in answer.err


def test_a_stat_names_each_file_once(project: Path) -> None:
    point = saved()
    spoil(project)
    lines = forkpoint("diff", point, "--stat").lines
    assert [line.split() for line in lines[2:]] == [
        ["A", "+1", "new.txt"],
        ["D", "−1", "notes.txt"],
        ["M", "+2", "−1", "src/app.py"],
    ]


def test_names_that_are_no_utf8_or_would_reach_the_terminal_are_told_safely(project: Path) -> None:
    point = saved()
    Path(os.fsdecode(b"caf\xe9\x1b]0;owned\x07.txt")).write_text("x\x1b[31m\n")
    answer = forkpoint("diff", point)
    assert "\x1b" not in answer.out and "\x07" not in answer.out
    assert "caf\\xe9" in answer.out
    (file,) = forkpoint("diff", point, "--json").json["files"]
    assert file["path_b64"] == "Y2Fm6RtdMDtvd25lZAcudHh0"


def test_show_tells_what_a_checkpoint_is(project: Path) -> None:
    saved()
    spoil(project)
    point = saved("-m", "after")
    answer = forkpoint("show", point)
    assert f"checkpoint     {point}" in answer.out
    assert "after" in answer.out
    assert "src/app.py" in answer.out
    document = forkpoint("show", point, "--json").json
    assert document["checkpoint"]["id"] == point
    assert len(document["changes"]["files"]) == 3


RESTORE = {
    "operation",
    "guard",
    "target",
    "scope",
    "restored",
    "kept",
    "conflicts",
    "discarded",
    "effects",
    "failed",
}


def test_a_dry_run_tells_and_changes_nothing(project: Path) -> None:
    point = saved()
    spoil(project)
    before = every_file(project)
    answer = forkpoint("restore", point, "--files", "--dry-run")
    assert answer.code == 0
    assert "Restored" in answer.out and "src/app.py" in answer.out and "notes.txt" in answer.out
    assert every_file(project) == before
    document = forkpoint("restore", point, "--files", "--dry-run", "--json").json
    assert set(document) >= RESTORE
    assert (document["operation"], document["guard"], document["scope"]) == (None, None, "files")
    assert set(document["target"]) == {"checkpoint", "entry", "side", "files_as_of"}
    assert set(document["discarded"]) >= {"files", "turns", "prompts"}
    assert every_file(project) == before
    assert forkpoint("operations", "--json").json == []


@pytest.mark.parametrize("scope", [["--files"], []])
def test_without_a_terminal_nothing_is_restored_unless_told(project: Path, scope: list[str]) -> None:
    point = saved()
    spoil(project)
    before = every_file(project)
    answer = forkpoint("restore", point, *scope)
    assert answer.code == 3
    assert "src/app.py" in answer.out
    assert answer.err == "forkpoint: nothing was done: this needs a confirmation; add --yes\n"
    document = forkpoint("restore", point, *scope, "--json")
    assert document.code == 3
    assert set(document.json) >= {*RESTORE, "error", "exit"}
    assert document.json["exit"] == 3
    assert every_file(project) == before


def test_restore_undo_and_redo(project: Path) -> None:
    original = every_file(project)
    point = saved()
    spoil(project)
    os.chmod("run.sh", 0o755)
    spoiled = every_file(project)

    answer = forkpoint("restore", point, "--yes", "--json")
    assert answer.code == 0
    assert answer.json["failed"] == []
    assert ID.fullmatch(answer.json["guard"])
    assert every_file(project) == original
    assert os.stat("run.sh").st_mode & 0o777 == 0o644

    (operation,) = forkpoint("operations", "--json").json
    assert set(operation) == {"id", "kind", "time", "undoable", "until", "why", "summary"}
    assert (operation["id"], operation["kind"], operation["undoable"]) == (answer.json["operation"], "restore", True)

    assert forkpoint("undo").code == 3
    assert forkpoint("undo", "--dry-run").code == 0
    assert every_file(project) == original
    assert forkpoint("undo", "--yes").code == 0
    assert every_file(project) == spoiled
    assert os.stat("run.sh").st_mode & 0o777 == 0o755

    assert forkpoint("redo", "--yes").code == 0
    assert every_file(project) == original
    assert [item["kind"] for item in forkpoint("operations", "--json").json] == ["redo", "undo", "restore"]


def test_restore_of_one_path_leaves_the_others(project: Path) -> None:
    point = saved()
    spoil(project)
    answer = forkpoint("restore", point, "--path", "notes.txt", "--yes", "--json")
    assert [item["path"] for item in answer.json["restored"]] == ["notes.txt"]
    assert (project / "notes.txt").exists()
    assert (project / "src/app.py").read_text() == "one\n2\nthree\nfour\n"


@pytest.mark.parametrize(
    "options",
    [["--files", "--both"], ["--conversation", "--path", "notes.txt"], ["--on-conflict", "mine"], ["--bogus"]],
)
def test_options_that_do_not_fit_are_told_in_one_line(project: Path, options: list[str]) -> None:
    answer = forkpoint("restore", saved(), *options, "--yes")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1 and answer.err.startswith("forkpoint: ")


def test_nothing_to_undo_is_refused(project: Path) -> None:
    saved()
    for command in ("undo", "redo"):
        answer = forkpoint(command, "--yes")
        assert answer.code == 3
        assert answer.err.count("\n") == 1


def test_labels_and_pins(project: Path) -> None:
    point = saved()
    assert forkpoint("label", point, "green").code == 0
    assert forkpoint("pin", point[:8]).code == 0
    (checkpoint,) = forkpoint("log", "--json").json["checkpoints"]
    assert (checkpoint["label"], checkpoint["pinned"]) == ("green", True)
    assert forkpoint("show", "green", "--json").json["checkpoint"]["id"] == point
    assert forkpoint("unpin", "green").code == 0
    assert forkpoint("label", point, "").code == 0
    (checkpoint,) = forkpoint("log", "--json").json["checkpoints"]
    assert (checkpoint["label"], checkpoint["pinned"]) == ("", False)
    undone = forkpoint("undo", "--yes")
    assert undone.code == 0
    assert undone.out.endswith("Only a mark changes; no file does.\nDone; no file had to change.\n")
    (checkpoint,) = forkpoint("log", "--json").json["checkpoints"]
    assert checkpoint["label"] == "green"


def test_log_of_a_path_lists_where_it_changed(project: Path) -> None:
    saved()
    spoil(project)
    second = saved()
    (project / "new.txt").write_text("newer\n")
    saved()
    found = forkpoint("log", "--path", "src", "--json").json
    assert [(item["checkpoint"]["id"], item["path"], item["status"]) for item in found] == [
        (second, "src/app.py", "modified")
    ]
    assert second[:8] in forkpoint("log", "--path", "src/app.py").out
    assert forkpoint("log", "--path", "run.sh", "--json").json == []


def test_status_where_nothing_records(project: Path) -> None:
    saved()
    answer = forkpoint("status")
    assert answer.code == 1
    assert "forkpoint install" in answer.out
    line = forkpoint("status", "--line")
    assert (line.code, len(line.lines)) == (1, 1)
    assert line.out.startswith("○ not recording: ")
    document = forkpoint("status", "--json").json
    assert (document["recording"], document["checkpoints"]) == (False, 1)


def test_a_sound_store_is_said_to_be_sound(project: Path) -> None:
    saved()
    assert forkpoint("verify").code == 0
    assert forkpoint("recover", "--yes").code == 0


def test_a_damaged_store_is_said_to_be_damaged(project: Path) -> None:
    saved()
    (pack,) = Path(os.environ["FORKPOINT_HOME"]).rglob("*.pack")
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    pack.write_bytes(data)
    answer = forkpoint("verify")
    assert answer.code == 1
    assert "✗" in answer.out


def test_options_may_stand_before_or_after_the_command(project: Path, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    before = forkpoint("-C", project, "--json", "save")
    after = forkpoint("save", "--json", "-C", project)
    assert before.code == after.code == 0
    assert set(before.json) == set(after.json)
    assert forkpoint("-C", project, "log").lines[0] == str(project)


def test_a_person_is_asked_what_goes_back(project: Path) -> None:
    point = saved()
    spoil(project)
    before = every_file(project)
    talk = Talk("restore", point, cwd=project)
    talk.until("Go back (files)? [y/N]")
    assert "src/app.py" in talk.seen
    assert every_file(project) == before
    talk.type("n\n")
    assert talk.close() == 3
    assert every_file(project) == before

    talk = Talk("restore", point, cwd=project)
    talk.until("[y/N]")
    talk.type("y\n")
    assert talk.close() == 0
    assert "Restored" in talk.seen and "forkpoint undo" in talk.seen
    assert every_file(project) != before


def test_when_a_file_changes_under_the_question_the_inventory_is_shown_again(project: Path) -> None:
    point = saved()
    spoil(project)
    talk = Talk("restore", point, cwd=project)
    talk.until("[y/N]")
    (project / "src/app.py").write_text("one\ntwo\nthree\nin this very moment\n")
    before = every_file(project)
    talk.type("y\n")
    talk.until("a file changed since this was shown")
    talk.until("Go back (files)? [y/N]: y\n", 0.1)
    talk.until("−1  src/app.py")
    assert every_file(project) == before
    talk.type("n\n")
    assert talk.close() == 3
    assert every_file(project) == before


def test_ctrl_c_at_a_question_changes_nothing(project: Path) -> None:
    point = saved()
    spoil(project)
    before = every_file(project)
    talk = Talk("restore", point, "--files", cwd=project)
    talk.until("[y/N]")
    talk.interrupt()
    assert talk.close() == 3
    assert every_file(project) == before


def test_a_named_folder_is_the_root_though_one_above_it_is_recorded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forkpoint("save")
    inner = project / "inner"
    inner.mkdir()
    (inner / "file").write_text("x")
    assert forkpoint("-C", inner, "save", "--json").json["files"] == 1
    assert forkpoint("-C", inner, "log").lines[0] == str(inner)
    (project / "other").mkdir()
    monkeypatch.chdir(project / "other")
    assert forkpoint("log").lines[0] == str(project)
