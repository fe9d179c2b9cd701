"""The stat index: a cache that is whole, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import GitFailed
from forkpoint.store.saving import save
from forkpoint.store.walk import statindex
from forkpoint.store.walk.scan import Limits, scan
from forkpoint.store.walk.statindex import Index

from ...builders.folders import make
from ...builders.tampering import place_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path / "project", {f"part{n}/file{m}": f"{n} {m}\n" for n in range(4) for m in range(3)})


def test_what_is_read_is_what_was_written(project: Path, tmp_path: Path) -> None:
    found = scan(str(project), Index(), Limits(1 << 20))
    index = Index("1" * 40, "point", 7, found.stamps, found.folders, {"": ("x",)}, {"/y": None}, {"modes": "2"}, "pack")
    file = tmp_path / "index"
    for _ in range(2):  # the second time its folders stand where they were read from
        statindex.save(file, statindex.encode(index))
        read = statindex.load(file)
        assert read._replace(folders={}) == index._replace(folders={})
        assert {path: folder.files for path, folder in read.folders.items()} == {
            path: folder.files for path, folder in found.folders.items()
        }
        index = read


def test_whatever_byte_is_damaged_nothing_wrong_is_believed(project: Path) -> None:
    save(str(project))
    file = place_of(project).index_file
    whole = file.read_bytes()
    right = {path: folder.files for path, folder in statindex.load(file).folders.items()}
    for at in range(0, len(whole), 7):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        for path, folder in statindex.load(file).folders.items():
            try:
                assert folder.files == right[path]
            except GitFailed:
                continue
    for length in range(0, len(whole), 11):
        file.write_bytes(whole[:length])
        assert statindex.load(file) == Index()


def test_a_damaged_index_is_made_anew_by_the_next_save(project: Path) -> None:
    save(str(project))
    file = place_of(project).index_file
    whole = file.read_bytes()
    head = int.from_bytes(whole[16:24], "big") + 24
    file.write_bytes(whole[:head] + bytes(len(whole) - head))  # what a power cut leaves of what was not synced
    make(project, {"part2/file1": "new\n"})
    save(str(project))
    assert statindex.load(file).folders["part2/"].files.keys() == {"file0", "file1", "file2"}
    assert Store.open(project).tree().here.dirty == 0
