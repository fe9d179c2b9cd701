"""When conversations are taken into the store: the one that is shown first, all others when nobody waits."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import BinaryIO

import pytest
from forkpoint.store.agents.base import Source
from forkpoint.store.api import Store
from forkpoint.store.conversation import copying, keeping, storing, transcripts
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.model import SessionInfo
from forkpoint.store.roots import find
from forkpoint.store.workspace import Workspace

from tests.builders.children import at_once
from tests.builders.cli import forkpoint
from tests.builders.recorded import Recorded
from tests.builders.whole import Whole, whole


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A recorded folder."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("one\n")
    Store.open(root).save()
    return root


def sessions(project: Path, count: int) -> list[Whole]:
    return [whole("claude", project) for _ in range(count)]


def kept(project: Path) -> dict[str, transcripts.Kept]:
    place = find(os.path.realpath(project), data_folder())
    assert place is not None
    return transcripts.known(Objects(place.git_dir))


def packs(project: Path) -> int:
    place = find(os.path.realpath(project), data_folder())
    assert place is not None
    return len(list((place.git_dir / "objects/pack").glob("*.pack")))


def browsable_without_files(project: Path, made: list[Whole]) -> bool:
    """Whether everything of these can be read though their agent deleted them; nothing else of the store is wrong."""
    shutil.rmtree(Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects")
    store = Store.open(project)
    told = [store.tree(one.id) for one in made]
    assert [finding for finding in store.verify() if not finding.ok] == []
    return all(
        [entry.text for entry in tree.entries if entry.kind == "prompt"] == ["Prompt 1", "Prompt 2"] for tree in told
    )


class Slow:
    """A file of an agent that nobody can read until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
        self.come_to, self.free = threading.Event(), threading.Event()
        opened = Source.open

        def slowly(source: Source) -> BinaryIO:
            if source.name == str(file):
                self.come_to.set()
                assert self.free.wait(60)
            return opened(source)

        monkeypatch.setattr(Source, "open", slowly)


def test_the_first_tree_looks_at_the_files_of_the_shown_session_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sessions(project, 5)
    looked = list[str]()
    of = Workspace.sources

    def noted(self: Workspace, info: SessionInfo) -> list[Source]:
        looked.append(info.id)
        return of(self, info)

    monkeypatch.setattr(Workspace, "sources", noted)
    store = Store.open(project)
    shown = store.tree().info.id
    assert set(looked) == {shown} == set(kept(project))
    store.keep()
    assert set(kept(project)) == {one.id for one in made}
    looked.clear()
    store.keep()
    assert looked == [], "nothing has changed, and nothing is looked at"
    made[1].turn("Prompt 3", "more", "Done")
    store.sessions()
    store.keep()
    assert looked == [made[1].id]


def test_a_session_is_shown_while_the_file_of_another_cannot_be_read_yet(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, *others = made = sessions(project, 3)
    held = Slow(monkeypatch, slow.file)
    store = Store.open(project)
    assert store.tree(others[0].id).entries
    keeper = threading.Thread(target=store.keep)
    keeper.start()
    assert held.come_to.wait(60)
    assert store.tree(others[1].id).entries and store.left_by(store.sessions()[0])[0] == 2
    assert slow.id not in kept(project)
    held.free.set()
    keeper.join()
    assert browsable_without_files(project, made)


def test_many_small_ones_share_a_pack(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "MANY", 4)
    made = sessions(project, 9)
    before, told = packs(project), list[tuple[int, int]]()
    store = Store.open(project)
    store.keep(progress=lambda done, of: told.append((done, of)))
    assert packs(project) - before == 3
    assert told == [(4, 9), (8, 9)]
    assert browsable_without_files(project, made)


def test_who_is_killed_half_way_loses_nothing_and_the_next_one_goes_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MANY", 3)
    made = sessions(project, 7)
    child = os.fork()
    if child == 0:
        Store.open(project).keep(progress=lambda done, of: os._exit(9))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(kept(project)) == 3
    Store.open(project).keep(cancelled=lambda: len(kept(project)) >= 6)
    assert len(kept(project)) == 6
    Store.open(project).keep()
    assert browsable_without_files(project, made)


def test_two_processes_at_once_keep_each_conversation_once(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MANY", 2)
    monkeypatch.setattr(keeping, "WAIT", 60.0)
    made = sessions(project, 8)
    at_once(tmp_path / "told", [lambda: Store.open(project).keep() or 1] * 3)
    assert set(kept(project)) == {one.id for one in made}
    assert all(len(item.parts) == 1 for item in kept(project).values())
    assert browsable_without_files(project, made)


def test_a_huge_one_is_shown_before_all_of_it_is_stored_and_stored_a_part_at_a_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (huge,) = sessions(project, 1)
    monkeypatch.setattr(copying, "PIECE", 256)
    monkeypatch.setattr(keeping, "STREAM", 1000)
    store = Store.open(project)
    assert len([entry for entry in store.tree(huge.id).entries if entry.kind == "prompt"]) == 2
    (part,) = kept(project)[huge.id].parts.values()
    assert 1000 <= part.cursor < huge.file.stat().st_size
    before = packs(project)
    store.keep()
    (part,) = kept(project)[huge.id].parts.values()
    assert part.cursor == huge.file.stat().st_size
    assert packs(project) - before > 2
    with transcripts.open_kept(Objects(store_folder(project)), kept(project)[huge.id], str(huge.file)) as stream:
        assert stream.read() == huge.file.read_bytes()
    assert browsable_without_files(project, [huge])


def store_folder(project: Path) -> Path:
    place = find(os.path.realpath(project), data_folder())
    assert place is not None
    return place.git_dir


def test_what_has_checkpoints_is_kept_by_the_next_command_however_much_else_there_is(project: Path) -> None:
    others = sessions(project, 4)
    agent = Recorded(project)
    agent.starts()
    agent.asked("Add a page")
    agent.stops()
    Store.open(project).keep(seconds=-1)
    assert set(kept(project)) == {agent.session.id}
    agent.asked("And one more")
    agent.stops()
    assert forkpoint("-C", project, "log", others[0].id).code == 0
    shutil.rmtree(Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects")
    tree = Store.open(project).tree(agent.session.id)
    assert [entry.text for entry in tree.entries if entry.kind == "prompt"] == ["Add a page", "And one more"]
    assert "deleted" in tree.info.problem


def test_one_that_cannot_be_stored_keeps_none_of_the_others_from_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, *others = sessions(project, 4)
    opened = Source.open

    def open_or_not(source: Source) -> BinaryIO:
        if source.name == str(broken.file):
            raise OSError("the disk does not answer")
        return opened(source)

    monkeypatch.setattr(Source, "open", open_or_not)
    store = Store.open(project)
    store.keep()
    assert set(kept(project)) == {one.id for one in others}
