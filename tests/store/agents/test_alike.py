"""What holds for sessions of one agent holds for those of all: while they grow, when they go, and when copied."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.forms.following import Followed
from forkpoint.store.api import Store
from forkpoint.store.model import Conversation, SessionInfo

from tests.builders.cli import forkpoint
from tests.builders.reading import only
from tests.builders.whole import BUILDERS, Whole, whole

AGENTS = sorted(BUILDERS)
LINES = [agent for agent in AGENTS if BUILDERS[agent].lines]
"""Those whose sessions are files of lines, each its own."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(folder)
    return folder


def prompts(conversation: Conversation) -> list[str]:
    return [entry.text for entry in conversation.entries if entry.kind == "prompt"]


class Watched:
    """A session that is looked at again and again, as the app does."""

    def __init__(self, agent: str, root: Path) -> None:
        self.agent, self.root, self.followed = agents.get(agent), root, Followed()

    def look(self) -> Conversation:
        """What is shown now: the same as what whoever looks for the first time is shown."""
        info = only(self.agent.NAME, self.root)
        found = self.followed.of(self.agent, info).read(info, self.agent.sources(info))
        assert found == self.agent.read(info)
        return found


# --- while they grow --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_added_is_seen_at_the_next_look(agent: str, root: Path) -> None:
    made, watched = whole(agent, root, turns=1), Watched(agent, root)
    assert prompts(watched.look()) == ["Prompt 1"]
    made.turn("Prompt 2", "output", "Reply 2")
    found = watched.look()
    assert prompts(found) == ["Prompt 1", "Prompt 2"]
    assert found.leaf == next(entry.id for entry in reversed(found.entries) if entry.text == "Reply 2")


@pytest.mark.parametrize("agent", LINES)
def test_half_a_line_waits_for_its_other_half(agent: str, root: Path) -> None:
    made = whole(agent, root)
    data = made.file.read_bytes()
    made.file.write_bytes(data[:-9])
    watched = Watched(agent, root)
    before = watched.look()
    assert not [entry for entry in before.entries if entry.flavour == "unreadable"]
    with open(made.file, "ab") as file:
        file.write(data[-9:])
    after = watched.look()
    assert len(after.entries) >= len(before.entries)
    assert (prompts(after), after.problems) == (["Prompt 1", "Prompt 2"], ())


@pytest.mark.parametrize("agent", LINES)
@pytest.mark.parametrize("way", ["cut", "replaced", "written over"])
def test_a_file_that_shrank_or_is_another_one_is_read_again(agent: str, way: str, root: Path, tmp_path: Path) -> None:
    made = whole(agent, root)
    one = made.file.read_bytes()
    made.turn("Prompt 3", "output", "Reply 3")
    watched = Watched(agent, root)
    assert len(prompts(watched.look())) == 3
    if way == "replaced":
        (tmp_path / "other").write_bytes(one)
        os.replace(tmp_path / "other", made.file)
    elif way == "cut":
        os.truncate(made.file, len(one))
    else:
        made.file.write_bytes(made.file.read_bytes().replace(b"Prompt 3", b"Request3"))
        assert prompts(watched.look())[-1] == "Request3"
        return
    assert prompts(watched.look()) == ["Prompt 1", "Prompt 2"]


# --- when they go -----------------------------------------------------------------------------------------------------


def recorded(agent: str, root: Path) -> tuple[Whole, Store]:
    """A session that the store has looked at."""
    made = whole(agent, root)
    store = Store.open(root)
    store.save()
    store.tree(kept(store, agent).key)
    return made, Store.open(root)


def kept(store: Store, agent: str) -> SessionInfo:
    """The agent's one session, as the store lists it."""
    (info,) = [info for info in store.sessions() if info.agent == agent]
    return info


@pytest.mark.parametrize("agent", AGENTS)
def test_what_the_agent_cleaned_up_is_browsed_and_gone_on_with(agent: str, root: Path) -> None:
    made, store = recorded(agent, root)
    made.file.unlink()
    info = kept(store, agent)
    assert "deleted its file" in info.problem
    built = store.tree(info.key)
    assert [entry.text for entry in built.entries if entry.kind == "prompt"] == ["Prompt 1", "Prompt 2"]
    assert all(store.blocks(entry) for entry in built.entries)
    second = [entry for entry in built.entries if entry.kind == "prompt"][1]
    forked = store.fork(store.plan_fork(second.id, name="again"))
    assert (forked.prompt_text, forked.agent) == ("Prompt 2", agent)
    store = Store.open(root)
    again = store.tree(kept(store, agent).key)
    assert [entry.text for entry in again.entries if entry.kind == "prompt"] == ["Prompt 1", "Prompt 2"]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_project_folder_that_moved_takes_its_sessions_along(agent: str, root: Path, tmp_path: Path) -> None:
    made, _ = recorded(agent, root)
    moved = tmp_path / "elsewhere"
    root.rename(moved)
    os.chdir(moved)
    listed = forkpoint("sessions", "--json")
    (session,) = [item for item in listed.json if item["agent"] == agent]
    assert session["id"] == made.id and session["problem"]
    told = forkpoint("log", session["id"], "--entries")
    assert "Prompt 2" in told.out


# --- when they are copied ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_fork_is_in_its_session_s_tree_even_for_a_store_that_knows_nothing_of_it(
    agent: str, root: Path, machine: Path
) -> None:
    _, store = recorded(agent, root)
    built = store.tree(kept(store, agent).key)
    second = next(entry for entry in built.entries if entry.text == "Prompt 2")
    store.fork(store.plan_fork(second.id, name="again"))
    shutil.rmtree(machine / "forkpoint")
    (info,) = agents.get(agent).sessions(str(root))
    assert len(info.files) == len(set(info.ids)) == 2
    found = agents.get(agent).read(info)
    assert prompts(found) == ["Prompt 1", "Prompt 2"]
    assert len(set(found.leaves.values())) == 2


@pytest.mark.parametrize("agent", LINES)
def test_a_copy_by_hand_is_never_shown_twice(agent: str, root: Path) -> None:
    made = whole(agent, root)
    shutil.copyfile(made.file, made.file.with_stem(f"{made.file.stem[:-3]}abc"))
    found = agents.get(agent).sessions(str(root))
    assert len({info.id for info in found}) == len(found)
    assert [text for info in found for text in prompts(agents.get(agent).read(info))] == ["Prompt 1", "Prompt 2"]


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("agent", LINES)
def test_a_copy_that_another_system_made_is_read_shown_and_forked_as_the_original(
    agent: str, change: str, root: Path
) -> None:
    made, module = whole(agent, root), agents.get(agent)
    before = module.read(only(agent, root))
    made.file.write_bytes(CHANGES[change](made.file.read_bytes()))
    after = module.read(only(agent, root))
    assert [(entry.kind, entry.text) for entry in after.entries] == [(e.kind, e.text) for e in before.entries]
    assert [module.blocks(entry)[0].kind == "raw" for entry in after.entries] == [False] * len(after.entries)
    last = module.plan_fork(after, next(e.id for e in reversed(after.entries) if e.kind == "prompt"), title="x")
    assert (last.prompt_text, last.entries) == ("Prompt 2", sum(entry.turn == 1 for entry in after.entries))
