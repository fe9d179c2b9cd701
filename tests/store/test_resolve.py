"""What a person means by an id."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import AmbiguousId, UnknownId, UsageError
from forkpoint.store.resolve import parse_time

from ..builders.folders import make
from ..builders.recorded import Recorded


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(make(tmp_path / "shop", {"a": "1"}))


def test_the_beginning_of_a_label_is_enough(store: Store) -> None:
    saved = store.save(label="before the big change")
    store.save(label="after it")
    assert store.resolve("before the").point == saved.id


def test_a_label_that_begins_like_two_is_ambiguous(store: Store) -> None:
    store.save(label="try one")
    store.save(label="try two")
    with pytest.raises(AmbiguousId):
        store.resolve("try")


@pytest.mark.parametrize("digits", [2, 5, 8, 15])
def test_a_whole_label_goes_before_the_beginning_of_an_id(store: Store, digits: int) -> None:
    other = store.save()
    labelled = store.save(label=other.id[:digits])
    assert store.resolve(other.id[:digits]).point == labelled.id


def test_a_label_that_is_another_checkpoint_s_whole_id_is_ambiguous(store: Store) -> None:
    other = store.save()
    store.save(label=other.id)
    with pytest.raises(AmbiguousId):
        store.resolve(other.id)


def test_the_beginning_of_a_branch_s_name_is_enough(tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "shop")
    agent.asked("Fold continuation lines")
    agent.stops()
    store = agent.store()
    branch = store.tree().branches[0]
    assert store.resolve(branch.name[:6]).entry == branch.head


def test_a_session_is_named_by_an_unambiguous_beginning(tmp_path: Path) -> None:
    other, agent = Recorded(tmp_path / "shop"), Recorded(tmp_path / "shop")
    for one in (other, agent):
        one.asked("Hello")
        one.stops()
    store = agent.store()
    assert store.tree(agent.session.id[:13]).info.id == agent.session.id
    with pytest.raises(AmbiguousId):
        store.tree("")
    with pytest.raises(UnknownId):
        store.tree("nothing")


def test_checkpoints_of_a_session_without_a_file_are_a_session_to_look_at_and_go_back_to(tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "shop")
    agent.asked("Fix the parser")
    agent.runs("make", lambda root: make(root, {"a": "2"}))
    shutil.rmtree(Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects")
    store = agent.store()
    built = store.tree()
    assert [(info.id, info.title, bool(info.problem)) for info in store.sessions()] == [
        (agent.session.id, "Fix the parser", True)
    ]
    assert [point.reason for point in built.points] == ["prompt", "tool"]
    found = store.plan_restore(built.points[0].id, "files").inventory
    assert [(change.path, change.action) for change in found.restored] == [(b"a", "delete")]


@pytest.mark.parametrize("name", ["", " ", "@", "@25:99", "@24:00", "@12:60", "@2026-02-30"])
def test_what_is_neither_a_name_nor_a_time_is_said_to_be_none(store: Store, name: str) -> None:
    store.save(label="one")
    store.save()
    with pytest.raises(UsageError) as refused:
        store.resolve(name)
    assert "could be" not in str(refused.value)
    assert "at or before" not in str(refused.value)


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize(
    ("now", "text", "meant"),
    [
        ("2026-11-30 12:00:00", "yesterday", "2026-11-29 23:59:59"),
        ("2026-11-30 00:00:00", "yesterday", "2026-11-29 23:59:59"),
        ("2026-11-30 00:00:05", "23:59", "2026-11-29 23:59:59"),
        ("2026-11-30 00:00:05", "0:00", "2026-11-30 00:00:59"),
        ("2026-11-30 00:30:00", "2h", "2026-11-29 22:30:00"),
        ("2026-03-08 10:00:00", "23:30", "2026-03-07 23:30:59"),
        ("2026-11-01 10:00:00", "23:30", "2026-10-31 23:30:59"),
        ("2026-03-01 10:00:00", "23:30:07", "2026-02-28 23:30:07"),
        ("2026-11-30 10:00:00", "2026-11-01", "2026-11-01 23:59:59"),
        ("2026-11-30 10:00:00", "2026-12-31", "2026-12-31 23:59:59"),
        ("2026-11-30 10:00:00", "2026-11-29 10:15", "2026-11-29 10:15:59"),
    ],
)
def test_times_are_those_of_the_clock_on_the_wall(now: str, text: str, meant: str) -> None:
    moment = parse_time(text, time.mktime(time.strptime(now, "%Y-%m-%d %H:%M:%S")))
    assert time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment)) == meant


@pytest.mark.parametrize("text", ["", "24:00", "12:60", "9" * 5000 + "h", "2026-02-30", "-1h", "1h2", "noon", "12"])
def test_what_is_no_time_is_a_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_time(text, time.time())
