from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store.restore import below
from forkpoint.store.restore.below import look, opened_root, standing
from forkpoint.store.states import Node

from ...builders.folder import Thing, file, folder, lay, link


def at(root: Path, path: bytes) -> Node | None:
    with opened_root(root) as descriptor:
        return look(descriptor, path)


@pytest.mark.parametrize(
    "thing",
    [file(""), file("a\n", 0o4755), file(b"\x00\xff" * 3_000_000), link("nowhere"), link(b"\xff"), folder(0o2711)],
)
def test_what_standing_there_is_seen_as_a_checkpoint_holds_it(root: Path, thing: Thing) -> None:
    lay(root, {b"d/path": thing})
    assert at(root, b"d/path") == thing.node


def test_nothing_is_seen_through_a_link(root: Path, tmp_path: Path) -> None:
    outside = lay(tmp_path / "outside", {b"deep/path": file("a")})
    lay(root, {b"out": link(str(outside)), b"file": file("a")})
    with opened_root(root) as descriptor:
        for path in (b"out/deep/path", b"out/deep", b"file/path", b"missing/path"):
            assert look(descriptor, path) is None
            assert standing(descriptor, path) == ""
        assert [standing(descriptor, path) for path in (b"out", b"file", b".")] == ["other", "other", "folder"]


def test_a_file_that_never_holds_still_cannot_be_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, {b"log": file("a" * 100)})
    real = os.pread

    def growing(descriptor: int, length: int, offset: int) -> bytes:
        with open(root / "log", "a") as stream:
            stream.write("more")
        return real(descriptor, length, offset)

    monkeypatch.setattr(os, "pread", growing)
    with pytest.raises(BlockingIOError, match="while it is read"):
        at(root, b"log")


def test_a_file_is_read_piece_by_piece(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = file("0123456789" * 100)
    lay(root, {b"big": thing})
    monkeypatch.setattr(below, "PIECE", 64)
    assert at(root, b"big") == thing.node
