"""Where a path changed: by whom, in which session and branch, and what differed at each moment."""

from __future__ import annotations

from pathlib import Path

from forkpoint.store.api import Store
from forkpoint.store.model import Diff

from tests.builders.folders import make
from tests.builders.recorded import Recorded


def lines(diff: Diff) -> list[str]:
    return [line.kind + line.text for file in diff.files for hunk in file.hunks for line in hunk.lines]


def test_each_moment_of_a_file_is_told_with_its_session_its_branch_and_what_differed(tmp_path: Path) -> None:
    root = make(tmp_path, {"shop/a.txt": "one\n"}) / "shop"
    first = Recorded(root)
    first.starts()
    first.asked("Count to two")
    first.writes("a.txt", "two\n")
    first.stops()
    other = Recorded(root)
    other.starts()
    other.asked("Go on to three")
    other.writes("a.txt", "three\n")
    other.stops()
    store = Store.open(root)
    tree = store.tree(first.session.id)
    start = tree.points[0].id
    store.restore(store.plan_restore(start, "files", everything=True))
    found = store.touches(b"a.txt", store.tree(first.session.id), placed=True)
    assert [touch.who.kind for touch in found] == ["tool", "session", "person"]
    assert [touch.session for touch in found] == [first.session.id, other.session.id, first.session.id]
    assert [touch.branch for touch in found] == ["count-two", "go-three", ""]
    assert [touch.branch for touch in store.touches(b"a.txt", tree)] == ["count-two", "", ""]
    told = [lines(store.touched(touch)) for touch in found]
    assert told == [["-one", "+two"], ["-two", "+three"], ["-three", "+one"]]
    assert lines(store.done_by(found[-1].who.operation)) == ["-three", "+one"]
    assert store.done_by("0" * 12).files == ()


def test_what_no_checkpoint_has_seen_is_told_apart_whichever_session_made_the_newest_one(tmp_path: Path) -> None:
    root = make(tmp_path, {"shop/a.txt": "one\n", "shop/b.txt": "one\n"}) / "shop"
    assert Store.open(root).unrecorded([b"a.txt"]).files == ()
    for content in ("two\n", "three\n"):
        agent = Recorded(root)
        agent.starts()
        agent.asked("Count on")
        agent.writes("a.txt", content)
        agent.stops()
    store = Store.open(root)
    assert store.unrecorded([b"a.txt", b"b.txt"]).files == ()
    make(root, {"a.txt": "mine\n", "b.txt": "mine\n"})
    assert lines(store.unrecorded([b"a.txt"])) == ["-three", "+mine"]
    assert store.tree().here.dirty == 2
