"""A command that has to wait says for whom, goes on when it can, and gives up naming who is in its way."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.home import data_folder

from tests.builders.children import elsewhere
from tests.builders.cli import COMMAND, Talk, forkpoint, process

SAYS = "waiting for forkpoint restore (pid {}, since "


@pytest.fixture
def project(project: Path) -> Path:
    assert forkpoint("save").code == 0
    return project


def at_work(project: Path) -> AbstractContextManager[int]:
    """Another process restores; gives its id."""
    place = roots.find(os.path.realpath(project), data_folder())
    assert place is not None
    return elsewhere(lambda: place.locked("restore"))


def limited(seconds: int) -> None:
    (data_folder() / "settings.toml").write_text(f"[limits]\nwait = {seconds}\n")


def test_it_gives_up_after_the_limit_and_names_who_is_at_work(project: Path) -> None:
    limited(2)
    with at_work(project) as pid:
        answer = process("save", cwd=project)
        assert (answer.code, answer.out) == (3, "")
        waiting, failed = answer.err.splitlines()
        assert waiting.startswith(f"forkpoint: {SAYS.format(pid)}")
        assert failed.startswith(f"forkpoint: forkpoint restore (pid {pid}, since ")
        assert failed.endswith("is at work on this store; try again when it has finished")


@pytest.mark.parametrize("command", [["save"], ["diff", "now"]], ids=" ".join)
def test_with_json_its_output_is_one_document(project: Path, command: list[str]) -> None:
    limited(2)
    with at_work(project) as pid:
        answer = process(*command, "--json", cwd=project)
        assert answer.code == 3
        assert f"forkpoint restore (pid {pid}" in json.loads(answer.out)["error"]["what"]
        assert answer.err.startswith(f"forkpoint: {SAYS.format(pid)}")


def test_it_goes_on_when_the_other_has_finished(project: Path) -> None:
    with at_work(project) as pid:
        command = [*COMMAND, "save", "--json"]
        waiting = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith(f"forkpoint: {SAYS.format(pid)}")
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, err) == (0, "")
    assert json.loads(out)["files"] == 1


def test_on_a_terminal_the_line_is_gone_when_it_goes_on(project: Path) -> None:
    with at_work(project) as pid:
        talk = Talk("save", cwd=project)
        talk.until(SAYS.format(pid))
    assert talk.close() == 0
    assert "\r\x1b[K" in talk.seen.partition(SAYS.format(pid))[2]
    assert talk.seen.rstrip().endswith("1 file saved")


def test_what_only_looks_at_checkpoints_waits_for_nobody(project: Path) -> None:
    limited(0)
    point = forkpoint("save", "--json").json["id"]
    with at_work(project):
        for command in (["log", "files", "--json"], ["show", point, "--json"], ["diff", point, point, "--json"]):
            answer = process(*command, cwd=project)
            assert (answer.code, answer.err) == (0, "")
            assert json.loads(answer.out)
