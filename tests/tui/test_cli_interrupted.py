"""A restore that was killed: what the commands say of it, path by path, until somebody settles it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.tui.words import INTERRUPTED, count

from ..builders.cli import Answer, forkpoint, process
from ..builders.folders import seen
from ..builders.scenes import interrupted
from ..builders.stage import Stage, made_stage


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    found = made_stage(tmp_path / "stage", monkeypatch)
    interrupted(found)
    return found


def test_status_names_every_path_and_how_it_stands(stage: Stage) -> None:
    told = forkpoint("-C", stage.project, "status", "--json").json
    states = {item["path"]: item["state"] for item in told["unsettled"]}
    now = stage.files()
    for path, thing in stage.before.items() | stage.asked.items():
        if stage.before.get(path) != stage.asked.get(path) and now.get(path) == thing:
            assert states[path.decode()] == ("as before" if thing == stage.before.get(path) else "as asked")
    assert set(states.values()) == {"as before", "as asked"}
    text = forkpoint("-C", stage.project, "status").out
    assert 'a restore was interrupted (went back to "then"' in text
    assert all(path in text for path in states)


def test_recover_names_every_path_before_it_asks(stage: Stage) -> None:
    present = seen(stage.project)
    told = forkpoint("-C", stage.project, "recover")
    assert told.code == 3
    assert "as before" in told.out and "as asked" in told.out
    assert seen(stage.project) == present
    counted = Counter(how for how in ("as before", "as asked") for _ in range(told.out.count(f"  {how}\n")))
    sentence = "; ".join(f"{count(number, 'path')} {how}" for how, number in counted.most_common())
    assert f"\n{sentence}\n" in told.out
    assert forkpoint("-C", stage.project, "recover", "--yes").code == 0
    assert seen(stage.project) == stage.before


@pytest.mark.parametrize("command", ["save", "save --yes", "log", "diff then", "operations", "usage", "pin then"])
@pytest.mark.parametrize("call", [forkpoint, process])
def test_every_command_says_so_until_it_is_settled(stage: Stage, command: str, call: Callable[..., Answer]) -> None:
    told = (
        call("-C", stage.project, *command.split()) if call is forkpoint else call(*command.split(), cwd=stage.project)
    )
    assert told.err == f"{INTERRUPTED}\n"
    forkpoint("-C", stage.project, "recover", "--yes")
    assert forkpoint("-C", stage.project, *command.split()).err == ""


def test_no_other_command_settles_it_and_a_save_works_at_once(stage: Stage) -> None:
    present = seen(stage.project)
    assert forkpoint("-C", stage.project, "save").code == 0
    refused = forkpoint("-C", stage.project, "restore", "then", "--files", "--yes", "--json")
    assert refused.code == 3
    assert json.loads(refused.out)["error"]["todo"] == "forkpoint recover"
    assert seen(stage.project) == present


def test_once_settled_nothing_is_said_any_more(stage: Stage) -> None:
    forkpoint("-C", stage.project, "recover", "--forward", "--yes")
    told = forkpoint("-C", stage.project, "status", "--json").json
    assert (told["interrupted"], told["unsettled"]) == ("", [])
    assert seen(stage.project) == stage.asked
