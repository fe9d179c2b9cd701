"""Which of Pi's sessions belong to a folder, and what a list shows of them."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.pi import agent_home
from forkpoint.store.agents.pi.listing import WINDOW
from forkpoint.store.agents.pi.reader import follow

from tests.builders.pi import START, PiSession, folder_name
from tests.builders.reading import only

pi = agents.get("pi")


def folder(base: Path, name: str) -> Path:
    made = base / name
    made.mkdir(parents=True, exist_ok=True)
    return made


def started(home: Path, cwd: Path, prompt: str = "Do it") -> PiSession:
    made = PiSession(home, cwd)
    made.turn(prompt)
    return made


def listed(root: Path, *nested: Path) -> set[str]:
    return {info.id for info in pi.sessions(str(root), [str(item) for item in nested])}


def test_its_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    assert agent_home() == str(machine / ".pi" / "agent")
    assert not pi.detect()
    monkeypatch.setenv("PI_CODING_AGENT_DIR", "~/other")
    assert agent_home() == str(machine / "other")
    (machine / "other").mkdir()
    assert pi.detect()


def test_sessions_of_the_folder_and_of_folders_in_it_belong_to_it(home: Path, tmp_path: Path) -> None:
    root = folder(tmp_path, "shop")
    ours = {started(home, root).id, started(home, folder(root, "web/ui")).id}
    started(home, folder(tmp_path, "shop-old"))
    started(home, tmp_path)
    assert listed(root) == ours


def test_a_nested_root_s_sessions_are_not_its_parent_s(home: Path, tmp_path: Path) -> None:
    root = folder(tmp_path, "shop")
    inner = folder(root, "inner")
    started(home, inner)
    assert listed(root, inner) == set()
    assert len(listed(inner)) == 1


def test_folders_whose_names_become_the_same_are_told_apart(home: Path, tmp_path: Path) -> None:
    first, second = folder(tmp_path, "a/b"), folder(tmp_path, "a-b")
    assert folder_name(first) == folder_name(second)
    ours = started(home, first)
    started(home, second)
    assert listed(first) == {ours.id}


def test_sessions_that_are_all_kept_in_one_folder_are_found_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, kept = folder(tmp_path, "shop"), folder(tmp_path, "kept")
    ours = PiSession(home, root, folder=kept)
    ours.turn()
    PiSession(home, folder(tmp_path, "other"), folder=kept).turn()
    assert listed(root) == set()
    folder(home.parent, "agent")
    (home / "settings.json").write_text(json.dumps({"sessionDir": "../kept"}))
    monkeypatch.chdir(root)
    assert listed(root) == {ours.id}
    assert str(kept) in pi.own_data()
    (home / "settings.json").unlink()
    (folder(root, ".pi") / "settings.json").write_text(json.dumps({"sessionDir": str(kept)}))
    assert listed(root) == {ours.id}
    (root / ".pi" / "settings.json").write_text("broken")
    assert listed(root) == set()
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(kept))
    assert listed(root) == {ours.id}
    assert pi.written(str(root))[0] == str(kept)
    assert pi.resume_command(ours.id, str(root))[0] == ("pi", "--session", ours.id)


def test_what_is_pi_s_own_is_no_part_of_a_folder(home: Path, session: PiSession) -> None:
    own = pi.own_data()
    assert any(str(session.file).startswith(place + os.sep) for place in own)
    assert str(home / "auth.json") in own
    for theirs in ("settings.json", "extensions", "AGENTS.md", "skills"):
        assert str(home / theirs) not in own


def test_the_newest_comes_first(home: Path, shop: Path) -> None:
    older, newer = started(home, shop), PiSession(home, shop, now=START + timedelta(days=1))
    newer.turn()
    assert [info.id for info in pi.sessions(str(shop))] == [newer.id, older.id]


def test_times_of_the_records_count_more_than_that_of_the_file(session: PiSession, shop: Path) -> None:
    session.turn()
    os.utime(session.file, (0, 0))
    assert only("pi", shop).updated == int((session.now - session.pace).timestamp()) * 10**9


def test_a_session_is_called_by_its_name_its_prompt_or_its_id(session: PiSession, shop: Path) -> None:
    session.begin()
    assert only("pi", shop).title == session.id[:8]
    session.turn("Fold\nthe lines")
    assert only("pi", shop).title == "Fold"
    session.name("\x1b[31mFolding")
    assert only("pi", shop).title == "␛[31mFolding"


def test_only_the_ends_of_a_large_file_are_looked_at(session: PiSession, shop: Path) -> None:
    session.turn("Begin")
    session.reply("x" * (3 * WINDOW))
    session.name("In the middle of nowhere")
    session.reply("y" * (3 * WINDOW))
    session.turn("End")
    session.name("Seen")
    assert only("pi", shop).title == "Seen"
    assert only("pi", shop).bytes == session.file.stat().st_size > 6 * WINDOW


def test_a_first_record_larger_than_the_window_hides_no_session(session: PiSession, shop: Path) -> None:
    session.message("system", content="s" * (2 * WINDOW))
    session.turn("Begin")
    assert only("pi", shop).id == session.id
    assert len(pi.read(only("pi", shop)).entries) == 2


def test_an_empty_file_is_listed_with_what_is_wrong(session: PiSession, shop: Path) -> None:
    session.file.write_bytes(b"\0\n")
    info = only("pi", shop)
    assert (info.id, info.updated, info.problem) == (session.id, 0, "its file is empty")


def test_a_file_without_a_header_is_listed_with_what_is_wrong(home: Path, shop: Path) -> None:
    headless = PiSession(home, shop, header=False)
    headless.turn("One")
    info = only("pi", shop)
    assert (info.id, info.title) == (headless.id, "One")
    assert "no header" in info.problem
    assert [entry.text for entry in pi.read(info).entries] == ["One", "Done."]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_listed_with_what_is_wrong(session: PiSession, shop: Path) -> None:
    session.turn()
    session.file.chmod(0)
    assert "cannot be read" in only("pi", shop).problem


def test_junk_is_listed_with_what_is_wrong(home: Path, shop: Path) -> None:
    place = folder(home, f"sessions/{folder_name(shop)}")
    (place / "2026-11-30T09-00-00-000Z_abc.jsonl").write_bytes(b"\x00\xff\xfe no session\n" * 9)
    info = only("pi", shop)
    assert info.id == "abc"
    assert info.problem
    assert pi.read(info).problems


def test_another_machine_s_session_in_the_folder_s_place_is_listed_with_where_it_began(home: Path, shop: Path) -> None:
    foreign = PiSession(home, Path("C:\\Users\\me\\shop"), folder=home / "sessions" / folder_name(shop))
    foreign.turn()
    assert only("pi", shop).problem == "it was started in C:\\Users\\me\\shop, which is not on this machine"
    assert len(pi.read(only("pi", shop)).entries) == 2


def test_a_copy_made_by_hand_is_the_same_session(session: PiSession, shop: Path) -> None:
    session.turn("One")
    copy = session.file.with_name("2026-12-01T00-00-00-000Z_copy.jsonl")
    copy.write_bytes(session.file.read_bytes())
    info = only("pi", shop)
    assert len(info.files) == len(set(info.ids)) == 2
    assert len(pi.read(info).entries) == 2


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_was(session: PiSession, shop: Path) -> None:
    session.turn("One")
    (source,) = pi.sources(only("pi", shop))
    with source.open() as file:
        session.turn("Two")
        assert file.read().count(b"\n") >= 6
    following = follow()
    read = following.read(only("pi", shop), pi.sources(only("pi", shop)))
    assert len(read.entries) == 4
    session.turn("Three")
    assert following.read(only("pi", shop), pi.sources(only("pi", shop))) == pi.read(only("pi", shop))
