"""A conversation is one session, whatever the agent deletes of its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.model import SessionTree

from ...builders.folders import make
from ...builders.recorded import Recorded


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """Two turns, each with a call of the shell."""
    agent = Recorded(tmp_path / "shop")
    agent.starts()
    for prompt in ("Add a page", "Fold the lines"):
        agent.asked(prompt)
        agent.runs("make", lambda root, name=prompt: make(root, {name: "1\n"}))
        agent.stops()
    return agent


def forked(agent: Recorded) -> Recorded:
    """Goes back to before the second prompt and asks something else, in the branch that this makes."""
    store = agent.store()
    point = [point for point in store.tree().points if point.reason == "prompt"][1]
    result = store.restore(store.plan_restore(point.id, "both"))
    assert result.fork is not None
    other = agent.goes_on(result.fork.session)
    other.asked("Another way")
    other.runs("make", lambda root: make(root, {"other": "1\n"}))
    other.stops()
    return other


def rows(built: SessionTree) -> tuple[str, set[str], set[str], list[str]]:
    names = sorted(branch.name for branch in built.branches)
    return built.info.id, {entry.id for entry in built.entries}, {point.id for point in built.points}, names


@pytest.mark.parametrize("deleted", ["original", "fork", "both"])
def test_what_the_agent_deleted_of_a_conversation_stays_in_its_tree(agent: Recorded, deleted: str) -> None:
    other = forked(agent)
    whole = agent.store().tree()
    for name, file in (("original", agent.session.file), ("fork", other.session.file)):
        if deleted in (name, "both"):
            file.unlink()
    store = agent.store()
    assert rows(store.tree()) == rows(whole)
    assert "deleted" in store.sessions()[0].problem
    assert all(store.blocks(entry) for entry in store.tree().entries if entry.kind == "prompt")
    assert store.plan_fork(whole.points[-1].id).fork.data


def test_a_fork_that_was_taken_back_stays_away_though_the_store_read_it(agent: Recorded) -> None:
    store = agent.store()
    before = rows(store.tree())
    point = [point for point in store.tree().points if point.reason == "prompt"][1]
    store.fork(store.plan_fork(point.id))
    assert len(store.tree().branches) == 2
    store.undo(store.plan_undo())
    assert rows(agent.store().tree()) == before
    store.label(point.id, "a later operation")
    shutil.rmtree(agent.session.home / "projects")
    assert rows(Store.open(agent.project).tree()) == before


def test_what_was_cut_off_a_session_s_file_stays_in_its_tree(agent: Recorded) -> None:
    """Some other program cuts the file back to its first turn, and the agent goes on from there."""
    before = agent.store().tree()
    lines = agent.session.file.read_bytes().splitlines(keepends=True)
    second = next(n for n, line in enumerate(lines) if b"Fold the lines" in line and b'"type":"user"' in line)
    agent.session.file.write_bytes(b"".join(lines[:second]))
    agent.session.leaf = next(
        entry for entry in before.entries if "Fold" in entry.text and entry.kind == "prompt"
    ).parent
    agent.asked("Another way")
    agent.stops()
    built = agent.store().tree()
    assert {entry.id for entry in before.entries} <= {entry.id for entry in built.entries}
    assert [branch.state for branch in built.branches] == ["active", "left"]
    store = agent.store()
    tree = store.tree()
    assert all(store.blocks(entry) for entry in tree.entries if entry.kind in ("prompt", "tool_call"))
    fork = store.fork(store.plan_fork(next(branch.head for branch in tree.branches if branch.state == "left")))
    assert "Fold the lines" in (agent.session.file.parent / f"{fork.session}.jsonl").read_text()
    assert all(finding.ok for finding in store.verify())
    agent.session.file.unlink()
    assert {entry.id for entry in agent.store().tree().entries} >= {entry.id for entry in built.entries}
