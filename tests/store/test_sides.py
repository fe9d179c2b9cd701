"""What two sides of a comparison read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store import sides
from forkpoint.store.api import Store
from forkpoint.store.states import Node

from ..builders.folders import Link, git, make


def test_a_path_that_only_one_side_s_rules_leave_out_is_unknown_there_and_never_came_or_went(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a": "1\n", "build/out": "1\n", "old.log": "1\n"})
    store = Store.open(root)
    before = store.save().id
    make(root, {".forkpointignore": "build/\n*.log\n", "a": "2\n"})
    (root / "old.log").unlink()
    after = store.save().id
    for left, right in ((before, "now"), (before, after), (after, before)):
        found = store.diff(left, right)
        assert {file.path for file in found.files} == {b".forkpointignore", b"a"}
        assert found.unknown == 2


def test_a_tracked_file_that_a_rule_names_came_and_went(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {".gitignore": "*.log\n", "tracked.log": "1\n"})
    git(root, "init", "-q")
    git(root, "add", "-f", ".")
    store = Store.open(root)
    before = store.save().id
    (root / "tracked.log").unlink()
    make(root, {".gitignore": "*.log\nbuild/\n"})
    found = store.diff(before, "now")
    assert {file.path: file.status for file in found.files} == {b".gitignore": "modified", b"tracked.log": "deleted"}


def test_a_link_that_was_put_in_place_of_a_folder_is_not_read_through(tmp_path: Path) -> None:
    make(tmp_path, {"outside/file": "not ours", "outside/link": Link("there")})
    root = make(tmp_path / "root", {"folder": Link(str(tmp_path / "outside"))})
    for path, kind in ((b"folder/file", "file"), (b"folder/link", "link")):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            sides.on_disk(os.fspath(root), path, Node(kind, 0o644, ""))


def test_what_makes_a_state_less_than_sure_is_told_of_its_path() -> None:
    def side(inferred: frozenset[bytes] = frozenset(), moving: frozenset[bytes] = frozenset()) -> sides.Side:
        return sides.Side("", 0, {}, lambda path, node: b"", inferred=inferred, moving=moving)

    told = sides.remarks(side(inferred=frozenset({b"f"})), side(moving=frozenset({b"f", b"g"})), b"f")
    assert told == (
        "inferred: what was there is concluded from later evidence",
        "what is there then was being written when it was read",
    )
    assert not sides.remarks(side(), side(moving=frozenset({b"g"})), b"f")
