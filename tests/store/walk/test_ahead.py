"""A save or a restore begins to look at the folders while it still imports itself, and sees no less by that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from forkpoint.store import locks, roots
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture
from forkpoint.store.checkpoints.capture import Wanted
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place
from forkpoint.store.saving import save
from forkpoint.store.walk import ahead, vouching
from forkpoint.store.walk.vouching import Vouching
from forkpoint.store.workspace import Workspace

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


@pytest.fixture
def begun_early(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The project, whose folders a second process has already looked through; nobody holds it."""
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    monkeypatch.setattr(ahead, "_early", [])
    save(str(project))  # by now no file is so young that it is read again
    make(project, {"part2/file0": "before\n"})
    ahead.begin_early(os.path.realpath(project), data_folder())
    [found] = ahead._early
    assert found.ahead.vouching is not None
    child = found.ahead.vouching._child
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    yield project
    assert not ahead._early
    with suppress(ChildProcessError):
        os.waitpid(child, 0)


def looked_at(project: Path) -> bool:
    """Looks at the folder as a command does; whether what was begun early was of use."""
    found = ahead._early[0]
    now = Workspace(project, None).now()
    whole = Workspace(project, None).now()
    assert dict(now.state) == dict(whole.state)
    assert found.ahead.vouching is not None
    return bool(found.ahead.vouching._answers)


def test_what_was_seen_before_the_root_is_held_serves_the_first_look(begun_early: Path) -> None:
    assert looked_at(begun_early)


def test_what_was_seen_early_is_forgotten_when_somebody_saved_meanwhile(begun_early: Path) -> None:
    make(begun_early, {"part3/file1": "theirs\n"})
    save(str(begun_early))
    assert not looked_at(begun_early)


def test_what_was_seen_early_is_forgotten_when_somebody_did_something_meanwhile(begun_early: Path) -> None:
    store = Store.open(begun_early)
    ours, ahead._early[:] = ahead._early[:], []
    store.label(store.tree().points[-1].id, "theirs")
    ahead._early[:] = ours
    assert not looked_at(begun_early)


def test_what_was_seen_early_is_forgotten_when_a_journal_came_or_went(begun_early: Path) -> None:
    place_of(begun_early).journal_file.write_bytes(b"{}")
    assert not looked_at(begun_early)


def test_what_was_seen_early_serves_no_other_root(begun_early: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other", {"a": "1\n"})
    save(str(other))
    assert {path for path in Workspace(other, None).now().state} == {b"a"}


def test_nothing_is_begun_early_while_somebody_holds_the_root(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    with locks.held(place_of(project).lock_file, who="restore"):
        ahead.begin_early(os.path.realpath(project), data_folder())
    assert not ahead._early


RESTORING = """
import os, sys
from forkpoint.tui import cli
from forkpoint.store.walk import vouching
vouching.FEWEST, vouching._processors = 0, lambda: 2
fork = os.fork
def forked():
    print("looks, pygit2 is imported:", "pygit2" in sys.modules, flush=True)
    return fork()
os.fork = forked
cli.main()
"""


@pytest.mark.parametrize("command", ["restore", "undo", "redo"])
def test_a_command_that_goes_back_begins_to_look_before_its_imports(project: Path, command: str) -> None:
    first = Store.open(project).save().id
    make(project, {"part1/file1": "changed\n"})
    Store.open(project).save()
    lines = {"restore": [["restore", first, "--files", "--all", "--yes"]]}
    lines["undo"] = [*lines["restore"], ["undo", "--yes"]]
    lines["redo"] = [*lines["undo"], ["redo", "--yes"]]
    for line in lines[command]:
        done = subprocess.run(
            [sys.executable, "-c", RESTORING, *line], cwd=project, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("looks, pygit2 is imported: False\n")
    expected = "changed\n" if command == "undo" else "1 1\n"
    assert (project / "part1" / "file1").read_text("utf-8") == expected
