"""Where the data is: never in the project, and one damaged workspace is no trouble of the others."""

from __future__ import annotations

import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import ForkpointError
from forkpoint.store.home import data_folder

from ..builders.cli import process
from ..builders.folders import make


def test_without_any_home_folder_nothing_is_put_into_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "FORKPOINT_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(ForkpointError, match="set FORKPOINT_HOME"):
        data_folder()


@pytest.mark.skipif("sys.platform != 'linux'", reason="only there the variable counts")
def test_a_data_folder_that_is_not_absolute_is_passed_over(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORKPOINT_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert data_folder() == machine / ".local" / "share" / "forkpoint"


@pytest.mark.parametrize("damage", ["{", '{"roots": [{}]}', "[]"])
def test_a_damaged_workspace_is_told_and_the_others_work(tmp_path: Path, damage: str) -> None:
    one, other = (Store.open(make(tmp_path / name, {"a": "1"})) for name in ("one", "other"))
    one.save()
    lists = list((one.home / "workspaces").glob("*/roots.json"))
    lists[0].write_text(damage)
    other.save()
    assert len(other.tree().points) == 1
    told = [finding for finding in other.doctor() if str(lists[0]) in finding.what]
    assert [finding.ok for finding in told] == [False]


def test_every_command_says_which_list_of_roots_is_lost_and_what_to_do(tmp_path: Path) -> None:
    one, other = (Store.open(make(tmp_path / name, {"a": "1"})) for name in ("one", "other"))
    one.save()
    roots = next((one.home / "workspaces").glob("*/roots.json"))
    other.save()
    roots.write_text("{")
    for command in (["save"], ["status"], ["restore", "now", "--files", "--yes"]):
        answer = process(*command, cwd=tmp_path / "other")
        lines = [line for line in answer.err.splitlines() if str(roots) in line]
        assert len(lines) == 1 and "bring that file back" in lines[0], (command, answer)
    roots.unlink()
    assert str(roots) in process("log", cwd=tmp_path / "one").err


def test_files_among_the_workspaces_are_passed_over(tmp_path: Path) -> None:
    store = Store.open(make(tmp_path / "shop", {"a": "1"}))
    store.save()
    (store.home / "workspaces" / ".DS_Store").write_bytes(b"\0")
    assert len(Store.open(tmp_path / "shop").tree().points) == 1


def test_a_folder_that_was_deleted_under_the_shell_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = 'cd "$1"; rmdir "$1"; for word in save log status; do "$2" -c "$3" $word; echo $?; done'
    program = "from forkpoint.tui.cli import main; main()"
    done = subprocess.run(
        ["sh", "-c", script, "sh", tmp_path / "gone", sys.executable, program], capture_output=True, text=True
    )
    assert done.stdout.split() == ["1", "1", "1"]
    assert set(done.stderr.splitlines()) == {
        "forkpoint: the current folder is not there any more; go to one that is, or name one: -C"
    }
