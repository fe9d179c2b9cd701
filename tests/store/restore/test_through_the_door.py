"""Restores through the engine's facade, on real stores: what only shows when scan, guard and journal work together."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store.api import Store

from ...builders.folder import Tree, file, folder, lay, link, seen, whole

BEFORE: Tree = {b"a": file("a\n"), b"d/x": file("x\n"), b"sub/odd \xff\n": file("odd\n", 0o600), b"l": link("a")}


@pytest.fixture
def root(root: Path) -> Path:
    return lay(root, BEFORE)


def go_to(root: Path, point: str) -> None:
    store = Store.open(root)
    result = store.restore(store.plan_restore(point, "files", everything=True))
    assert not (result.failed or result.late_conflicts)


def test_undo_leaves_a_folder_that_was_empty_before(root: Path) -> None:
    point = Store.open(root).save().id
    (root / "d/x").unlink()
    between = seen(root)
    go_to(root, point)
    store = Store.open(root)
    store.undo(store.plan_undo())
    assert seen(root) == between


def test_redo_leaves_a_folder_that_was_empty_after(root: Path) -> None:
    (root / "d/x").unlink()
    emptied = seen(root)
    point = Store.open(root).save().id
    (root / "d/x").write_text("x\n")
    go_to(root, point)
    store = Store.open(root)
    store.undo(store.plan_undo())
    store.redo(store.plan_redo())
    assert seen(root) == emptied


def test_a_tree_comes_back_whole_from_anything_and_goes_again(root: Path) -> None:
    point = Store.open(root).save().id
    for path in ("a", "l", "d/x"):
        (root / path).unlink()
    (root / "d").rmdir()
    (root / "a").mkdir(0o700)
    (root / "a/in").write_text("in\n")
    (root / "d").symlink_to("sub")
    (root / "sub").chmod(0o750)
    changed = seen(root)
    go_to(root, point)
    assert seen(root) == whole(BEFORE)
    store = Store.open(root)
    store.undo(store.plan_undo())
    assert seen(root) == changed


def test_an_ignored_file_in_a_folder_that_goes_stays_with_it(root: Path) -> None:
    (root / ".gitignore").write_text("*.pyc\n")
    point = Store.open(root).save().id
    lay(root, {b"new/mod.py": file("m\n"), b"new/mod.pyc": file("ignored\n")})
    go_to(root, point)
    assert {path for path in seen(root) if path.startswith(b"new")} == {b"new", b"new/mod.pyc"}


def test_a_link_in_place_of_a_folder_is_neither_followed_nor_lost(root: Path, tmp_path: Path) -> None:
    outside = lay(tmp_path / "outside", {b"x": file("outside\n")})
    point = Store.open(root).save().id
    (root / "d/x").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    go_to(root, point)
    assert seen(root) == whole(BEFORE)
    assert seen(outside) == {b"x": file("outside\n")}


def test_a_read_only_file_and_folder_come_back_as_they_were(root: Path) -> None:
    lay(root, {b"shut": folder(0o555), b"shut/in": file("in\n", 0o444)})
    point = Store.open(root).save().id
    before = seen(root)
    (root / "shut").chmod(0o755)
    (root / "shut/in").unlink()
    (root / "shut").rmdir()
    go_to(root, point)
    assert seen(root) == before


def test_a_folder_that_holds_only_what_is_never_captured_is_told_as_kept(root: Path) -> None:
    lay(root, {b".gitignore": file("*.pyc\n")})
    point = Store.open(root).save().id
    lay(root, {b"made/mod.pyc": file("ignored\n"), b"clone/.git/HEAD": file("ref\n"), b"empty": folder()})
    plan = Store.open(root).plan_restore(point, "files")
    assert [(change.path, change.action) for change in plan.inventory.restored] == [(b"empty", "delete")]
    assert [change.path for change in plan.inventory.kept] == [b"clone", b"made"]
    go_to(root, point)
    assert (root / "clone/.git/HEAD").exists()


def test_what_would_come_back_below_an_ignored_link_is_told_as_kept(root: Path) -> None:
    point = Store.open(root).save().id
    lay(root, {b".gitignore": file("d\n")})
    (root / "d/x").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to("sub")
    plan = Store.open(root).plan_restore(point, "files")
    assert [change.path for change in plan.inventory.kept] == [b"d/x"]
    go_to(root, point)
    assert (root / "d").is_symlink()
