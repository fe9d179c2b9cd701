from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forkpoint.store.restore import journal as journals
from forkpoint.store.restore import swap
from forkpoint.store.restore.apply import Outcome, carry_out
from forkpoint.store.restore.journal import Journal
from forkpoint.store.restore.recovery import finish_or_roll_back, judge

from ...builders.folder import Contents, Thing, Tree, file, folder, lay, link, seen, state, whole
from ...builders.restoring import begun, killed_at, planned, reasons

THEN: Tree = {
    b"edited": file("then, and longer"),
    b"gone": file("back\n", 0o600),
    b"program": file("#!/bin/sh\n", 0o755),
    b"kind": link("edited"),
    b"was file": file("file\n"),
    b"back/deep/x": file("x\n"),
    b"shut": folder(0o555),
    b"shut/in": file("in\n"),
}
NOW: Tree = {
    b"edited": file("now"),
    b"program": file("#!/bin/sh\n"),
    b"kind": file("a file\n"),
    b"was file/inside": file("inside\n"),
    b"new/deep/y": file("y\n"),
    b"new shut": folder(0o500),
    b"new shut/z": file("z\n"),
}
ENOUGH = 1000
"""More effects than any restore here has."""


class Slow(Contents):
    """Gives bytes in two halves, so that a process can be killed between them."""

    def copy(self, oid: str, descriptor: int) -> None:
        data = self.held[oid]
        os.write(descriptor, data[: len(data) // 2])
        os.write(descriptor, data[len(data) // 2 :])


BLOBS = Slow(THEN, NOW)


@pytest.fixture(autouse=True)
def no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only processes die here, and what they wrote outlives them without an fsync."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def interrupted(tmp_path: Path, moment: int, act: Callable[[Journal], object] | None = None) -> Journal | None:
    """The journal of a restore that was killed at a moment; None when it ended before."""
    root = lay(tmp_path / f"project{moment}", NOW)
    file = tmp_path / f"journal{moment}.json"
    journal = begun(root, planned(root, THEN), file)

    def restore() -> None:
        with prepared(journal, act):
            carry_out(journal, BLOBS, state(NOW))

    if not killed_at(moment, restore):
        return None
    found = journals.pending(file)
    assert found is not None
    return found


@contextmanager
def prepared(journal: Journal, act: Callable[[Journal], object] | None) -> Iterator[None]:
    """Lets somebody act right before the first file is exchanged."""
    if act is None:
        yield
        return
    real, pending = swap.exchange, [act]

    def meddled(folder: int, one: bytes, other: bytes) -> None:
        if pending:
            pending.pop()(journal)
        real(folder, one, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swap, "exchange", meddled)
        yield


def moments(
    tmp_path: Path, act: Callable[[Journal], object] | None = None, every: int = 1
) -> Iterator[tuple[Journal, Path]]:
    """Every moment at which a restore can be killed (or every nth), and the folder as it was left then."""
    for moment in range(0, ENOUGH, every):
        journal = interrupted(tmp_path, moment, act)
        if journal is None:
            assert moment > 50
            return
        yield journal, Path(journal.root)
    raise AssertionError("the restore never ended")


def is_clean(outcome: Outcome) -> bool:
    return not (outcome.failed or outcome.conflicts or outcome.kept)


@pytest.mark.parametrize("way", ["exchange", "moves"], indirect=True)
@pytest.mark.parametrize(("finish", "end"), [(True, THEN), (False, NOW)])
def test_killed_at_any_moment_it_can_be_finished_or_rolled_back(
    tmp_path: Path, way: str, finish: bool, end: Tree
) -> None:
    del way
    for journal, root in moments(tmp_path):
        outcome = finish_or_roll_back(journal, BLOBS, finish=finish)
        assert seen(root) == whole(end)
        assert is_clean(outcome)
        assert set(outcome.changed) == (set(outcome.done) if finish else set())


@pytest.mark.parametrize("way", ["placeholder"], indirect=True)
@pytest.mark.parametrize(("finish", "end"), [(True, THEN), (False, NOW)])
def test_without_hard_links_a_placeholder_may_be_left_and_is_named(
    tmp_path: Path, way: str, finish: bool, end: Tree
) -> None:
    del way
    for journal, root in moments(tmp_path, every=3):
        outcome = finish_or_roll_back(journal, BLOBS, finish=finish)
        named = reasons((*outcome.conflicts, *outcome.failed, *outcome.kept))
        found, wanted = seen(root), whole(end)
        for path in found.keys() | wanted.keys():
            assert found.get(path) == wanted.get(path) or path in named


@pytest.mark.parametrize("finish", [True, False])
def test_a_recovery_that_is_killed_can_be_repeated(tmp_path: Path, finish: bool) -> None:
    for number, (journal, root) in enumerate(moments(tmp_path, every=9)):

        def recover(journal: Journal = journal) -> None:
            finish_or_roll_back(journal, BLOBS, finish=finish)

        for moment in range(number % 5, ENOUGH, 11):
            if not killed_at(moment, recover):
                break
        assert is_clean(finish_or_roll_back(journal, BLOBS, finish=finish))
        assert seen(root) == whole(THEN if finish else NOW)


@pytest.mark.parametrize("finish", [True, False])
def test_an_edit_in_the_very_moment_of_the_crash_is_never_lost(tmp_path: Path, finish: bool) -> None:
    edit = b"work that exists nowhere else"

    def act(journal: Journal) -> None:
        with open(Path(journal.root) / "edited", "wb") as stream:
            stream.write(edit)

    for journal, root in moments(tmp_path, act):
        was_made = edit in [thing.data for thing in seen(root).values()]
        outcome = finish_or_roll_back(journal, BLOBS, finish=finish)
        found = seen(root)
        if was_made:
            assert found[b"edited"].data == edit
            assert b"edited" in reasons(outcome.conflicts)
            assert b"edited" not in outcome.done
        assert not [path for path in found if b".forkpoint-" in path]
        assert {path: thing for path, thing in found.items() if path != b"edited"} == {
            path: thing for path, thing in whole(THEN if finish else NOW).items() if path != b"edited"
        }


def edits() -> list[tuple[bytes, Thing | None]]:
    return [
        (b"edited", file("edited since")),
        (b"edited", None),
        (b"gone", file("made since")),
        (b"program", file("#!/bin/sh\n", 0o700)),
        (b"new/deep/y", file("edited since")),
    ]


@pytest.mark.parametrize(("path", "thing"), edits())
@pytest.mark.parametrize("finish", [True, False])
def test_what_was_changed_after_the_crash_is_left_and_named(
    tmp_path: Path, path: bytes, thing: Thing | None, finish: bool
) -> None:
    for journal, root in moments(tmp_path, every=11):
        place = root / os.fsdecode(path)
        if not place.parent.is_dir():
            continue
        place.unlink(missing_ok=True)
        if thing:
            place.write_bytes(thing.data)
            place.chmod(thing.mode)
        outcome = finish_or_roll_back(journal, BLOBS, finish=finish)
        assert path not in outcome.done
        assert path in reasons(outcome.conflicts)
        assert seen(root).get(path) == thing


@pytest.mark.parametrize("finish", [True, False])
def test_a_folder_that_was_opened_up_is_shut_again_when_it_stays(tmp_path: Path, finish: bool) -> None:
    for journal, root in moments(tmp_path, every=7):
        inside = root / "new shut"
        if not inside.is_dir():
            continue
        (inside / "since").write_text("made since")
        outcome = finish_or_roll_back(journal, BLOBS, finish=finish)
        assert seen(root)[b"new shut"] == folder(0o500)
        assert seen(root)[b"new shut/since"] == file("made since")
        assert finish == (b"new shut" in reasons(outcome.kept))


def test_looking_at_an_interrupted_restore_changes_nothing(tmp_path: Path) -> None:
    journal = interrupted(tmp_path, 60)
    assert journal is not None
    before = seen(Path(journal.root))
    standing = judge(journal)
    assert seen(Path(journal.root)) == before
    assert standing.before
    assert standing.after
    assert {*standing.before, *standing.after, *standing.other} == {change.path for change in journal.changes}


def test_a_spare_name_with_strange_bytes_is_named_and_left(tmp_path: Path) -> None:
    root = lay(tmp_path / "project", NOW)
    journal = begun(root, planned(root, THEN))
    number = next(number for number, change in enumerate(journal.changes) if change.path == b"edited")
    spare = root / f".forkpoint-{journal.token}-{number}"
    spare.write_text("strange")
    outcome = finish_or_roll_back(journal, BLOBS, finish=True)
    assert spare.read_text() == "strange"
    assert reasons(outcome.conflicts) == {b"edited": f"one version of it is kept beside it as {spare.name}"}
    assert (root / "edited").read_text() == "now"


def test_a_hostile_journal_reaches_nothing_outside(tmp_path: Path) -> None:
    root = lay(tmp_path / "project", {b"a": file("a")})
    outside = lay(tmp_path / "outside", {b"a": file("a")})
    made = planned(root, {b"a": file("a")})
    change = planned(root, {}).changes[0]
    hostile = made.__class__((change._replace(path=b"../outside/a"),), (), (), (), ())
    outcome = finish_or_roll_back(begun(root, hostile), BLOBS, finish=True)
    assert list(reasons(outcome.failed)) == [b"../outside/a"]
    assert seen(outside) == {b"a": file("a")}
