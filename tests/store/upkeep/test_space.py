"""The disk is never filled: what is about to be stored fits, or is refused before it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store import trouble
from forkpoint.store.api import Store
from forkpoint.store.errors import ForkpointError, StoreUnwritable
from forkpoint.store.home import data_folder
from forkpoint.store.upkeep import space

from ...builders.cli import process
from ...builders.folders import make
from ...builders.recorded import Recorded

MB = 1_000_000


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "1\n"}) / "shop"


def leave(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Lets the store have a disk of its own on which so many bytes may be written."""
    taken = stored()
    monkeypatch.setenv(space.VARIABLE, str(1000 * MB))
    monkeypatch.setattr(space, "free", lambda folder: 1000 * MB + room - (stored() - taken))


def stored() -> int:
    return sum(file.stat().st_size for file in data_folder().rglob("*") if file.is_file())


def test_one_gibibyte_or_two_percent_is_left_whichever_is_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(space.VARIABLE)
    found = os.statvfs(tmp_path)
    assert space.least(tmp_path) == max(1 << 30, found.f_blocks * found.f_frsize // 50)
    monkeypatch.setattr(space, "SHARE", 1 << 60)
    assert space.least(tmp_path / "not" / "there" / "yet") == 1 << 30


def test_the_settings_may_say_how_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(space.VARIABLE)
    (tmp_path / "settings.toml").write_text("[limits]\nleast_free = 5000\n")
    assert space.least(tmp_path) == 5000
    monkeypatch.setenv(space.VARIABLE, "7")
    assert space.least(tmp_path) == 7
    monkeypatch.setenv(space.VARIABLE, "much")
    with pytest.raises(ForkpointError, match="FORKPOINT_LEAST_FREE must be a number of bytes"):
        space.least(tmp_path)


def test_a_save_that_would_leave_too_little_is_refused_and_says_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(project)
    first = store.save().id
    leave(monkeypatch, -MB)
    make(project, {"a": "2\n"})
    with pytest.raises(StoreUnwritable) as told:
        store.save()
    assert told.value.what == "too little space is left on the disk"
    assert "are free, and forkpoint leaves" in told.value.todo and "forkpoint usage" in told.value.todo
    assert [point.id for point in store.tree("files").points] == [first]
    monkeypatch.setenv(space.VARIABLE, str(1 << 60))
    answer = process("-C", project, "save")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert answer.err.startswith("forkpoint: too little space is left on the disk: ")
    (finding,) = [finding for finding in store.doctor() if "free for the store" in finding.what]
    assert not finding.ok


@pytest.mark.parametrize("size", [20 * MB, 3 * MB])
def test_a_file_that_does_not_fit_is_refused_before_it_is_streamed(
    project: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    store = Store.open(project)
    store.save()
    (project / "big").write_bytes(os.urandom(size))
    leave(monkeypatch, 2 * MB)
    with pytest.raises(StoreUnwritable, match="too little space"):
        store.save()
    assert stored() < MB
    monkeypatch.setenv(space.VARIABLE, "0")
    assert store.save().files == 2


def test_many_small_files_that_do_not_fit_together_are_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        (project / f"small{number}").write_bytes(os.urandom(100_000))
    leave(monkeypatch, 6 * MB)
    with pytest.raises(StoreUnwritable, match="too little space"):
        Store.open(project).save()


def test_a_guard_that_does_not_fit_stops_the_restore_before_the_first_write(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(project)
    first = store.save().id
    make(project, {"a": os.urandom(2 * MB).hex()})
    before = (project / "a").read_bytes()
    leave(monkeypatch, 2 * MB)
    plan = store.plan_restore(first, "files", everything=True)
    with pytest.raises(StoreUnwritable, match="too little space"):
        store.restore(plan)
    assert (project / "a").read_bytes() == before
    assert not store.interrupted and not store.operations()


def test_a_hook_writes_down_that_the_disk_is_nearly_full(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Recorded(project)
    agent.starts()
    leave(monkeypatch, -MB)
    agent.writes("b", "2\n")
    (told,) = trouble.open_troubles(data_folder(), os.path.realpath(project))
    assert told.cause == "too little space is left on the disk"
    monkeypatch.setenv(space.VARIABLE, "0")
    agent.writes("b", "3\n")
    assert not trouble.open_troubles(data_folder(), os.path.realpath(project))


def test_a_conversation_that_does_not_fit_is_looked_at_all_the_same(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Recorded(project)
    agent.asked("Make it")
    agent.writes("b", "1\n")
    leave(monkeypatch, -MB)
    assert [entry.text for entry in agent.store().tree().entries if entry.kind == "prompt"] == ["Make it"]
    assert not list((data_folder() / "workspaces").rglob("refs/transcripts/*"))
