"""Checkpoints whose files were deleted: the tree shows where they stood, and commands say what became of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from forkpoint.store.api import Store

from tests.builders.cli import forkpoint
from tests.builders.recorded import Recorded


@pytest.fixture
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three checkpoints, the second of them deleted."""
    monkeypatch.chdir(tmp_path)
    found: list[str] = []
    for content in "123":
        (tmp_path / "a").write_text(content)
        found.append(forkpoint("save", "--json", "-m", f"number {content}").json["id"])
    Store.open(tmp_path).delete(found[1:2], anyway=True)
    return found


def test_log_shows_where_it_stood(points: list[str]) -> None:
    rows = [line for line in forkpoint("log").lines if "number" in line]
    assert [line.split()[1] for line in rows] == [point[:8] for point in points]
    assert ["files deleted" in line for line in rows] == [False, True, False]
    document = forkpoint("log", "--json").json
    assert [point["id"] for point in document["checkpoints"]] == points[::2]
    (gone,) = document["gone"]
    assert (gone["id"], gone["gone_by"], gone["gone"] > gone["time"]) == (points[1], "delete", True)


def test_show_says_when_its_files_went(points: list[str]) -> None:
    answer = forkpoint("show", points[1][:8])
    assert answer.code == 0
    assert re.match(r"Its files were deleted on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", answer.lines[-1])
    document = forkpoint("show", points[1], "--json").json
    assert (document["checkpoint"]["id"], document["changes"]) == (points[1], None)


@pytest.mark.parametrize("command", [["diff"], ["restore", "--files", "--yes"], ["fork"], ["pin"], ["label"]])
def test_other_commands_refuse_it_and_say_why(points: list[str], command: list[str]) -> None:
    name, *options = command
    answer = forkpoint(name, points[1], *options, *(["again"] if name == "label" else []))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("forkpoint: the files of this checkpoint were deleted on ")


def test_a_turn_whose_checkpoint_went_stands_in_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Recorded(tmp_path / "shop")
    monkeypatch.chdir(agent.project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    agent.stops()
    agent.asked("Go on")
    tree = agent.store().tree()
    (call,) = [point for point in tree.points if point.reason == "tool" and point.side == "after"]
    agent.store().delete([call.id], anyway=True)
    (line,) = [line for line in forkpoint("log").lines if "Write b" in line]
    assert call.id[:8] in line and "files deleted" in line
