"""`rebuild` makes the catalog anew with the same answers, whatever became of it, and may be killed at any moment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.catalog import catalog
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder

from ...builders.cli import forkpoint
from ...builders.folders import make
from ...builders.people import NOBODY, as_nobody
from ...builders.recorded import Recorded
from ...builders.tampering import git, place_of, ref_of


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """A session with two branches, labels, pins, and an operation that was undone."""
    found = Recorded(make(tmp_path, {"shop/a": "0\n"}) / "shop")
    found.starts()
    found.asked("Make it")
    found.writes("b", "1\n")
    found.asked("Make it better")
    found.runs("make", lambda root: make(root, {"a": "1\n", b"name \xff": "1\n"}))
    found.stops()
    store = found.store()
    first, second, *_ = store.tree().points
    store.label(first.id, "at first")
    store.pin(second.id)
    store.fork(store.plan_fork(second.id, name="another way"))
    store.restore(store.plan_restore(first.id, "files"))
    store.undo(store.plan_undo())
    store.save(label="by hand")
    return found


def answers(agent: Recorded) -> dict[str, object]:
    """What a person gets to see of everything."""
    store = agent.store()
    points = [point.id for session in store.sessions() for point in store.tree(session.id).points]
    asked = [
        ["log"],
        ["log", "files"],
        ["branches"],
        ["operations"],
        ["sessions"],
        *(["show", point] for point in points),
    ]
    found = {" ".join(words): forkpoint(*words, "-C", agent.project, "--json") for words in asked}
    assert all(answer.code == 0 for answer in found.values())
    return {words: answer.json for words, answer in found.items()}


def file_of(agent: Recorded) -> Path:
    return place_of(agent.project).workspace / catalog.FILE


def deleted(file: Path) -> None:
    file.unlink()


def garbage(file: Path) -> None:
    file.write_bytes(os.urandom(5000))


def older(file: Path) -> None:
    file.write_text(json.dumps({"meta": {"1": {"version": 1, "stamp": "", "head": ""}}, "points": {}}))


def newer(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'{"version":"2-', b'{"version":"9-'))


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "somebody's").write_text("")


def link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/nowhere/at/all")


@pytest.mark.parametrize("damage", [None, deleted, garbage, older, newer, folder, link])
def test_the_answers_are_the_same_before_and_after(agent: Recorded, damage: Callable[[Path], None] | None) -> None:
    before = answers(agent)
    if damage is not None:
        damage(file_of(agent))
    done = forkpoint("rebuild", "-C", agent.project, "--json")
    assert done.code == 0
    assert done.json[-1]["what"].startswith("the catalog was made anew: ")
    assert file_of(agent).is_file()
    assert answers(agent) == before
    assert forkpoint("verify", "-C", agent.project).code == 0


@pytest.mark.parametrize("damage", [deleted, garbage, older, newer, folder, link])
def test_the_answers_are_the_same_without_a_rebuild(agent: Recorded, damage: Callable[[Path], None]) -> None:
    before = answers(agent)
    damage(file_of(agent))
    after = answers(agent)
    log, was = after["log"], before["log"]
    assert isinstance(log, dict) and isinstance(was, dict)
    assert {**log, "problems": []} == {**was, "problems": []}
    assert {name: answer for name, answer in after.items() if not name.startswith("log")} == {
        name: answer for name, answer in before.items() if not name.startswith("log")
    }


@pytest.mark.skipif("os.geteuid() != 0", reason="only root can become somebody else")
def test_a_catalog_that_nobody_may_read_is_made_anew(agent: Recorded, tmp_path: Path) -> None:
    agent.store().tree()
    file_of(agent).chmod(0)
    home, config = tmp_path / "data", tmp_path / "claude"
    shutil.move(data_folder(), home)
    shutil.move(agent.session.home, config)
    subprocess.run(["chown", "-R", str(NOBODY), home, config], check=True)

    def rebuilt() -> str:
        os.environ["CLAUDE_CONFIG_DIR"] = str(config)
        store = Store.open(agent.project, home=home)
        before = store.tree("files").points
        found = store.rebuild(store.plan_rebuild())
        return (
            f"{[finding.ok for finding in found]} {Store.open(agent.project, home=home).tree('files').points == before}"
        )

    assert as_nobody(tmp_path, rebuilt) == "[True] True"


def test_killed_at_any_step_the_old_or_the_new_is_left(agent: Recorded) -> None:
    place = place_of(agent.project)
    file = file_of(agent)
    old = file.read_bytes()
    catalog.rebuild(place, Objects(place.git_dir))
    new = file.read_bytes()
    assert old != new
    step, killed = 0, True
    while killed:
        file.write_bytes(old)
        killed = dies_at(step, lambda: catalog.rebuild(place, Objects(place.git_dir)))
        assert file.read_bytes() in (old, new)
        step += 1
    assert step > 4
    assert file.read_bytes() == new
    assert all(finding.ok for finding in agent.store().verify())


def dies_at(step: int, act: Callable[[], object]) -> bool:
    """Does something in a child process that is killed before its n-th call of the system that writes."""
    child = os.fork()
    if child == 0:
        count = 0

        def fatal(real: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **options: object) -> object:
                nonlocal count
                if count == step:
                    os.kill(os.getpid(), 9)
                count += 1
                return real(*arguments, **options)

            return call

        for name in ("open", "fsync", "replace", "rename", "ftruncate", "write", "pwrite", "fchmod"):
            setattr(os, name, fatal(getattr(os, name)))
        try:
            act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_what_was_taken_away_comes_back_after_asking(agent: Recorded) -> None:
    before = answers(agent)
    place = place_of(agent.project)
    point = agent.store().tree("files").points[-1].id
    git(place, "update-ref", "-d", ref_of(point))
    git(place, "update-ref", "refs/operations", "refs/operations~1")
    asked = forkpoint("rebuild", "-C", agent.project)
    assert asked.code == 3
    assert f"checkpoint {point} was taken away" in asked.out
    assert "were moved back" in asked.out
    assert "add --yes" in asked.err
    assert forkpoint("verify", "-C", agent.project).code == 1
    done = forkpoint("rebuild", "--yes", "-C", agent.project)
    assert done.code == 0
    assert f"checkpoint {point} is back as it was" in done.out
    assert answers(agent) == before
    assert forkpoint("verify", "-C", agent.project).code == 0


def test_a_refusal_is_a_document_where_one_was_asked_for(agent: Recorded) -> None:
    git(place_of(agent.project), "update-ref", "refs/operations", "refs/operations~1")
    asked = forkpoint("rebuild", "-C", agent.project, "--json")
    assert (asked.code, asked.json["exit"]) == (3, 3)


def test_a_ref_whose_file_is_damaged_comes_back(agent: Recorded) -> None:
    point = agent.store().tree("files").points[-1].id
    (place_of(agent.project).git_dir / ref_of(point)).write_text("damaged")
    assert forkpoint("verify", "-C", agent.project).code == 1
    assert forkpoint("rebuild", "--yes", "-C", agent.project).code == 0
    assert forkpoint("verify", "-C", agent.project).code == 0


@pytest.mark.parametrize("gone", ["HEAD", "refs", "HEAD refs config"])
def test_what_git_knows_a_repository_by_is_put_there_again(agent: Recorded, gone: str) -> None:
    before = answers(agent)
    git_dir = place_of(agent.project).git_dir
    for name in gone.split():
        shutil.rmtree(git_dir / name) if (git_dir / name).is_dir() else (git_dir / name).unlink()
    told = forkpoint("doctor", "-C", agent.project, "--json").json
    assert [found["todo"] for found in told if not found["ok"] and "object store" in found["what"]] == [
        "forkpoint rebuild"
    ]
    assert forkpoint("rebuild", "-C", agent.project, "--yes").code == 0
    assert answers(agent) == before
    assert forkpoint("verify", "-C", agent.project).code == 0
