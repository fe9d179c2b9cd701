"""Which sessions of Gemini CLI belong to a root, and how they are listed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from forkpoint.store import agents

from tests.builders.gemini import GeminiSession, as_json, project
from tests.builders.reading import only

gemini = agents.get("gemini")


def test_a_session_is_named_by_its_first_prompt_and_then_by_its_summary(session: GeminiSession, shop: Path) -> None:
    session.prompt("Fold the lines\nand more")
    found = only("gemini", shop)
    assert (found.id, found.title, found.cwd, found.files) == (
        session.id,
        "Fold the lines",
        str(shop),
        (str(session.file),),
    )
    assert found.bytes == session.file.stat().st_size
    session.set(summary="Folding \x1b[31mlines")
    assert only("gemini", shop).title == "Folding ␛[31mlines"


def test_the_newest_record_tells_when_it_was_updated(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    last = session.listed[-1]["timestamp"]
    os.utime(session.file, ns=(1, 1))
    assert only("gemini", shop).updated // 1_000_000 == _milliseconds(last)


def _milliseconds(stamp: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(stamp).timestamp() * 1000)


def test_sessions_of_folders_below_belong_to_the_root_but_not_those_of_another_root_in_it(
    machine: Path, shop: Path
) -> None:
    for folder in (shop, shop / "docs", shop / "other", shop.with_name("shopping")):
        folder.mkdir(exist_ok=True)
        GeminiSession(machine, folder, folder=project(machine, folder)).prompt(folder.name)
    titles = {info.title for info in gemini.sessions(str(shop), [str(shop / "other")])}
    assert titles == {"shop", "docs"}


def test_a_folder_that_older_versions_called_by_a_hash_is_found(machine: Path, shop: Path) -> None:
    hashed = hashlib.sha256(os.fsencode(shop)).hexdigest()
    folder = machine / ".gemini" / "tmp" / hashed
    GeminiSession(machine, shop, folder=folder).prompt("Old place")
    found = only("gemini", shop)
    assert (found.title, found.cwd) == ("Old place", str(shop))


def test_a_home_of_its_own_is_looked_into(machine: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(machine / "elsewhere"))
    GeminiSession(machine / "elsewhere", shop).prompt("Here")
    assert only("gemini", shop).title == "Here"
    assert gemini.own_data()[0] == str(machine / "elsewhere" / ".gemini" / "tmp")


def test_a_start_in_which_nothing_was_said_is_no_session(session: GeminiSession, shop: Path) -> None:
    assert gemini.sessions(str(shop)) == []
    session.info("Update available")
    assert gemini.sessions(str(shop)) == []


def test_the_empty_file_of_a_resume_is_none_beside_the_real_one_and_alone(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    left = GeminiSession(session.home, shop, id=session.id, now=session.now.replace(hour=12))
    assert only("gemini", shop).files == (str(session.file),)
    session.file.unlink()
    assert left.file.exists()
    assert gemini.sessions(str(shop)) == []


def test_a_session_with_two_files_is_one_and_named_by_the_fuller(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    old = as_json(session)
    more = GeminiSession(session.home, shop, id=session.id)
    more.prompt("Two")
    found = only("gemini", shop)
    assert found.ids == (session.id,)
    assert {source.name for source in gemini.sources(found)} == {str(old), str(more.file)}
    assert [source.grows for source in gemini.sources(found)] == [False, True]


def test_copies_with_the_same_first_message_are_one_conversation(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    copy = GeminiSession(session.home, shop, now=session.now.replace(hour=12))
    copy.line(session.listed[0])
    GeminiSession(session.home, shop).prompt("One")
    found = gemini.sessions(str(shop))
    assert sorted(len(info.ids) for info in found) == [1, 2]
    assert (session.id, copy.id) in [info.ids for info in found]


def test_a_first_prompt_of_any_length_names_its_session(session: GeminiSession, shop: Path) -> None:
    session.prompt("Pasted " + "x" * 300_000)
    assert only("gemini", shop).title.startswith("Pasted xxx")


def test_a_long_session_is_listed_by_its_beginning_and_its_end(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    session.reply("y" * 300_000)
    session.set(summary="All of it")
    found = only("gemini", shop)
    assert (found.id, found.title) == (session.id, "All of it")


def test_a_session_of_the_old_form_is_listed_even_when_it_is_long(session: GeminiSession, shop: Path) -> None:
    session.prompt("Old prompt")
    session.reply("y" * 200_000)
    as_json(session)
    found = only("gemini", shop)
    assert (found.id, found.title) == (session.id, "Old prompt")


def test_a_summary_is_that_of_the_session_not_one_in_a_call(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    session.tool("update_topic", {"title": "x", "summary": "of a call"})
    assert only("gemini", shop).title == "One"
    as_json(session)
    assert only("gemini", shop).title == "One"


def test_text_that_looks_like_a_header_is_none(session: GeminiSession, shop: Path) -> None:
    session.prompt('{"sessionId":"evil","summary":"evil"}')
    session.prompt('x\n{"$set":{"sessionId":"evil"}}')
    found = only("gemini", shop)
    assert found.id == session.id
    assert "evil" not in found.ids


def test_sub_agents_are_no_sessions_but_sources(session: GeminiSession, shop: Path) -> None:
    session.prompt("Do")
    agent = session.sub_agent("generalist", "Write")
    found = only("gemini", shop)
    assert found.files == (str(session.file),)
    assert [source.name for source in gemini.sources(found)] == [str(session.file), str(agent.file)]


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ("", 30),
        ("not JSON", 30),
        ('{"general":{"sessionRetention":{"maxAge":"7d"}}}', 7),
        ('{"general":{"sessionRetention":{"maxAge":"2w"}}}', 14),
        ('{"general":{"sessionRetention":{"maxAge":"12h"}}}', 1),
        ('{"general":{"sessionRetention":{"maxAge":"soon"}}}', 30),
        ('{"general":{"sessionRetention":{"enabled":false, /* mine */ "maxAge":"7d"}}}', 0),
        ('{"general":7}', 30),
    ],
)
def test_how_long_sessions_are_kept_is_read_from_the_settings(settings: str, days: int, machine: Path) -> None:
    file = machine / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text(settings)
    assert gemini.keeps_days() == days


def test_it_was_used_here_when_its_folder_has_something_of_its_own(machine: Path) -> None:
    (machine / ".gemini" / "antigravity").mkdir(parents=True)
    assert not gemini.detect()
    (machine / ".gemini" / "projects.json").write_text(json.dumps({"projects": {}}))
    assert gemini.detect()
