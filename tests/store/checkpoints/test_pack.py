"""Packs and refs that are written without git: git finds nothing to complain of, and would make the same trees."""

from __future__ import annotations

import io
import os
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import GitFailed
from forkpoint.store.git import pack, process
from forkpoint.store.git.ids import BLOB, COMMIT, EMPTY_TREE, TREE, object_id
from forkpoint.store.git.pack import Pack, tree_object
from forkpoint.store.git.reader import Objects
from forkpoint.store.git.stream import Stream, put_inline
from forkpoint.store.saving import save
from forkpoint.store.walk.statindex import load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...builders.folders import Link, make
from ...builders.tampering import place_of

names = st.sampled_from([b"a", b"a-", b"a.b", b"a0", b"A", b"\xff\xfe", b" b ", b'"q"', b"n\nl", b"-", b"\xc3\xa9"])
paths = st.lists(names, min_size=1, max_size=3).map(b"/".join)
contents = st.one_of(st.binary(max_size=6), st.just(b"x" * 9000), st.integers(1, 3))
"""Bytes of a file, or the number of a link's target."""
steps = st.lists(st.tuples(paths, st.one_of(contents, st.none(), st.just("x"))), min_size=1, max_size=8)
"""None: what is there goes. "x": what is there becomes executable."""


def git(git_dir: Path, *arguments: str) -> str:
    done = subprocess.run(process.command(git_dir, *arguments), capture_output=True, env=process.environment())
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).decode()


def tree_by_git(git_dir: Path, folder: Path) -> str:
    here = (f"--work-tree={folder}", "-C", str(folder), "-c", "core.bare=false")
    git(git_dir, *here, "add", "--all", "--force", "--", ".")
    return git(git_dir, *here, "write-tree").strip()


def carry_out(folder: Path, path: bytes, what: bytes | int | str | None) -> None:
    """Puts something at a path, whatever stands there or above it."""
    full = os.path.join(os.fsencode(folder), path)
    if what is None or what == "x":
        if what is None and (os.path.isfile(full) or os.path.islink(full)):
            os.unlink(full)
        elif what == "x" and os.path.isfile(full) and not os.path.islink(full):
            os.chmod(full, 0o755)
        return
    at = os.fsencode(folder)
    for part in path.split(b"/")[:-1]:
        at = os.path.join(at, part)
        if os.path.lexists(at) and not (os.path.isdir(at) and not os.path.islink(at)):
            os.unlink(at)
    subprocess.run(["rm", "-rf", "--", full], check=True)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if isinstance(what, int):
        os.symlink(b"../" * what, full)
    elif isinstance(what, bytes):
        with open(full, "wb") as file:
            file.write(what)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(rounds=st.lists(steps, min_size=1, max_size=3))
def test_trees_are_those_that_git_makes_of_the_same_files(
    rounds: list[list[tuple[bytes, bytes | int | str | None]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any") / "root"
    folder.mkdir()
    git_dir = folder.parent / "git"
    git(git_dir, "init", "--quiet", "--bare", str(git_dir))
    for changes in rounds:
        for path, what in changes:
            carry_out(folder, path, what)
        save(str(folder))
        assert load(place_of(folder).index_file).tree == tree_by_git(git_dir, folder)


def test_git_has_nothing_to_complain_of(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a/b/c": "1\n", "a.b": "2\n", "link": Link("a"), "run": "x", "a-b/empty": None})
    (root / "run").chmod(0o755)
    store = Store.open(root)
    first = store.save(label="one")
    make(root, {"a/b/c": "3\n", "big": os.urandom(3 << 20)})
    (root / "a.b").unlink()
    make(root, {"a.b/now/a": "folder\n"})
    store.save(label="two")
    store.label(first.id, "first")
    assert store.restore(store.plan_restore("first", "files", everything=True)).done
    git_dir = place_of(root).git_dir
    told = git(git_dir, "fsck", "--strict", "--full", "--no-dangling").splitlines()
    assert [line for line in told if not line.startswith("notice: ")] == []
    for index in (git_dir / "objects" / "pack").glob("*.idx"):
        git(git_dir, "verify-pack", str(index))


def test_a_pack_whose_objects_lie_far_behind_its_beginning_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "FAR", 5000)
    process.create(tmp_path / "git")
    made = Pack(tmp_path / "git")
    ids = [made.add(BLOB, os.urandom(1500)).hex() for _ in range(9)]
    name = made.close()
    index = tmp_path / "git" / "objects" / "pack" / f"{name}.idx"
    git(tmp_path / "git", "verify-pack", str(index))
    assert [len(Objects(tmp_path / "git").read(oid)) for oid in ids] == [1500] * 9


def test_a_stream_that_is_not_what_it_was_said_to_be_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    process.create(tmp_path / "git")
    for data, size in ((b"other", 5), (b"shor", 5)):
        made = Pack(tmp_path / "git")
        made.add(BLOB, os.urandom(3 << 20))
        with pytest.raises(GitFailed):
            made.add_from(object_id(BLOB, b"right"), io.BytesIO(data).read, size)
        made.abandon()
    assert os.listdir(tmp_path / "git" / "objects" / "pack") == []


def test_what_a_killed_writer_left_goes_with_the_next_save(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a": "1\n"})
    save(str(root))
    left = place_of(root).git_dir / "objects" / "pack" / f"{pack.OURS}pack_0123456789ab"
    left.write_bytes(b"PACK")
    save(str(root))
    assert not left.exists()


def test_a_pack_that_never_got_its_index_goes_when_nobody_can_be_at_it_any_more(tmp_path: Path) -> None:
    root = make(tmp_path / "p", {"a": "1\n"})
    Store.open(root).save()
    packs = place_of(root).git_dir / "objects" / "pack"
    (whole,) = packs.glob("*.pack")
    old, new = packs / f"pack-{'0' * 40}.pack", packs / f"pack-{'1' * 40}.pack"
    for file in (old, new):
        file.write_bytes(whole.read_bytes())
    os.utime(old, (1, 1))
    save(str(root))
    assert not old.exists() and new.exists()
    assert all(finding.ok for finding in Store.open(root).verify())


def test_nothing_that_the_checkpoint_before_holds_is_written_again(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {f"folder{n}/file{m}": f"{n} {m}\n" for n in range(5) for m in range(5)})
    (root / "folder0/file0").chmod(0o600)
    make(root, {".gitignore": "*.log\n", "hollow/x": None})
    save(str(root))
    packs = place_of(root).git_dir / "objects" / "pack"
    before = set(packs.glob("*.idx"))
    make(root, {"folder3/file1": "new\n"})
    save(str(root))
    (written,) = set(packs.glob("*.idx")) - before
    listed = git(packs.parent.parent, "verify-pack", "-v", str(written)).split()
    assert sorted(word for word in listed if word in ("blob", "tree", "commit")) == [
        *["blob"] * 2,  # the file and the record
        "commit",
        *["tree"] * 3,  # the folder, all files, the checkpoint
    ]


def flipped(root: Path, versions: Sequence[bytes], times: int) -> list[str]:
    """Saves of a file that has one content and the other in turns."""
    found: list[str] = []
    for number in range(times):
        (root / "large").write_bytes(versions[number % len(versions)])
        found.append(save(str(root)).id)
    return found


def stored(root: Path) -> int:
    return sum(file.stat().st_size for file in (place_of(root).git_dir / "objects" / "pack").iterdir())


@pytest.mark.parametrize("size", [1_000_000, 9_000_000])
def test_a_large_file_that_flips_between_two_contents_is_stored_twice(tmp_path: Path, size: int) -> None:
    root = make(tmp_path / "root", {"small": "x\n"})
    save(str(root))
    versions = (os.urandom(size), os.urandom(size))
    before = stored(root)
    saved = flipped(root, versions, 5)
    assert stored(root) - before < size * 2 + 100_000
    assert all(finding.ok for finding in Store.open(root).verify())
    state = Store.open(root)._workspace.side(saved[3]).state
    assert Objects(place_of(root).git_dir).read(state[b"large"].oid) == versions[1]


@pytest.mark.parametrize("harm", ["a byte", "its end", "the pack", "the index"])
def test_a_large_content_that_the_store_lost_is_stored_again(tmp_path: Path, harm: str) -> None:
    root = make(tmp_path / "root", {"small": "x\n"})
    save(str(root))
    versions = (os.urandom(1_000_000), os.urandom(1_000_000))
    flipped(root, versions[:1], 1)
    folder = place_of(root).git_dir / "objects" / "pack"
    file = max(folder.glob("*.pack"), key=lambda pack: pack.stat().st_size)
    flipped(root, versions[1:], 1)
    file.chmod(0o600)
    if harm == "a byte":
        with file.open("r+b") as stream:
            stream.seek(500_000)
            stream.write(b"damaged")
    elif harm == "its end":
        os.truncate(file, 500_000)
    else:
        (file if harm == "the pack" else file.with_suffix(".idx")).unlink()
    before = stored(root)
    (point,) = flipped(root, versions, 1)
    assert stored(root) > before + 900_000
    state = Store.open(root)._workspace.side(point).state
    assert Objects(place_of(root).git_dir).read(state[b"large"].oid) == versions[0]


def test_many_refs_move_with_one_pack_and_few_open_files(tmp_path: Path) -> None:
    process.create(tmp_path / "git")
    stream = Stream(tmp_path / "git")
    moved = {
        f"refs/points/ab/{number:04}": stream.commit(f"refs/points/ab/{number:04}", number, [put_inline(b"x", b"a")])
        for number in range(0, 400 * 10**9, 10**9)
    }
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 64, before[1]))
    try:
        stream.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    told = git(tmp_path / "git", "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    assert dict(line.split() for line in told) == moved


def test_an_object_is_added_once(tmp_path: Path) -> None:
    process.create(tmp_path / "git")
    made = Pack(tmp_path / "git")
    assert made.add(TREE, tree_object([])).hex() == EMPTY_TREE
    assert made.add(COMMIT, b"x") == made.add(COMMIT, b"x")
    made.abandon()
    assert os.listdir(tmp_path / "git" / "objects" / "pack") == []
