"""Which of Codex CLI's sessions belong to a folder, and what a list shows of them."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.codex.filenames import rollout

from tests.builders.codex import START, CodexSession

codex = agents.get("codex")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "inner").mkdir(parents=True)
    return folder


def begin(machine: Path, cwd: Path, text: str, **more: object) -> CodexSession:
    session = CodexSession(machine / ".codex", cwd, **more)  # type: ignore[arg-type]
    session.prompt(text)
    session.reply("So be it.")
    return session


def titles(folder: Path, *nested: Path) -> list[str]:
    return [info.title for info in codex.sessions(str(folder), [str(item) for item in nested])]


def test_sessions_of_a_folder_and_under_it_are_listed_the_newest_first(project: Path, machine: Path) -> None:
    begin(machine, project, "here")
    begin(machine, project / "inner", "under", now=START + timedelta(days=2))
    begin(machine, project.parent, "above")
    assert titles(project) == ["under", "here"]
    assert titles(project, project / "inner") == ["here"]
    assert titles(project.parent / "elsewhere") == []


def test_a_list_tells_size_time_files_and_folder(project: Path, machine: Path) -> None:
    session = begin(machine, project, "here")
    (info,) = codex.sessions(str(project))
    assert (info.id, info.ids, info.files) == (session.id, (session.id,), (str(session.file),))
    assert info.bytes == session.file.stat().st_size
    assert info.updated == int(session.now.timestamp() * 10**9)
    assert info.cwd == str(project)
    assert info.problem == ""


def test_the_last_name_of_a_session_is_its_title(project: Path, machine: Path) -> None:
    session = begin(machine, project, "here")
    index = machine / ".codex" / "session_index.jsonl"
    names = [json.dumps({"id": session.id, "thread_name": name}) for name in ("First", "Second\x1b[2J")]
    index.write_text("\n".join(["no JSON", *names, '{"id": 3}']) + "\n")
    assert titles(project) == ["Second␛[2J"]


def test_sessions_that_were_put_away_are_listed_and_one_in_both_places_once(project: Path, machine: Path) -> None:
    session = begin(machine, project, "put away")
    away = machine / ".codex" / "archived_sessions"
    away.mkdir()
    shutil.copy(session.file, away)
    assert titles(project) == ["put away"]
    session.file.unlink()
    (info,) = codex.sessions(str(project))
    assert os.path.dirname(info.files[0]) == str(away)


def test_forks_rewinds_and_their_base_are_one_session(project: Path, machine: Path) -> None:
    session = begin(machine, project, "one")
    pointer = session.pointer(session.ordinal)
    session.rewound(session.ordinal)
    copy = session.copy(4)
    begin(machine, project, "another")
    infos = {info.title: info for info in codex.sessions(str(project))}
    assert set(infos) == {"one", "another"}
    assert sorted(infos["one"].ids) == sorted([session.id, session.id, pointer.id, copy.id])
    assert infos["one"].id == session.id


def test_a_copy_that_does_not_say_so_is_known_by_its_first_record(project: Path, machine: Path) -> None:
    session = begin(machine, project, "one")
    copy = session.copy(12, meta={"forked_from_id": None})
    (info,) = codex.sessions(str(project))
    assert set(info.ids) == {session.id, copy.id}


def test_forks_of_a_session_that_is_gone_stay_one_session(project: Path, machine: Path) -> None:
    session = begin(machine, project, "one")
    first, second = session.copy(12), session.pointer(session.ordinal)
    second.prompt("two")
    session.file.unlink()
    (info,) = codex.sessions(str(project))
    assert set(info.ids) == {first.id, second.id}
    assert session.id in info.problem


def test_a_fork_that_was_begun_elsewhere_shows_the_history_that_it_goes_on_from(project: Path, machine: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    session = begin(machine, project, "one")
    fork = session.pointer(session.ordinal, cwd=other)
    fork.prompt("two")
    (info,) = codex.sessions(str(other))
    assert info.files == (str(fork.file),)
    assert {source.name for source in codex.sources(info)} == {str(session.file), str(fork.file)}
    assert [entry.text for entry in codex.read(info).entries] == ["one", "So be it.", "two"]


def test_files_of_sub_agents_are_no_sessions_but_sources_of_theirs(project: Path, machine: Path) -> None:
    session = begin(machine, project, "one")
    helper = session.sub_agent(session.call("spawn_agent", {"message": "job"}))
    inner = helper.sub_agent(helper.call("spawn_agent", {"message": "job"}))
    (info,) = codex.sessions(str(project))
    assert info.files == (str(session.file),)
    assert {source.name for source in codex.sources(info)} == {str(s.file) for s in (session, helper, inner)}


def test_a_prompt_behind_a_huge_first_line_is_found(project: Path, machine: Path) -> None:
    begin(machine, project, "far behind", meta={"base_instructions": {"text": "x" * 3_000_000}})
    assert titles(project) == ["far behind"]


def test_the_folder_of_the_oldest_form_is_that_of_its_environment(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project)
    environment = f"<environment_context>\n  <cwd>{project}</cwd>\n</environment_context>"
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": environment}]}
    session.file.write_text(json.dumps({"id": session.id, "timestamp": ""}) + "\n" + json.dumps(message) + "\n")
    assert len(titles(project)) == 1


def test_a_folder_that_was_moved_is_known_by_its_name(project: Path, machine: Path) -> None:
    begin(machine, project, "moved along")
    moved = project.parent / "elsewhere" / "project"
    moved.parent.mkdir()
    project.rename(moved)
    (info,) = codex.sessions(str(moved))
    assert str(project) in info.problem
    assert codex.sessions(str(project.parent / "elsewhere" / "other")) == []


def test_a_file_that_grows_is_seen_to_do_so(project: Path, machine: Path) -> None:
    session = CodexSession(machine / ".codex", project)
    assert titles(project) == [session.id[:8]]
    session.prompt("now it has one")
    assert titles(project) == ["now it has one"]


def test_a_compressed_file_is_listed_with_what_to_do(project: Path, machine: Path) -> None:
    session = begin(machine, project, "here")
    session.file.with_name(f"{session.file.name}.zst").write_bytes(b"\x28\xb5\x2f\xfd and more")
    assert titles(project) == ["here"]
    session.file.unlink()
    (info,) = codex.sessions(str(project))
    assert info.problem == f"its file is compressed: codex resume {session.id} makes it readable"
    assert codex.read(info).entries == ()


def test_what_was_deleted_is_not_listed(project: Path, machine: Path) -> None:
    session = begin(machine, project, "one")
    assert codex.has(str(session.file))
    session.file.unlink()
    assert not codex.has(str(session.file))
    assert titles(project) == []


def test_a_home_of_the_person_s_own_is_used(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "own"))
    assert not codex.detect()
    session = CodexSession(tmp_path / "own", project)
    session.prompt("there")
    assert codex.detect()
    assert titles(project) == ["there"]
    assert str(tmp_path / "own" / "sessions") in codex.own_data()
    assert str(session.file.parent) in codex.watched(str(project))
    assert str(tmp_path / "own" / "hooks.json") not in codex.own_data()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "rollout-2026-12-01T00-53-37-01A22F17-a01a-7aa1-8880-daddccdfa09e_01a22f17-c9e7-7013-b615-b15fca31d73e.jsonl",
            ("01a22f17-a01a-7aa1-8880-daddccdfa09e", "01a22f17-c9e7-7013-b615-b15fca31d73e"),
        ),
        (
            "rollout-2026-12-01T00-53-37-01a22f17-a01a-7aa1-8880-daddccdfa09e.jsonl",
            ("01a22f17-a01a-7aa1-8880-daddccdfa09e", ""),
        ),
        ("mine.jsonl", ("mine", "")),
    ],
)
def test_a_name_tells_thread_and_segment(name: str, parts: tuple[str, str]) -> None:
    found = rollout(f"/x/{name}")
    assert (found.thread, found.segment) == parts
    assert found.id == (parts[1] or parts[0])


def test_databases_are_codex_s_own_whatever_their_number(machine: Path) -> None:
    home = machine / ".codex"
    home.mkdir()
    (home / "state_17.sqlite-wal").touch()
    (home / f"{uuid.uuid4()}.sqlite").touch()
    assert str(home / "state_17.sqlite-wal") in codex.own_data()
    assert sum(".sqlite" in path for path in codex.own_data()) == 1
