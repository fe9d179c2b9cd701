"""Whose change it is (rule 15), when calls run side by side and others take checkpoints in the middle of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store.model import Inventory, PathChange

from ...builders.folders import make
from ...builders.recorded import Recorded

SHELL = {"tool_name": "Bash", "tool_input": {"command": "make"}}


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """A session whose first prompt was asked."""
    found = Recorded(make(tmp_path, {"shop/a.txt": "one\n", "shop/b.txt": "one\n"}) / "shop")
    found.starts()
    found.asked("Change them")
    return found


def back_to_the_prompt(agent: Recorded) -> Inventory:
    store = agent.store()
    built = store.tree(agent.session.id)
    return store.plan_restore(next(point.id for point in built.points if point.reason == "prompt"), "files").inventory


def paths(changes: tuple[PathChange, ...]) -> list[bytes]:
    return [change.path for change in changes]


def test_a_checkpoint_in_the_middle_of_a_call_takes_nothing_from_the_call(agent: Recorded) -> None:
    def work(root: Path) -> None:
        make(root, {"a.txt": "two\n"})
        agent.store().save()
        make(root, {"b.txt": "two\n"})

    agent.runs("make", work)
    assert paths(back_to_the_prompt(agent).restored) == [b"a.txt", b"b.txt"]


def test_a_checkpoint_at_the_very_end_of_a_call_takes_nothing_from_it_either(agent: Recorded) -> None:
    def work(root: Path) -> None:
        make(root, {"a.txt": "two\n"})
        agent.store().save()

    agent.runs("make", work)
    assert paths(back_to_the_prompt(agent).restored) == [b"a.txt"]


def test_what_a_call_wrote_before_the_next_one_of_its_batch_began_is_the_sessions(agent: Recorded) -> None:
    agent.tell("PreToolUse", tool_use_id="first", **SHELL)
    make(agent.project, {"a.txt": "two\n"})
    agent.tell("PreToolUse", tool_use_id="second", **SHELL)
    agent.tell("PostToolUse", tool_use_id="first", **SHELL)
    make(agent.project, {"b.txt": "two\n"})
    agent.tell("PostToolUse", tool_use_id="second", **SHELL)
    assert paths(back_to_the_prompt(agent).restored) == [b"a.txt", b"b.txt"]


def test_what_a_person_wrote_between_two_calls_is_not_the_sessions(agent: Recorded) -> None:
    agent.runs("make", lambda root: None)
    make(agent.project, {"a.txt": "mine\n"})
    agent.runs("make", lambda root: make(root, {"b.txt": "two\n"}))
    found = back_to_the_prompt(agent)
    assert (paths(found.restored), paths(found.kept)) == ([b"b.txt"], [b"a.txt"])


def test_of_two_sessions_at_once_each_gets_what_its_calls_name_and_the_rest_is_unsure(agent: Recorded) -> None:
    other = Recorded(agent.project)
    other.starts()
    other.asked("Change the other one")
    mine = {"tool_name": "Write", "tool_use_id": "mine", "tool_input": {"file_path": str(agent.project / "a.txt")}}
    agent.tell("PreToolUse", **mine)
    other.tell("PreToolUse", tool_use_id="theirs", **SHELL)
    make(agent.project, {"a.txt": "two\n", "b.txt": "two\n"})
    other.tell("PostToolUse", tool_use_id="theirs", **SHELL)
    agent.tell("PostToolUse", **mine)
    found, theirs = back_to_the_prompt(agent), back_to_the_prompt(other)
    assert (paths(found.restored), paths(found.kept)) == ([b"a.txt"], [b"b.txt"])
    assert (paths(theirs.restored), paths(theirs.kept)) == ([], [b"a.txt", b"b.txt"])


def test_a_call_alone_is_sure_again_after_the_other_session_ended(agent: Recorded) -> None:
    other = Recorded(agent.project)
    other.starts()
    other.asked("Change the other one")
    other.runs("make", lambda root: make(root, {"b.txt": "two\n"}))
    agent.runs("make", lambda root: make(root, {"a.txt": "two\n"}))
    found = back_to_the_prompt(agent)
    assert (paths(found.restored), paths(found.kept)) == ([b"a.txt"], [b"b.txt"])


def test_a_file_that_a_call_merely_brings_into_sight_was_not_made_by_it(agent: Recorded) -> None:
    make(agent.project, {".gitignore": "*.env\n", "secret.env": "mine\n"})
    agent.asked("Tidy up")
    agent.runs("rm .gitignore", lambda root: (root / ".gitignore").unlink())
    found = back_to_the_prompt(agent)
    assert b"secret.env" not in paths(found.restored)
    assert paths(found.kept) == [b"secret.env"]


def test_a_file_that_a_call_merely_puts_out_of_sight_was_not_changed_by_it(agent: Recorded) -> None:
    make(agent.project, {"a.txt": "mine\n"})
    agent.asked("Tidy up")
    agent.runs("echo a.txt >.gitignore", lambda root: make(root, {".gitignore": "a.txt\n"}))
    (agent.project / ".gitignore").unlink()
    agent.asked("Go on")
    found = back_to_the_prompt(agent)
    assert (paths(found.restored), paths(found.kept), paths(found.conflicts)) == ([], [b"a.txt"], [])


def test_what_a_person_wrote_just_before_a_session_is_no_new_work_when_a_rewind_brings_it_back(tmp_path: Path) -> None:
    agent = Recorded(make(tmp_path, {"shop/a.txt": "one\n"}) / "shop")
    agent.store().save()
    make(agent.project, {"a.txt": "mine\n"})
    agent.starts()
    agent.asked("Change it")
    agent.runs("make", lambda root: make(root, {"a.txt": "two\n"}))
    agent.runs("make", lambda root: make(root, {"a.txt": "three\n"}))
    make(agent.project, {"a.txt": "mine\n"})
    store = agent.store()
    ends = [
        point.id for point in store.tree(agent.session.id).points if (point.reason, point.side) == ("tool", "after")
    ]
    found = store.plan_restore(ends[0], "files").inventory
    assert (paths(found.restored), paths(found.conflicts)) == ([b"a.txt"], [])


def test_a_folder_that_a_session_made_and_emptied_is_its_own_when_somebody_puts_a_file_there(agent: Recorded) -> None:
    agent.runs("mkdir docs; touch docs/a.txt", lambda root: make(root, {"docs/a.txt": "one\n"}))
    agent.runs("rm docs/a.txt", lambda root: (root / "docs/a.txt").unlink())
    (agent.project / "docs").rmdir()
    make(agent.project, {"docs": "mine\n"})
    agent.runs("make", lambda root: None)
    found = back_to_the_prompt(agent)
    assert (paths(found.restored), paths(found.kept), paths(found.conflicts)) == ([], [], [b"docs"])
