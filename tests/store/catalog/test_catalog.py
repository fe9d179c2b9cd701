"""The catalog catches up with what is new alone, costs what that is long, and is right while others write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store import operations
from forkpoint.store.api import Store
from forkpoint.store.catalog import catalog
from forkpoint.store.catalog.content import Content
from forkpoint.store.catalog.jsonlines import JsonLines
from forkpoint.store.errors import StoreDamaged
from forkpoint.store.git.reader import Objects
from forkpoint.store.proof import ledger, witness
from tinydb import TinyDB

from ...builders.folders import make
from ...builders.tampering import flip_object, git, place_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "0\n"}) / "shop"


def load(project: Path, held: Content | None = None) -> Content:
    place = place_of(project)
    return catalog.load(place, Objects(place.git_dir), held)


def file_of(project: Path) -> Path:
    return place_of(project).workspace / catalog.FILE


def save(project: Path, content: str) -> str:
    make(project, {"a": content})
    return Store.open(project).save().id


def test_a_new_checkpoint_is_a_line_behind_what_stands(project: Path) -> None:
    for number in range(5):
        save(project, f"{number}\n")
    load(project)
    before = file_of(project).read_bytes()
    made = save(project, "new\n")
    assert load(project).rows[-1].stored.checkpoint.id == made
    after = file_of(project).read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    assert [json.loads(line)["version"] for line in after.splitlines()] == [catalog.VERSION] * 2


def test_what_is_known_is_not_read_from_the_objects_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        save(project, f"{number}\n")
    load(project)
    monkeypatch.setattr(Objects, "stored", None)
    monkeypatch.setattr(Objects, "read", None)
    assert len(load(project).rows) == 3


def test_a_torn_line_is_passed_over_and_written_again(project: Path) -> None:
    save(project, "1\n")
    load(project)
    made = save(project, "2\n")
    whole = load(project)
    text = file_of(project).read_bytes()
    for left in (10, 100, len(text) - text.index(b"\n") - 2):
        file_of(project).write_bytes(text[:-left])
        found = load(project)
        assert (found.rows, found.notices) == (whole.rows, ())
        assert found.rows[-1].stored.checkpoint.id == made
        assert file_of(project).read_bytes() == text


def test_what_somebody_else_wrote_meanwhile_is_kept(project: Path) -> None:
    save(project, "1\n")
    load(project)
    place = place_of(project)
    with TinyDB(storage=lambda: JsonLines(file_of(project), catalog.VERSION, dict[str, object])) as late:
        save(project, "2\n")
        load(project)
        late.table("meta").insert({"ledger": ["", 0, ""], "witness": {}, "damaged": []})
    assert [row.changed for row in load(project).rows] == [None, 1]
    assert all(finding.ok for finding in Store.open(project).verify()), place


def test_nothing_is_read_again_while_nothing_changes(project: Path) -> None:
    save(project, "1\n")
    held = load(project)
    assert load(project, held) is held
    save(project, "2\n")
    assert load(project, held) is not held


def test_a_path_that_is_no_utf_8_is_kept_as_it_is(project: Path) -> None:
    (project / os.fsdecode(b"pipe \xff")).parent.mkdir(exist_ok=True)
    os.mkfifo(project / os.fsdecode(b"pipe \xff"))
    save(project, "1\n")
    first = load(project).rows
    assert list(first[0].stored.checkpoint.uncaptured) == [os.fsdecode(b"pipe \xff")]
    assert load(project).rows == first


WRITER = """
import sys
from forkpoint.store import operations
from forkpoint.store.api import Store
store = Store.open(sys.argv[1])
for number in range(12):
    open(f"{sys.argv[1]}/{sys.argv[2]}", "w").write(str(number))
    made = [store.save(label=f"{sys.argv[2]} {number} {index}").id for index in range(2)]
    store.delete(made[:1], anyway=True)
    store.pin(made[1])
"""


def test_what_others_are_just_writing_is_never_taken_for_tampering(project: Path) -> None:
    Store.open(project).save()
    children = [subprocess.Popen([sys.executable, "-c", WRITER, str(project), name]) for name in ("x", "y")]
    seen = 0
    while any(child.poll() is None for child in children):
        found = Store.open(project)
        assert found.tree("files").problems == ()
        assert [finding.what for finding in found.verify() if not finding.ok] == []
        seen += 1
    assert [child.returncode for child in children] == [0, 0]
    assert seen > 2
    assert [finding.what for finding in Store.open(project).verify() if not finding.ok] == []
    assert len(load(project).rows) == 25


def test_packed_refs_are_the_same_refs(project: Path) -> None:
    made = [save(project, f"{number}\n") for number in range(3)]
    place = place_of(project)
    before = Objects(place.git_dir).listed()
    git(place, "pack-refs", "--all", "--prune")
    assert Objects(place.git_dir).listed() == before
    assert len(load(project).rows) == len(made)
    (place.git_dir / "packed-refs").write_text("not a line\n" + (place.git_dir / "packed-refs").read_text())
    assert Objects(place.git_dir).listed().broken


def test_the_ledger_may_be_made_shorter(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        save(project, f"{number}\n")
        Store.open(project).pin(load(project).rows[-1].stored.checkpoint.id)
    place = place_of(project)
    before = ledger.size(place.workspace)
    with place.writing("test"):
        assert not witness.compact(place)
        monkeypatch.setattr(witness, "SPARE", -10)
        assert witness.compact(place)
    assert ledger.size(place.workspace) < before
    assert load(project).notices == ()
    save(project, "new\n")
    assert [finding.what for finding in Store.open(project).verify() if not finding.ok] == []


def test_what_was_done_to_many_paths_is_read_from_the_objects_once_somebody_asks(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"many/{number}" for number in range(catalog.MANY + 1)]
    first = save(project, "1\n")
    make(project, dict.fromkeys(names, "new\n"))
    store = Store.open(project)
    store.save()
    done = store.restore(store.plan_restore(first, "files", everything=True))
    assert len(done.done) == len(names)
    [record] = load(project).operations
    whole = tuple(record.changes)
    assert [path for path, _, _ in whole] == sorted(names)
    assert b"many/7" not in file_of(project).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Objects, "file", None)
        [known] = load(project).operations
        assert (known.id, len(known.changes)) == (record.id, len(names))
    assert (tuple(known.changes), known.changes[0]) == (whole, whole[0])
    assert [finding.what for finding in store.verify() if not finding.ok] == []
    store.undo(store.plan_undo())
    assert (project / "many/7").read_text() == "new\n"


def test_an_operation_on_many_paths_that_cannot_be_read_any_more_is_named_and_the_rest_goes_on(project: Path) -> None:
    first = save(project, "1\n")
    make(project, {f"many/{number}": "new\n" for number in range(catalog.MANY + 1)})
    store = Store.open(project)
    store.save()
    store.restore(store.plan_restore(first, "files", everything=True))
    load(project)
    flip_object(place_of(project), git(place_of(project), "rev-parse", f"{operations.REF}:{operations.FILE}"))
    assert len(Store.open(project).tree("files").operations) == 1
    make(project, {"a": "2\n"})
    found = Store.open(project).plan_restore(first, "files", everything=True).inventory
    assert [item.path for item in found.restored] == [b"a"]
    with pytest.raises(StoreDamaged, match="forkpoint verify"):
        Store.open(project).plan_undo()
    assert any("operation" in finding.what for finding in Store.open(project).verify() if not finding.ok)
