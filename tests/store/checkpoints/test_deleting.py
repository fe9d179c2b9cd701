"""Deleting points: their rows stay, their files go, what something needs is refused, and nothing is left half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store import operations, roots
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import deleting
from forkpoint.store.errors import Refused, StoreDamaged, UnknownId
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place
from forkpoint.store.upkeep import space

from ...builders.folders import make
from ...builders.recorded import Recorded


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "0\n"}) / "shop"


def place_of(project: Path) -> Place:
    return roots.adopt(os.path.realpath(project), data_folder())


def saved(project: Path, *contents: str) -> list[str]:
    """A checkpoint for each content of the file."""
    found: list[str] = []
    for content in contents:
        make(project, {"a": content})
        found.append(Store.open(project).save().id)
    return found


def refs(project: Path, prefix: str = "refs/points/") -> list[str]:
    return sorted(name.rpartition("/")[2] for name in Objects(place_of(project).git_dir).refs(prefix))


def kept(store: Store) -> list[str]:
    return [point.id for point in store.tree("files").points]


def test_the_row_stays_and_says_that_its_files_are_gone(project: Path) -> None:
    one, two, three = saved(project, "1\n", "2\n", "3\n")
    store = Store.open(project)
    done = store.delete([two])
    assert done.points == (two,) and refs(project) == sorted([one, three])
    built = Store.open(project).tree("files")
    assert [point.id for point in built.points] == [one, three]
    assert [(point.id, point.gone_by, point.stored) for point in built.gone] == [(two, "delete", False)]
    assert [entry.id for entry in built.entries] == [f"save-{point}" for point in (one, two, three)]
    assert built.gone[0].gone > built.points[-1].time
    for act in (lambda: store.diff(two), lambda: store.plan_restore(two, "files"), lambda: store.diff(one, two)):
        with pytest.raises(UnknownId, match="the files of this checkpoint were deleted on"):
            act()
    assert [file.path for file in store.changes(three).files] == [b"a"], (
        "it is compared with the one before that is kept"
    )
    assert all(finding.ok for finding in store.verify())


def test_a_deletion_is_an_operation_that_nothing_takes_back(project: Path) -> None:
    one, two, _ = saved(project, "1\n", "2\n", "3\n")
    store = Store.open(project)
    store.label(one, "good")
    store.delete([two], summary="tidied up")
    act = store.operations()[0]
    assert (act.kind, act.summary, act.undoable, act.why) == ("delete", "tidied up", False, "it is final")
    assert store.plan_undo().operation.kind == "label", "undo goes on with what came before"


def test_what_something_needs_is_refused_by_name_and_nothing_is_deleted(project: Path) -> None:
    one, two, three, four, five = saved(project, *"12345")
    store = Store.open(project)
    store.pin(one)
    store.label(two, "good")
    plan = store.plan_restore(three, "files")
    guard = store.restore(plan).guard
    saved(project, "6")
    for point, why in {one: "pinned", two: 'labelled "good"', guard: "undo needs it"}.items():
        with pytest.raises(Refused) as told:
            store.delete([four, point])
        assert told.value.path == f"{point} ({why})"
    assert {one: "pinned", two: 'labelled "good"', guard: "undo needs it"}.items() <= store.protected().items()
    assert four not in store.protected()
    newest = saved(project, "7")[0]
    with pytest.raises(Refused, match="the newest one"):
        store.delete([newest])
    with pytest.raises(UnknownId):
        store.delete([four, "0123456789abcdef"])
    assert {one, two, three, four, five, guard, newest} <= set(refs(project))
    store.delete([one, two, guard, newest], anyway=True)
    assert not {one, two, guard, newest} & set(refs(project))


def test_the_point_whose_files_the_folder_has_is_refused(project: Path) -> None:
    one, _two = saved(project, "1", "2")
    store = Store.open(project)
    store.restore(store.plan_restore(one, "files"))
    assert store.tree("files").here.files == one
    with pytest.raises(Refused, match="the files are there now"):
        store.delete([one])


def test_undo_past_what_is_kept_is_refused_before_the_first_write(project: Path) -> None:
    one, _ = saved(project, "1", "2")
    store = Store.open(project)
    guard = store.restore(store.plan_restore(one, "files")).guard
    saved(project, "3")
    store.delete([guard], anyway=True)
    with pytest.raises(Refused, match="past undoing"):
        store.plan_undo()
    assert (project / "a").read_text() == "3"
    restored = next(act for act in store.operations() if act.kind == "restore")
    assert (restored.undoable, restored.why) == (False, "what it needs is kept no longer")


def test_redo_past_what_is_kept_is_refused(project: Path) -> None:
    one, _ = saved(project, "1", "2")
    store = Store.open(project)
    store.restore(store.plan_restore(one, "files"))
    guard = store.undo(store.plan_undo()).guard
    with pytest.raises(Refused, match="undo needs it"):
        saved(project, "2")
        store.delete([guard])
    store.delete([guard], anyway=True)
    with pytest.raises(Refused, match="past undoing"):
        store.plan_redo()


def test_an_interrupted_restore_keeps_its_points_whatever_is_asked(project: Path) -> None:
    one, two, _ = saved(project, "1", "2", "3")
    place = place_of(project)
    place.journal_file.write_text(
        f'{{"operation": "o", "guard": "{one}", "target": "{two}", "root": "{project}", "started": 1, "token": "t",'
        ' "about": "", "changes": []}\n'
    )
    for point in (one, two):
        with pytest.raises(Refused, match="an interrupted restore needs it"):
            Store.open(project).delete([point], anyway=True)
    assert {one, two} <= set(refs(project))


def test_saving_goes_on_after_the_newest_point_was_deleted(project: Path) -> None:
    one, two = saved(project, "1", "2")
    make(project, {"b/c": "new"})
    three = Store.open(project).save().id
    store = Store.open(project)
    store.delete([two, three], anyway=True)
    git("reflog", "expire", "--expire=now", "--all", folder=place_of(project).git_dir)
    git("repack", "-adq", folder=place_of(project).git_dir)
    four = store.save().id
    assert all(finding.ok for finding in store.verify())
    assert [(file.path, file.status) for file in store.diff(one, four).files] == [(b"a", "modified"), (b"b/c", "added")]


def git(*arguments: str, folder: Path) -> None:
    subprocess.run(["git", f"--git-dir={folder}", *arguments], check=True)


def test_a_conversation_lives_as_long_as_any_checkpoint_of_its_session(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    agent.stops()
    saved(project, "by hand")
    store = agent.store()
    points = [point.id for point in store.tree(agent.session.id).points]
    assert refs(project, "refs/transcripts/") == [agent.session.id]
    assert store.delete(points[1:], anyway=True).sessions == ()
    assert refs(project, "refs/transcripts/") == [agent.session.id]
    assert store.delete(points[:1], anyway=True).sessions == (agent.session.id,)
    built = agent.store().tree(agent.session.id)
    assert [point.id for point in built.gone] == points
    assert not any(point.stored for point in built.points), "only the agent's own backups still know something"
    assert [entry.text for entry in built.entries if entry.kind == "prompt"] == ["Make it"], "the agent has it still"
    assert refs(project, "refs/transcripts/") == [], "and it is not taken into the store again"
    agent.asked("Go on")
    agent.writes("b", "2\n")
    assert agent.store().tree(agent.session.id).points
    assert refs(project, "refs/transcripts/") == [agent.session.id], "until there are checkpoints of it again"


def test_calls_whose_checkpoint_before_was_deleted_are_still_told(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    agent.writes("b", "2\n")
    make(project, {"b": "by hand\n"})
    agent.writes("b", "3\n")
    agent.stops()
    store = agent.store()
    points = store.tree().points
    kept = points[-1].id
    store.delete([point.id for point in points[1:-1]], anyway=True)
    store = agent.store()
    assert [point.id for point in store.tree().points if point.stored] == [points[0].id, kept]
    plan = store.plan_restore(points[0].id, "files")
    named = (*plan.inventory.restored, *plan.inventory.kept, *plan.inventory.conflicts)
    assert [change.path for change in named] == [b"b"]
    agent.writes("c", "1\n")
    assert all(finding.ok for finding in store.verify())


def test_nothing_is_asked_of_the_disk_to_delete(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, _ = saved(project, "1", "2", "3")
    monkeypatch.setenv(space.VARIABLE, str(1 << 60))
    Store.open(project).delete([one, two])
    assert len(refs(project)) == 1


KILLED = """
import os, signal, sys
from forkpoint.store.checkpoints import deleting
from forkpoint.store import operations
from forkpoint.store.api import Store
from forkpoint.store.git import packed

def after(module, name, number):
    real = getattr(module, name)
    def call(*arguments, **options):
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **options)
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(module, name, call)

module, name, number, folder, *points = sys.argv[1:]
after({"deleting": deleting, "operations": operations, "packed": packed}[module], name, int(number))
Store.open(folder).delete(points)
"""
MOMENTS = [
    ("deleting", "write_atomic", 0, False),
    ("deleting", "write_atomic", 1, False),
    ("operations", "append", 1, True),
    ("deleting", "_forget", 0, True),
    ("packed", "_replace", 1, True),
    ("packed", "_unlink", 0, True),
    ("deleting", "sync_folder", 0, True),
    ("deleting", "sync_folder", 1, True),
]


@pytest.mark.parametrize(("module", "name", "number", "decided"), MOMENTS)
def test_a_killed_deletion_is_not_begun_or_finished_by_the_next_command(
    project: Path, module: str, name: str, number: int, decided: bool
) -> None:
    points = saved(project, *"123")
    Store.open(project).repack()
    points += saved(project, *"456")
    command = [sys.executable, "-c", KILLED, module, name, str(number), str(project), *points[1:4]]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    store = Store.open(project)
    assert kept(store) == ([points[0], *points[4:]] if decided else points)
    assert refs(project) == sorted(kept(store))
    assert [act.kind for act in store.operations()] == (["delete"] if decided else [])
    assert not place_of(project).deleting_file.exists()
    assert place_of(project).unreachable_file.exists() == decided
    assert all(finding.ok for finding in store.verify())
    saved(project, "7")


def test_points_whose_refs_were_packed_are_deleted_for_good(project: Path) -> None:
    one, two, three = saved(project, "1", "2", "3")
    git("pack-refs", "--all", folder=place_of(project).git_dir)
    (four,) = saved(project, "4")
    Store.open(project).delete([one, three])
    assert refs(project) == sorted([two, four])
    told = subprocess.run(
        ["git", f"--git-dir={place_of(project).git_dir}", "for-each-ref", "refs/points"],
        capture_output=True,
        check=True,
    )
    assert told.stdout.count(b"\n") == 2, "git reads the same"


def test_where_a_ref_cannot_be_read_nothing_is_deleted(project: Path) -> None:
    one, two, _ = saved(project, "1", "2", "3")
    broken = place_of(project).git_dir / f"refs/points/{two[:2]}/{two}"
    broken.write_bytes(b"\0" * 41)
    with pytest.raises(StoreDamaged, match="a ref cannot be read"):
        Store.open(project).delete([one])
    assert one in refs(project) and not place_of(project).deleting_file.exists()


def test_an_interrupted_deletion_is_finished_by_a_plain_save(project: Path) -> None:
    points = saved(project, *"1234")
    command = [sys.executable, "-c", KILLED, "packed", "remove", "0", str(project), points[1]]
    subprocess.run(command, capture_output=True)
    assert len(refs(project)) == 4
    new = saved(project, "5")
    assert refs(project) == sorted({*points, *new} - {points[1]})


def test_a_point_that_was_stored_again_is_not_taken_by_an_old_deletion(project: Path) -> None:
    one, two, _ = saved(project, "1", "2", "3")
    store = Store.open(project)
    place = place_of(project)
    before = Objects(place.git_dir).refs("refs/points/")
    store.delete([one])
    name = next(name for name in before if name.endswith(one))
    git("update-ref", name, before[name], folder=place.git_dir)
    assert kept(Store.open(project))[:2] == [one, two]
    deleting.finish(place)
    assert one in refs(project)
    assert one not in [point.id for point in Store.open(project).tree("files").gone]
    assert [act.kind for _, act in operations.newest_first(Objects(place.git_dir))] == ["delete"]


def test_a_call_whose_files_before_it_were_deleted_is_counted_against_no_others(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Change them")

    def work(root: Path) -> None:
        make(root, {"a": "1\n"})
        agent.store().save()
        make(root, {"b": "1\n"})

    agent.runs("make", work)
    store = agent.store()
    before = next(point for point in store.tree(agent.session.id).points if point.reason == "prompt")
    store.delete([before.id])
    assert all(finding.ok for finding in store.verify())
