"""Which sessions a root has: from databases, from older files, and forks that wait."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.opencode import places
from forkpoint.store.model import SessionInfo

from tests.builders.opencode import OpenCode

agent = agents.get("opencode")


def sessions(root: Path, *nested: Path) -> list[SessionInfo]:
    return agent.sessions(str(root), [str(folder) for folder in nested])


def test_where_nothing_is_there_is_no_session(machine: Path, project: Path) -> None:
    assert (agent.detect(), sessions(project)) == (False, [])


def test_a_session_is_listed_with_its_title_and_time(opencode: OpenCode, project: Path) -> None:
    session = opencode.session(project, title="Fix the parser")
    session.turn("Do it")
    (info,) = sessions(project)
    assert (info.id, info.agent, info.title, info.cwd) == (session.id, "opencode", "Fix the parser", str(project))
    assert info.files == (f"{opencode.database}#{session.id}",)
    assert info.updated == opencode.now * 1_000_000
    assert 0 < info.bytes <= opencode.database.stat().st_size
    assert agent.detect() and agent.has(info.files[0]) and not agent.has(f"{opencode.database}#ses_other")


def test_a_default_title_gives_way_to_the_first_prompt(opencode: OpenCode, project: Path) -> None:
    opencode.session(project).turn("Fix the parser\nand more")
    assert sessions(project)[0].title == "Fix the parser"


def test_an_empty_session_is_listed_too(opencode: OpenCode, project: Path) -> None:
    opencode.session(project, title="Nothing said")
    (info,) = sessions(project)
    assert (info.title, agent.read(info).entries) == ("Nothing said", ())


def test_sessions_of_folders_inside_belong_to_the_root_but_not_those_of_nested_roots(
    opencode: OpenCode, project: Path
) -> None:
    inner, nested = project / "a", project / "b"
    for folder in (inner, nested):
        folder.mkdir()
    for folder in (project, inner, nested, project.parent, project.with_name("project-2")):
        opencode.session(folder, title=folder.name).turn(f"in {folder.name}")
    assert {info.title for info in sessions(project, nested)} == {"project", "a"}


def test_a_project_behind_a_link_is_the_same(opencode: OpenCode, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    opencode.session(tmp_path / "link").turn("One")
    assert len(sessions(project)) == len(sessions(tmp_path / "link")) == 1


def test_the_newest_comes_first_and_sub_agents_do_not(opencode: OpenCode, project: Path) -> None:
    first, second = opencode.session(project), opencode.session(project)
    first.turn("First")
    second.turn("Second")
    child = opencode.session(project, parent=second.id)
    child.turn("Sub")
    assert [info.id for info in sessions(project)] == [second.id, first.id]
    assert [source.name.rpartition("#")[2] for source in agent.sources(sessions(project)[0])] == [second.id, child.id]


def test_a_sub_agent_whose_parent_is_gone_is_a_session_of_its_own(opencode: OpenCode, project: Path) -> None:
    opencode.session(project, parent="ses_gone").turn("Sub")
    (info,) = sessions(project)
    assert [entry.text for entry in agent.read(info).entries] == ["Sub", "Done."]


def test_databases_of_other_channels_are_looked_at_too(machine: Path, project: Path) -> None:
    folder = machine / ".local" / "share" / "opencode"
    OpenCode(folder, snapshots=False).session(project).turn("One")
    OpenCode(folder, snapshots=False, name="opencode-dev.db", now=1_797_000_000_000).session(project).turn("Two")
    assert {info.title for info in sessions(project)} == {"One", "Two"}


@pytest.mark.parametrize("kind", ["in the data folder", "elsewhere"])
def test_a_database_that_is_named_by_a_variable_is_the_one(
    kind: str, machine: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = machine / ".local" / "share" / "opencode" if kind == "in the data folder" else tmp_path / "else"
    made = OpenCode(folder, snapshots=False, name="mine.db")
    made.session(project).turn("One")
    monkeypatch.setenv("OPENCODE_DB", "mine.db" if kind == "in the data folder" else str(made.database))
    assert [info.title for info in sessions(project)] == ["One"]
    assert places.database() == str(made.database)
    assert any(str(made.database).startswith(path) for path in agent.own_data())


def test_a_database_in_memory_is_none(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    monkeypatch.setenv("OPENCODE_DB", ":memory:")
    assert (places.database(), sessions(project)) == ("", [])


def test_the_data_folder_moves_with_its_variable(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    OpenCode(tmp_path / "data" / "opencode", snapshots=False).session(project).turn("One")
    assert len(sessions(project)) == 1
    assert str(tmp_path / "data" / "opencode") in agent.own_data()


# --- older files


def test_the_json_storage_of_earlier_versions_is_read_as_the_database(opencode: OpenCode, project: Path) -> None:
    session = opencode.session(project, title="Old")
    session.turn("One", "First.", session.shell("true"))
    (info,) = sessions(project)
    before = agent.read(info)
    file = session.as_files(opencode.home / "storage")
    assert sessions(project)[0].files == info.files, "the database outranks what its import left behind"
    opencode.database.unlink()
    (old,) = sessions(project)
    assert (old.id, old.title, old.files) == (session.id, "Old", (str(file),))
    after = agent.read(old)
    assert [(e.id, e.parent, e.text) for e in after.entries] == [(e.id, e.parent, e.text) for e in before.entries]
    for entry in after.entries:
        assert agent.blocks(entry)[0].kind != "raw"
    (source,) = agent.sources(old)
    stamp = source.stamp()
    part = next((opencode.home / "storage" / "part").rglob("*.json"))
    os.utime(part, ns=(stamp[1] + 10**9, stamp[1] + 10**9))
    assert source.stamp() != stamp


def test_the_layout_before_that_is_read_as_well(machine: Path, project: Path) -> None:
    top = machine / ".local" / "share" / "opencode" / "project" / "my-project" / "storage" / "session"
    rows = {
        "info/ses_a.json": {"id": "ses_a", "title": "Oldest", "time": {"created": 1, "updated": 2}},
        "message/ses_a/msg_1.json": {"id": "msg_1", "role": "user", "time": {"created": 1}},
        "message/ses_a/msg_2.json": {"role": "assistant", "time": {"created": 2}, "path": {"cwd": str(project)}},
        "part/ses_a/msg_1/prt_1.json": {"type": "text", "text": "One"},
        "part/ses_a/msg_2/prt_2.json": {"type": "text", "text": "First."},
    }
    for name, plain in rows.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(json.dumps(plain, indent=1))
    (info,) = sessions(project)
    assert (info.title, info.cwd) == ("Oldest", str(project))
    assert [entry.text for entry in agent.read(info).entries] == ["One", "First."]


def test_what_is_watched_changes_when_a_session_goes_on(opencode: OpenCode, project: Path) -> None:
    session = opencode.session(project)
    watched = agent.watched(str(project))
    assert {str(opencode.home), str(opencode.database), f"{opencode.database}-wal"} <= set(watched)
    (source,) = agent.sources(sessions(project)[0])
    seen = {source.stamp()}
    uid = session.prompt("One")
    seen.add(source.stamp())
    session.part(uid, {"type": "text", "text": "One and more"}, uid=opencode.run("SELECT id FROM part")[0][0])
    seen.add(source.stamp())
    session.revert(uid)
    seen.add(source.stamp())
    assert len(seen) == 4
    assert source.stamp() in seen, "and not when nothing happened"


def test_forks_wait_in_a_folder_that_is_written_and_never_captured(project: Path) -> None:
    assert places.pending_folder() in agent.written(str(project))
    assert any(places.pending_folder().startswith(path) for path in agent.own_data())
