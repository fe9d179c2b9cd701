from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store.errors import StoreDamaged
from forkpoint.store.restore import apply
from forkpoint.store.restore.apply import Outcome, carry_out

from ...builders.folder import Contents, Tree, file, folder, lay, link, seen, state, whole
from ...builders.restoring import begun, named, planned, reasons, restored

THEN: Tree = {
    b"edited": file("then\n"),
    b"gone": file("back\n", 0o600),
    b"program": file("#!/bin/sh\n", 0o755),
    b"link": link("edited"),
    b"dangling": link("nowhere"),
    b"was file": file("file\n"),
    b"was folder/deep/x": file("x\n"),
    b"empty": folder(),
    b"private": folder(0o700),
    b"private/key": file("key\n", 0o400),
    b"shut": folder(0o555),
    b"shut/in": file("in\n"),
    b"odd \xff\n'\"/-rf ": file("odd\n"),
    b"same": file("same\n"),
}
NOW: Tree = {
    b"edited": file("now\n"),
    b"program": file("#!/bin/sh\n", 0o644),
    b"link": link("elsewhere"),
    b"dangling": file("a file\n"),
    b"was file/inside": file("inside\n"),
    b"was folder": link("edited"),
    b"empty/filled": file("filled\n"),
    b"private": folder(0o750),
    b"private/key": file("key\n", 0o400),
    b"new/deep/er/y": file("y\n"),
    b"new shut": folder(0o500),
    b"new shut/z": file("z\n"),
    b"new empty": folder(0o711),
    b"same": file("same\n"),
}


def stored() -> Contents:
    return Contents(THEN, NOW)


def test_a_restore_and_its_inverse_bring_back_everything(root: Path) -> None:
    lay(root, NOW)
    there = restored(root, THEN, stored())
    assert seen(root) == whole(THEN)
    back = restored(root, NOW, stored())
    assert seen(root) == whole(NOW)
    for outcome in (there, back):
        assert (outcome.failed, outcome.conflicts, outcome.kept) == ((), (), ())


@pytest.mark.usefixtures("way")
def test_the_same_on_lesser_file_systems(root: Path) -> None:
    lay(root, NOW)
    restored(root, THEN, stored())
    assert seen(root) == whole(THEN)
    restored(root, NOW, stored())
    assert seen(root) == whole(NOW)


def test_every_path_that_was_to_change_is_done(root: Path) -> None:
    lay(root, NOW)
    plan = planned(root, THEN)
    outcome = carry_out(begun(root, plan), stored(), state(NOW))
    assert list(outcome.done) == sorted(row.path for row in plan.restored)
    assert outcome.changed[b"edited"] == (NOW[b"edited"].node, THEN[b"edited"].node)
    assert outcome.changed[b"new shut"] == (folder(0o500).node, None)
    assert set(outcome.changed) == set(outcome.done)


def test_what_does_not_differ_is_not_touched(root: Path) -> None:
    lay(root, NOW)
    os.utime(root / "same", ns=(1, 1))
    before = (root / "same").stat()
    restored(root, THEN, stored())
    after = (root / "same").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


class TestChangedBetweenInventoryAndWrite:
    """The guard is what was shown; whatever differs from it by now is somebody's work."""

    def go(self, root: Path) -> Outcome:
        journal = begun(root, self.plan)
        return carry_out(journal, stored(), state(NOW))

    @pytest.fixture(autouse=True)
    def shown(self, root: Path) -> None:
        lay(root, NOW)
        self.plan = planned(root, THEN)

    def test_an_edited_file_stays_and_the_rest_is_done(self, root: Path) -> None:
        (root / "edited").write_text("edited meanwhile")
        outcome = self.go(root)
        assert reasons(outcome.conflicts) == {b"edited": "it changed since it was looked at"}
        assert seen(root) == whole({**THEN, b"edited": file("edited meanwhile")})
        assert named(outcome) == sorted(row.path for row in self.plan.restored)

    def test_a_file_that_was_to_be_deleted_stays(self, root: Path) -> None:
        (root / "new/deep/er/y").write_text("edited meanwhile")
        outcome = self.go(root)
        assert list(reasons(outcome.conflicts)) == [b"new/deep/er/y"]
        assert (root / "new/deep/er/y").read_text() == "edited meanwhile"

    def test_a_file_that_appeared_stays(self, root: Path) -> None:
        (root / "gone").write_text("made meanwhile")
        outcome = self.go(root)
        assert reasons(outcome.conflicts) == {b"gone": "something stands there by now"}
        assert (root / "gone").read_text() == "made meanwhile"

    def test_a_file_that_is_gone_is_told(self, root: Path) -> None:
        (root / "edited").unlink()
        assert reasons(self.go(root).conflicts) == {b"edited": "it is gone"}
        assert not (root / "edited").exists()

    def test_a_changed_mode_stays(self, root: Path) -> None:
        (root / "program").chmod(0o600)
        assert reasons(self.go(root).conflicts) == {b"program": "it changed since it was looked at"}
        assert stat.S_IMODE((root / "program").stat().st_mode) == 0o600

    def test_a_link_in_place_of_a_folder_is_not_followed(self, root: Path, tmp_path: Path) -> None:
        (root / "private").rename(tmp_path / "outside")
        (root / "private").symlink_to(tmp_path / "outside")
        (root / "private/key").unlink()
        outcome = self.go(root)
        assert list(reasons(outcome.conflicts)) == [b"private"]
        assert os.listdir(tmp_path / "outside") == []
        assert (root / "private").is_symlink()

    def test_a_link_planted_above_a_file_leads_nowhere(self, root: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        (root / "new").rename(outside)
        (root / "new").symlink_to(outside)
        outcome = self.go(root)
        assert reasons(outcome.conflicts) == {
            b"new/deep/er/y": "its folder is gone, or a link or a file stands in its place"
        }
        assert (outside / "deep/er/y").read_text() == "y\n"

    def test_a_new_file_keeps_its_folder(self, root: Path) -> None:
        (root / "new/deep/notes").write_text("made meanwhile")
        outcome = self.go(root)
        assert reasons(outcome.kept) == dict.fromkeys([b"new", b"new/deep"], "the folder holds something that stays")
        assert (root / "new/deep/notes").read_text() == "made meanwhile"
        assert not (root / "new/deep/er").exists()

    def test_a_folder_that_was_opened_up_is_shut_again_when_it_stays(self, root: Path) -> None:
        (root / "new shut/notes").write_text("made meanwhile")
        outcome = self.go(root)
        assert reasons(outcome.kept) == {b"new shut": "the folder holds something that stays"}
        assert b"new shut" not in outcome.changed
        assert stat.S_IMODE((root / "new shut").stat().st_mode) == 0o500


def test_what_the_guard_could_not_store_is_kept(root: Path) -> None:
    lay(root, NOW)
    guard = {path: thing for path, thing in NOW.items() if path != b"edited"}
    outcome = restored(root, THEN, stored(), guard)
    assert reasons(outcome.kept) == {b"edited": "it could not be stored in the guard first"}
    assert (root / "edited").read_text() == "now\n"


def test_what_the_guard_holds_otherwise_is_a_conflict(root: Path) -> None:
    lay(root, NOW)
    outcome = restored(root, THEN, stored(), {**NOW, b"edited": file("another")})
    assert list(reasons(outcome.conflicts)) == [b"edited"]
    assert (root / "edited").read_text() == "now\n"


def test_one_damaged_blob_fails_one_path(root: Path) -> None:
    class Damaged(Contents):
        def copy(self, oid: str, descriptor: int) -> None:
            if oid == THEN[b"edited"].node.oid:
                raise StoreDamaged("an object is missing", path=oid)
            super().copy(oid, descriptor)

    lay(root, NOW)
    outcome = restored(root, THEN, Damaged(THEN, NOW))
    assert list(reasons(outcome.failed)) == [b"edited"]
    assert seen(root) == whole({**THEN, b"edited": NOW[b"edited"]})


def test_a_full_disk_is_told_for_each_path(root: Path) -> None:
    class Full(Contents):
        def copy(self, oid: str, descriptor: int) -> None:
            raise OSError(28, os.strerror(28))

    lay(root, NOW)
    outcome = restored(root, THEN, Full(THEN, NOW))
    assert reasons(outcome.failed)[b"edited"] == "the disk is full"
    assert not [path for path in seen(root) if b".forkpoint" in path]
    assert seen(root)[b"edited"] == NOW[b"edited"]


def test_what_changes_right_after_it_was_written_is_not_called_done(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(root, NOW)
    monkeypatch.setattr(apply.Run, "shut_again", lambda run: (root / "edited").write_text("meanwhile"))
    outcome = restored(root, THEN, stored())
    assert reasons(outcome.failed) == {b"edited": "it was written, but something else stands there now"}
    assert b"edited" not in outcome.done


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder that a user without rights can reach."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    for path in place.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(place)


def as_nobody(place: Path, act: str) -> None:
    """Runs a check of this module as a user without rights: in a process of its own where we are root."""
    if os.getuid() != 0:
        CHECKS[act](place)
        return
    for path in [place, *place.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            CHECKS[act](place)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def check_a_read_only_folder(place: Path) -> None:
    then: Tree = {b"open": file("then"), b"shut": folder(0o555), b"shut/in": file("then")}
    now: Tree = {b"open": file("now"), b"shut": folder(0o555), b"shut/in": file("now")}
    outcome = restored(place / "project", then, Contents(then, now))
    assert outcome.done == (b"open",)
    assert reasons(outcome.failed) == {b"shut/in": "permission denied"}
    assert seen(place / "project") == whole({**now, b"open": file("then")})


def check_the_whole_way_there_and_back(place: Path) -> None:
    restored(place / "project", THEN, stored())
    assert seen(place / "project") == whole(THEN)
    restored(place / "project", NOW, stored())
    assert seen(place / "project") == whole(NOW)


def check_a_file_that_its_owner_may_not_read(place: Path) -> None:
    then: Tree = {b"drop": file("then", 0o200), b"open": file("then")}
    now: Tree = {b"drop": file("now", 0o600), b"open": file("now")}
    outcome = restored(place / "project", then, Contents(then, now))
    assert outcome.done == (b"open",)
    assert reasons(outcome.failed) == {b"drop": "it was written, but cannot be verified: permission denied"}
    assert sorted(os.listdir(place / "project")) == ["drop", "open"]


CHECKS = {
    "write-only": check_a_file_that_its_owner_may_not_read,
    "read-only": check_a_read_only_folder,
    "whole way": check_the_whole_way_there_and_back,
}


def test_a_read_only_folder_fails_its_paths_and_no_others(nobodys: Path) -> None:
    lay(nobodys / "project", {b"open": file("now"), b"shut": folder(0o555), b"shut/in": file("now")})
    as_nobody(nobodys, "read-only")


def test_read_only_folders_come_and_go_without_rights(nobodys: Path) -> None:
    lay(nobodys / "project", NOW)
    as_nobody(nobodys, "whole way")


def test_a_file_that_its_owner_may_not_read_is_written_and_told_as_not_verified(nobodys: Path) -> None:
    lay(nobodys / "project", {b"drop": file("now", 0o600), b"open": file("now")})
    as_nobody(nobodys, "write-only")
    assert seen(nobodys / "project") == whole({b"drop": file("then", 0o200), b"open": file("then")})
