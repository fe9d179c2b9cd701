"""What was changed behind forkpoint's back is named: by `verify`, and by whatever would show or bring it back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.catalog import catalog
from forkpoint.store.errors import StoreDamaged
from forkpoint.store.git.reader import LARGE
from forkpoint.store.proof import ledger
from forkpoint.store.roots import Place

from ...builders.folders import make, seen
from ...builders.recorded import Recorded
from ...builders.tampering import (
    again,
    altered,
    commit_of,
    flip,
    flip_object,
    forged_loose,
    git,
    loosen,
    place_of,
    ref_of,
)

OPERATIONS = "refs/operations"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "0\n", "shop/d/b": "0\n"}) / "shop"


@pytest.fixture
def saved(project: Path) -> list[str]:
    """Three checkpoints: each has its own content of `a`; all share that of `d/b`."""
    found: list[str] = []
    for number in (1, 2, 3):
        make(project, {"a": f"content {number}\n" * 50})
        found.append(Store.open(project).save(label=f"save {number}").id)
    Store.open(project).tree("files")
    return found


def bad(project: Path) -> list[str]:
    """What `verify` finds to be wrong."""
    return [finding.what for finding in Store.open(project).verify() if not finding.ok]


def told(project: Path, session: str = "files") -> str:
    """What is told wherever the tree is shown."""
    return "\n".join(problem.what for problem in Store.open(project).tree(session).problems)


def shown(project: Path) -> list[str]:
    return [point.id for point in Store.open(project).tree("files").points]


def put_right(project: Path) -> None:
    store = Store.open(project)
    assert all(finding.ok for finding in store.rebuild(store.plan_rebuild()))
    assert bad(project) == []


def test_a_store_that_nobody_touched_is_sound(project: Path, saved: list[str]) -> None:
    store = Store.open(project)
    store.pin(saved[0])
    assert bad(project) == []
    assert told(project) == ""
    assert not store.status().problems


@pytest.mark.parametrize("loose", [False, True])
def test_a_flipped_blob_is_named_with_its_path_and_never_written(project: Path, saved: list[str], loose: bool) -> None:
    place = place_of(project)
    blob = commit_of(place, f"{ref_of(saved[1])}:files/a")
    if loose:
        loosen(place)
    flip_object(place, blob)
    assert [f"checkpoint {saved[1]}" in what and ": a is damaged" in what for what in bad(project)][:1] == [True]
    before = seen(project)
    store = Store.open(project)
    assert store.diff(saved[0], saved[2]).files[0].added == 50
    found = store.diff(saved[0], saved[1]).files[0]
    assert found.problem and not found.hunks
    done = store.restore(store.plan_restore(saved[1], "files"))
    assert ([change.path for change in done.failed], done.done) == ([b"a"], ())
    assert seen(project) == before
    store = Store.open(project)
    store.restore(store.plan_restore(saved[0], "files"))
    assert (project / "a").read_text() == "content 1\n" * 50


def test_a_blob_with_other_bytes_in_good_form_is_not_taken_for_it(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    blob = commit_of(place, f"{ref_of(saved[1])}:files/a")
    loosen(place)
    forged_loose(place, blob, b"content 9\n" * 50)
    assert any(": a is damaged" in what for what in bad(project))
    assert Store.open(project).diff(saved[0], saved[1]).files[0].problem


@pytest.mark.parametrize("good_form", [False, True])
def test_a_large_file_is_hashed_as_it_is_read(project: Path, good_form: bool) -> None:
    (project / "large").write_bytes(os.urandom(LARGE + 1))
    point = Store.open(project).save().id
    (project / "large").write_bytes(b"now")
    place = place_of(project)
    blob = commit_of(place, f"{ref_of(point)}:files/large")
    if good_form:
        loosen(place)
        forged_loose(place, blob, b"x" * (LARGE + 1))
    else:
        flip_object(place, blob)
    assert any(": large is damaged" in what for what in bad(project))
    store = Store.open(project)
    done = store.restore(store.plan_restore(point, "files", everything=True))
    assert [change.path for change in done.failed] == [b"large"]
    assert (project / "large").read_bytes() == b"now"


def test_a_file_that_many_checkpoints_share_is_told_once_with_all_of_them(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    flip_object(place, commit_of(place, f"{ref_of(saved[1])}:files/d/b"))
    (found,) = [what for what in bad(project) if "d/b" in what]
    assert all(point in found for point in saved)


@pytest.mark.parametrize("part", ["files/a", "files"])
@pytest.mark.parametrize("newer", [True, False])
def test_the_next_checkpoint_brings_what_was_damaged_back(
    project: Path, saved: list[str], part: str, newer: bool
) -> None:
    place = place_of(project)
    flip_object(place, commit_of(place, f"{ref_of(saved[2])}:{part}"))
    assert any(f"checkpoint {saved[2]}" in what for what in bad(project))
    packs = set((place.git_dir / "objects" / "pack").glob("*.pack"))
    Store.open(project).save()
    moment = 2**31 if newer else 1
    for pack in set((place.git_dir / "objects" / "pack").glob("*.pack")) - packs:
        os.utime(pack, (moment, moment))  # libgit2 looks at the newest pack first
    assert all("the pack is not as it was written" in what for what in bad(project))
    make(project, {"a": "other\n"})
    store = Store.open(project)
    store.restore(store.plan_restore(saved[2], "files"))
    assert (project / "a").read_text() == "content 3\n" * 50
    Store.open(project).repack()
    assert bad(project) == []


@pytest.mark.parametrize("part", ["", ":", ":checkpoint.json", ":files", ":files/d"])
@pytest.mark.parametrize("cached", [True, False])
def test_a_damaged_part_of_a_checkpoint_is_told_and_hides_no_other(
    project: Path, saved: list[str], part: str, cached: bool
) -> None:
    place = place_of(project)
    (project / "d" / "b").write_text("only here")
    point = Store.open(project).save(label="damaged").id
    (project / "d" / "b").write_text("0\n")
    Store.open(project).save(label="newest")
    whole = shown(project)
    flip_object(place, commit_of(place, ref_of(point) + part))
    if not cached:
        (place.workspace / catalog.FILE).unlink()
    assert any(f"checkpoint {point}" in what for what in bad(project))
    assert not any(f"checkpoint {other}" in what for what in bad(project) for other in saved)
    assert set(whole) - set(shown(project)) <= {point}
    if not cached and part in ("", ":", ":checkpoint.json"):
        assert f"checkpoint {point} cannot be read" in told(project)
    before = seen(project)
    with pytest.raises(StoreDamaged):
        Store.open(project).restore(Store.open(project).plan_restore(point, "files"))
    assert seen(project) == before
    store = Store.open(project)
    store.restore(store.plan_restore(saved[0], "files"))
    assert (project / "a").read_text() == "content 1\n" * 50


def test_no_byte_of_a_pack_changes_unnoticed(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    pack = min((place.git_dir / "objects" / "pack").glob("*.pack"))
    size = pack.stat().st_size
    whole = pack.read_bytes()
    for at in [*range(0, size, max(1, size // 25)), size - 1]:
        flip(pack, at)
        assert bad(project), at
        pack.write_bytes(whole)
    assert bad(project) == []


def test_a_changed_record_is_not_taken_for_the_checkpoint(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    ref = ref_of(saved[1])
    other = altered(
        place, commit_of(place, ref), "checkpoint.json", lambda data: data.replace(b'"save 2"', b'"saved 2"')
    )
    git(place, "update-ref", ref, other)
    assert any(f"checkpoint {saved[1]} was replaced" in what for what in bad(project))
    assert f"checkpoint {saved[1]} was replaced" in told(project)
    assert shown(project) == [saved[0], saved[2]]
    for act in (
        lambda: Store.open(project).diff(saved[1]),
        lambda: Store.open(project).plan_restore(saved[1], "files"),
    ):
        with pytest.raises(StoreDamaged, match="was replaced by another one"):
            act()
    put_right(project)
    assert shown(project) == saved
    assert "save 2" in [point.label for point in Store.open(project).tree("files").points]


def test_a_checkpoint_that_was_taken_away_is_missed(project: Path, saved: list[str]) -> None:
    git(place_of(project), "update-ref", "-d", ref_of(saved[1]))
    assert any(f"checkpoint {saved[1]} was taken away" in what for what in bad(project))
    assert f"checkpoint {saved[1]} was taken away" in told(project)
    with pytest.raises(StoreDamaged, match="was taken away"):
        Store.open(project).diff(saved[1])
    assert Store.open(project).status().problems
    assert any("was taken away" in finding.what for finding in Store.open(project).doctor() if not finding.ok)
    put_right(project)
    assert shown(project) == saved


def test_two_checkpoints_that_changed_places_are_both_named(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    one, two = (commit_of(place, ref_of(point)) for point in saved[:2])
    git(place, "update-ref", ref_of(saved[0]), two)
    git(place, "update-ref", ref_of(saved[1]), one)
    assert all(any(f"checkpoint {point} was replaced" in what for what in bad(project)) for point in saved[:2])
    assert shown(project) == [saved[2]]
    put_right(project)
    assert shown(project) == saved


def test_changed_places_are_seen_where_there_is_no_witness(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    one, two = (commit_of(place, ref_of(point)) for point in saved[:2])
    (place.workspace / "ledger").unlink()
    (place.workspace / "catalog.json").unlink()
    git(place, "update-ref", ref_of(saved[0]), two)
    git(place, "update-ref", ref_of(saved[1]), one)
    assert all(any(point in what and "its record is that of" in what for what in bad(project)) for point in saved[:2])
    with pytest.raises(StoreDamaged):
        Store.open(project).plan_restore(saved[0], "files")


def acts(project: Path) -> list[str]:
    return [operation.summary for operation in Store.open(project).operations()]


@pytest.fixture
def three_acts(project: Path, saved: list[str]) -> list[str]:
    store = Store.open(project)
    store.pin(saved[0])
    store.label(saved[1], "second")
    store.pin(saved[2])
    return acts(project)


def moved_back(place: Place) -> None:
    git(place, "update-ref", OPERATIONS, f"{OPERATIONS}~1")


def dropped(place: Place) -> None:
    newest = commit_of(place, f"{OPERATIONS}^{{tree}}")
    git(place, "update-ref", OPERATIONS, again(place, newest, commit_of(place, f"{OPERATIONS}~2")))


def reordered(place: Place) -> None:
    trees = [commit_of(place, f"{OPERATIONS}~{back}^{{tree}}") for back in (0, 1, 2)]
    first = again(place, trees[2])
    git(place, "update-ref", OPERATIONS, again(place, trees[1], again(place, trees[0], first)))


def taken_away(place: Place) -> None:
    git(place, "update-ref", "-d", OPERATIONS)


@pytest.mark.parametrize(
    ("tamper", "words"),
    [(moved_back, "moved back"), (dropped, "rewritten"), (reordered, "rewritten"), (taken_away, "taken away")],
)
@pytest.mark.parametrize("cached", [True, False])
def test_operations_that_do_not_go_on_from_those_that_were_are_named(
    project: Path,
    saved: list[str],
    three_acts: list[str],
    tamper: Callable[[Place], None],
    words: str,
    cached: bool,
) -> None:
    place = place_of(project)
    tamper(place)
    if not cached:
        (place.workspace / "catalog.json").unlink()
    assert any(OPERATIONS in what and words in what for what in bad(project))
    assert words in told(project)
    assert acts(project) == three_acts
    with pytest.raises(StoreDamaged, match=words):
        Store.open(project).pin(saved[1])
    put_right(project)
    assert acts(project) == three_acts
    Store.open(project).pin(saved[1])


@pytest.fixture
def talked(project: Path) -> Recorded:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    agent.stops()
    agent.store().tree()
    agent.asked("Once more")
    agent.writes("b", "2\n")
    agent.stops()
    agent.store().tree()
    return agent


def segment_of(place: Place, ref: str) -> str:
    names = git(place, "ls-tree", "-r", "--name-only", ref).splitlines()
    return next(name for name in names if name.startswith("files/"))


@pytest.mark.parametrize("grafted", [True, False])
def test_an_edited_segment_of_a_transcript_is_named(project: Path, talked: Recorded, grafted: bool) -> None:
    place = place_of(project)
    ref = f"refs/transcripts/{talked.session.id}"
    before = commit_of(place, ref)
    parents = [before] if grafted else []
    other = altered(place, before, segment_of(place, ref), lambda data: data.replace(b"Make", b"Fake"), *parents)
    git(place, "update-ref", ref, other)
    assert any(f"transcript {talked.session.id}" in what for what in bad(project))
    assert f"transcript {talked.session.id}" in told(project, talked.session.id)
    talked.session.file.unlink()
    texts = [entry.text for entry in Store.open(project).tree(talked.session.id).entries if entry.kind == "prompt"]
    assert texts == ["Make it", "Once more"]
    put_right(project)


@pytest.mark.parametrize("target", ["moved back", "taken away"])
def test_a_transcript_that_lost_lines_is_named_and_not_written_on(project: Path, talked: Recorded, target: str) -> None:
    place = place_of(project)
    ref = f"refs/transcripts/{talked.session.id}"
    if target == "moved back":
        git(place, "update-ref", ref, f"{ref}~1")
    else:
        git(place, "update-ref", "-d", ref)
    assert any(target in what for what in bad(project))
    talked.asked("A third time")
    assert target in told(project, talked.session.id)
    talked.store().tree()
    assert any(target in what for what in bad(project))
    put_right(project)


def test_a_transcript_with_a_gap_is_named(project: Path, talked: Recorded) -> None:
    place = place_of(project)
    ref = f"refs/transcripts/{talked.session.id}"
    (place.workspace / "ledger").unlink()
    (place.workspace / "catalog.json").unlink()
    index = place.workspace / "tampering-index"
    git(place, "read-tree", ref, index=index)
    gone = f"0 {'0' * 40}\t{segment_of(place, ref)}\n"
    git(place, "update-index", "--index-info", data=gone.encode(), index=index)
    git(place, "update-ref", ref, again(place, git(place, "write-tree", index=index)))
    index.unlink()
    assert any("lines of" in what and "are missing" in what for what in bad(project))


def test_a_ledger_that_was_taken_away_is_missed(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    (place.workspace / "ledger").unlink()
    git(place, "update-ref", "-d", ref_of(saved[1]))
    assert catalog.REPLACED in bad(project)
    assert catalog.REPLACED in told(project)
    assert f"checkpoint {saved[1]} was taken away" in told(project)
    Store.open(project).save()
    assert catalog.REPLACED in told(project)
    put_right(project)
    assert saved[1] in shown(project)


def test_a_ledger_that_was_cut_is_missed(project: Path, saved: list[str]) -> None:
    file = ledger.file_of(place_of(project).workspace)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    assert catalog.REPLACED in bad(project)
    put_right(project)


def test_an_edited_line_of_the_ledger_is_named(project: Path, saved: list[str]) -> None:
    file = ledger.file_of(place_of(project).workspace)
    lines = file.read_bytes().splitlines(keepends=True)
    del lines[2]
    file.write_bytes(b"".join(lines))
    assert any("the ledger" in what for what in bad(project))
    put_right(project)


def test_a_store_without_a_ledger_or_a_catalog_begins_one(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    for name in ("ledger", "catalog.json"):
        (place.workspace / name).unlink()
    assert bad(project) == []
    git(place, "update-ref", "-d", ref_of(saved[1]))
    assert any(f"checkpoint {saved[1]} was taken away" in what for what in bad(project))


def test_what_a_killed_writer_did_not_write_down_is_no_tampering(project: Path, saved: list[str]) -> None:
    file = ledger.file_of(place_of(project).workspace)
    made = Store.open(project).save().id
    file.write_bytes(file.read_bytes()[:-30])  # the line of the last save is torn
    Store.open(project).pin(made)
    assert bad(project) == []
    assert told(project) == ""
    git(place_of(project), "update-ref", "-d", ref_of(made))
    assert any(f"checkpoint {made} was taken away" in what for what in bad(project))


def test_lines_that_were_not_on_the_disk_when_the_power_went_are_no_tampering(project: Path, saved: list[str]) -> None:
    file = ledger.file_of(place_of(project).workspace)
    for _ in range(3):
        Store.open(project).save()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:-2], b"\0" * len(lines[-2]), lines[-1]]))
    assert bad(project) == []
    file.write_bytes(b"".join([*lines[:-2], b"\0" * len(lines[-2])]))
    Store.open(project).save()
    assert not [what for what in bad(project) if what != catalog.REPLACED]


def test_what_was_given_up_is_told_before_and_not_after(project: Path, saved: list[str]) -> None:
    place = place_of(project)
    git(place, "update-ref", "-d", ref_of(saved[1]))
    git(place, "repack", "-a", "-d", "-q")
    git(place, "prune", "--expire=now")
    store = Store.open(project)
    plan = store.plan_rebuild()
    assert [item.ref for item in plan.lost] == [ref_of(saved[1])]
    assert "is not stored any more" in plan.lines[0]
    store.rebuild(plan)
    assert bad(project) == []
    assert shown(project) == [saved[0], saved[2]]


@pytest.mark.parametrize("where", ["row", "operation", "torn", "garbage"])
def test_an_edited_catalog_is_noticed_and_made_anew(
    project: Path, saved: list[str], three_acts: list[str], where: str
) -> None:
    file = place_of(project).workspace / catalog.FILE
    before = Store.open(project).tree("files").points
    text = file.read_bytes()
    changes = {"row": (b"save 2", b"save 9"), "operation": (b"second", b"zecond")}
    if where in changes:
        assert changes[where][0] in text
        file.write_bytes(text.replace(*changes[where]))
    else:
        file.write_bytes(text[:100] if where == "torn" else b"garbage\n")
    if where == "row":
        assert catalog.ANEW in bad(project)
    else:
        assert catalog.ANEW in told(project)
    assert told(project) == ""
    assert Store.open(project).tree("files").points == before
    assert acts(project) == three_acts
    assert bad(project) == []


def test_an_edited_catalog_whose_sums_were_made_to_fit_is_found_by_verify(
    project: Path, saved: list[str], three_acts: list[str]
) -> None:
    place = place_of(project)
    catalog.rebuild(place, catalog.Objects(place.git_dir))
    file = place.workspace / catalog.FILE
    for old, new, words in (
        (b"save 2", b"save 9", f"the catalog tells checkpoint {saved[1]}"),
        (b"second", b"zecond", "the catalog tells operations otherwise"),
    ):
        whole = file.read_bytes()
        file.write_bytes(resummed(whole.replace(old, new)))
        assert any(words in what for what in bad(project))
        file.write_bytes(whole)
        assert bad(project) == []


def resummed(line: bytes) -> bytes:
    """A catalog of one line with the sum that fits."""
    from hashlib import sha1

    head, rest = re.match(rb'(\{"version":"[^"]*","sum":")[0-9a-f]{40}(.*)\n', line, re.DOTALL).groups()  # type: ignore[union-attr]
    return head + sha1(rest).hexdigest().encode() + rest + b"\n"


@pytest.mark.parametrize(
    "tables",
    [
        {"points": {"1": None}},
        {"points": {"x": {"row": []}}},
        {"points": {"1": {}}},
        {"points": {"1": {"text": "{"}}},
        {"points": {"1": {"text": "[1, 2]"}}},
        {"operations": {"1": {"commit": "x", "record": "{}"}}},
        {"transcripts": {"1": {"name": "x", "commit": "y", "record": "[]"}}},
        {"meta": {"1": {"ledger": ["", 0, ""], "witness": {"refs/points/ab/abcd": 3}, "damaged": []}}},
        {"meta": {"1": {}}},
        {"other": {}},
        [],
    ],
)
def test_no_hand_made_catalog_stops_a_reader(project: Path, saved: list[str], tables: object) -> None:
    file = place_of(project).workspace / catalog.FILE
    begin = file.read_bytes().partition(b',"')[0]
    body = json.dumps(tables).encode()
    file.write_bytes(resummed(begin + b',"sum":"' + b"0" * 40 + b'",' + body[1:] + b"\n"))
    assert shown(project) == saved
    assert bad(project) == []
