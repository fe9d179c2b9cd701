"""A save begins to look at the folders while it still imports itself, and sees no less by that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture
from forkpoint.store.checkpoints.capture import Wanted
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place
from forkpoint.store.saving import save
from forkpoint.store.walk import vouching
from forkpoint.store.walk.vouching import Vouching

from ...builders.folders import make

FIRST = """
import os, sys
from forkpoint.store import saving
from forkpoint.store.walk import vouching
vouching.FEWEST, vouching._processors = 0, lambda: 2
fork = os.fork
def forked():
    print("forkpoint.store.checkpoints.capture" in sys.modules, bool(os.path.getsize(sys.argv[2])))
    return fork()
os.fork = forked
saving.save(sys.argv[1])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make(tmp_path / "project", {f"part{n}/file{m}": f"{n} {m}\n" for n in range(9) for m in range(3)})
    save(str(folder))
    return folder


def place_of(root: Path) -> Place:
    return roots.adopt(os.path.realpath(root), data_folder())


def content(root: Path, point: str, path: bytes) -> bytes:
    return Objects(place_of(root).git_dir).read(Store.open(root)._workspace.side(point).state[path].oid)


def test_the_second_process_begins_before_the_rest_is_imported_and_with_the_root_held(project: Path) -> None:
    lock = place_of(project).folder / "lock"
    done = subprocess.run([sys.executable, "-c", FIRST, str(project), str(lock)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False True\n", "")
    assert lock.stat().st_size == 0


@pytest.mark.parametrize("harm", ["", "the index", "the tree"])
def test_what_changed_is_saved_whatever_was_begun(project: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    make(project, {"part8/file1": "changed\n", "part0/new": "new\n"})
    if harm == "the index":
        place_of(project).index_file.write_bytes(b"damaged")
    elif harm == "the tree":
        for file in (place_of(project).git_dir / "objects" / "pack").iterdir():
            file.unlink()
    saved = save(str(project))
    assert saved.files == 28
    assert content(project, saved.id, b"part8/file1") == b"changed\n"
    assert content(project, saved.id, b"part3/file2") == b"3 2\n"


def test_a_save_that_fails_leaves_no_process_behind(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    begun: list[Vouching] = []

    def fails(_: Place, wanted: Wanted, **__: object) -> None:
        assert wanted.ahead is not None and wanted.ahead.vouching is not None
        begun.append(wanted.ahead.vouching)
        raise InterruptedError

    monkeypatch.setattr(capture, "take", fails)
    with pytest.raises(InterruptedError):
        save(str(project))
    with pytest.raises(OSError):
        os.fstat(begun[0]._reader)  # its pipe is shut, so it ends with its next word though nobody killed it
    assert os.waitpid(begun[0]._child, 0)[0] == begun[0]._child
