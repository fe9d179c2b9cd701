"""`forkpoint search`, and `forkpoint sessions` in all folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.locks import held
from rich.cells import cell_len

from tests.builders.app import LookedAt, a_parser, looked_at
from tests.builders.claude import ClaudeSession
from tests.builders.cli import Talk, forkpoint, process
from tests.builders.whole import whole


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LookedAt]:
    with looked_at(tmp_path_factory.mktemp("search")) as there:
        yield there


@pytest.fixture
def headers(recorded: LookedAt, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recorded session that is only looked at; the test stands in its folder."""
    for name, value in recorded.names.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(recorded.project)
    return recorded.project


def test_hits_stand_under_their_session_and_files_last(headers: Path) -> None:
    answer = forkpoint("search", "fold")
    assert answer.code == 0
    assert answer.lines[0] == str(headers)
    assert answer.lines[2] == "Now fold continuation lines"
    prompt = next(line for line in answer.lines if line.startswith("  prompt"))
    assert prompt.endswith("Now fold continuation lines")
    assert re.search(r" [0-9a-f]{8}  write-parser-headers  ", prompt)
    files = answer.lines[answer.lines.index("Files of checkpoints") + 1 :]
    assert [line.split("  ")[-2].strip() for line in files] == ["fold.py:1", "parse.py:1"]


def test_each_id_that_it_tells_is_one_that_show_takes(headers: Path) -> None:
    for line in forkpoint("search", "unfold").lines:
        if found := re.search(r" ([0-9a-f]{8,})  ", line):
            assert forkpoint("show", found[1]).code == 0


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_words_stay_in_sight_at_every_width(headers: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = forkpoint("search", "yield").lines
    assert all(cell_len(line) <= width for line in lines)
    assert all("yield" in line for line in lines if line.startswith("  "))


def test_the_document_has_the_keys_that_scripts_rely_on(headers: Path) -> None:
    document = forkpoint("search", "lines", "fold", "--json").json
    assert document.keys() == {"query", "more", "hits"}
    assert (document["query"], document["more"]) == ("lines fold", False)
    for hit in document["hits"]:
        assert hit.keys() == {
            *("kind", "time", "session", "agent", "title", "branch", "entry", "turn", "tool"),
            *("line", "text", "marks", "path", "checkpoint", "until"),
        }
        assert {hit["text"][start:end].lower() for start, end in hit["marks"]} <= {"fold", "lines"}
    entry, file = document["hits"][0], document["hits"][-1]
    assert (entry["path"], entry["checkpoint"], file["entry"], file["path"]) == (None, None, None, "fold.py")


def test_kinds_and_how_many_can_be_chosen(headers: Path) -> None:
    hits = forkpoint("search", "fold", "--kind", "prompt", "--kind", "file", "--json").json["hits"]
    assert [hit["kind"] for hit in hits] == ["prompt", "file", "file"]
    assert forkpoint("search", "fold", "--limit", "1", "--json").json["more"] is True
    assert forkpoint("search", "fold", "--limit", "1").lines[-1] == "There is more: --limit N shows it."


def test_what_cannot_be_searched_for_ends_with_2_and_nothing_found_with_0(headers: Path) -> None:
    assert forkpoint("search", "x", "--kind", "song").code == 2
    assert forkpoint("search", '""').code == 2
    assert forkpoint("search").code == 2
    assert forkpoint("search", "zebra").code == 0
    assert forkpoint("search", "zebra").lines[-1] == "Nothing holds zebra."
    assert forkpoint("search", "zebra", "--json").json == {"query": "zebra", "more": False, "hits": []}


def test_a_folder_without_anything_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert forkpoint("search", "x").code == 1


def test_a_terminal_gets_no_control_characters_of_what_was_found(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a\x1b]0;x\x07.txt").write_text("walrus \x1b[31mred\n")
    Store.open(project).save()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), project)
    session.turn("walrus\x1b]52;c;AAAA\x07\x9b2J")
    talk = Talk("search", "walrus", cwd=project, env={**os.environ, "COLUMNS": "100"})
    assert talk.close() == 0
    assert "\x1b]" not in talk.seen and "\x9b" not in talk.seen and "\x07" not in talk.seen
    assert "\x1b[31mred" not in talk.seen
    assert "walrus" in talk.seen


def test_in_home_and_with_everywhere_the_sessions_of_all_folders_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    agent = a_parser(home / "code" / "headers")
    (home / "code" / "api").mkdir()
    for name in ("codex", "gemini", "opencode", "pi"):
        whole(name, home / "code" / "api")
    gone = tmp_path / "gone"
    gone.mkdir()
    whole("claude", gone)
    gone.rmdir()
    monkeypatch.chdir(home)
    out = forkpoint("sessions")
    assert out.code == 0
    folders = [line for line in out.lines if line.startswith("/")]
    assert sorted(folders) == sorted([str(home / "code" / "headers"), str(home / "code" / "api"), str(gone)])
    assert "its folder is not there any more" in out.out
    found = forkpoint("sessions", "--json").json
    assert {item["agent"] for item in found} == {"claude", "codex", "gemini", "opencode", "pi"}
    assert next(item["folder"] for item in found if item["id"] == agent.session.id) == str(agent.project)
    assert forkpoint("-C", agent.project, "sessions", "--everywhere", "--json").json == found
    assert process(cwd=home).out == out.out
    one = forkpoint("-C", agent.project, "sessions", "--json").json
    assert [item.keys() for item in one] == [found[0].keys() - {"folder"}]


def test_a_session_is_told_with_its_last_prompt_and_the_branches_that_were_left(tmp_path: Path) -> None:
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path)
    session.title("Nuts")
    session.turn("Begin with the walnut")
    left = session.turn("Now the hazelnut")
    session.rewind(left)
    session.turn("Rather the almond")
    first, second = forkpoint("-C", tmp_path, "sessions").lines[1:]
    assert "Nuts  last: Rather the almond  2 branches" in first
    assert second.endswith("├╴ hazelnut  Now the hazelnut")


def test_while_another_process_reads_it_searches_what_there_is_and_says_so(headers: Path) -> None:
    assert forkpoint("search", "fold").code == 0
    (lock,) = Path(os.environ["FORKPOINT_HOME"]).rglob("search.lock")
    settings = lock.parents[2] / "settings.toml"
    settings.write_text("[limits]\nwait = 0\n")
    with held(lock, who="search"):
        answer = forkpoint("search", "fold")
    settings.unlink()
    assert answer.code == 1
    assert "what it has not read yet was not searched" in answer.err
    assert "Now fold continuation lines" in answer.out
