"""Searching over all that was said, done and stored; and an index that is kept, may be deleted, and forgets."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from forkpoint.store import agents, roots
from forkpoint.store.api import Store
from forkpoint.store.conversation import transcripts
from forkpoint.store.errors import Busy, UsageError
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.locks import held
from forkpoint.store.model import Hit
from forkpoint.store.search import index

from tests.builders.app import a_parser, contents
from tests.builders.claude import ClaudeSession
from tests.builders.gemini import GeminiSession
from tests.builders.recorded import Recorded
from tests.builders.tampering import flip_object
from tests.builders.whole import whole


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    return a_parser(tmp_path / "headers")


def found(store: Store, query: str, kinds: Sequence[str] = ()) -> list[Hit]:
    """Everything that is found once the index has all."""
    assert store.catch_up()
    answer = store.search(query, kinds=kinds, limit=1000)
    assert not answer.more
    return list(answer.hits)


def file_of(store: Store) -> Path:
    (file,) = store.home.rglob("search.db")
    return file


def test_everything_that_was_said_done_and_stored_is_found_where_it_stands(agent: Recorded) -> None:
    store = agent.store()
    hits = found(store, "fold")
    kinds = [hit.kind for hit in hits]
    assert {"prompt", "reply", "tool_call", "tool_result", "file"} == set(kinds)
    assert kinds == sorted(kinds, key=lambda kind: kind == "file"), "files come last"
    prompt = next(hit for hit in hits if hit.kind == "prompt")
    assert (prompt.text, prompt.marks, prompt.turn) == ("Now fold continuation lines", ((4, 8),), 2)
    built = store.tree()
    assert {hit.entry for hit in hits if hit.entry} <= {entry.id for entry in built.entries}
    assert {hit.branch for hit in hits if hit.entry} == {built.branches[0].name}
    inside = next(hit for hit in hits if hit.path == b"fold.py")
    assert (inside.line, inside.text, inside.name_marks) == (1, "def unfold(lines):", ((0, 4),))
    assert inside.after == ("    yield from lines", "")
    made = next(point for point in built.points if point.id == inside.point)
    assert built.branch_of[made.entry or ""] == built.branches[0].name
    assert store.file_text(inside.point, inside.path, "FOLD unfold".lower()).marks == {0: ((4, 10),)}
    assert [hit.kind for hit in found(store, "fold", ["prompt", "file"])] == ["prompt", "file", "file"]
    with pytest.raises(UsageError):
        store.search("fold", kinds=["song"])


def test_names_alone_and_files_that_are_gone_are_found_with_the_time_until_which_they_stood(agent: Recorded) -> None:
    store = agent.store()
    (hit,) = found(store, "docs notes", ["file"])
    assert (hit.name, hit.line, hit.text) == ("docs/notes.txt", 0, "")
    points = sorted(store.tree().points, key=lambda point: point.time)
    assert hit.point == points[0].id
    assert points[0].time <= hit.until < points[-1].time
    assert [hit.name for hit in found(store, "please", ["file"])] == ["docs/notes.txt"]


def test_branches_that_were_left_what_was_compacted_and_sub_agents_are_searched_too(tmp_path: Path) -> None:
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path)
    first = session.turn("Begin with the walnut")
    second = session.prompt("Now the hazelnut")
    session.reply("A hazelnut it is.")
    session.end_turn()
    session.rewind(second)
    session.turn("Rather the almond", "An almond it is.")
    session.compact("They spoke of nuts.")
    session.prompt("Ask somebody")
    inner = session.subagent("Count every pistachio")
    inner.reply("Nine pistachios.")
    session.finish_subagent(inner)
    store = Store.open(tmp_path)
    branches = {hit.branch for hit in found(store, "almond", ["prompt"])}
    (left,) = found(store, "hazelnut", ["prompt"])
    assert left.entry == second
    assert left.branch not in branches
    assert first in {hit.entry for hit in found(store, "walnut")}
    assert found(store, '"spoke of nuts"')
    (inside,) = found(store, "nine pistachios", ["reply"])
    assert {inside.branch} == branches, "on the branch of the call that started it"


@pytest.mark.parametrize("name", [name for name in agents.names() if name != "claude"])
def test_sessions_of_every_agent_are_searched(name: str, tmp_path: Path) -> None:
    made = whole(name, tmp_path)
    store = Store.open(tmp_path)
    assert {hit.agent for hit in found(store, "reply 2")} == {name}
    assert found(store, '"prompt 1"', ["prompt"])
    assert found(store, '"output 2"', ["tool_result"])
    made.turn("Prompt 3 is about a walrus", "none", "Well.")
    assert [hit.kind for hit in found(store, "walrus")] == ["prompt"]


def test_what_an_agent_wrote_anew_is_found_as_it_is_now_and_not_as_it_was(tmp_path: Path) -> None:
    session = GeminiSession(Path(os.environ["HOME"]), tmp_path)
    session.prompt("Tell of the walrus")
    session.reply("It is large.")
    store = Store.open(tmp_path)
    assert len(found(store, "walrus")) == 1
    file = session.file
    file.write_bytes(file.read_bytes().replace(b"walrus", b"turtle"))
    assert [hit.text for hit in found(store, "turtle")] == ["Tell of the turtle"]
    assert found(store, "walrus") == []


def test_each_look_takes_in_what_came_and_only_that(agent: Recorded) -> None:
    store = agent.store()
    assert found(store, "zebra") == []
    connection = sqlite3.connect(file_of(store))
    before = connection.execute("SELECT id, entry FROM said ORDER BY id").fetchall()
    agent.asked("Paint a zebra")
    agent.writes("zebra.txt", "stripes\n")
    assert {hit.kind for hit in found(store, "zebra")} == {"prompt", "tool_call", "tool_result", "file"}
    after = connection.execute("SELECT id, entry FROM said ORDER BY id").fetchall()
    assert after[: len(before)] == before
    agent.writes("zebra.txt", "spots\n")
    assert [hit.name for hit in found(store, "spots", ["file"])] == ["zebra.txt"]
    (older,) = found(store, "stripes", ["file"])
    assert older.until < max(point.time for point in store.tree().points)


def test_what_is_read_anyway_is_taken_in_once_somebody_has_searched(agent: Recorded) -> None:
    store = agent.store()
    store.tree()
    store.keep_up()
    assert list(data_folder().rglob("search.*")) == [], "nobody searched yet"
    store.catch_up()
    agent.asked("Paint a zebra")
    agent.writes("zebra.txt", "stripes\n")
    store.tree()
    store.keep_up()
    kinds = [hit.kind for hit in store.search("zebra").hits]
    assert kinds == ["tool_result", "tool_call", "prompt", "file"]


def test_files_outside_of_the_folder_that_an_edit_tool_named_are_searched_by_their_whole_path(tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "headers")
    agent.starts()
    agent.asked("Note it elsewhere")
    agent.writes("../elsewhere.txt", "a walrus\n")
    agent.writes("inside.txt", "none\n")
    store = agent.store()
    (hit,) = found(store, "walrus", ["file"])
    assert hit.path == os.fsencode(tmp_path / "elsewhere.txt")
    assert store.file_text(hit.point, hit.path).lines == ("a walrus",)
    assert hit.until == max(point.time for point in store.tree().points)


@pytest.mark.parametrize("kind", ["delete", "purge"])
def test_deleted_checkpoints_and_sessions_leave_the_index(kind: str, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    ids: list[str] = []
    for text in ("walrus\n", "turtle\n", "zebra\n"):
        (project / "a.txt").write_text(text)
        ids.append(Store.open(project).save().id)
    store = Store.open(project)
    assert [hit.point for hit in found(store, "turtle")] == [ids[1]]
    store.delete([ids[1]], kind=kind)
    assert (kind == "purge") == (not list(data_folder().rglob("search.db")))
    assert store.search("turtle").hits == (), "at once, before anything was taken in"
    assert found(store, "turtle") == []
    assert [hit.point for hit in found(store, "walrus")] == [ids[0]]
    (project / "a.txt").write_text("turtle again\n")
    fourth = store.save().id
    assert [hit.point for hit in found(store, "turtle")] == [fourth]
    with sqlite3.connect(file_of(store)) as connection:
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (3,)


def test_a_session_whose_file_is_gone_and_that_nothing_keeps_leaves_the_index(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    Store.open(tmp_path).save()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path)
    session.turn("Tell of the walrus")
    store = Store.open(tmp_path)
    assert len(found(store, "walrus")) == 1
    session.file.unlink()
    assert found(store, "walrus") == []
    with sqlite3.connect(file_of(store)) as connection:
        assert connection.execute("SELECT count(*) FROM said").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM said_words WHERE said_words MATCH '\"wal\"'").fetchone() == (0,)


def test_the_newest_checkpoint_may_go_and_the_next_one_is_compared_with_what_is_left(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    ids: list[str] = []
    for text in ("walrus\n", "turtle\n"):
        file.write_text(text)
        ids.append(Store.open(tmp_path).save().id)
    store = Store.open(tmp_path)
    assert len(found(store, "turtle")) == 1
    store.delete([ids[1]], anyway=True)
    store.repack()
    file.write_text("zebra\n")
    Store.open(tmp_path).save()
    assert found(store, "turtle") == []
    (zebra,) = found(store, "zebra")
    (walrus,) = found(store, "walrus")
    assert walrus.until < zebra.time


@pytest.mark.parametrize("what", ["deleted", "emptied", "garbage", "torn", "another version's"])
def test_an_index_that_is_gone_or_spoilt_is_made_anew(what: str, agent: Recorded) -> None:
    store = agent.store()
    before = found(store, "fold")
    file = file_of(store)
    if what == "deleted":
        file.unlink()
    elif what == "emptied":
        file.write_bytes(b"")
    elif what == "garbage":
        file.write_bytes(b"no database at all\n" * 400)
    elif what == "torn":
        data = bytearray(file.read_bytes())
        data[4096 : len(data) - 512] = b"\xff" * (len(data) - 4608)
        file.write_bytes(data)
    else:
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE about SET value = '0' WHERE name = 'version'")
    assert found(agent.store(), "fold") == before
    assert stat.S_IMODE(file_of(store).stat().st_mode) == 0o600


def test_the_index_is_for_the_person_alone_and_no_hook_opens_it(agent: Recorded) -> None:
    assert list(data_folder().rglob("search.*")) == []
    store = agent.store()
    store.catch_up()
    place = roots.adopt(store.root, data_folder())
    with index.Index(place.workspace).open() as connection:
        connection.execute("INSERT INTO about VALUES ('a', 'b')")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in data_folder().rglob("search.*")}
    assert {"search.db", "search.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_where_nothing_is_recorded_nothing_is_written_and_all_is_found(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path / "project")
    session.turn("Tell of the walrus")
    before = contents(Path(os.environ["HOME"]))
    store = Store.open(tmp_path / "project")
    assert [hit.kind for hit in found(store, "walrus")] == ["prompt"]
    session.turn("And of another walrus")
    assert len(found(store, "walrus")) == 2
    assert contents(Path(os.environ["HOME"])).keys() == before.keys()
    assert not data_folder().exists()


def test_where_the_index_cannot_be_written_it_is_made_in_memory(agent: Recorded) -> None:
    store = agent.store()
    place = roots.adopt(store.root, data_folder())
    (place.workspace / "search.db").mkdir()
    kinds = {hit.kind for hit in found(store, "fold")}
    assert kinds == {"prompt", "reply", "tool_call", "tool_result", "file"}
    agent.asked("Unfold it")
    assert len(found(store, '"unfold it"')) == 1


def test_a_conversation_that_was_damaged_in_the_store_hides_no_other(tmp_path: Path) -> None:
    sessions = [ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path) for _ in range(2)]
    for number, session in enumerate(sessions):
        session.turn(f"Walrus {number}")
    (tmp_path / "a.txt").write_text("a\n")
    Store.open(tmp_path).save()
    Store.open(tmp_path).keep()
    sessions[0].file.unlink()
    place = roots.adopt(os.path.realpath(tmp_path), data_folder())
    objects = Objects(place.git_dir)
    kept = transcripts.known(objects)[sessions[0].id]
    (part,) = kept.parts.values()
    ((_, segment),) = transcripts.segments_of(objects, kept.commit, part)
    flip_object(place, segment)
    store = Store.open(tmp_path)
    hits = {hit.text for hit in found(store, "walrus")}
    assert hits == {"Walrus 1"}


def test_words_of_one_and_two_letters_are_found_in_the_texts_themselves(agent: Recorded) -> None:
    store = agent.store()
    assert [hit.text for hit in found(store, "rm", ["tool_call"])] == ["rm docs/notes.txt"]
    assert found(store, "q:") == []
    assert [hit.text for hit in found(store, "rm do", ["tool_call"])] == ["rm docs/notes.txt"]


def test_without_an_index_of_letters_the_same_is_found(agent: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    store = agent.store()
    before = found(store, "fold")
    file_of(store).unlink()
    monkeypatch.setattr(index, "WORDS", "CREATE VIRTUAL TABLE {}_words USING nothing_like_it (text)")
    assert found(agent.store(), "fold") == before
    agent.asked("Unfold it")
    assert len(found(store, "fold")) == len(before) + 1


def test_what_was_found_can_be_shown_whatever_was_written(tmp_path: Path) -> None:
    bad = "walrus\x1b]0;owned\x07\x1b[31m \u202eevil\u202c\r"
    (tmp_path / "a\x1b[2J.txt").write_bytes(f"{bad}\n".encode() + b"\xff\xfe walrus\n")
    (tmp_path / "binary").write_bytes(b"walrus\0")
    Store.open(tmp_path).save()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path)
    session.turn(bad)
    store = Store.open(tmp_path)
    hits = found(store, "walrus")
    assert [hit.kind for hit in hits] == ["prompt", "file"]
    for hit in hits:
        shown = (hit.text, hit.name, *hit.before, *hit.after)
        assert all(text.isprintable() for text in shown), shown
        assert [hit.text[start:end] for start, end in hit.marks] == ["walrus"]
    lines = store.file_text(hits[1].point, hits[1].path).lines
    assert all(line.isprintable() for line in lines)
    assert [hit.name for hit in found(store, "binary")] == ["binary"]


def test_the_line_of_a_hit_is_cut_around_it_and_the_mark_stays_on_the_words(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("above\n" + "x" * 5_000 + "\twalrus\u200b" + "y" * 5_000 + "\nbelow\n")
    Store.open(tmp_path).save()
    (hit,) = found(Store.open(tmp_path), "walrus")
    ((start, end),) = hit.marks
    assert hit.text[start:end] == "walrus"
    assert len(hit.text) < 300
    assert (hit.line, hit.before, hit.after) == (2, ("above",), ("below", ""))


def test_whoever_cancels_is_obeyed_and_the_rest_is_taken_in_later(agent: Recorded) -> None:
    store = agent.store()
    assert not store.catch_up(cancelled=lambda: True)
    asked = iter([False] * 3)
    assert not store.catch_up(cancelled=lambda: next(asked, True))
    assert len(found(store, "fold", ["prompt", "reply"])) == 2
    answer = store.search("fold", cancelled=lambda: True)
    assert (answer.hits, answer.more) == ((), True)


def test_only_so_many_are_given_and_the_newest_first(agent: Recorded) -> None:
    for number in range(5):
        agent.asked(f"Walrus {number}")
    store = agent.store()
    store.catch_up()
    answer = store.search("walrus", limit=3)
    assert [hit.text for hit in answer.hits] == ["Walrus 4", "Walrus 3", "Walrus 2"]
    assert answer.more


@pytest.mark.parametrize("recorded", [False, True])
def test_one_may_search_while_what_is_new_is_taken_in(recorded: bool, tmp_path: Path) -> None:
    if recorded:
        Store.open(tmp_path).save()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path)
    session.turn("The first walrus")
    store = Store.open(tmp_path)
    assert len(found(store, "walrus")) == 1
    session.turn("The second walrus")
    seen: list[int] = []
    with ThreadPoolExecutor(1) as other:

        def meanwhile(done: int, total: int) -> None:
            seen.append(len(other.submit(store.search, "walrus").result(timeout=30).hits))

        assert store.catch_up(progress=meanwhile)
    assert seen[0] == 1
    assert len(store.search("walrus").hits) == 2


KEEPS = """
import sys
from forkpoint.store.api import Store
store = Store.open(sys.argv[1])
store.catch_up()
print(len(store.search("walrus", limit=1000).hits))
"""


def test_processes_that_keep_it_at_once_take_everything_in_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("walrus\n")
    Store.open(tmp_path).save()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), tmp_path)
    for number in range(40):
        session.turn(f"Walrus {number}")
    command = [sys.executable, "-c", KEEPS, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == ["41"] * 3
    with sqlite3.connect(file_of(Store.open(tmp_path))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*), count(DISTINCT entry) FROM said").fetchone() == (80, 80)


def test_who_finds_another_one_at_it_is_told(agent: Recorded) -> None:
    store = agent.store()
    place = roots.adopt(store.root, data_folder())
    with held(place.workspace / "search.lock", who="search"), pytest.raises(Busy):
        store.catch_up(wait=0.0)


def test_an_overview_is_read_once_and_again_when_the_session_grew(agent: Recorded) -> None:
    store = agent.store()
    (info,) = store.sessions()
    assert store.overviews([info]) == {}
    told = store.overview(info)
    assert (told.prompts, told.last, told.branches) == (2, "Now fold continuation lines", 1)
    assert agent.store().overviews([info]) == {info.key: told}
    agent.asked("And now?")
    (info,) = store.sessions()
    assert store.overviews([info]) == {}
    assert store.overview(info).last == "And now?"
