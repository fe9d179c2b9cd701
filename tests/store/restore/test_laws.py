"""What holds for any two trees and any history of a root."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from forkpoint.store.model import OnConflict
from forkpoint.store.restore import journal as journals
from forkpoint.store.restore.apply import Outcome, carry_out
from forkpoint.store.restore.coverage import Coverage, Pair, differences
from forkpoint.store.restore.paths import parents
from forkpoint.store.restore.plan import Plan, plan
from forkpoint.store.restore.scope import Decision, decide, take_back
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...builders.folder import Contents, Thing, Tree, file, folder, lay, link, listed, seen, state, whole
from ...builders.restoring import begun, named
from ...builders.story import MINE, THEIRS, Story

SHUT = [0o555, 0o500] if os.getuid() == 0 else []
"""Folders that only root can change something in."""

NAMES = [b"a", b"b", b"c\n", b"-d ", b"\xff"]
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(b"/".join)
files = st.builds(file, st.sampled_from(["", "1\n", "2\n", "3\n"]), st.sampled_from([0o644, 0o755, 0o600, 0o444]))
links = st.builds(link, st.sampled_from([b"a", b"../..", b"/nowhere", b"c\n"]))
folders = st.builds(folder, st.sampled_from([0o755, 0o700, *SHUT]))
things = st.one_of(files, files, links, folders)
mutations = st.dictionaries(paths, st.one_of(things, things, st.none()), max_size=5)
decisions = st.sampled_from([Decision("restore", "r"), Decision("keep", "k"), Decision("conflict", "c")])


def grown(tree: Tree, changes: Mapping[bytes, Thing | None]) -> dict[bytes, Thing]:
    """A tree after some changes; what cannot stand beside a new thing goes."""
    found = dict(tree)
    for path, thing in changes.items():
        below = [other for other in found if other.startswith(path + b"/")]
        if thing is None or thing.kind != "folder":
            for other in below:
                del found[other]
        found.pop(path, None)
        if thing is not None:
            for other in list(found):
                if path.startswith(other + b"/") and found[other].kind != "folder":
                    del found[other]
            found[path] = thing
    return found


trees = st.dictionaries(paths, things, max_size=8).map(lambda changes: grown({}, changes))


@contextmanager
def laid(tree: Tree) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp())
    try:
        yield lay(place / "project", tree)
    finally:
        for path in place.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(place)


def differing(then: Tree, now: Tree) -> set[bytes]:
    """Paths that differ between two trees, worked out anew: folders only where a checkpoint lists them."""
    old, new = whole(then), whole(now)
    lists = listed(old).keys() | listed(new).keys()
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path) and path in lists}


def proposed(
    pairs: Mapping[bytes, Pair], now: Tree, made: Mapping[bytes, Decision], choice: OnConflict = "keep"
) -> Plan:
    return plan(
        pairs,
        Coverage(),
        state(whole(now)),
        Coverage(),
        made,
        choices=choice,
        count=lambda path, old, new: None,
        merge=lambda path, base, mine, theirs: None,
        standing=lambda path: "",
    )


def pairs_of(then: Tree, now: Tree) -> dict[bytes, Pair]:
    return differences(state(whole(then)), Coverage(), state(whole(now)), Coverage())


def carried_out(root: Path, made: Plan, *stores: Tree) -> Outcome:
    journal = begun(root, made)
    outcome = carry_out(journal, Contents(*stores), state(seen(root)))
    journals.close(journal)
    return outcome


def check_partition(made: Plan, paths: set[bytes]) -> None:
    rows = [row.path for part in (made.restored, made.kept, made.conflicts, made.failed) for row in part]
    assert len(rows) == len(set(rows))
    assert paths <= set(rows)
    assert set(rows) - paths <= {row.path for row in made.kept if row.note == "folder"}


law = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@law
@given(trees, trees)
def test_any_tree_turns_into_any_other_and_back(then: Tree, now: Tree) -> None:
    with laid(now) as root:
        for start, end in ((now, then), (then, now)):
            pairs = pairs_of(end, start)
            made = proposed(pairs, start, dict.fromkeys(pairs, Decision("restore", "all")))
            check_partition(made, differing(end, start))
            outcome = carried_out(root, made, then, now)
            assert seen(root) == whole(end)
            assert set(named(outcome)) == set(outcome.done) == {row.path for row in made.restored}


@law
@given(trees, trees, st.data())
def test_only_what_was_to_change_changes(then: Tree, now: Tree, data: st.DataObject) -> None:
    with laid(now) as root:
        pairs = pairs_of(then, now)
        verdicts = {path: data.draw(decisions) for path in pairs}
        choice: OnConflict = data.draw(st.sampled_from(["keep", "checkpoint"]))
        made = proposed(pairs, now, verdicts, choice)
        check_partition(made, differing(then, now))
        outcome = carried_out(root, made, then, now)
        acting = {row.path for row in (*made.restored, *made.conflicts) if row.action != "none"}
        assert set(outcome.done) == acting
        check_untouched(root, now, then, made)


def check_untouched(root: Path, now: Tree, then: Tree, made: Plan) -> None:
    """Every path that no row changes is as it was, but for folders that come and go with their files."""
    before, after, wanted = whole(now), seen(root), whole(then)
    acting = {row.path for row in (*made.restored, *made.conflicts) if row.action != "none"}
    for path in before.keys() | after.keys():
        if path in acting:
            assert after.get(path) == wanted.get(path)
        elif before.get(path) != after.get(path):
            thing = after.get(path) or before[path]
            assert thing.kind == "folder"
            assert path not in listed(before)
            assert any(other.startswith(path + b"/") for other in acting)


acts = st.lists(
    st.tuples(st.sampled_from(["mine", "mine", "theirs", "drift", "restore"]), mutations), min_size=1, max_size=6
)


@law
@given(trees, acts, mutations, st.data())
def test_a_restore_in_a_session_and_its_undo(first: Tree, history: list, unseen: dict, data: st.DataObject) -> None:  # type: ignore[type-arg]
    story = told(first, history)
    story.edit(settled(story.tree, unseen))
    now = story.tree
    target = story.past[data.draw(st.integers(0, len(story.past) - 1))]
    pairs = pairs_of(target, now)
    made = proposed(pairs, now, decide(pairs, state(story.past[-1]), story.transitions, MINE))
    check_partition(made, differing(target, now))
    with laid(now) as root:
        outcome = carried_out(root, made, *story.past, now)
        check_untouched(root, now, target, made)
        check_rule_15(made, story)
        check_undo(root, now, outcome, [*story.past, now])


def told(first: Tree, history: list[tuple[str, dict[bytes, Thing | None]]]) -> Story:
    story = Story(dict(first))
    for act, changes in history:
        if act == "restore":
            story.restore(len(changes) % len(story.past))
        elif act == "drift":
            story.drift(settled(story.tree, changes))
        else:
            story.step(settled(story.tree, changes), MINE if act == "mine" else THEIRS)
    return story


def settled(tree: Tree, changes: Mapping[bytes, Thing | None]) -> dict[bytes, Thing | None]:
    """The changes that lead from a tree to what it is after some others."""
    after = grown(tree, changes)
    return {path: after.get(path) for path in tree.keys() | after.keys() if tree.get(path) != after.get(path)}


def check_rule_15(made: Plan, story: Story) -> None:
    """What only others ever changed is never restored, and what is new to every checkpoint is never lost."""
    acts = [item for item in story.transitions if item.session == MINE and item.author != "outside"]
    mine = {place for act in acts for path in act.changes for place in (path, *parents(path))}
    known = {thing.node for tree in story.past for thing in tree.values()}
    for row in made.restored:
        thing = story.tree.get(row.path)
        if thing is None or thing.kind == "folder" or row.action == "create":
            continue
        assert row.path in mine
        assert thing.node in known


def check_undo(root: Path, now: Tree, outcome: Outcome, stores: list[Tree]) -> None:
    here = seen(root)
    pairs = pairs_of(now, here)
    left = {path: after for path, (_, after) in outcome.changed.items()}
    undo = proposed(pairs, here, take_back(pairs, left))
    carried_out(root, undo, *stores)
    assert seen(root) == whole(now)
