"""What is read of a session that grows, piece by piece, is what is read of it whole."""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.codex.reader import Following
from forkpoint.store.agents.forms.regular import on_disk
from forkpoint.store.model import Conversation, SessionInfo

from tests.builders.codex import CodexSession, update

codex = agents.get("codex")
times = itertools.count(1_700_000_000_000_000_000, 1_000_000_000)


def written(folder: Path, *, paginated: bool) -> list[CodexSession]:
    """A session with all that joins files: a rewind, a fork by pointer, one by copy, a sub-agent, a compaction."""
    project = folder / "project"
    project.mkdir(parents=True)
    session = CodexSession(folder / ".codex", project, paginated=paginated)
    session.prompt("one")
    session.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    helper = session.sub_agent(session.call("spawn_agent", {"message": "job"}), link="result")
    helper.prompt("job")
    helper.shell("ls", "a.txt\n")
    end = session.ordinal
    session.prompt("two")
    session.patch({"a.txt": update(["a1"], ["a2"])})
    session.reply("So it is.")
    session.compact("So it is.")
    if not paginated:
        session.roll_back(1)
    session.line("of_later", {})
    session.raw(b"\0no record\n")
    session.prompt("three")
    session.line("of_later", {})
    further = [session.rewound(end), session.pointer(end)] if paginated else []
    for other in [*further, session.copy(end)]:
        other.prompt("four")
        other.reply("Another way.")
        further = [*further, other] if other not in further else further
    return [session, helper, *further]


@pytest.mark.parametrize("paginated", [True, False], ids=["items", "events"])
@pytest.mark.parametrize("seed", range(4))
def test_reading_in_pieces_gives_what_reading_at_once_gives(
    tmp_path: Path, machine: Path, paginated: bool, seed: int
) -> None:
    made = written(machine, paginated=paginated)
    coming = {session.file: session.file.read_bytes() for session in made}
    chosen, following = random.Random(seed), Following()
    (info,) = codex.sessions(str(made[0].cwd))
    for session in made:
        session.file.write_bytes(b"")
    sources = [on_disk(str(session.file)) for session in made]
    while any(os.stat(file).st_size < len(data) for file, data in coming.items()):
        file, data = chosen.choice(list(coming.items()))
        size = os.stat(file).st_size
        kind = chosen.choice(["grow", "grow", "grow", "grow", "shrink", "line"])
        if kind == "shrink":
            os.truncate(file, chosen.randrange(size + 1))
        else:
            to = size + chosen.randrange(3000) if kind == "grow" else data.find(b"\n", size) + 1 or len(data)
            with file.open("ab") as stream:
                stream.write(data[size:to])
        # The clock of a file system is coarse: two writes in a few milliseconds have one time.
        moment = next(times)
        os.utime(file, ns=(moment, moment))
        same(following, info, sources)
    assert len(same(following, info, sources).entries) > 10


def same(following: Following, info: SessionInfo, sources: list[Source]) -> Conversation:
    """What both give."""
    found, whole = following.read(info, sources), codex.read(info, sources)
    assert found == whole
    root = info.cwd
    assert [(state.id, set(state.files)) for state in following.file_states(found, root, sources)] == [
        (state.id, set(state.files)) for state in codex.file_states(whole, root, sources)
    ]
    return found


def test_a_file_that_did_not_change_is_not_opened_again(machine: Path) -> None:
    made = written(machine, paginated=True)
    (info,) = codex.sessions(str(made[0].cwd))
    opened: list[str] = []

    def watched(source: Source) -> Source:
        def opener():
            opened.append(source.name)
            return source.open()

        return Source(source.name, opener)

    sources, following = [watched(source) for source in codex.sources(info)], Following()
    conversation = following.read(info, sources)
    following.file_states(conversation, info.cwd, sources)
    assert set(opened) == {source.name for source in sources}
    opened.clear()
    made[0].reply("One more.")
    assert len(following.read(info, sources).entries) == len(conversation.entries) + 1
    assert opened == [str(made[0].file)]
