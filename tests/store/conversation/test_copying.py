"""The store's copy of agents' files: what grows, what is written anew, and what was there before."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import pytest
from forkpoint.store.agents.base import Source
from forkpoint.store.conversation import copying, storing, transcripts
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.model import SessionInfo
from forkpoint.store.proof.witness import only_grew
from forkpoint.store.roots import Place, adopt
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "project"
    root.mkdir()
    return adopt(str(root), data_folder())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


class Copied:
    """The store's copy of one session, after each look."""

    def __init__(self, place: Place, agent: str = "claude") -> None:
        self.place = place
        self.info = SessionInfo("s1", agent, "A session", 0, 0, (), ("s1",))

    @property
    def kept(self) -> transcripts.Kept | None:
        return transcripts.known(Objects(self.place.git_dir)).get(transcripts.name_of(self.info.agent, "s1"))

    def look(self, *sources: Source) -> bool:
        before = self.kept
        grew = storing.keep(self.place, Objects(self.place.git_dir), self.info, sources, before)
        after = self.kept
        assert grew == (after != before)
        if before is not None and after is not None:
            assert only_grew(Objects(self.place.git_dir), before.commit, after.commit), "lines that grew are never lost"
        if after is not None:
            assert transcripts.gaps(Objects(self.place.git_dir), after) == []
        return grew

    def told(self) -> list[tuple[str, str, bytes]]:
        """Name, file of which it is a former version, and bytes of each source that the store can give."""
        found: list[tuple[str, str, bytes]] = []
        if self.kept is not None:
            for source in transcripts.sources(Objects(self.place.git_dir), self.kept):
                with source.open() as stream:
                    found.append((os.path.basename(source.name), os.path.basename(source.former), stream.read()))
        return found


def on_disk(file: Path, *, grows: bool = True, ids: Callable[[BinaryIO], frozenset[str]] | None = None) -> Source:
    return Source(str(file), lambda: open(file, "rb"), grows, ids=ids)


# --- what grows ----------------------------------------------------------------------------------------------------


def test_whole_lines_are_taken_once_and_half_ones_wait(place: Place, log: Path) -> None:
    copied = Copied(place)
    for text, grew in ((b"one\ntw", True), (b"one\ntwo", False), (b"one\ntwo\nthree\n", True)):
        log.write_bytes(text)
        assert copied.look(on_disk(log)) == grew
    assert not copied.look(on_disk(log))
    assert copied.told() == [("session.jsonl", "", b"one\ntwo\nthree\n")]


def test_lines_of_the_wire_log_are_left_out(place: Place, log: Path) -> None:
    copied = Copied(place)
    log.write_bytes(b'a\n{"type":"api-request-blob"}\n')
    copied.look(on_disk(log))
    log.write_bytes(log.read_bytes() + b'{"type":"api-request"}\nb\n')
    copied.look(on_disk(log))
    assert copied.told() == [("session.jsonl", "", b"a\nb\n")]


@pytest.mark.parametrize("long", [b"x" * 50_000, b'{"type":"api-request' + b"x" * 50_000])
def test_a_line_larger_than_what_is_read_at_a_time_is_taken_when_it_is_whole(
    place: Place, log: Path, long: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "PIECE", 1000)
    copied = Copied(place)
    log.write_bytes(b"one\n" + long)
    copied.look(on_disk(log))
    log.write_bytes(b"one\n" + long + b"\ntwo\n")
    copied.look(on_disk(log))
    kept = b"" if long.startswith(b"{") else long + b"\n"
    assert copied.told() == [("session.jsonl", "", b"one\n" + kept + b"two\n")]


def test_a_file_that_shrank_is_read_again_and_what_it_held_stays(place: Place, log: Path) -> None:
    copied = Copied(place)
    log.write_bytes(b"one\ntwo\nthree\n")
    copied.look(on_disk(log))
    log.write_bytes(b"one\nother\n")
    copied.look(on_disk(log))
    before = ("session.jsonl@1", "session.jsonl", b"one\ntwo\nthree\n")
    assert copied.told() == [before, ("session.jsonl", "", b"one\nother\n")]
    log.write_bytes(b"one\nother\nfourth, and it is longer than ever before\n")
    copied.look(on_disk(log))
    assert copied.told() == [
        before,
        ("session.jsonl", "", b"one\nother\nfourth, and it is longer than ever before\n"),
    ]
    log.write_bytes(b"")
    copied.look(on_disk(log))
    assert [data for _, _, data in copied.told()][1:] == [
        b"one\nother\nfourth, and it is longer than ever before\n",
        b"",
    ]


def test_a_file_that_was_written_anew_and_is_longer_is_another_one(place: Place, log: Path) -> None:
    copied = Copied(place)
    log.write_bytes(b"one\ntwo\n")
    copied.look(on_disk(log))
    log.write_bytes(b"one\nTWO\nthree\n")
    copied.look(on_disk(log))
    assert [data for _, _, data in copied.told()] == [b"one\ntwo\n", b"one\nTWO\nthree\n"]


def test_another_file_in_its_place_counts_by_what_it_holds(place: Place, log: Path, tmp_path: Path) -> None:
    copied = Copied(place)
    head = b"\n".join(b"%06d" % number for number in range(2000)) + b"\n"
    log.write_bytes(head)
    copied.look(on_disk(log))

    def put(data: bytes) -> None:
        (tmp_path / "new").write_bytes(data)
        os.replace(tmp_path / "new", log)

    put(head + b"next\n")
    copied.look(on_disk(log))
    assert copied.told() == [("session.jsonl", "", head + b"next\n")], "a copy of it goes on from it"
    other = head.replace(b"000001", b"changed") + b"next\n"
    put(other[1:])
    copied.look(on_disk(log))
    assert [data for _, _, data in copied.told()] == [head + b"next\n", other[1:]]


def test_a_file_that_says_all_that_it_said_before_in_another_order_has_no_former_version(
    place: Place, log: Path
) -> None:
    copied = Copied(place)
    log.write_bytes(b"one\ntwo\n")
    copied.look(on_disk(log))
    log.write_bytes(b"header\n")
    copied.look(on_disk(log))
    assert [data for _, _, data in copied.told()] == [b"one\ntwo\n", b"header\n"], "it is being written"
    log.write_bytes(b"header\ntwo\none\n")
    copied.look(on_disk(log))
    assert copied.told() == [("session.jsonl", "", b"header\ntwo\none\n")]


def test_a_file_may_become_another_one_again_and_again(place: Place, log: Path) -> None:
    copied = Copied(place)
    for text in (b"one\ntwo\n", b"two\none\n", b"one\ntwo\n", b"three\n", b"one\nthree\ntwo\n"):
        log.write_bytes(text)
        copied.look(on_disk(log))
        assert copied.told()[-1] == ("session.jsonl", "", text)
    assert len(copied.told()) == 1


def test_a_file_that_was_written_anew_and_grows_from_then_on_keeps_what_it_was(place: Place, log: Path) -> None:
    copied = Copied(place)
    log.write_bytes(b'{"old": 1}')
    copied.look(on_disk(log, grows=False))
    log.write_bytes(b"header\none\n")
    copied.look(on_disk(log))
    log.write_bytes(b"header\none\ntwo\n")
    copied.look(on_disk(log))
    before = ("session.jsonl@1", "session.jsonl", b'{"old": 1}')
    assert copied.told() == [before, ("session.jsonl", "", b"header\none\ntwo\n")]


def test_a_store_of_before_there_were_versions_is_gone_on_from(place: Place, log: Path) -> None:
    copied = Copied(place)
    log.write_bytes(b"one\n")
    copied.look(on_disk(log))
    assert copied.kept is not None
    plain = json.loads(transcripts.encode(copied.kept.info, copied.kept.parts, False))
    old = {"info": plain["info"], "cursors": {str(log): 4}, "rescued": False}
    kept = transcripts.decode(json.dumps(old).encode(), copied.kept.commit)
    log.write_bytes(b"one\ntwo\n")
    assert storing.keep(place, Objects(place.git_dir), copied.info, [on_disk(log)], kept)
    assert copied.told() == [("session.jsonl", "", b"one\ntwo\n")]


def test_little_is_in_memory_at_a_time(place: Place, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "PIECE", 1 << 18)
    copied = Copied(place)
    with open(log, "wb") as file:
        for _ in range(16):
            file.writelines(b"%08x" % number * 16 + b"\n" for number in range(8000))
    copied.look()
    tracemalloc.start()
    copied.look(on_disk(log))
    assert copied.kept is not None
    with transcripts.open_kept(Objects(place.git_dir), copied.kept, str(log)) as stream:
        while stream.read(1 << 16):
            pass
    assert tracemalloc.get_traced_memory()[1] < log.stat().st_size / 4
    tracemalloc.stop()


# --- what is written anew ------------------------------------------------------------------------------------------


class Messages:
    """A session in a database: no file of its own, read as JSON lines."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.changes = 0
        self.reads = 0

    def source(self, *, ids: bool = True) -> Source:
        return Source("/db#s1", self._open, False, lambda: (len(self.texts), self.changes), ids=_ids if ids else None)

    def say(self, names: Iterable[str], text: str = "hello") -> None:
        self.texts |= dict.fromkeys(names, text)
        self.changes += 1

    def data(self) -> bytes:
        return b"".join(json.dumps([name, text]).encode() + b"\n" for name, text in self.texts.items())

    def _open(self) -> BinaryIO:
        self.reads += 1
        return io.BytesIO(self.data())


def _ids(stream: BinaryIO) -> frozenset[str]:
    return frozenset(json.loads(line)[0] for line in stream)


def versions(told: Sequence[tuple[str, str, bytes]]) -> list[tuple[str, list[str]]]:
    return [(name, sorted(_ids(io.BytesIO(data)))) for name, _, data in told]


def test_what_is_no_file_is_read_by_its_opener_and_only_when_it_changed(place: Place) -> None:
    copied, session = Copied(place, "opencode"), Messages()
    session.say("ab")
    assert copied.look(session.source())
    reads = session.reads
    assert not copied.look(session.source())
    assert session.reads == reads
    session.changes += 1
    assert not copied.look(session.source()), "its stamp changed, its bytes did not"
    assert versions(copied.told()) == [("db#s1", ["a", "b"])]


def test_a_newer_version_that_tells_all_takes_the_place_of_the_old(place: Place) -> None:
    copied, session = Copied(place, "opencode"), Messages()
    for names in ("ab", "c", "de"):
        session.say(names)
        copied.look(session.source())
    session.say("a", "changed")
    copied.look(session.source())
    assert copied.told() == [("db#s1", "", session.data())]


def test_what_the_agent_deleted_stays_in_a_former_version(place: Place) -> None:
    copied, session = Copied(place, "opencode"), Messages()
    session.say("abcd")
    copied.look(session.source())
    del session.texts["c"], session.texts["d"]
    session.say("e")
    copied.look(session.source())
    assert versions(copied.told()) == [("db#s1@1", ["a", "b", "c", "d"]), ("db#s1", ["a", "b", "e"])]
    del session.texts["e"]
    session.say("f")
    copied.look(session.source())
    assert [name for name, _ in versions(copied.told())] == ["db#s1@1", "db#s1@2", "db#s1"]
    session.say("cde")
    copied.look(session.source())
    assert versions(copied.told()) == [("db#s1", ["a", "b", "c", "d", "e", "f"])]


def test_without_names_of_what_it_tells_every_version_stays(place: Place, tmp_path: Path) -> None:
    copied, file = Copied(place, "gemini"), tmp_path / "chat.json"
    for text in ('{"n": 1}', '{"n": 1}', '{"n": 2}', '{"n": 3}'):
        file.write_text(text)
        copied.look(on_disk(file, grows=False))
    assert copied.told() == [
        ("chat.json@1", "chat.json", b'{"n": 1}'),
        ("chat.json@2", "chat.json", b'{"n": 2}'),
        ("chat.json", "", b'{"n": 3}'),
    ]


def test_a_version_may_be_empty(place: Place) -> None:
    copied, session = Copied(place, "opencode"), Messages()
    for names in ("", "", "ab"):
        session.say(names)
        copied.look(session.source())
    session.texts.clear()
    for _ in range(3):
        session.changes += 1
        copied.look(session.source())
    assert versions(copied.told()) == [("db#s1@1", ["a", "b"]), ("db#s1", [])]


def test_versions_share_what_they_have_in_common(place: Place) -> None:
    copied, session = Copied(place, "opencode"), Messages()
    for number in range(3000):
        session.say([f"m{number:05}"], hashlib.sha256(b"%d" % number).hexdigest())
    copied.look(session.source())
    first = _stored(place)
    for number in range(20):
        session.texts = {"first" + str(number): "a new head", **session.texts}
        session.say([f"n{number}"], "an answer")
        copied.look(session.source())
    assert _stored(place) - first < 2 * first, "twenty versions more take less than two"
    assert copied.told() == [("db#s1", "", session.data())]


def _stored(place: Place) -> int:
    return sum(file.stat().st_size for file in (place.git_dir / "objects" / "pack").glob("*.pack"))


def test_a_version_that_cannot_be_read_now_is_the_next_look_s(place: Place) -> None:
    copied, session = Copied(place, "opencode"), Messages()
    session.say("ab")

    def broken() -> BinaryIO:
        raise OSError("database is locked")

    source = session.source()
    assert not copied.look(Source(source.name, broken, False, source.stamper))
    assert copied.look(source)


def test_sessions_of_two_agents_with_one_id_are_kept_apart(place: Place, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    for agent, file in (("claude", log), ("codex", other)):
        file.write_text(f"{agent}\n")
        Copied(place, agent).look(on_disk(file))
    assert [data for agent in ("claude", "codex") for _, _, data in Copied(place, agent).told()] == [
        b"claude\n",
        b"codex\n",
    ]
    assert transcripts.name_of("pi", "../odd name") != transcripts.name_of("pi", "../odd  name")
    assert "/" not in transcripts.name_of("pi", "../odd name")


# --- whatever becomes of a file ------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6)


@given(st.lists(st.tuples(LINES, st.booleans()), min_size=2, max_size=6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_nothing_that_was_kept_is_ever_lost(states: list[tuple[list[str], bool]], grows: bool) -> None:
    """Files written anew at each look, in place or by a rename: the newest is as it is, and older lines stay."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "project").mkdir()
        copied = Copied(adopt(f"{folder}/project", Path(folder) / "data"), "codex")
        file = Path(folder) / "session"
        ever: set[bytes] = set()
        for lines, renamed in states:
            data = b"".join(line.encode() + b"\n" for line in lines)
            target = file.with_name("new") if renamed else file
            target.write_bytes(data)
            os.replace(target, file)
            copied.look(on_disk(file, grows=grows, ids=None if grows else _lines))
            told = copied.told()
            assert (told[-1][2] if told else b"") == data
            ever |= set(data.splitlines())
            assert ever == {line for _, _, kept in told for line in kept.splitlines()}


def _lines(stream: BinaryIO) -> frozenset[str]:
    return frozenset(line.decode() for line in stream)
