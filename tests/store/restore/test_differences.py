"""What differs between two states, against the plainest way to say it; and the same by git's trees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forkpoint.store.api import Store
from forkpoint.store.checkpoints.capture import look
from forkpoint.store.restore.coverage import Coverage, Pair, differences, folders
from forkpoint.store.restore.planning import Files, _by_trees, coverage  # pyright: ignore[reportPrivateUsage]
from forkpoint.store.states import Later, Node, State
from forkpoint.store.workspace import Workspace
from hypothesis import given
from hypothesis import strategies as st

from ...builders.folders import make

NODES = st.sampled_from(
    [Node("file", 0o644, "a"), Node("file", 0o755, "a"), Node("file", 0o644, "b"), Node("link", 0, "a")]
)
FOLDER = st.sampled_from([Node("folder", 0o755, ""), Node("folder", 0o700, "")])
NAMES = st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=3).map(b"/".join)


def plainly(then: State, now: State) -> dict[bytes, Pair]:
    """Every folder named on both sides, and each path looked at."""
    old, new = {**folders(then), **then}, {**folders(now), **now}
    return {
        path: Pair(old.get(path), new.get(path), path in then or path in now)
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    }


def possible(drawn: Mapping[bytes, Node]) -> State:
    """Nothing stands below a file, and a usual folder is named only where it is empty."""
    files = {path for path, node in drawn.items() if node.kind != "folder"}
    found = {
        path: node
        for path, node in drawn.items()
        if not any(path.startswith(above + b"/") for above in files if above != path)
    }
    return {
        path: node
        for path, node in found.items()
        if node.kind != "folder" or node.mode != 0o755 or not any(other.startswith(path + b"/") for other in found)
    }


STATES = st.dictionaries(NAMES, NODES | FOLDER, max_size=8).map(possible)


@given(STATES, STATES)
def test_differences_are_those_of_a_look_at_every_path(then: State, now: State) -> None:
    found = differences(then, Coverage(), now, Coverage())
    assert (found, list(found)) == (plainly(then, now), sorted(found))
    assert differences(Later(lambda: then), Coverage(), Later(lambda: now), Coverage()) == found


def test_git_s_trees_tell_the_same(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    make(root, {"a": "1\n", "d/b": "1\n", "d/e/c": "1\n", "d/same": "1\n", "x": "1\n"})
    (root / "x").chmod(0o600)
    first = Store.open(root).save().id
    make(root, {"a": "2\n", "d/e/c": "2\n"})
    (root / "x").chmod(0o755)
    (root / "d").chmod(0o700)
    Store.open(root).save()
    workspace = Workspace(root, None)
    then, now = workspace.side(first, later=True), workspace.now()
    quick = _by_trees(workspace, then, now)
    files = Files(then, now, differences(then.state, coverage(then), now.state, coverage(now)))
    assert quick == files.pairs
    assert list(files.pairs) == [b"a", b"d", b"d/e/c", b"x"]


def test_where_something_came_or_changed_since_the_newest_checkpoint_every_path_is_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    first = Store.open(make(root, {"a": "1\n"})).save().id
    workspace = Workspace(root, None)
    make(root, {"a": "2\n"})
    assert workspace.now().same is None
    make(root, {"d/new": "1\n"})
    Store.open(root).save()
    assert workspace.now().same is not None
    assert _by_trees(workspace, workspace.side(first, later=True), workspace.now()) is None


def test_single_paths_are_as_in_the_whole_state(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    point = Store.open(make(root, {"a": "1\n", "d/b": "1\n", "d/e/c": "1\n"})).save().id
    workspace = Workspace(root, None)
    stored, scan = workspace.stored(point), look(str(root), workspace.home, workspace.place)
    assert stored is not None
    paths = [b"a", b"d/e/c", b"d", b"d/none", b"none/at/all", b"a/below"]
    whole = workspace.objects().state(stored)
    expected = {path: whole[path] for path in paths if path in whole}
    assert workspace.objects().nodes(stored, paths) == scan.nodes(paths) == expected
