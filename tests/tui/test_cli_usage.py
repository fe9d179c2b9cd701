"""`forkpoint usage`: sentences for a person, stable keys for a script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.builders.cli import forkpoint, keys
from tests.builders.recorded import Recorded


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    agent = Recorded(tmp_path / "shop")
    monkeypatch.chdir(agent.project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    for size in (20_000, 30_000):
        (agent.project / "big [1].bin").write_bytes(os.urandom(size))
        forkpoint("save", "-m", f"with {size}")
    agent.store().tree()
    return agent.project


def test_it_names_paths_points_and_sessions(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = forkpoint("usage")
    assert answer.code == 0
    assert answer.lines[0] == str(project)
    assert answer.lines[1].startswith("The store of this folder takes ") and answer.lines[1].endswith(" are free.")
    parts = answer.out.split("\n\n")
    assert [part.splitlines()[0] for part in parts[1:]] == [
        "Paths, each with the line for .forkpointignore that leaves it out from now on",
        "Checkpoints, by what would be freed if only this one went",
        "Conversations",
    ]
    assert parts[1].splitlines()[1].split(None, 4) == ["50.0", "kB", "2", "versions", "/big \\[1].bin"]
    assert '"with 30000"' in parts[2].splitlines()[1]
    assert parts[3].splitlines()[1].endswith("Make it")
    assert max(map(len, answer.lines[1:])) <= 80


def test_the_document(project: Path) -> None:
    document = forkpoint("usage", "--json").json
    assert set(document) == {"total", "workspace", "free", "paths", "points", "sessions"}
    assert keys(document["paths"]) == {"path", "folder", "bytes", "alone", "versions", "ignore_line"}
    assert keys(document["points"]) == {"id", "frees", "time", "reason", "label", "pinned"}
    assert keys(document["sessions"]) == {"id", "agent", "title", "bytes"}
    assert document["points"][0]["label"] == "with 30000"


def test_where_nothing_is_recorded_it_says_so(tmp_path: Path) -> None:
    answer = forkpoint("-C", tmp_path, "usage")
    assert (answer.code, answer.out) == (1, "")
    assert "nothing is recorded here" in answer.err
