"""The engine's door from end to end: real folders, a session as Claude Code writes it, its hooks, real restores."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Literal

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import AmbiguousId, ForkpointError, NoWorkspace, Refused, UnknownId, UnsafePlace, UsageError
from forkpoint.store.model import OnConflict, PathChange, Point, SessionTree

from ..builders.claude import Job
from ..builders.folders import Link, git, make, repository, seen
from ..builders.recorded import Recorded


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = repository(
        tmp_path / "web shop",
        {"app.py": "one\ntwo\nthree\n", "todelete.txt": "delete me\n", ".gitignore": "*.log\n", "run.sh": "echo\n"},
    )
    (root / "run.sh").chmod(0o755)
    return root


def session(project: Path) -> Recorded:
    """Two turns: the first writes and deletes by the shell, the second edits and makes a folder."""
    agent = Recorded(project)
    agent.starts()
    agent.asked("Add a page, please")
    agent.writes("page.html", "<p>\n")
    agent.runs("rm todelete.txt", lambda root: (root / "todelete.txt").unlink())
    agent.stops()
    agent.asked("Now fold continuation lines")
    agent.does("Edit", lambda: agent.session.edit("app.py", "two", "TWO"))
    agent.runs("mkdir -p build/out; ln -s app.py link; chmod 600 run.sh", _shell_work)
    agent.stops()
    return agent


def _shell_work(root: Path) -> None:
    make(root, {"build/out": None, "link": Link("app.py")})
    (root / "run.sh").chmod(0o600)


def point_before(built: SessionTree, prompt: str) -> Point:
    entry = next(entry for entry in built.entries if entry.kind == "prompt" and entry.text.startswith(prompt))
    return next(point for point in built.points if point.entry == entry.id and point.reason == "prompt")


def paths(changes: tuple[PathChange, ...]) -> dict[bytes, str]:
    return {change.path: change.why for change in changes}


# ---- the tree


def test_turns_and_checkpoints_stand_in_one_tree(project: Path) -> None:
    built = session(project).store().tree()
    assert [entry.text for entry in built.entries if entry.kind == "prompt"] == [
        "Add a page, please",
        "Now fold continuation lines",
    ]
    by_id = {entry.id: entry for entry in built.entries}
    bound = [(point.reason, point.side, by_id[point.entry or ""].text) for point in built.points]
    assert bound == [
        ("start", "after", "Add a page, please"),
        ("prompt", "before", "Add a page, please"),
        ("tool", "after", "Write page.html"),
        ("tool", "after", "Bash rm todelete.txt"),
        ("prompt", "before", "Now fold continuation lines"),
        ("tool", "after", "Edit app.py"),
        ("tool", "after", "Bash mkdir -p build/out; ln -s app.py link; chmod 600 run.sh"),
    ]
    counted = [(point.added, point.removed) for point in built.points if point.reason == "tool"]
    assert counted[:3] == [(1, 0), (0, 1), (1, 1)]
    assert built.here.files == built.points[-1].id
    assert built.here.dirty == 0


def test_unrecorded_edits_show_beside_here(project: Path) -> None:
    agent = session(project)
    make(project, {"mine.txt": "x", "ignored.log": "y"})
    assert agent.store().tree().here.dirty == 1


def test_a_rewind_of_the_agent_s_own_shows_as_a_left_branch(project: Path) -> None:
    agent = session(project)
    second = next(e.id for e in agent.store().tree().entries if e.text.startswith("Now fold"))
    agent.session.rewind(second)
    agent.asked("Rather use a table")
    agent.stops()
    built = agent.store().tree()
    states = {branch.name: branch.state for branch in built.branches}
    assert states == {"rather-table": "active", "fold-continuation-lines": "left"}
    left = next(branch for branch in built.branches if branch.state == "left")
    assert built.branch_of[second] == left.name


def test_opening_writes_nothing_until_something_is_recorded(project: Path, machine: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("Only looking")
    agent.stops()
    store = agent.store()
    store.tree()
    store.sessions()
    store.status()
    store.operations()
    assert not store.exists
    assert not (machine / "forkpoint").exists()


def test_a_session_stays_readable_when_the_agent_deleted_it(project: Path) -> None:
    agent = session(project)
    before = agent.store().tree()
    shutil.rmtree(agent.session.home / "projects")
    store = agent.store()
    after = store.tree()
    assert [(entry.id, entry.text) for entry in after.entries] == [(entry.id, entry.text) for entry in before.entries]
    assert "deleted" in after.info.problem
    prompt = next(entry for entry in after.entries if entry.kind == "prompt")
    assert [block.text for block in store.blocks(prompt)] == ["Add a page, please"]


# ---- going back


def test_files_that_the_shell_deleted_come_back_and_what_the_session_made_goes(project: Path) -> None:
    before = seen(project)
    agent = session(project)
    store = agent.store()
    target = point_before(store.tree(), "Add a page")
    plan = store.plan_restore(target.id, "files")
    assert set(paths(plan.inventory.restored)) == {
        b"page.html",
        b"todelete.txt",
        b"app.py",
        b"run.sh",
        b"link",
        b"build/out",
    }
    result = store.restore(plan)
    assert not result.failed and not result.late_conflicts
    assert seen(project) == before


def test_undo_and_redo_bring_back_modes_links_empty_folders_and_deletions(project: Path) -> None:
    before = seen(project)
    agent = session(project)
    after = seen(project)
    store = agent.store()
    store.restore(store.plan_restore(point_before(store.tree(), "Add a page").id, "files"))
    for _ in range(3):
        again = Store.open(project)
        again.undo(again.plan_undo())
        assert seen(project) == after
        again = Store.open(project)
        again.redo(again.plan_redo())
        assert seen(project) == before
    store.undo(store.plan_undo())
    with pytest.raises(Refused, match="nothing to undo"):
        store.plan_undo()
    assert [operation.kind for operation in store.operations()] == ["undo", *["redo", "undo"] * 3, "restore"]


def test_a_person_s_edit_between_two_hooks_is_a_conflict_and_stays(project: Path) -> None:
    agent = session(project)
    make(project, {"app.py": "one\nTWO\nthree\nmine\n", "notes.txt": "my own file\n"})
    agent.asked("Go on")
    agent.stops()
    store = agent.store()
    inventory = store.plan_restore(point_before(store.tree(), "Now fold").id, "files").inventory
    assert set(paths(inventory.conflicts)) == {b"app.py"}
    assert b"notes.txt" in paths(inventory.kept)
    result = store.restore(store.plan_restore(point_before(store.tree(), "Now fold").id, "files"))
    assert (project / "app.py").read_text() == "one\nTWO\nthree\nmine\n"
    assert (project / "notes.txt").exists()
    assert not (project / "link").is_symlink()
    assert not result.failed


def test_a_person_s_edit_that_no_hook_saw_is_a_conflict_too(project: Path) -> None:
    agent = session(project)
    make(project, {"page.html": "<p>mine\n"})
    store = agent.store()
    target = point_before(store.tree(), "Add a page").id
    assert set(paths(store.plan_restore(target, "files").inventory.conflicts)) == {b"page.html"}
    chosen = store.plan_restore(target, "files", choices={b"page.html": "checkpoint"})
    store.restore(chosen)
    assert not (project / "page.html").exists()
    store.undo(store.plan_undo())
    assert (project / "page.html").read_text() == "<p>mine\n"
    assert set(paths(store.plan_restore(target, "files").inventory.conflicts)) == {b"page.html"}


@pytest.mark.parametrize("before", ["", "checkpoint", "merge"])
def test_a_conflict_can_be_merged(project: Path, before: OnConflict | Literal[""]) -> None:
    agent = session(project)
    make(project, {"app.py": "one\nTWO\nthree\nfour\nmine\n"})
    store = agent.store()
    target = point_before(store.tree(), "Now fold").id
    if before:
        store.restore(store.plan_restore(target, "files", choices=before))
        store.undo(store.plan_undo())
    plan = store.plan_restore(target, "files", choices="merge")
    store.restore(plan)
    text = (project / "app.py").read_text()
    assert text in ("one\ntwo\nthree\nfour\nmine\n", "one\nTWO\nthree\nfour\nmine\n")
    assert "mine" in text
    assert set(paths(store.plan_restore(target, "files").inventory.conflicts)) == {b"app.py"}
    store.undo(store.plan_undo())
    store.redo(store.plan_redo())
    assert (project / "app.py").read_text() == text
    guards = [point.text.split(" of: ")[0] for point in store.tree().points if point.reason == "guard"]
    assert guards[-2:] == ["before the undo", "before the redo"]
    assert set(paths(store.plan_restore(target, "files").inventory.conflicts)) == {b"app.py"}


def test_stored_content_that_came_back_by_the_agent_s_own_rewind_is_no_conflict(project: Path) -> None:
    agent = session(project)
    make(project, {"app.py": "one\ntwo\nthree\n"})
    agent.asked("After my rewind")
    agent.does("Edit", lambda: agent.session.edit("app.py", "two", "zwei"))
    agent.stops()
    store = agent.store()
    inventory = store.plan_restore(point_before(store.tree(), "After my rewind").id, "files").inventory
    assert paths(inventory.conflicts) == {}
    assert b"app.py" in paths(inventory.restored)


def test_everything_names_what_others_changed(project: Path) -> None:
    agent = session(project)
    make(project, {"notes.txt": "my own file\n"})
    store = agent.store()
    target = point_before(store.tree(), "Add a page").id
    assert b"notes.txt" in paths(store.plan_restore(target, "files").inventory.kept)
    plan = store.plan_restore(target, "files", everything=True)
    assert b"notes.txt" in paths(plan.inventory.restored)
    store.restore(plan)
    assert not (project / "notes.txt").exists()
    store.undo(store.plan_undo())
    assert (project / "notes.txt").read_text() == "my own file\n"


def test_only_chosen_paths_go_back(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    target = point_before(store.tree(), "Add a page").id
    store.restore(store.plan_restore(target, "files", paths=[b"todelete.txt"]))
    assert (project / "todelete.txt").exists()
    assert (project / "page.html").exists()


def test_a_path_that_is_nowhere_is_a_mistake(project: Path) -> None:
    agent = session(project)
    make(project, {"noise.log": "ignored\n"})
    store = agent.store()
    point = point_before(store.tree(), "Add a page").id
    with pytest.raises(UsageError, match="no such path"):
        store.plan_restore(point, "files", paths=[b"app.pi"])
    for path in (b"todelete.txt", b"build", b"build/out/", b"noise.log", b"", b"."):
        store.plan_restore(point, "files", paths=[path])


def test_files_and_conversation_go_to_one_moment_where_calls_ran_in_parallel(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Make both")
    shell = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    for call in ("slow", "quick"):
        agent.tell("PreToolUse", tool_use_id=call, **shell)
    for call in ("quick", "slow"):
        make(project, {call: "made\n"})
        agent.tell("PostToolUse", tool_use_id=call, **shell)
    batch = agent.session.parallel(Job("Bash", {"command": "1"}), Job("Bash", {"command": "2"}), order=[1, 0])
    for made, call in zip(batch, ("slow", "quick"), strict=True):
        agent.renames(made, call)
    agent.stops()
    agent.asked("Go on")
    agent.writes("later", "later\n")
    store = agent.store()
    quick = next(point for point in store.tree().points if point.reason == "tool")
    both = store.plan_restore(quick.id, "both").inventory
    assert list(paths(both.restored)) == [b"later"]
    assert both.note == "Files as of the end of the calls that ran in parallel."
    assert list(paths(store.plan_restore(quick.id, "files").inventory.restored)) == [b"later", b"slow"]


def test_an_ignored_path_is_left_alone_in_both_directions(project: Path) -> None:
    make(project, {"then.log": "ignored then", "now.txt": "captured then\n"})
    store = Store.open(project)
    saved = store.save()
    make(project, {".gitignore": "*.txt\n", "now.txt": "ignored now\n", "then.log": "no longer ignored"})
    inventory = store.plan_restore(saved.id, "files").inventory
    assert {b"then.log", b"now.txt"} <= set(paths(inventory.kept))
    store.restore(store.plan_restore(saved.id, "files"))
    assert (project / "then.log").read_text() == "no longer ignored"
    assert (project / "now.txt").read_text() == "ignored now\n"


@pytest.mark.parametrize("kept_out", ["ignored", "too large"])
def test_what_came_back_is_taken_back_again_though_it_is_not_captured_any_more(project: Path, kept_out: str) -> None:
    store = Store.open(project)
    make(project, {"made.tmp": "0123456789\n"})
    saved = store.save()
    (project / "made.tmp").unlink()
    if kept_out == "ignored":
        make(project, {".gitignore": "*.tmp\n"})
    else:
        (store.home / "settings.toml").write_text("[limits]\nlargest_file = 10\n")
    before = seen(project)
    store.restore(store.plan_restore(saved.id, "files", paths=[b"made.tmp"]))
    after = seen(project)
    assert (project / "made.tmp").read_text() == "0123456789\n"
    for _ in range(2):
        store.undo(store.plan_undo())
        assert seen(project) == before
        store.redo(store.plan_redo())
        assert seen(project) == after
    make(project, {"made.tmp": "by a person\n"})
    plan = store.plan_undo()
    assert [change.path for change in (*plan.inventory.conflicts, *plan.inventory.kept)] == [b"made.tmp"]
    store.undo(plan)
    assert (project / "made.tmp").read_text() == "by a person\n"


def test_what_changed_after_it_was_shown_is_not_overwritten(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    plan = store.plan_restore(point_before(store.tree(), "Add a page").id, "files")
    make(project, {"page.html": "written meanwhile\n"})
    with pytest.raises(Refused, match=r"changed since this was shown.*page\.html"):
        store.restore(plan)
    assert (project / "page.html").read_text() == "written meanwhile\n"
    assert (project / "app.py").read_text() == "one\nTWO\nthree\n"


def test_what_changed_since_it_was_planned_at_once_is_a_conflict_and_the_rest_goes_back(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    store.save()
    plan = store.plan_restore(point_before(store.tree(), "Add a page").id, "files", everything=True)
    meant = {change.path for change in plan.inventory.restored}
    make(project, {"page.html": "written meanwhile\n"})
    result = store.restore(plan, at_once=True)
    assert (project / "page.html").read_text() == "written meanwhile\n"
    assert [change.path for change in result.late_conflicts] == [b"page.html"]
    assert {change.path for change in result.done} == meant - {b"page.html"} != set()
    assert result.inventory.restored == plan.inventory.restored


def test_a_look_serves_no_guard_once_somebody_saved(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    store.save()
    plan = store.plan_restore(point_before(store.tree(), "Add a page").id, "files", everything=True)
    make(project, {"page.html": "written meanwhile\n"})
    store.save()
    with pytest.raises(Refused, match=r"changed since this was shown.*page\.html"):
        store.restore(plan, at_once=True)
    assert (project / "page.html").read_text() == "written meanwhile\n"


def test_a_restore_during_an_open_call_is_refused(project: Path) -> None:
    agent = session(project)
    agent.tell("PreToolUse", tool_name="Bash", tool_use_id="slow", tool_input={"command": "sleep 60"})
    store = agent.store()
    plan = store.plan_restore(point_before(store.tree(), "Add a page").id, "files")
    with pytest.raises(Refused, match="in the middle of a tool call"):
        store.restore(plan)
    assert (project / "page.html").exists()
    store.restore(plan, live=True)
    assert not (project / "page.html").exists()


def test_the_project_s_git_is_as_before(project: Path) -> None:
    agent = session(project)
    index = (project / ".git/index").read_bytes()
    head = git(project, "rev-parse", "HEAD")
    store = agent.store()
    store.restore(store.plan_restore(point_before(store.tree(), "Add a page").id, "both"))
    store.undo(store.plan_undo())
    assert (project / ".git/index").read_bytes() == index
    assert git(project, "rev-parse", "HEAD") == head
    assert git(project, "for-each-ref").count("\n") == 1


# ---- sessions recorded before forkpoint


def test_a_session_from_before_has_partial_points_to_look_at_and_go_back_to(project: Path, machine: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("First")
    agent.session.write("page.html", "v1\n")
    agent.session.edit("app.py", "two", "TWO")
    agent.stops()
    agent.asked("Second")
    agent.session.write("page.html", "v2\n")
    agent.session.bash("rm todelete.txt", lambda root: (root / "todelete.txt").unlink())
    agent.stops()
    store = agent.store()
    built = store.tree()
    partial = [point for point in built.points if point.reason == "import"]
    assert [(point.complete, point.stored, point.known) for point in partial] == [(False, False, 2), (False, False, 2)]
    assert not (machine / "forkpoint").exists()
    found = store.diff(partial[0].id, partial[1].id)
    assert {file.path: file.status for file in found.files} == {b"app.py": "modified", b"page.html": "added"}
    plan = store.plan_restore(partial[0].id, "files")
    assert set(paths(plan.inventory.restored)) == {b"app.py", b"page.html"}
    assert "what the shell did is not known" in plan.inventory.note
    store.restore(plan)
    assert (project / "app.py").read_text() == "one\ntwo\nthree\n"
    assert not (project / "page.html").exists()
    assert not (project / "todelete.txt").exists()
    shutil.rmtree(agent.session.home / "file-history")
    again = Store.open(project).tree()
    assert [point.stored for point in again.points if point.id == partial[0].id] == [True]
    store.undo(store.plan_undo())
    assert (project / "page.html").read_text() == "v2\n"


def test_what_the_agent_edited_in_a_git_folder_is_not_read_into_the_store(project: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("First")
    agent.session.edit("app.py", "two", "TWO")
    agent.session.edit(".git/config", "bare", "bare")
    agent.stops()
    store = agent.store()
    point = store.tree().points[0].id
    assert store.known(point) == (b"app.py",)
    found = store.plan_restore(point, "files").inventory
    assert (list(paths(found.restored)), found.failed) == ([b"app.py"], ())
    store.pin(point)
    assert Store.open(project).known(point) == (b"app.py",)


def test_pinning_a_partial_point_stores_it(project: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("First")
    agent.session.write("page.html", "v1\n")
    agent.stops()
    store = agent.store()
    point = store.tree().points[0]
    store.pin(point.id)
    store.label(point.id, "the start")
    found = next(item for item in store.tree().points if item.id == point.id)
    assert (found.stored, found.pinned, found.label) == (True, True, "the start")


# ---- forks


def test_a_fork_is_a_new_file_that_undo_takes_away_and_redo_brings_back(project: Path) -> None:
    agent = session(project)
    before = agent.session.file.read_bytes()
    store = agent.store()
    plan = store.plan_fork(point_before(store.tree(), "Now fold").id, name="other way")
    assert plan.prompt_text == "Now fold continuation lines"
    fork = store.fork(plan)
    assert fork.command == ("claude", "--resume", fork.session)
    assert fork.cwd == os.path.realpath(project)
    file = agent.session.file.with_name(f"{fork.session}.jsonl")
    assert "Now fold" not in file.read_text()
    assert agent.session.file.read_bytes() == before
    names = {branch.name: branch.state for branch in store.tree().branches}
    assert names["other way"] == "left"
    data = file.read_bytes()
    store.undo(store.plan_undo())
    assert not file.exists()
    store.redo(store.plan_redo())
    assert file.read_bytes() == data


def test_a_continued_fork_is_not_undone(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    fork = store.fork(store.plan_fork(point_before(store.tree(), "Now fold").id))
    file = agent.session.file.with_name(f"{fork.session}.jsonl")
    with file.open("a") as stream:
        stream.write(json.dumps({"type": "user", "uuid": "x", "parentUuid": None}) + "\n")
    with pytest.raises(Refused, match="continued"):
        store.undo(store.plan_undo())
    assert file.exists()


def test_going_back_in_the_conversation_forks_there_and_keeps_the_old_branch(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    built = store.tree()
    plan = store.plan_restore(point_before(built, "Now fold").id, "both")
    assert plan.inventory.discarded.prompts == ("Now fold continuation lines",)
    assert plan.inventory.target.prompt_text == "Now fold continuation lines"
    result = store.restore(plan)
    assert result.fork is not None
    after = store.tree()
    states = {branch.state: branch for branch in after.branches}
    assert states["active"].session == result.fork.session
    assert states["left"].head == built.entries[-1].id
    assert after.here.talk == states["active"].head
    store.undo(store.plan_undo())
    assert store.tree().here.talk == built.here.talk


def test_in_a_folder_that_was_moved_a_fork_goes_on_where_it_is_now(project: Path, tmp_path: Path) -> None:
    agent = session(project)
    agent.store().tree()
    moved = project.rename(tmp_path / "moved")
    store = Store.open(moved)
    info = store.sessions()[0]
    assert info.problem == "it was started in another folder, which this one was before it was moved"
    fork = store.fork(store.plan_fork(point_before(store.tree(), "Now fold").id))
    assert fork.cwd == str(moved)
    file = next((agent.session.home / "projects").glob(f"*moved/{fork.session}.jsonl"))
    assert {json.loads(line).get("cwd", str(moved)) for line in file.read_text().splitlines()} == {str(moved)}


def both_back(agent: Recorded) -> Path:
    """Goes back in files and conversation; gives the new branch's file."""
    store = agent.store()
    result = store.restore(store.plan_restore(point_before(store.tree(), "Now fold").id, "both"))
    assert result.fork is not None
    return agent.session.file.with_name(f"{result.fork.session}.jsonl")


def test_an_undo_that_is_refused_takes_no_branch_away(project: Path) -> None:
    agent = session(project)
    file = both_back(agent)
    agent.tell("PreToolUse", tool_name="Bash", tool_use_id="slow", tool_input={"command": "sleep 9"})
    store = agent.store()
    with pytest.raises(Refused, match="in the middle of a tool call"):
        store.undo(store.plan_undo())
    assert file.exists()


def test_an_undo_of_a_branch_that_was_continued_changes_no_file(project: Path) -> None:
    agent = session(project)
    file = both_back(agent)
    file.write_bytes(file.read_bytes() + b"{}\n")
    before = seen(project)
    store = agent.store()
    with pytest.raises(Refused, match="continued"):
        store.undo(store.plan_undo())
    assert seen(project) == before


def test_an_undo_that_was_shown_is_not_done_twice(project: Path) -> None:
    agent = session(project)
    both_back(agent)
    one, other = agent.store(), agent.store()
    plans = one.plan_undo(), other.plan_undo()
    one.undo(plans[0])
    with pytest.raises(Refused, match="something else was done since"):
        other.undo(plans[1])


def test_where_the_branch_cannot_be_written_no_file_goes_back(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    plan = store.plan_restore(point_before(store.tree(), "Now fold").id, "both")
    before = seen(project)
    assert plan.fork is not None
    agent.session.file.with_name(f"{plan.fork.fork.session}.jsonl").mkdir()
    with pytest.raises(ForkpointError):
        store.restore(plan)
    assert seen(project) == before
    assert not store.interrupted


def test_saves_outside_of_a_session_cannot_be_forked(project: Path) -> None:
    store = Store.open(project)
    saved = store.save()
    with pytest.raises(Refused, match="belongs to no conversation"):
        store.plan_fork(saved.id)
    with pytest.raises(UsageError, match="no conversation"):
        store.plan_restore(saved.id, "both")


# ---- names


def test_ids_labels_branches_and_times_are_understood(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    built = store.tree()
    last = built.points[-1]
    store.label(built.points[1].id, "start")
    assert store.resolve(last.id[:8]).point == last.id
    assert store.resolve("start").point == built.points[1].id
    assert store.resolve(built.branches[0].name).entry == built.branches[0].head
    assert store.resolve("@0s").point == last.id
    assert store.resolve("now").point is None
    with pytest.raises(UnknownId):
        store.resolve("no such thing")
    with pytest.raises(UnknownId):
        store.resolve("@2020-01-01")
    with pytest.raises(UsageError):
        store.resolve("@whenever")


def test_a_beginning_that_fits_several_things_is_ambiguous(project: Path) -> None:
    store = Store.open(project)
    first = store.save().id
    same = first
    for _ in range(400):
        same = store.save().id
        if same != first and same[:2] == first[:2]:
            break
    else:
        pytest.skip("no two ids began alike")
    with pytest.raises(AmbiguousId, match="could be"):
        store.resolve(first[:2])


def test_marks_survive_and_can_be_taken_back(project: Path) -> None:
    store = Store.open(project)
    saved = store.save(label="first")
    store.label(saved.id, "second")
    store.pin(saved.id)
    assert [(p.label, p.pinned) for p in store.tree().points] == [("second", True)]
    store.undo(store.plan_undo())
    store.undo(store.plan_undo())
    assert [(p.label, p.pinned) for p in Store.open(project).tree().points] == [("first", False)]


# ---- health


def test_a_lost_or_edited_catalog_is_made_anew(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    store.pin(store.tree().points[1].id)
    before = store.tree()
    catalog = next((store.home / "workspaces").glob("*/catalog.json"))
    for damage in (b"", b"{}", b'{"meta": 3}', catalog.read_bytes()[:100]):
        catalog.write_bytes(damage)
        assert Store.open(project).tree().points == before.points


def test_verify_names_what_is_damaged(project: Path) -> None:
    store = Store.open(project)
    store.save()
    assert [finding.ok for finding in store.verify()] == [True]
    pack = next((store.home / "workspaces").glob("*/objects.git/objects/pack/*.pack"))
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    pack.chmod(0o600)
    pack.write_bytes(bytes(data))
    assert not all(finding.ok for finding in Store.open(project).verify())


def test_nothing_recorded_says_what_to_do(project: Path, machine: Path) -> None:
    store = Store.open(project)
    with pytest.raises(NoWorkspace, match="forkpoint save"):
        store.verify()
    with pytest.raises(UnsafePlace):
        Store.open(machine)
    assert not store.status().recording


def test_the_token_changes_with_a_checkpoint_and_with_lines_of_a_transcript(project: Path) -> None:
    agent = session(project)
    store = agent.store()
    store.tree()
    first = store.token()
    assert store.token() == first
    agent.session.reply("One more line.")
    second = store.token()
    assert second != first
    make(project, {"new": "x"})
    agent.tell("PreToolUse", tool_name="Bash", tool_use_id="x", tool_input={})
    assert store.token() != second


def test_the_token_changes_with_the_first_session_of_a_folder(project: Path) -> None:
    store = Store.open(project)
    store.sessions()
    first = store.token()
    agent = Recorded(project, hooked=False)
    agent.asked("Hello")
    assert store.token() != first


def test_a_prompt_s_row_stands_for_the_files_before_it_whatever_was_saved_since(project: Path) -> None:
    agent = session(project)
    agent.asked("Think about it")
    make(project, {"app.py": "a try of mine\n"})
    agent.store().save(session=agent.session.id)
    agent.stops()
    store = agent.store()
    built = store.tree()
    entry = next(entry for entry in built.entries if entry.text == "Think about it")
    target = store.plan_restore(entry.id, "files").inventory.target
    assert target.checkpoint == point_before(built, "Think about it").id


def test_looking_at_a_session_from_before_writes_nothing(project: Path, machine: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("First")
    agent.session.write("page.html", "v1\n")
    agent.stops()
    store = agent.store()
    point = store.tree().points[0]
    assert {file.path for file in store.diff(point.id).files} == {b"page.html"}
    assert set(paths(store.plan_restore(point.id, "files").inventory.restored)) == {b"page.html"}
    store.plan_fork(point.id)
    assert not (machine / "forkpoint").exists()


def test_what_the_agent_s_backups_know_is_stored_before_the_agent_cleans_up(project: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("Long ago")
    agent.session.edit("app.py", "two", "TWO")
    agent.stops()
    old = agent.session.file.read_text().replace(str(agent.session.now.year), "2019")
    agent.session.file.write_text(old)
    os.utime(agent.session.file, (1_560_000_000, 1_560_000_000))
    store = agent.store()
    store.save()
    point = next(point for point in store.tree(agent.session.id).points if point.reason == "import")
    shutil.rmtree(agent.session.home / "file-history")
    shutil.rmtree(agent.session.home / "projects")
    again = Store.open(project)
    kept = next(item for item in again.tree(agent.session.id).points if item.id == point.id)
    assert kept.stored
    assert {file.path for file in again.diff(point.id).files} == {b"app.py"}


def test_here_follows_restores_undos_and_saves(project: Path) -> None:
    store = Store.open(project)
    first = store.save(label="first").id
    make(project, {"app.py": "changed\n"})
    second = store.save().id
    assert store.tree().here.files == second
    store.restore(store.plan_restore(first, "files"))
    assert store.tree().here.files == first
    store.undo(store.plan_undo())
    assert store.tree().here.files == second
    store.redo(store.plan_redo())
    assert store.tree().here.files == first
    third = store.save().id
    assert store.tree().here.files == third
    restored = next(operation for operation in store.operations() if operation.kind == "restore")
    store.undo(store.plan_undo())
    assert store.tree().here.files == restored.data["guard"]


def test_what_was_saved_beside_a_fork_stays_in_the_tree_when_the_fork_is_taken_back(project: Path) -> None:
    store = session(project).store()
    built = store.tree()
    store.fork(store.plan_fork(point_before(built, "Now fold").id))
    saved = store.save(session=built.info.id)
    restored = store.restore(store.plan_restore(point_before(built, "Add a page").id, "files"))
    store.undo(store.plan_undo())
    store.undo(store.plan_undo())
    assert {saved.id, restored.guard} <= {point.id for point in store.tree(built.info.id).points}
