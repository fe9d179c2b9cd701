"""A fork that was killed in the middle is no branch; what its agent made of it by then is one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import operations
from forkpoint.store.api import Store
from forkpoint.store.errors import StoreUnwritable
from forkpoint.store.restore import journal

from ...builders.children import child, ended
from ...builders.folders import make
from ...builders.recorded import Recorded


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    agent = Recorded(tmp_path / "shop")
    agent.starts()
    for number in range(2):
        agent.asked(f"Prompt {number}")
        agent.runs("make", lambda root, number=number: make(root, {"a": f"{number}\n"}))
        agent.stops()
    return agent


def killed_at(module: object, name: str, act: Callable[[], object], patch: pytest.MonkeyPatch) -> None:
    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with patch.context() as patched:
        patched.setattr(module, name, die)
        assert ended([child(act)]) == [-signal.SIGKILL]


def forks(agent: Recorded) -> list[Path]:
    return [file for file in agent.session.file.parent.glob("*.jsonl") if file != agent.session.file]


def second_prompt(store: Store) -> str:
    return [point for point in store.tree().points if point.reason == "prompt"][-1].id


def fork(agent: Recorded) -> None:
    store = agent.store()
    store.fork(store.plan_fork(second_prompt(store), name="other"))


def go_back(agent: Recorded) -> None:
    store = agent.store()
    store.restore(store.plan_restore(second_prompt(store), "both"))


@pytest.mark.parametrize("begin", [fork, go_back])
def test_what_was_killed_before_it_was_recorded_goes_with_the_next_command(
    agent: Recorded, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Recorded], None]
) -> None:
    before = [branch.name for branch in agent.store().tree().branches]
    killed_at(*((operations, "append") if begin is fork else (journal, "begin")), lambda: begin(agent), monkeypatch)
    assert len(forks(agent)) == 1
    assert [branch.name for branch in agent.store().tree().branches] == before
    assert not forks(agent)
    begin(agent)
    assert len(forks(agent)) == 1
    assert len(agent.store().tree().branches) == len(before) + 1


def test_a_fork_that_its_agent_went_on_with_is_recorded_as_the_fork_that_it_is(
    agent: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(operations, "append", lambda: fork(agent), monkeypatch)
    agent.goes_on(forks(agent)[0].stem).asked("Elsewhere")
    assert [act.kind for act in agent.store().operations()] == ["fork"]
    assert "other" in [branch.name for branch in agent.store().tree().branches]
    assert len(forks(agent)) == 1


def test_with_a_journal_the_branch_goes_or_stays_with_the_files(
    agent: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(operations, "append", lambda: go_back(agent), monkeypatch)
    agent.store().tree()
    assert len(forks(agent)) == 1
    agent.store().recover(back=False)
    assert len(forks(agent)) == 1
    assert [branch.state for branch in agent.store().tree().branches].count("active") == 1
    assert [act.kind for act in agent.store().operations()] == ["restore"]


def test_a_fork_that_cannot_be_recorded_leaves_nothing(agent: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreUnwritable("the store cannot be written", path="objects.git", todo="free space")

    with monkeypatch.context() as patched:
        patched.setattr(operations, "append", full)
        with pytest.raises(StoreUnwritable):
            fork(agent)
    assert not forks(agent)
    assert not agent.store().operations()
