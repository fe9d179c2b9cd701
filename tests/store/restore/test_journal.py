from __future__ import annotations

import stat
from pathlib import Path

import pytest
from forkpoint.store.errors import Refused, StoreDamaged
from forkpoint.store.restore import journal as journals
from forkpoint.store.restore.change import Change
from forkpoint.store.restore.journal import Journal

from ...builders.folder import file, folder, link

CHANGES = (
    Change(b"odd \xff\n\"'", file("a").node, link("b").node),
    Change(b"merged", file("a").node, file("b").node, b"bytes \x00\xff"),
    Change(b"d", None, folder(0o700).node, implied=True),
    Change(b"gone", file("a", 0o4755).node, None),
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journal.json"


@pytest.fixture
def journal(place: Path, tmp_path: Path) -> Journal:
    return journals.begin(
        place, operation="op", guard="g", target="t", root=str(tmp_path / "odd \udcff"), changes=CHANGES
    )


def test_a_journal_is_read_as_it_was_written(journal: Journal, place: Path) -> None:
    assert journals.pending(place) == journal
    assert journal.changes == CHANGES


def test_a_journal_is_private(journal: Journal, place: Path) -> None:
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_it_tells_how_far_the_restore_got(journal: Journal, place: Path) -> None:
    for number in range(3):
        journal.note(number)
    found = journals.pending(place)
    assert found is not None
    assert found.begun == 3


def test_a_torn_last_line_is_passed_over(journal: Journal, place: Path) -> None:
    journal.note(0)
    journal.note(1)
    place.write_bytes(place.read_bytes()[:-5])
    found = journals.pending(place)
    assert found is not None
    assert (found.begun, found.changes) == (1, CHANGES)


def test_no_second_restore_begins_before_the_first_is_settled(journal: Journal, place: Path) -> None:
    with pytest.raises(Refused, match="interrupted"):
        journals.begin(place, operation="op2", guard="g", target="t", root="/r", changes=())
    assert journals.pending(place) == journal


def test_a_closed_journal_is_gone(journal: Journal, place: Path) -> None:
    journals.close(journal)
    assert journals.pending(place) is None
    assert list(place.parent.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"operation": "op"}', b"\xff"])
def test_a_damaged_journal_is_said_to_be_damaged(place: Path, data: bytes) -> None:
    place.write_bytes(data)
    with pytest.raises(StoreDamaged, match="journal"):
        journals.pending(place)
