"""Many processes at once: no checkpoint is lost, nothing is read torn, a restore and a save never mix.

The long profile (FORKPOINT_TEST_PROFILE=long) lets more of them do more.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.errors import ForkpointError, Refused, UnknownId
from forkpoint.store.home import data_folder
from forkpoint.store.restore import rename
from forkpoint.store.roots import Place
from forkpoint.store.saving import save

from ..builders.children import at_once, child, ended
from ..builders.cli import COMMAND, process
from ..builders.folders import make
from ..builders.recorded import Recorded
from .test_recording import Agent, recorded

LONG = os.environ.get("FORKPOINT_TEST_PROFILE") == "long"
CROWD = 50
FILES = 12
GENERATIONS = 4
ACTS = 10 if LONG else 4
"""What each of the crowd does, one after the other."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder in which every file tells the same generation."""
    return generation(tmp_path / "shop", 0)


def generation(project: Path, number: int) -> Path:
    return make(project, {f"d{n % 3}/f{n}.txt": f"{number}\n" for n in range(FILES)})


def place_of(project: Path) -> Place:
    place = roots.find(os.path.realpath(project), data_folder())
    assert place is not None
    return place


def generations_in(project: Path, point: str) -> set[str]:
    """What the files of a checkpoint tell: of one that was taken between two restores, one generation."""
    store = Store.open(project)
    side = store._side(point)  # pyright: ignore[reportPrivateUsage]
    found = {side.read(path, node).decode().strip() for path, node in side.state.items() if node.kind == "file"}
    assert len([node for node in side.state.values() if node.kind == "file"]) == FILES
    return found


def sound(project: Path) -> None:
    assert [finding for finding in Store.open(project).verify() if not finding.ok] == []


def test_fifty_that_save_at_once_each_get_a_checkpoint(project: Path, tmp_path: Path) -> None:
    """Also the first: of fifty that find no workspace, one makes it."""
    root = os.path.realpath(project)
    made = at_once(tmp_path / "told", [lambda n=n: save(root, label=f"save {n}").id for n in range(CROWD)])
    assert len(set(made)) == CROWD
    assert len(list((data_folder() / "workspaces").iterdir())) == 1
    points = recorded(Path(root))
    assert sorted((point.id, point.label) for point in points) == sorted(
        (point, f"save {number}") for number, point in enumerate(made)
    )
    assert len({point.time for point in points}) == CROWD
    sound(project)


def test_threads_of_one_process_are_as_far_apart_as_processes(project: Path) -> None:
    store, root = Store.open(project), os.path.realpath(project)
    point = store.save().id

    def work(number: int) -> str:
        store.tree("files")
        assert Store.open(project).diff(point, point).files == ()
        return save(root, label=f"thread {number}").id

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(work, range(16)))
    assert {point, *made} == {found.id for found in recorded(Path(root))}
    assert len(set(made)) == 16
    sound(project)


def test_hooks_of_many_sessions_at_once_lose_nothing(project: Path, tmp_path: Path) -> None:
    sessions = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(CROWD if LONG else 12)]

    def prompt_and_call(session: str) -> bool:
        agent = Agent(project, session)
        agent.is_asked("Go")
        agent.does("Write", f"toolu_{session[:8]}", lambda: make(project, {f"by-{session[:8]}": session}))
        return True

    save(os.path.realpath(project))
    at_once(tmp_path / "told", [lambda session=session: prompt_and_call(session) for session in sessions])
    points = recorded(Path(os.path.realpath(project)))
    assert {point.session for point in points if point.reason == "prompt"} == set(sessions)
    written = {point.call for point in points if point.reason == "tool" and point.side == "after"}
    assert written == {f"toolu_{session[:8]}" for session in sessions}
    sound(project)


class Crowd:
    """What the processes of a crowd do to one root; each act gives what it did as plain data."""

    def __init__(self, project: Path, points: list[str]) -> None:
        self.project = project
        self.points = points

    def saves(self, luck: random.Random) -> list[Any]:
        return ["saved", save(os.path.realpath(self.project), label="crowd").id]

    def restores(self, luck: random.Random) -> list[Any]:
        store = Store.open(self.project)
        try:
            done = store.restore(store.plan_restore(luck.choice(self.points), "files", everything=True))
        except Refused as refused:
            assert "changed since this was shown" in refused.what, refused
            return ["refused"]
        assert done.failed == ()
        return ["restored", done.operation]

    def undoes(self, luck: random.Random) -> list[Any]:
        store = Store.open(self.project)
        try:
            return ["undone", store.undo(store.plan_undo()).operation]
        except Refused:
            return ["refused"]

    def forks(self, luck: random.Random) -> list[Any]:
        store = Store.open(self.project)
        prompt = next(entry for entry in store.tree().entries if entry.kind == "prompt")
        name = f"b{os.getpid()}-{luck.random()}"
        return ["forked", store.fork(store.plan_fork(prompt.id, name=name)).operation]

    def deletes(self, luck: random.Random) -> list[Any]:
        store = Store.open(self.project)
        made = save(os.path.realpath(self.project), label="to be deleted").id
        save(os.path.realpath(self.project), label="after it")
        try:
            store.delete([made], anyway=True)
        except (Refused, UnknownId) as refused:
            return ["kept", made, str(refused)]
        return ["deleted", made]

    def looks(self, luck: random.Random) -> list[Any]:
        store = Store.open(self.project)
        built = store.tree("files")
        assert set(self.points) <= {point.id for point in built.points}
        left, right = luck.sample(self.points, 2)
        assert len(store.diff(left, right).files) == FILES
        store.diff(left)
        return ["looked"]

    def commands(self, luck: random.Random) -> list[Any]:
        """The same by the command line, in processes of their own."""
        left, right = luck.sample(self.points, 2)
        word = luck.choice(["log", "diff", "show", "save"])
        arguments = {
            "log": ["log", "files", "--json"],
            "diff": ["diff", left, right, "--json"],
            "show": ["show", left, "--json"],
            "save": ["save", "--json"],
        }[word]
        answer = process(*arguments, cwd=self.project)
        assert answer.code == 0, answer
        if word == "log":
            assert set(self.points) <= {point["id"] for point in answer.json["checkpoints"]}
        return ["saved", answer.json["id"]] if word == "save" else ["looked"]


def test_a_crowd_that_saves_restores_forks_deletes_and_looks(project: Path, tmp_path: Path) -> None:
    agent = Recorded(project)
    agent.asked("Count")
    agent.stops()
    points: list[str] = []
    for number in range(GENERATIONS):
        generation(project, number)
        points.append(save(os.path.realpath(project), label=f"generation {number}").id)
    crowd = Crowd(project, points)
    kinds = [crowd.saves, crowd.saves, crowd.restores, crowd.restores, crowd.undoes]
    kinds += [crowd.forks, crowd.deletes, crowd.looks, crowd.commands, crowd.commands]

    def work(number: int, act: Callable[[random.Random], list[Any]]) -> list[Any]:
        luck = random.Random(number)
        return [act(luck) for _ in range(ACTS)]

    many = kinds * 5 if LONG else kinds
    told = at_once(tmp_path / "told", [lambda n=n, act=act: work(n, act) for n, act in enumerate(many)])
    did = [tuple(one) for acts in told for one in acts]

    saved = [one[1] for one in did if one[0] == "saved"]
    deleted = {one[1] for one in did if one[0] == "deleted"}
    there = {point.id: point for point in recorded(Path(os.path.realpath(project)))}
    assert len(set(saved)) == len(saved)
    assert {*saved, *points, *(one[1] for one in did if one[0] == "kept")} <= there.keys()
    assert not deleted & there.keys()
    mixed = {point: found for point in there if len(found := generations_in(project, point)) != 1}
    assert mixed == {}, "files of two generations in one checkpoint"
    acts = {one[1] for one in did if one[0] in ("restored", "undone", "forked")}
    assert acts <= {operation.id for operation in Store.open(project).operations()}
    assert len({path.read_text() for path in project.rglob("*.txt")}) == 1
    assert not Store.open(project).interrupted
    sound(project)


def test_a_save_during_a_restore_holds_the_files_before_it_or_after_it(project: Path, tmp_path: Path) -> None:
    """A restore that takes long, for each of its writes waits until somebody else had a chance to look."""
    root = os.path.realpath(project)
    first = save(root).id
    generation(project, 1)
    save(root)

    def restores_slowly() -> str:
        real = rename._rename  # pyright: ignore[reportPrivateUsage]

        def slow(*arguments: Any) -> bool:
            time.sleep(0.05)
            return real(*arguments)

        rename._rename = slow  # pyright: ignore[reportPrivateUsage]
        store = Store.open(project)
        return store.restore(store.plan_restore(first, "files", everything=True)).operation

    def saves() -> list[str]:
        return [save(root).id for _ in range(6)]

    told = at_once(tmp_path / "told", [restores_slowly, saves, saves])
    found = [generations_in(project, point) for point in told[1] + told[2]]
    assert all(one in ({"0"}, {"1"}) for one in found), found
    assert {path.read_text() for path in project.rglob("*.txt")} == {"0\n"}


def test_a_restore_of_a_root_holds_those_above_and_below_it(project: Path) -> None:
    inner = project / "d1"
    outer_place = place_of_saved(project)
    inner_place = place_of_saved(inner)
    beside = place_of_saved(make(project.parent / "beside", {"a": ""}))
    store = Store.open(inner)
    point = store.save().id
    generation(project, 1)
    plan = store.plan_restore(point, "files", everything=True)
    (data_folder() / "settings.toml").write_text("[limits]\nwait = 0\n")
    for place in (outer_place, inner_place):
        with place.locked("save (tool)"):
            assert ended([child(lambda: _refused_for(store, plan))]) == [0]
    with beside.locked("save (tool)"):
        assert ended([child(lambda: store.restore(plan))]) == [0]
    assert (inner / "f1.txt").read_text() == "0\n"


def place_of_saved(project: Path) -> Place:
    save(os.path.realpath(project))
    return place_of(project)


def _refused_for(store: Store, plan: Any) -> None:
    with pytest.raises(ForkpointError, match=r"forkpoint save \(tool\) \(pid \d+, since 0 s\) is at work"):
        store.restore(plan)


def test_commands_that_are_killed_at_any_moment_stop_nobody(project: Path) -> None:
    root = os.path.realpath(project)
    save(root)
    luck = random.Random(7)
    for _ in range(40 if LONG else 8):
        generation(project, luck.randrange(1000))
        running = [subprocess.Popen([*COMMAND, "save"], cwd=project, stdout=subprocess.DEVNULL) for _ in range(3)]
        time.sleep(luck.random() * 0.25)
        for one in running:
            one.kill()
            one.wait()
    made = save(root).id
    assert len(generations_in(project, made)) == 1
    sound(project)
