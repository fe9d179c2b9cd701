"""Whatever becomes of an agent's files: nothing raises, nothing waits, and no session is silently missing.

Every agent of the registry is under this by existing; `tests/builders/whole.py` writes a small session of it.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.forms import jsonl
from forkpoint.store.agents.forms.following import Followed
from forkpoint.store.api import Store
from forkpoint.store.errors import ForkpointError
from forkpoint.store.model import Conversation
from forkpoint.tui.screens.main import MainScreen

from tests.builders.app import main, running, until
from tests.builders.cli import forkpoint
from tests.builders.people import as_nobody
from tests.builders.spoiling import LONGEST, SPOILS
from tests.builders.whole import BUILDERS, Whole, whole

NAMES = agents.names()
CASES = [
    pytest.param(agent, name, id=f"{agent}, {name}")
    for agent in BUILDERS
    for name, spoil in SPOILS.items()
    if BUILDERS[agent].lines or not spoil.lines
]

AT_LEAST = ("cut at 50%", "all NULs", "noise 0", "a folder in its place", "a FIFO in its place")
"""What every file can become."""
SHOWN = (
    *AT_LEAST,
    "empty",
    "junk in the middle",
    "a huge line",
    "the lines backwards",
    "without its first line",
    "all ids the same",
    "escapes for a terminal",
    "other types 1",
    "a folder with a NUL",
)
"""What is shown by commands and the app, too."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(folder)
    # A line that is too long for any memory is the same at a smaller size, and takes less of the tests' time.
    monkeypatch.setattr(jsonl, "LONGEST", LONGEST)
    return folder


def spoiled(agent: str, root: Path, name: str) -> Whole:
    made = whole(agent, root)
    SPOILS[name].act(made)
    return made


def files_of(agent: str, root: Path) -> set[str]:
    """Every file that the list names, for whichever session."""
    infos = agents.get(agent).sessions(str(root))
    return {file.partition("#")[0] for info in infos for file in info.files}


def look_at_all_of(agent: str, conversation: Conversation, root: Path) -> None:
    """What a person can have shown of a conversation; and the forks that it could have."""
    module, seen = agents.get(agent), set[str]()
    for entry in conversation.entries:
        assert entry.id not in seen
        assert entry.parent is None or entry.parent in seen
        assert entry.text.isprintable()
        assert isinstance(entry.time, int)
        seen.add(entry.id)
        assert module.blocks(entry)
        assert all(isinstance(value, str) for value in module.facts(entry).values())
        with suppress(ForkpointError):
            module.plan_fork(conversation, entry.id, title="x")
    assert conversation.leaf is None or conversation.leaf in seen
    module.file_states(conversation, str(root))
    module.evidence(conversation, str(root))


def test_every_agent_has_a_builder() -> None:
    assert set(BUILDERS) >= set(NAMES)


@pytest.mark.parametrize(("agent", "name"), CASES)
def test_a_spoiled_session_is_listed_and_read_as_far_as_it_goes(agent: str, name: str, root: Path) -> None:
    module, spoil = agents.get(agent), SPOILS[name]
    other = whole(agent, root)
    made = spoiled(agent, root, name)
    infos = module.sessions(str(root))
    assert {str(made.file), str(other.file)} <= files_of(agent, root)
    assert len({info.id for info in infos}) == len(infos)
    read = [module.read(info) for info in infos]
    for conversation in read:
        look_at_all_of(agent, conversation, root)
    prompts = [entry.text for conversation in read for entry in conversation.entries if entry.kind == "prompt"]
    for prompt in ("Prompt 1", "Prompt 2"):
        assert prompts.count(prompt) >= BUILDERS[agent].lines + (prompt in spoil.keeps)
    told = [info.problem for info in infos] + [problem.what for item in read for problem in item.problems]
    assert any(told) or not spoil.told
    assert all(text.isprintable() for text in told)


FOLDERS = [
    pytest.param(agent, names, id=f"{agent}, {names[0] if len(names) == 1 else 'all'}")
    for agent, builder in BUILDERS.items()
    for names in ([tuple(SPOILS)] if builder.lines else [(name,) for name, spoil in SPOILS.items() if name in AT_LEAST])
]
"""Folders of sessions, each spoiled in its way; where all stand in one file it can be spoiled in one way only."""


@pytest.mark.parametrize(("agent", "names"), FOLDERS)
def test_the_commands_show_every_spoiled_session(agent: str, names: tuple[str, ...], root: Path) -> None:
    made = [spoiled(agent, root, name) for name in names]
    assert forkpoint("save").code == 0
    listed = forkpoint("sessions", "--json")
    assert listed.code == 0
    assert len([item for item in listed.json if item["agent"] == agent]) >= (len(made) if len(made) > 1 else 1)
    for number, session in enumerate(listed.json):
        arguments = ("--json",) if number % 2 else ("--entries",)
        told = forkpoint("log", session["id"], *arguments)
        assert told.code == 0, f"{session}\n{told.out}{told.err}"
        told.out.encode()
    forkpoint("sessions").out.encode()


def shows(screen: MainScreen, session: str) -> bool:
    outline = screen.timeline.outline
    return outline is not None and outline.tree.info.id == session


@pytest.mark.parametrize(("agent", "names"), FOLDERS)
async def test_the_app_shows_every_spoiled_session(agent: str, names: tuple[str, ...], root: Path) -> None:
    for name in names:
        spoiled(agent, root, name)
    store = Store.open(root)
    store.save()
    infos = store.sessions()
    async with running(store) as pilot:
        screen = main(pilot.app)
        for info in infos:
            screen.open_session(info.id)
            await until(pilot, lambda shown=info.id: shows(screen, shown))


def names_of(root: Path, agent: str) -> str:
    """What a process of its own lists, and whether it can read all of it."""
    module = agents.get(agent)
    infos = module.sessions(str(root))
    told = [f"{info.id} {info.problem}" for info in infos]
    return "\n".join(told + [problem.what for info in infos for problem in module.read(info).problems])


@pytest.mark.parametrize("agent", sorted(BUILDERS))
def test_a_file_that_may_not_be_read_is_listed_with_the_reason(agent: str, root: Path, machine: Path) -> None:
    made, other = whole(agent, root), whole(agent, root)
    for place in [machine, *machine.rglob("*")]:
        place.chmod(0o755 if place.is_dir() else 0o644)
    made.file.chmod(0)
    told = names_of(root, agent) if os.geteuid() else as_nobody(machine, lambda: names_of(root, agent))
    assert "cannot be read" in told
    assert other.id in told or not BUILDERS[agent].lines


@pytest.mark.parametrize("agent", [agent for agent in sorted(BUILDERS) if BUILDERS[agent].lines])
def test_a_file_whose_name_is_no_text_is_listed_and_shown(agent: str, root: Path) -> None:
    made = whole(agent, root)
    odd = os.fsencode(made.file.with_suffix("")) + b"\xff ..jsonl"
    os.rename(made.file, odd)
    assert os.fsdecode(odd) in files_of(agent, root)
    assert forkpoint("save").code == 0
    listed = forkpoint("sessions", "--json")
    (session,) = [item for item in listed.json if item["agent"] == agent]
    told = forkpoint("log", session["id"], "--entries")
    assert "Prompt 2" in told.out
    (listed.out + told.out + forkpoint("sessions").out).encode()


@pytest.mark.parametrize("agent", [agent for agent in sorted(BUILDERS) if BUILDERS[agent].lines])
def test_a_session_is_read_while_it_is_written(agent: str, root: Path) -> None:
    made = whole(agent, root)
    data, module, following = made.file.read_bytes(), agents.get(agent), Followed()
    done = threading.Event()

    def write() -> None:
        with open(made.file, "ab", buffering=0) as stream:
            for place in range(0, len(data), 61):
                stream.write(data[place : place + 61])
        done.set()

    made.file.write_bytes(b"")
    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not done.is_set():
        for info in module.sessions(str(root)):
            conversation = following.of(module, info).read(info, module.sources(info))
            assert len(conversation.entries) >= seen
            seen = len(conversation.entries)
    writer.join()
    (info,) = module.sessions(str(root))
    assert following.of(module, info).read(info, module.sources(info)) == module.read(info)
