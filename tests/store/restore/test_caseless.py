from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store.restore import journal as journals
from forkpoint.store.restore.apply import carry_out
from forkpoint.store.restore.below import ignores_case, opened_root
from forkpoint.store.restore.recovery import finish_or_roll_back

from ...builders.caseless import ignore_case
from ...builders.folder import Contents, Tree, file, lay, seen, state, whole
from ...builders.restoring import begun, killed_at, planned, restored

THEN: Tree = {b"README": file("same\n"), b"Notes": file("then\n"), b"SRC/a": file("a\n"), b"other": file("then\n")}
NOW: Tree = {b"readme": file("same\n"), b"notes": file("now\n"), b"src/a": file("a\n"), b"other": file("now\n")}
BLOBS = Contents(THEN, NOW)


@pytest.fixture(autouse=True)
def caseless(monkeypatch: pytest.MonkeyPatch) -> None:
    ignore_case(monkeypatch)


@pytest.fixture(autouse=True)
def laid(root: Path) -> None:
    lay(root, NOW)


def test_the_file_system_is_seen_to_ignore_case(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_root(root) as descriptor:
        assert ignores_case(descriptor)
        monkeypatch.undo()
        assert not ignores_case(descriptor)


def test_names_that_change_their_case_change_it_and_change_it_back(root: Path) -> None:
    for end in (THEN, NOW):
        outcome = restored(root, end, BLOBS)
        assert seen(root) == whole(end)
        assert not (outcome.failed or outcome.conflicts or outcome.kept)


def test_two_names_that_are_one_here_fail_and_neither_is_written(root: Path) -> None:
    made = planned(root, {**NOW, b"new": file("1\n"), b"NEW": file("2\n")})
    assert [row.path for row in made.failed] == [b"NEW", b"new"]
    assert made.changes == ()


@pytest.mark.parametrize(("finish", "end"), [(True, THEN), (False, NOW)])
def test_a_killed_change_of_case_is_finished_or_rolled_back(tmp_path: Path, finish: bool, end: Tree) -> None:
    for moment in range(1000):
        place = lay(tmp_path / f"project{moment}", NOW)
        journal = begun(place, planned(place, THEN), tmp_path / f"journal{moment}.json")
        if not killed_at(moment, lambda: carry_out(journal, BLOBS, state(NOW))):  # noqa: B023
            assert moment > 20
            return
        found = journals.pending(journal.file)
        assert found is not None
        outcome = finish_or_roll_back(found, BLOBS, finish=finish)
        assert seen(place) == whole(end)
        assert not (outcome.failed or outcome.conflicts or outcome.kept)
    raise AssertionError("the restore never ended")
