"""What is read of a session that grows, piece by piece, is what is read of it whole."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.claude.notes import Notes
from forkpoint.store.agents.claude.reader import Following
from forkpoint.store.agents.forms.jsonl import Reached
from forkpoint.store.agents.forms.regular import on_disk
from forkpoint.store.model import SessionInfo
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.app import main, running, until
from tests.builders.claude import ClaudeSession
from tests.builders.recorded import Recorded

from .test_any_graph import RECORDS, record

claude = agents.get("claude")
SESSION = "5f0c7f0a-0000-4000-8000-000000000001"
OTHER = "5f0c7f0a-0000-4000-8000-000000000002"
NAMES = (f"{SESSION}.jsonl", f"{OTHER}.jsonl", f"{SESSION}/subagents/agent-a1.jsonl")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["grow", "grow", "grow", "shrink", "rewrite", "replace", "vanish", "nothing"]),
        st.integers(0, 2),
        st.integers(0, 400),
    ),
    max_size=12,
)
times = itertools.count(1_700_000_000_000_000_000, 1_000_000_000)


def snapshot(number: int) -> bytes:
    """A line of the file history: the state of a file before a prompt."""
    owner = {"messageId": f"r{number}"}
    files = {f"file{number}.txt": {"backupFileName": None, "version": 1, "realParentDir": "/w"}}
    plain: dict[str, Any] = owner | {"trackedFileBackups": files, "timestamp": "2026-11-30T10:00:00Z"}
    return json.dumps({"type": "file-history-snapshot", **owner, "snapshot": plain}, separators=(",", ":")).encode()


def lines(graph: list[tuple[str, int, int, int]], shift: int) -> list[bytes]:
    made: list[bytes] = []
    for number, links in enumerate(graph):
        made.append(record(number + shift, *links))
        if links[0] == "prompt":
            made.append(snapshot(number + shift))
    return made


@given(
    st.lists(st.tuples(RECORDS, st.integers(0, 3)), min_size=1, max_size=3),
    st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=1, max_size=3),
    STEPS,
)
def test_reading_in_pieces_gives_what_reading_at_once_gives(
    tmp_path_factory: pytest.TempPathFactory,
    graphs: list[tuple[list[tuple[str, int, int, int]], int]],
    ends: list[bytes],
    steps: list[tuple[str, int, int]],
) -> None:
    folder = tmp_path_factory.mktemp("following")
    contents = [end.join(lines(graph, shift)) + end for (graph, shift), end in zip(graphs, itertools.cycle(ends))]
    files = [folder / name for name in NAMES]
    files[2].parent.mkdir(parents=True)
    coming = [contents[number % len(contents)] for number in range(len(files))]
    info = SessionInfo(SESSION, "claude", "", 0, 0, tuple(map(str, files[:2])), (SESSION, OTHER), cwd="/w")
    following = Following()
    for kind, which, number in steps:
        file = files[which]
        if kind == "grow":
            with open(file, "ab") as stream:
                stream.write(coming[which][:number])
            coming[which] = coming[which][number:]
        elif kind == "shrink" and file.exists():
            os.truncate(file, min(number, file.stat().st_size))
        elif kind == "rewrite":
            file.write_bytes(contents[number % len(contents)])
        elif kind == "replace":
            beside = folder / "beside"
            beside.write_bytes(contents[number % len(contents)][:number])
            beside.replace(file)
        elif kind == "vanish":
            file.unlink(missing_ok=True)
        if file.exists():
            # The clock of a file system is coarse: two writes in a few milliseconds have one time.
            moment = next(times)
            os.utime(file, ns=(moment, moment))
        sources = [on_disk(str(file)) for file in files]
        conversation = following.read(info, sources)
        assert conversation == claude.read(info, sources)
        states = following.file_states(conversation, "/w", sources)
        assert states == claude.file_states(conversation, "/w", sources)


def test_records_of_three_files_with_one_id_at_one_place_are_three_rows(tmp_path: Path) -> None:
    files = [tmp_path / name for name in NAMES[:2]] + [tmp_path / "c.jsonl"]
    for number, file in enumerate(files):
        file.write_bytes(record(0, "prompt", -1, 0, 0).replace(b" 0", b" %d" % number) + b"\n")
    info = SessionInfo(SESSION, "claude", "", 0, 0, tuple(map(str, files)), (SESSION, OTHER, "c"), cwd="/w")
    entries = Following().read(info, [on_disk(str(file)) for file in files]).entries
    assert len({entry.id for entry in entries}) == len({entry.text for entry in entries}) == 3


class Counted:
    """A source that counts the bytes that are read of it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.bytes = 0

    def source(self) -> Source:
        counted = self

        class Counting(FileIO):
            def readinto(self, buffer: Any) -> int:
                read = super().readinto(buffer) or 0
                counted.bytes += read
                return read

        def opened() -> Any:
            import io

            return io.BufferedReader(Counting(str(counted.file)), 4096)

        return Source(str(self.file), opened)


@pytest.fixture
def long(machine: Path, tmp_path: Path) -> ClaudeSession:
    session = ClaudeSession(machine / "claude", tmp_path)
    session.prompt("Begin")
    for number in range(120):
        session.tool("Read", {"file_path": f"{number}.py"}, "line\n" * 8000)
    return session


def test_what_was_read_once_is_not_read_again(long: ClaudeSession) -> None:
    (info,) = claude.sessions(str(long.cwd))
    counted, following = Counted(long.file), Following()
    before = following.read(info, [counted.source()])
    following.file_states(before, str(long.cwd), [counted.source()])
    whole, counted.bytes = counted.bytes, 0
    assert whole > long.file.stat().st_size > 4_000_000
    for number in range(10):
        long.reply(f"and {number}")
    after = following.read(info, [counted.source()])
    following.file_states(after, str(long.cwd), [counted.source()])
    assert len(after.entries) == len(before.entries) + 10
    assert counted.bytes < 100_000
    counted.bytes = 0
    assert following.read(info, [counted.source()]) == after
    assert counted.bytes == 0


def test_half_a_line_waits_for_its_end(long: ClaudeSession) -> None:
    (info,) = claude.sessions(str(long.cwd))
    following = Following()
    line = json.dumps({"type": "user", "uuid": "u", "parentUuid": long.leaf, "message": {"content": "Half é"}}).encode()
    found: list[list[str]] = []
    for piece in (line[:50], line[50 : len(line) - 4], line[len(line) - 4 :], b"\n"):
        long.raw(piece)
        conversation = following.read(info, claude.sources(info))
        found.append([entry.text for entry in conversation.entries if entry.id == "u"])
        assert bool(conversation.problems) == (not found[-1])
    # A line that is whole but for its line feed is shown: nothing says that more comes.
    assert found == [[], [], ["Half é"], ["Half é"]]


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Where each reading of a file begins."""
    found: list[int] = []
    real = Notes.read_on

    def read_on(notes: Notes, file: Any, reached: Reached) -> None:
        found.append(reached.offset)
        real(notes, file, reached)

    monkeypatch.setattr(Notes, "read_on", read_on)
    yield found


async def test_the_app_goes_on_where_it_had_read_to(tmp_path: Path, places: list[int]) -> None:
    agent = Recorded(tmp_path / "shop", hooked=False)
    agent.asked("Add a page")
    agent.session.reply("Done.")
    size = agent.session.file.stat().st_size
    async with running(agent.store()) as pilot:
        timeline = main(pilot.app).timeline
        places.clear()
        agent.session.reply("One thing more.")

        def shown() -> bool:
            outline = timeline.outline
            return outline is not None and any("One thing more" in row.text for row in outline.rows)

        await until(pilot, shown)
    assert places == [size]
