"""Paths that an agent's edit tool names: captured even if ignored, and kept outside of the root as well."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture, points
from forkpoint.store.checkpoints.points import Checkpoint
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.states import Node
from forkpoint.store.walk import named
from hypothesis import given
from hypothesis import strategies as st

from ...builders.cli import forkpoint, process
from ...builders.folders import Link, git, make, repository
from ...builders.recorded import Recorded


class Hooked(Recorded):
    """An agent whose hooks are what an installation runs: `forkpoint hook claude`, with the payload on its input."""

    def tell(self, event: str, **fields: Any) -> None:
        payload = {"session_id": self.session.id, "transcript_path": str(self.session.file), "cwd": str(self.project)}
        told = process("hook", "claude", given=json.dumps(payload | {"hook_event_name": event} | fields))
        assert (told.code, told.err) == (0, "")

    def edits(self, path: Path, content: str) -> None:
        """A call of the edit tool, on a path wherever it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.does("Write", lambda: self.session.write(str(path), content), tool_input={"file_path": str(path)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path / "project", {".gitignore": "*.log\nbuild/\n", "a.py": "1\n"})


@pytest.fixture
def agent(project: Path) -> Hooked:
    agent = Hooked(project)
    agent.starts()
    return agent


def place_of(project: Path) -> roots.Place:
    return roots.adopt(os.path.realpath(project), data_folder())


def newest(project: Path) -> tuple[Checkpoint, dict[bytes, Node], dict[bytes, Node]]:
    """The newest checkpoint: its record, its files, and its files outside."""
    objects = Objects(place_of(project).git_dir)
    stored = max(
        (objects.stored(commit) for commit in objects.refs(points.REFS).values()), key=lambda s: s.checkpoint.time
    )
    return stored.checkpoint, dict(objects.state(stored)), dict(objects.outside(stored))


def save(project: Path) -> str:
    return forkpoint("save", "-C", project, "--json").json["id"]


def went_back(project: Path, point: str, *options: str) -> dict[str, Any]:
    answer = forkpoint("restore", point, "--files", "--yes", "--json", *options, "-C", project)
    return answer.json


def test_an_ignored_file_that_the_agent_wrote_is_captured_and_stays_so(agent: Hooked, project: Path) -> None:
    agent.asked("Write the log")
    agent.writes("trace.log", "one\n")
    agent.writes("build/out/made.txt", "made\n")
    make(project, {"other.log": "", "build/junk": "", "build/out/junk": ""})
    save(project)
    assert {b"trace.log", b"build/out/made.txt"} == {path for path in newest(project)[1]} - {b".gitignore", b"a.py"}
    make(project, {"trace.log": "by the shell\n"})
    (project / "build/out/made.txt").unlink()
    save(project)
    assert set(newest(project)[1]) == {b".gitignore", b"a.py", b"trace.log"}


def test_a_restore_in_its_session_brings_an_ignored_file_back_and_takes_a_new_one_away(
    agent: Hooked, project: Path
) -> None:
    make(project, {"kept.log": "as it was\n"})
    agent.asked("Change one log and make another")
    agent.writes("kept.log", "changed\n")
    agent.writes("build/new.log", "new\n")
    make(project, {"build/mine.log": "a person's"})
    agent.stops()
    points = Store.open(project).tree().points
    first, second = (point for point in points if (point.reason, point.side) == ("tool", "before"))
    done = went_back(project, second.id)
    assert [item["path"] for item in done["restored"]] == ["build/new.log"]
    assert sorted(path.name for path in (project / "build").iterdir()) == ["mine.log"]
    forkpoint("undo", "--yes", "-C", project)
    assert (project / "build/new.log").read_text() == "new\n"
    # Nobody had named the new one at this moment: an ignored file may have stood there, and no checkpoint tells.
    done = went_back(project, first.id)
    assert [item["path"] for item in done["restored"]] == ["kept.log"]
    assert [(item["path"], item["why"]) for item in done["kept"]] == [("build/new.log", "ignored then")]
    assert (project / "kept.log").read_text() == "as it was\n"
    forkpoint("undo", "--yes", "-C", project)
    assert (project / "kept.log").read_text() == "changed\n"


def test_a_file_that_the_rules_ignore_only_later_stays_in_the_coverage(agent: Hooked, project: Path) -> None:
    agent.asked("Go")
    agent.writes("out.txt", "1\n")
    with (project / ".gitignore").open("a") as stream:
        stream.write("out.txt\n")
    make(project, {".forkpointignore": "out.txt\n"})
    save(project)
    assert b"out.txt" in newest(project)[1]


def test_what_agents_named_is_known_also_when_the_index_was_lost(agent: Hooked, project: Path, tmp_path: Path) -> None:
    agent.asked("Go")
    agent.writes("trace.log", "1\n")
    agent.edits(tmp_path / "elsewhere/notes.txt", "1\n")
    place_of(project).index_file.unlink()
    save(project)
    assert b"trace.log" in newest(project)[1]
    assert set(newest(project)[2]) == {os.fsencode(tmp_path / "elsewhere/notes.txt")}


def test_a_folder_that_was_only_passed_through_is_in_no_checkpoint(agent: Hooked, project: Path) -> None:
    agent.asked("Go")
    agent.writes("deep/build/in/made.txt", "1\n")
    (project / "deep/build/in/made.txt").unlink()
    save(project)
    assert newest(project)[1].keys() == {b".gitignore", b"a.py", b"deep"}
    assert newest(project)[1][b"deep"].kind == "folder"


def test_nothing_is_stored_twice_while_nothing_changes(agent: Hooked, project: Path, tmp_path: Path) -> None:
    agent.asked("Go")
    agent.writes("trace.log", "1\n")
    agent.edits(tmp_path / "elsewhere/notes.txt", "1\n")
    point = newest(project)[0].id
    wanted = capture.Wanted(Checkpoint(reason="tool"), only_drift=True)
    assert [capture.take(place_of(project), wanted).id for _ in range(3)] == [point] * 3


def test_a_file_outside_is_kept_shown_and_diffed_but_never_restored(
    agent: Hooked, project: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "elsewhere/notes.txt"
    make(tmp_path, {"elsewhere/notes.txt": "one\n"})
    notes.chmod(0o640)
    agent.asked("Change my notes")
    before = newest(project)[0].id
    agent.edits(notes, "one\ntwo\n")
    agent.stops()
    record, files, outside = newest(project)
    assert outside[os.fsencode(notes)].mode == 0o640
    assert record.outside == (str(notes),)
    assert not any(path.endswith(b"notes.txt") for path in files)
    first = next(
        point for point in Store.open(project).tree().points if (point.reason, point.side) == ("tool", "before")
    )
    made = next(point for point in Store.open(project).tree().points if (point.reason, point.side) == ("tool", "after"))
    assert (made.added, made.removed) == (1, 0)
    shown = forkpoint("show", record.id, "--json", "-C", project).json["changes"]["files"]
    assert [(file["path"], file["added"], file["notes"]) for file in shown] == [
        (str(notes), 1, ["outside of the folder"])
    ]
    assert str(notes) in forkpoint("show", record.id, "-C", project).out
    patch = forkpoint("diff", first.id, record.id, "-C", project).out
    assert f"outside:{notes}" in patch and "+two" in patch
    assert "+two" in forkpoint("diff", first.id, record.id, "--path", notes, "-C", project).out
    assert forkpoint("restore", first.id, "--files", "--yes", "--path", notes, "-C", project).code == 2
    for point, scope in ((first.id, []), (first.id, ["--all"]), (before, ["--all"])):
        done = went_back(project, point, *scope)
        outside_rows = [(item["path"], item["why"]) for item in done["kept"]]
        assert outside_rows == ([(str(notes), "outside of the folder")] if point != before else [])
        assert not done["restored"]
    assert notes.read_text() == "one\ntwo\n"
    assert forkpoint("verify", "-C", project).code == 0


def test_what_happens_outside_is_noticed_without_being_named_again(
    agent: Hooked, project: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    agent.asked("Go")
    agent.edits(notes, "one\n")
    point = newest(project)[0].id
    notes.write_text("two\n")
    diff = forkpoint("diff", point, "--json", "-C", project).json["files"]
    assert [(file["path"], file["added"], file["removed"]) for file in diff] == [(str(notes), 1, 1)]
    notes.unlink()
    save(project)
    record, _, outside = newest(project)
    assert outside == {} and record.outside == (str(notes),)


def test_outside_as_inside_what_cannot_be_captured_is_named_and_no_link_is_followed(
    agent: Hooked, project: Path, tmp_path: Path
) -> None:
    beyond = make(tmp_path / "beyond", {"secret": "not named", "link": Link("secret"), "real/file": "1"})
    os.mkfifo(beyond / "pipe")
    data_folder().mkdir(exist_ok=True)
    (data_folder() / "settings.toml").write_text("[limits]\nlargest_file = 10\n")
    make(beyond, {"big": "x" * 11})
    agent.asked("Go")
    for number, name in enumerate(("link", "pipe", "big", "real/file")):
        path = {"file_path": str(beyond / name)}
        agent.tell("PreToolUse", tool_name="Edit", tool_use_id=f"toolu_{number}", tool_input=path)
    record, _, outside = newest(project)
    read = Objects(place_of(project).git_dir).read
    assert read(outside[os.fsencode(beyond / "link")].oid) == b"secret"
    assert dict(record.uncaptured) == {
        str(beyond / "pipe"): "a FIFO",
        str(beyond / "big"): "11 bytes, more than the limit of 10",
    }
    (beyond / "real").rename(beyond / "away")
    (beyond / "real").symlink_to(make(beyond / "planted", {"file": "2"}))
    save(project)
    record, _, outside = newest(project)
    assert os.fsencode(beyond / "real/file") not in outside
    assert record.uncaptured[str(beyond / "real/file")] == "behind a link"


def test_paths_that_lead_where_nothing_is_ours_are_refused(project: Path, tmp_path: Path) -> None:
    root = os.path.realpath(project)
    away = make(tmp_path / "away", {"file": "1"})
    (project / "leads-out").symlink_to(away)
    (tmp_path / "alias").symlink_to(project)
    home = str(data_folder())
    hostile = [
        f"{away}/.git/config",
        f"{away}/.GIT/config",
        f"{root}/leads-out/file",
        f"{tmp_path}/alias/leads-out/file",
        f"{home}/workspaces/x",
        "/proc/self/mem",
        "/dev/sda",
        "relative",
        f"{away}/..",
        f"{away}/",
        "/",
        f"{away}/nul\0",
        root,
    ]
    assert named.told(root, hostile, home) == named.Told()
    assert named.told(root, [f"{tmp_path}/alias/a.py", f"{away}/x/../file"], home) == named.Told(
        ("a.py",), (f"{away}/file",)
    )


def test_a_file_of_a_git_folder_in_the_root_is_never_captured_though_it_was_named(agent: Hooked, project: Path) -> None:
    git(repository(project), "config", "x.y", "z")
    agent.asked("Go")
    path = {"file_path": str(project / ".git/config")}
    agent.tell("PreToolUse", tool_name="Edit", tool_use_id="toolu_9", tool_input=path)
    save(project)
    assert not any(path.startswith(b".git/") for path in newest(project)[1])


paths = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(paths, max_size=12))
def test_what_is_named_is_held_with_all_folders_that_lead_there(some: list[str]) -> None:
    found: named.Named = {}
    for path in some:
        found = named.joined(found, [path])
    assert sorted(named.listed(found)) == sorted(set(some))
    for path in some:
        folder = path
        while folder := folder.rpartition("/")[0]:
            assert named.holds(found, folder, True)
    assert named.joined(found, some) is found
