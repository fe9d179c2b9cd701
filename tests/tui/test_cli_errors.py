"""What goes wrong is told in one line that says what to do, with the right exit code, and nothing has changed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.builders.cli import COMMAND, Answer, every_file, forkpoint, process, without


def store() -> Path:
    return Path(os.environ["FORKPOINT_HOME"])


def assert_one_line(answer: Answer, code: int, *words: str) -> None:
    assert answer.code == code, answer
    assert answer.err.startswith("forkpoint: ")
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err


LOOKING = [
    ["log"],
    ["sessions"],
    ["branches"],
    ["show", "now"],
    ["diff", "abcdef"],
    ["operations"],
    ["verify"],
    ["log", "--path", "a.txt"],
]
ACTING = [
    ["restore", "abcdef", "--files", "--yes"],
    ["fork", "abcdef"],
    ["undo", "--yes"],
    ["redo", "--yes"],
    ["label", "abcdef", "x"],
    ["pin", "abcdef"],
    ["unpin", "abcdef"],
]


@pytest.mark.parametrize("command", [*LOOKING, *ACTING, []], ids=" ".join)
def test_a_folder_without_anything_recorded(project: Path, command: list[str]) -> None:
    assert_one_line(forkpoint(*command), 1, "nothing is recorded here", str(project), "forkpoint save")
    assert not store().exists(), "opening writes nothing"


@pytest.mark.parametrize("command", [["show", "abcdef"], ["diff", "abcdef"], *ACTING[:2], *ACTING[4:]], ids=" ".join)
def test_an_unknown_id(project: Path, command: list[str]) -> None:
    forkpoint("save")
    before = every_file(project)
    assert_one_line(forkpoint(*command), 2, "abcdef", "forkpoint log")
    assert every_file(project) == before
    assert forkpoint("operations", "--json").json == []


def test_an_id_that_could_be_several(project: Path) -> None:
    first, second = (forkpoint("save", "-m", "twice", "--json").json["id"] for _ in range(2))
    answer = forkpoint("restore", "twice", "--files", "--yes")
    assert_one_line(answer, 2, '"twice"', first, second)


def test_an_unknown_session(project: Path) -> None:
    forkpoint("save")
    assert_one_line(forkpoint("log", "abcdef"), 2, "abcdef", "forkpoint sessions")


@pytest.mark.parametrize("command", [["save"], ["status"], ["log"], ["doctor"], []], ids=" ".join)
def test_a_folder_that_is_not_there(project: Path, command: list[str]) -> None:
    assert_one_line(forkpoint("-C", "gone", *command), 1, "gone")
    assert not (project / "gone").exists()


def test_the_home_folder_and_the_root_of_the_disk_are_refused(machine: Path) -> None:
    for folder in (machine, Path("/")):
        assert_one_line(forkpoint("-C", folder, "save"), 3, str(folder), "project folder")
    assert not store().exists()


def test_a_store_that_cannot_be_made(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKPOINT_HOME", str(project / "a.txt" / "store"))
    before = every_file(project)
    assert_one_line(forkpoint("save"), 1, "store", "a.txt")
    assert every_file(project) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_store_that_is_read_only(project: Path) -> None:
    forkpoint("save")
    closed = [store(), *(path for path in store().rglob("*") if path.is_dir())]
    for folder in closed:
        folder.chmod(0o500)
    try:
        (project / "a.txt").write_text("changed\n")
        assert_one_line(forkpoint("save"), 1, "store")
    finally:
        for folder in closed:
            folder.chmod(0o700)


def test_a_machine_without_git(project: Path, tmp_path: Path) -> None:
    env = without(tmp_path / "bin", "git")
    answer = process("save", cwd=project, env=env)
    assert_one_line(answer, 1, "git", "install git")
    answer = process("doctor", cwd=project, env=env)
    assert answer.code == 1
    assert "git" in answer.out
    forkpoint("install", "claude", "--yes")
    assert process("status", "--line", cwd=project).code == 0
    answer = process("status", "--line", cwd=project, env=env)
    assert answer.code == 1
    assert "git was not found" in answer.out


def test_a_folder_whose_time_of_birth_nobody_tells_now_is_the_one_it_was(project: Path, tmp_path: Path) -> None:
    point = forkpoint("save", "--json").json["id"]
    (project / "new").write_text("so that the folder changed since")
    answer = process("show", point, cwd=project, env=without(tmp_path / "bin", "stat"))
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["--bogus"], "no such option"),
        (["lgo"], "no such command"),
        (["show"], "missing argument"),
        (["log", "--bogus"], "see forkpoint log --help"),
        (["show", "a", "b"], "unexpected extra argument"),
        (["diff", "a", "-U", "many"], "many"),
    ],
)
def test_wrong_usage(project: Path, command: list[str], words: str) -> None:
    answer = forkpoint(*command)
    assert_one_line(answer, 2)
    assert words in answer.err.lower()
    assert answer.out == ""


@pytest.mark.parametrize(
    ("command", "code"), [(["log"], 1), (["log", "--bogus"], 2), (["-C", "/", "save"], 3), (["lgo"], 2), ([], 1)]
)
def test_an_error_as_a_document(project: Path, command: list[str], code: int) -> None:
    answer = forkpoint("--json", *command)
    assert (answer.code, answer.err) == (code, "")
    document = json.loads(answer.out)
    assert set(document) == {"error", "exit"}
    assert set(document["error"]) == {"what", "path", "todo"}
    assert document["exit"] == code


def test_a_broken_pipe_is_quiet(project: Path) -> None:
    forkpoint("save")
    command = f'{shlex.join(COMMAND)} log --json | head -c 1 >/dev/null; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_the_command_line_is_reached_as_a_script(project: Path) -> None:
    assert process("save", "--json", cwd=project).json["files"] == 1
    assert process("--version").out.startswith("forkpoint ")


@pytest.mark.parametrize(("path", "words"), [("", "empty"), ("../other", "outside of"), ("missing", "no such path")])
def test_a_path_that_means_nothing_restores_nothing(project: Path, path: str, words: str) -> None:
    forkpoint("save", "-m", "first")
    (project / "a.txt").write_text("b\n")
    assert_one_line(forkpoint("restore", "first", "--path", path, "--yes"), 2, words)
    assert (project / "a.txt").read_text() == "b\n"
