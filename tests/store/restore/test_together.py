"""Files that are written together: as exact as one after the other, whatever happens in between."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.restore import apply, sharing, swap
from forkpoint.store.restore.build import Place
from forkpoint.store.restore.change import Change
from forkpoint.store.restore.journal import Journal, pending
from forkpoint.store.restore.recovery import finish_or_roll_back

from ...builders.folder import Contents, Thing, Tree, file, folder, lay, link, seen, state, whole
from ...builders.restoring import all_ended, begun, killed_at, named, planned, reasons, restored

MANY = 3 * apply.MANY
BOTH = sharing.both


def tree_of(text: str) -> dict[bytes, Thing]:
    return {b"d%d/f%03d" % (number % 7, number): file(f"{text} {number}\n") for number in range(MANY)}


BEFORE: Tree = tree_of("old") | {b"same": file("same")}
AFTER: Tree = tree_of("new") | {b"same": file("same"), b"shut/deep/f": file("deep", 0o600), b"shut": folder(0o500)}


@pytest.fixture(params=["by one process", "by two"], autouse=True)
def shared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Everything here is done by one process, and by two that share the files."""
    two = request.param == "by two"
    monkeypatch.setattr(sharing, "is_worth", lambda count: two and count > 1)
    return two


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


def test_killed_in_the_middle_of_a_portion_it_can_be_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before: Tree = {b"d/%d" % number: file(f"old {number}") for number in range(4)}
    after: Tree = {b"d/%d" % number: file(f"new {number}") for number in range(4)} | {b"l": link("d/1")}
    contents = Contents(before, after)
    moment = 0
    while True:
        (tmp_path / str(moment)).mkdir()
        root = lay(tmp_path / str(moment) / "root", before)
        journal = begun(root, planned(root, after))
        hit = tmp_path / str(moment) / "the second process was killed"
        monkeypatch.setattr(sharing, "both", noting(hit))
        with all_ended():
            killed = killed_at(moment, partial(carried_or_interrupted, journal, contents, before)) or hit.exists()
        left = pending(journal.file)
        assert left is not None
        outcome = finish_or_roll_back(left, contents, finish=bool(moment % 2))
        assert seen(root) == whole(after if moment % 2 else before)
        assert not outcome.failed
        if not killed:
            break
        moment += 7


def noting(hit: Path) -> Callable[..., tuple[object, object]]:
    """`sharing.both`, which also notes that the second process did not end well."""

    def both(first: Callable[[], object], second: Callable[[sharing.Alone], object]) -> tuple[object, object]:
        mine, told = BOTH(first, second)
        if told is None:
            hit.touch()
        return mine, told

    return both


def carried_or_interrupted(journal: Journal, contents: Contents, before: Tree) -> None:
    with suppress(OSError):
        apply.carry_out(journal, contents, state(before))


def test_what_a_second_process_left_half_done_is_done_by_the_first(root: Path) -> None:
    own = os.getpid()

    class Deadly(Contents):
        def copy(self, oid: str, descriptor: int) -> None:
            super().copy(oid, descriptor)
            if os.getpid() != own and self.read(oid) == b"new 180\n":
                os.kill(os.getpid(), signal.SIGKILL)

    outcome = restored(root, AFTER, Deadly(BEFORE, AFTER))
    assert (seen(root), outcome.failed, outcome.conflicts) == (whole(AFTER), (), ())


def test_where_the_second_process_dies_while_it_puts_files_in_the_restore_can_be_settled(
    tmp_path: Path, root: Path, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.getpid()
    real = swap.Swapper.put_in

    def deadly(swapper: swap.Swapper, place: Place, change: Change) -> None:
        real(swapper, place, change)
        if change.path == b"d5/f180" and os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(swap.Swapper, "put_in", deadly)
    contents = Contents(BEFORE, AFTER)
    journal = begun(root, planned(root, AFTER))
    if not shared:
        assert apply.carry_out(journal, contents, state(BEFORE)).done
        return
    with pytest.raises(OSError, match="second process"):
        apply.carry_out(journal, contents, state(BEFORE))
    left = pending(journal.file)
    assert left is not None and any(path.name.startswith(".forkpoint-") for path in root.rglob("*"))
    outcome = finish_or_roll_back(left, contents, finish=True)
    assert (seen(root), outcome.failed, outcome.conflicts) == (whole(AFTER), (), ())


def test_what_fails_or_changed_is_named_whichever_process_met_it(root: Path) -> None:
    refused = [b"d%d/f%03d" % (number % 7, number) for number in (3, 100, 190)]
    edited = [b"d%d/f%03d" % (number % 7, number) for number in (5, 101, 191)]
    bad = {AFTER[path].node.oid for path in refused}

    class Poor(Contents):
        def copy(self, oid: str, descriptor: int) -> None:
            if oid in bad:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().copy(oid, descriptor)

    made = planned(root, AFTER)
    journal = begun(root, made)
    for path in edited:
        (root / os.fsdecode(path)).write_bytes(b"a person's\n")
    outcome = apply.carry_out(journal, Poor(BEFORE, AFTER), state(BEFORE))
    assert reasons(outcome.failed) == dict.fromkeys(refused, "the disk is full")
    assert sorted(outcome.passing) == sorted(refused)
    assert reasons(outcome.conflicts) == dict.fromkeys(edited, "it changed since it was looked at")
    stays = {path: BEFORE[path] for path in refused} | {path: file("a person's\n") for path in edited}
    assert seen(root) == whole(AFTER) | stays
    assert named(outcome) == sorted({change.path for change in made.changes if not change.implied})


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
