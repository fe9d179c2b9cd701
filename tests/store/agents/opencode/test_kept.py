"""What the store keeps of OpenCode's sessions: deleted messages, sessions, and the whole database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.conversation.listing import DELETED
from forkpoint.store.errors import Refused
from forkpoint.store.model import SessionTree

from tests.builders.opencode import OpenCode, OpenCodeSession


@pytest.fixture
def session(machine: Path, project: Path) -> OpenCodeSession:
    """Of a version without an event log, recorded here."""
    opencode = OpenCode(machine / ".local" / "share" / "opencode", logs=False, snapshots=False)
    made = opencode.session(project)
    made.turn("One", "First.")
    made.turn("Two", "Second.", made.shell("true"))
    return made


@pytest.fixture
def store(session: OpenCodeSession) -> Store:
    found = Store.open(session.cwd)
    found.save()
    found.tree()
    return found


def branches(tree: SessionTree) -> dict[str, list[str]]:
    """The texts of each branch from the beginning, by its state."""
    by_id = {entry.id: entry for entry in tree.entries}
    found: dict[str, list[str]] = {}
    for branch in tree.branches:
        at: str | None = branch.head
        path: list[str] = []
        while at is not None:
            path.append(by_id[at].text)
            at = by_id[at].parent
        found[branch.state] = path[::-1]
    return found


def test_what_a_prompt_after_a_revert_deleted_is_a_branch_of_its_own_from_then_on(
    store: Store, session: OpenCodeSession
) -> None:
    session.revert(session.prompts[1])
    assert branches(store.tree())["active"][-1].startswith("Reverted")
    session.clean_up()
    session.turn("Instead", "Other.")
    built = store.tree()
    both = {
        "active": ["One", "First.", "Instead", "Other."],
        "left": ["One", "First.", "Two", "I work.", "bash true", "(no output)", "Second."],
    }
    assert branches(built) == both == branches(store.tree())
    left = next(entry for entry in built.entries if entry.text == "Second.")
    assert [block.text for block in store.blocks(left)] == ["Second."]
    session.turn("More", "Yes.")
    assert branches(Store.open(session.cwd).tree())["left"][-1] == "Second."


def test_a_session_that_opencode_deleted_is_browsed_and_forked_from_the_store(
    store: Store, session: OpenCodeSession
) -> None:
    before = store.tree()
    session.opencode.run("DELETE FROM session")
    session.opencode.run("DELETE FROM message")
    session.opencode.run("DELETE FROM part")
    (info, _) = store.sessions()
    assert (info.id, info.problem) == (session.id, DELETED)
    built = store.tree(session.id)
    assert built.entries == before.entries
    second = next(entry for entry in built.entries if entry.text == "Second.")
    assert store.blocks(second)[0].text == "Second."
    made = store.fork(store.plan_fork(second.id))
    assert made.command[:2] == ("sh", "-c")
    (waiting,) = (session.opencode.home / "forkpoint").iterdir()
    assert waiting.name == f"{made.session}.json"
    assert made.session in store.tree(session.id).info.ids


def test_the_database_may_go_as_a_whole(store: Store, session: OpenCodeSession) -> None:
    before = store.tree().entries
    for file in session.opencode.home.glob("opencode.db*"):
        file.unlink()
    assert Store.open(session.cwd).tree(session.id).entries == before


def test_a_fork_is_undone_and_redone_until_opencode_has_it(store: Store, session: OpenCodeSession) -> None:
    point = store.resolve(session.prompts[1])
    made = store.fork(store.plan_fork(point.entry or "", name="alt"))
    file = session.opencode.home / "forkpoint" / f"{made.session}.json"
    names = [branch.name for branch in store.tree().branches]
    assert "alt" in names
    store.undo(store.plan_undo())
    assert not file.exists()
    assert "alt" not in [branch.name for branch in store.tree().branches]
    store.redo(store.plan_redo())
    assert file.exists() and os.stat(file).st_mode & 0o777 == 0o600
    OpenCodeSession(session.opencode, session.cwd, id=made.session)
    with pytest.raises(Refused, match="continued"):
        store.undo(store.plan_undo())
    assert file.exists()
