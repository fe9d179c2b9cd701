"""A walk that began after somebody asked serves that one too, and no other walk does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture
from forkpoint.store.checkpoints.capture import Wanted
from forkpoint.store.checkpoints.points import Checkpoint, ref_of
from forkpoint.store.git import process
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place

from ...builders.children import child, ended, until
from ...builders.folders import make
from ..test_recording import OTHER, Agent, file_in, recorded

HOOKS = 8


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return (
        make(tmp_path, {"shop/a.txt": "one\n", "shop/.gitignore": "*.log\n", "shop/x.log": "", "shop/e": None}) / "shop"
    )


@pytest.fixture
def walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counts the walks of this process and of those that it forks."""
    file = tmp_path / "walks"
    file.write_bytes(b"")
    walk = capture.scan

    def counted(*arguments: object, **named: object) -> object:
        with open(file, "ab") as stream:
            stream.write(b".")
        return walk(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(capture, "scan", counted)
    return lambda: file.stat().st_size


def place_of(project: Path) -> Place:
    return roots.adopt(str(project), data_folder())


def save(project: Path) -> str:
    return capture.take(place_of(project), Wanted(Checkpoint(reason="manual"))).id


@contextmanager
def asked_during_a_long_save(project: Path, acts: list[Callable[[], object]]) -> Iterator[None]:
    """In this block all acts have asked for the root, in processes of their own, and wait; then they all go on."""
    place = place_of(project)
    free, go = os.pipe()
    ready, held = os.pipe()
    children = [child(lambda: _hold(place, held, free))]
    os.read(ready, 1)
    line = place.folder / "lock.line"
    for act in acts:
        before = len(os.listdir(line)) if line.exists() else 0
        children.append(child(act))
        until(lambda before=before: line.exists() and len(os.listdir(line)) > before)
    yield
    os.write(go, b".")
    assert ended(children) == [0] * len(children)
    for number in (free, go, ready, held):
        os.close(number)


def _hold(place: Place, held: int, free: int) -> None:
    with place.locked("a long save"):
        os.write(held, b".")
        os.read(free, 1)


def test_hooks_that_wait_for_a_long_save_need_one_walk_and_each_gets_its_own_checkpoint(
    project: Path, walks: Callable[[], int]
) -> None:
    save(project)
    before, known = walks(), {point.id for point in recorded(project)}
    hooks: list[Callable[[], object]] = [
        lambda number=number: Agent(project, f"{number}{OTHER[1:]}").is_asked(f"Prompt {number}")
        for number in range(HOOKS)
    ]
    with asked_during_a_long_save(project, hooks):
        (project / "a.txt").write_text("after they asked, before the walk\n")
    made = [point for point in recorded(project) if point.id not in known]
    assert walks() == before + 1
    assert sorted(point.text for point in made) == [f"Prompt {number}" for number in range(HOOKS)]
    assert {point.session for point in made} == {f"{number}{OTHER[1:]}" for number in range(HOOKS)}
    assert len({point.time for point in made}) == HOOKS
    assert {file_in(project, point.id, "a.txt") for point in made} == {"after they asked, before the walk\n"}


def test_a_checkpoint_of_another_s_walk_is_like_one_of_its_own(project: Path) -> None:
    os.mkfifo(project / "pipe")
    os.chmod(project / "a.txt", 0o600)
    save(project)
    known = {point.id for point in recorded(project)}
    with asked_during_a_long_save(project, [lambda: save(project)] * 3):
        (project / "a.txt").write_text("two\n")
    made = [point for point in recorded(project) if point.id not in known]
    trees = {process.call(place_of(project).git_dir, "ls-tree", "-r", ref_of(point.id)) for point in made}
    assert len({_without_record(tree) for tree in trees}) == 1
    assert b"ignore-rules" in min(trees)
    assert b"empty-folders" in min(trees)
    assert b"modes" in min(trees)
    assert {tuple(point.uncaptured) for point in made} == {("pipe",)}
    assert [finding for finding in Store.open(project).verify() if not finding.ok] == []


def _without_record(tree: bytes) -> bytes:
    return b"\n".join(line for line in tree.splitlines() if not line.endswith(b"checkpoint.json"))


def test_who_asks_after_a_walk_began_looks_for_itself(project: Path, walks: Callable[[], int]) -> None:
    save(project)
    with asked_during_a_long_save(project, [lambda: save(project)] * 3):
        pass
    (project / "a.txt").write_text("later\n")
    before = walks()
    later = save(project)
    assert walks() == before + 1
    assert file_in(project, later, "a.txt") == "later\n"


def test_a_restore_between_two_that_wait_keeps_the_second_from_using_the_first_s_walk(project: Path) -> None:
    first = save(project)
    (project / "a.txt").write_text("two\n")
    store = Store.open(project)
    plan = store.plan_restore(first, "files", everything=True)
    acts: list[Callable[[], object]] = [lambda: save(project), lambda: store.restore(plan), lambda: save(project)]
    with asked_during_a_long_save(project, acts):
        pass
    manual = [point.id for point in recorded(project) if point.reason == "manual"]
    assert [file_in(project, point, "a.txt") for point in manual] == ["one\n", "two\n", "one\n"]


def test_the_moments_of_another_run_of_the_system_are_not_compared(
    project: Path, walks: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(project)
    drift = Wanted(Checkpoint(reason="tool"), only_drift=True)
    place = place_of(project)
    with asked_during_a_long_save(project, [lambda: save(project), lambda: capture.take(place, drift)]):
        pass
    before = walks()
    drift = drift._replace(asked=time.monotonic_ns() - 60 * 10**9)
    assert not capture.take(place, drift).made
    assert walks() == before, "it asked a minute ago, so the walk of just now serves it"
    monkeypatch.setattr("forkpoint.store.walk.walks.boot", lambda: "another run")
    assert not capture.take(place, drift).made
    assert walks() == before + 1
