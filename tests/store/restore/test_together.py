"""Files that are written together: as exact as one after the other, whatever happens in between."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.restore import apply, swap
from forkpoint.store.restore.build import Place
from forkpoint.store.restore.change import Change
from forkpoint.store.restore.journal import pending
from forkpoint.store.restore.recovery import finish_or_roll_back

from ...builders.folder import Contents, Thing, Tree, file, folder, lay, link, seen, state, whole
from ...builders.restoring import begun, killed_at, named, planned, reasons, restored

MANY = 3 * apply.MANY


def tree_of(text: str) -> dict[bytes, Thing]:
    return {b"d%d/f%03d" % (number % 7, number): file(f"{text} {number}\n") for number in range(MANY)}


BEFORE: Tree = tree_of("old") | {b"same": file("same")}
AFTER: Tree = tree_of("new") | {b"same": file("same"), b"shut/deep/f": file("deep", 0o600), b"shut": folder(0o500)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay(tmp_path / "root", BEFORE)


def together(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """So many files are built before the first takes its place."""
    monkeypatch.setattr(apply, "MOST", most)


@pytest.mark.parametrize("most", [1, 10, 1000])
def test_many_files_come_and_go_in_any_portions(root: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    together(monkeypatch, most)
    contents = Contents(BEFORE, AFTER)
    outcome = restored(root, AFTER, contents)
    assert (seen(root), outcome.failed, outcome.conflicts) == (whole(AFTER), (), ())
    outcome = restored(root, BEFORE, contents)
    assert (seen(root), outcome.failed, outcome.conflicts) == (whole(BEFORE), (), ())


def test_no_more_is_built_than_there_is_room_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "HEAVIEST", 100)
    most = 0
    real = swap.Swapper.put_in

    def put_in(swapper: swap.Swapper, place: Place, change: Change) -> None:
        nonlocal most
        waiting = [name for _, _, names in os.walk(root) for name in names if name.endswith(".new")]
        most = max(most, len(waiting))
        real(swapper, place, change)

    monkeypatch.setattr(swap.Swapper, "put_in", put_in)
    restored(root, AFTER, Contents(BEFORE, AFTER))
    assert 1 <= most <= 100 // len("new 0\n") + 1
    assert seen(root) == whole(AFTER)


def test_an_edit_between_building_and_putting_in_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = root / "d0" / "f007"
    wanted = sorted({change.path for change in planned(root, AFTER).changes if not change.implied})
    real = apply.all_synced

    def edit_first(*arguments: object) -> bool:
        if edited.read_bytes() == b"old 7\n":
            edited.write_bytes(b"a person's\n")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(apply, "all_synced", edit_first)
    outcome = restored(root, AFTER, Contents(BEFORE, AFTER))
    assert reasons(outcome.conflicts) == {b"d0/f007": "it changed at the last moment"}
    assert seen(root) == whole(AFTER) | {b"d0/f007": file("a person's\n")}
    assert named(outcome) == wanted


def test_a_folder_that_became_a_link_meanwhile_leads_nowhere(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = lay(tmp_path / "elsewhere", {b"f001": file("theirs")})
    real = apply.all_synced

    def swap_first(*arguments: object) -> bool:
        if not (root / "d1").is_symlink():
            (root / "d1").rename(tmp_path / "moved")
            (root / "d1").symlink_to(elsewhere)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(apply, "all_synced", swap_first)
    outcome = restored(root, AFTER, Contents(BEFORE, AFTER))
    assert {path for path, _ in (*outcome.conflicts, *outcome.failed)} == {p for p in AFTER if p.startswith(b"d1/")}
    assert seen(elsewhere) == {b"f001": file("theirs")}


def test_where_all_cannot_be_synced_at_once_each_file_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(apply, "all_synced", lambda *_: False)
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor) or real(descriptor))
    restored(root, AFTER, Contents(BEFORE, AFTER))
    assert len(synced) > MANY
    assert seen(root) == whole(AFTER)


def test_killed_in_the_middle_of_a_portion_it_can_be_settled(tmp_path: Path) -> None:
    before: Tree = {b"d/%d" % number: file(f"old {number}") for number in range(4)}
    after: Tree = {b"d/%d" % number: file(f"new {number}") for number in range(4)} | {b"l": link("d/1")}
    contents = Contents(before, after)
    moment = 0
    while True:
        (tmp_path / str(moment)).mkdir()
        root = lay(tmp_path / str(moment) / "root", before)
        journal = begun(root, planned(root, after))
        killed = killed_at(moment, partial(apply.carry_out, journal, contents, state(before)))
        left = pending(journal.file)
        assert left is not None
        outcome = finish_or_roll_back(left, contents, finish=bool(moment % 2))
        assert seen(root) == whole(after if moment % 2 or not killed else before)
        assert not outcome.failed
        if not killed:
            break
        moment += 7


def test_a_restore_of_many_files_goes_through_the_door(tmp_path: Path) -> None:
    root = lay(tmp_path / "project", BEFORE)
    store = Store.open(root)
    point = store.save().id
    lay_over(root, AFTER)
    store.save()
    plan = store.plan_restore(point, "files", everything=True)
    writes = [item for item in plan.inventory.restored if item.action == "write"]
    assert {(item.added, item.removed) for item in writes} == {(1, 1)}
    assert len(writes) == MANY
    store.restore(plan)
    assert state(seen(root)) == state(BEFORE)


def lay_over(root: Path, tree: Tree) -> None:
    for path, thing in tree.items():
        whole_path = root / os.fsdecode(path)
        if thing.kind == "file" and whole_path.exists():
            whole_path.write_bytes(thing.data)
