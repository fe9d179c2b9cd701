"""Two processes that walk one root: what they see together is what one would see alone."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest
from forkpoint.store.walk import vouching
from forkpoint.store.walk.scan import Limits, Scan, scan
from forkpoint.store.walk.statindex import Index
from forkpoint.store.walk.vouching import Vouching, begun

from ...builders.folders import make

LIMITS = Limits(1 << 20)
LONG_AGO = 1_500_000_000 * 10**9 + 1


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    make(folder, {f"part{n}/deep/er/file{m}": f"{n} {m}\n" for n in range(9) for m in range(3)})
    make(folder, {f"part{n}/top": "top\n" for n in range(9)})
    make(folder, {"part3/.gitignore": "*.log\n", "part3/deep/x.log": "", "top": "top\n"})
    for path in folder.rglob("*"):
        os.utime(path, ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)
    return folder


def indexed(folder: Path) -> Index:
    """The index of a folder that nobody touched for a while: a file whose ctime is fresh is not vouched for."""
    found = scan(str(folder), Index(), LIMITS)
    while any(info[3] == 0 for record in found.folders.values() for info in record.files.values()):
        found = scan(str(folder), Index(), LIMITS)
    return Index("tree", stamps=found.stamps, folders=found.folders)


def both(folder: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> Scan:
    """What a walk finds with a second process, which must be what it finds alone."""
    alone = scan(str(folder), index, LIMITS)
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    answered(monkeypatch)
    together = scan(str(folder), index, LIMITS)
    assert told(together) == told(alone)
    return together


def told(found: Scan) -> tuple[object, ...]:
    """All that a walk tells, but for how old the files looked while it went on."""
    changed = {path: [info and info[5] for info in change] for path, change in found.changed.items()}
    folders = {path: folder._replace(packed=b"", seen=b"") for path, folder in found.folders.items()}
    return changed, folders, dict(found.state()), found._replace(folders={}, changed={})


def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every walk wait for what the second process says: it would mostly be too late for so small a folder."""
    same = Vouching.same

    def waiting(self: Vouching, path: str) -> bool:
        os.set_blocking(self._reader, True)  # pyright: ignore[reportPrivateUsage]
        rank = self._rank.get(path, -1)  # pyright: ignore[reportPrivateUsage]
        while rank >= len(self._answers):  # pyright: ignore[reportPrivateUsage]
            same(self, path)
        return same(self, path)

    monkeypatch.setattr(Vouching, "same", waiting)


def test_nothing_changed_is_seen_by_both(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = both(project, indexed(project), monkeypatch)
    assert not found.changed and not found.modes_changed
    assert [source.text for source in found.sources] == ["*.log\n"]


@pytest.mark.parametrize("number", range(9))
def test_a_file_whose_time_was_set_back_is_noticed_wherever_it_is(
    number: int, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = indexed(project)
    file = project / f"part{number}/deep/er/file1"
    file.write_text(f"{number} X\n")
    os.utime(file, ns=(LONG_AGO, LONG_AGO))
    assert set(both(project, index, monkeypatch).changed) == {f"part{number}/deep/er/file1"}


def test_new_and_lost_names_modes_and_swaps_are_noticed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = indexed(project)
    make(project, {"part1/deep/er/new": "new\n", "part2/more/new": "new\n"})
    (project / "part4/deep/er/file0").unlink()
    (project / "part5/deep/er").chmod(0o700)
    (project / "part6/deep/er/file0").chmod(0o755)
    (project / "part7/deep").rename(project / "elsewhere")
    (project / "part7/deep").symlink_to("../elsewhere")
    found = both(project, index, monkeypatch)
    lost = {"part4/deep/er/file0", *(f"part7/deep/er/file{n}" for n in range(3))}
    new = {"part1/deep/er/new", "part2/more/new", "part7/deep", *(f"elsewhere/er/file{n}" for n in range(3))}
    assert {path for path, change in found.changed.items() if change.new is None} == lost
    assert {path for path, change in found.changed.items() if change.old is None} == new
    assert found.changed.keys() - lost - new == {"part6/deep/er/file0"}
    assert found.folders["part5/deep/er/"].mode == 0o700


def test_rules_that_changed_above_are_asked_again_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = indexed(project)
    make(project, {".gitignore": "file2\n"})
    found = both(project, index, monkeypatch)
    assert {path for path, change in found.changed.items() if change.new is None} == {
        f"part{n}/deep/er/file2" for n in range(9)
    }


def test_a_process_with_threads_is_not_copied(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    index = indexed(project)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert begun(str(project), index, tuple, ()) is None
    finally:
        done.set()
        thread.join()
    second = begun(str(project), index, tuple, ())
    assert second is not None
    second.end()


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_where_no_second_process_can_be_started_one_walks(
    project: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise BlockingIOError(errno.EAGAIN, "too many")

    index = indexed(project)
    (project / "new").write_text("new", "utf-8")
    monkeypatch.setattr(vouching, "FEWEST", 0)
    monkeypatch.setattr(vouching, "_processors", lambda: 2)
    held = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, call, refused)
    assert scan(str(project), index, LIMITS).changed.keys() == {"new"}
    assert len(os.listdir("/dev/fd")) == held
