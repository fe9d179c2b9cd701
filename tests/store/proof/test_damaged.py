"""A damaged store says so, shows and restores what is whole, and heals where it can."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import StoreDamaged
from forkpoint.store.git.reader import Objects

from ...builders.folders import make, seen
from ...builders.recorded import Recorded


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "1\n", "shop/d/b": "1\n"}) / "shop"


def git_dir(store: Store) -> Path:
    return next((store.home / "workspaces").iterdir()) / "objects.git"


def lose_the_oldest_pack(store: Store) -> None:
    packs = sorted((git_dir(store) / "objects" / "pack").glob("*.pack"), key=lambda pack: pack.stat().st_mtime_ns)
    packs[0].unlink()
    packs[0].with_suffix(".idx").unlink()


def test_a_lost_pack_is_named_and_the_next_checkpoint_is_whole_again(project: Path) -> None:
    Store.open(project).save(label="one")
    make(project, {"a": "2\n"})
    store = Store.open(project)
    store.save(label="two")
    lose_the_oldest_pack(store)
    store = Store.open(project)
    assert [point.label for point in store.tree("files").points] == ["two"]
    with pytest.raises(StoreDamaged):
        store.plan_restore("two", "files")
    assert [finding.what for finding in store.verify() if finding.ok] == ["the next checkpoint stores every file again"]
    whole = seen(project)
    store.save(label="three")
    make(project, {"a": "3\n", "d/b": "3\n"})
    store.restore(store.plan_restore("three", "files"))
    assert seen(project) == whole


@pytest.mark.parametrize("part", ["", "objects", "objects/pack"])
def test_a_store_whose_folders_are_gone_is_told_as_damaged_never_as_full(project: Path, part: str) -> None:
    store = Store.open(project)
    store.save(label="one")
    shutil.rmtree(git_dir(store) / part)
    make(project, {"a": "2\n"})
    with pytest.raises(StoreDamaged) as told:
        Store.open(project).save(label="two")
    assert "free some" not in str(told.value)
    assert (project / "a").read_text() == "2\n"
    assert any(not finding.ok and finding.todo for finding in Store.open(project).doctor())


def lose_the_pack_of(store: Store, point: str, tmp_path: Path) -> None:
    """Takes packs away until the checkpoint cannot be read, and puts the others back."""
    commit = Objects(git_dir(store)).ref(f"refs/points/{point[:2]}/{point}")
    assert commit is not None
    for pack in sorted((git_dir(store) / "objects" / "pack").glob("*.pack")):
        pair = [pack, pack.with_suffix(".idx")]
        for file in pair:
            file.rename(tmp_path / file.name)
        try:
            Objects(git_dir(store)).tree(commit)
        except StoreDamaged:
            return
        for file in pair:
            (tmp_path / file.name).rename(file)
    pytest.fail("no pack holds the checkpoint")


@pytest.mark.parametrize("cached", [True, False])
def test_one_damaged_checkpoint_keeps_nobody_from_going_back(project: Path, tmp_path: Path, cached: bool) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("One")
    agent.runs("make", lambda root: make(root, {"a": "2\n"}))
    make(project, {"lost": "only in this checkpoint\n"})
    store = agent.store()
    saved = store.save(label="damaged")
    (project / "lost").unlink()
    agent.asked("Two")
    agent.runs("make", lambda root: make(root, {"a": "3\n"}))
    first = next(point for point in store.tree(agent.session.id).points if point.reason == "prompt")
    lose_the_pack_of(store, saved.id, tmp_path)
    if not cached:
        (git_dir(store).parent / "catalog.json").unlink()
    found = agent.store().plan_restore(first.id, "files").inventory
    assert [(change.path, change.why) for change in found.restored] == [(b"a", "changed by this session")]


def test_damaged_operations_are_told_before_a_file_changes(project: Path) -> None:
    store = Store.open(project)
    saved = store.save()
    store.label(saved.id, "first")
    make(project, {"a": "2\n"})
    (git_dir(store) / "refs" / "operations").write_text("damaged")
    store = Store.open(project)
    assert [operation.kind for operation in store.operations()] == ["label"]
    plan = store.plan_restore("first", "files")
    with pytest.raises(StoreDamaged, match="refs/operations"):
        store.restore(plan)
    assert (project / "a").read_text() == "2\n"
    assert not store.interrupted
    assert any("refs/operations" in finding.what for finding in store.verify())


def test_a_ref_that_git_passes_over_is_named(project: Path) -> None:
    store = Store.open(project)
    saved = store.save()
    (git_dir(store) / "refs" / "points" / saved.id[:2] / saved.id).write_text("")
    assert any(saved.id in finding.what for finding in store.verify() if not finding.ok)


def test_a_store_that_is_gone_is_no_clean_bill(project: Path) -> None:
    store = Store.open(project)
    store.save()
    shutil.rmtree(git_dir(store))
    assert [finding.what for finding in store.doctor() if not finding.ok][-1] == "the object store cannot be opened"
