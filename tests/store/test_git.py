"""The object store: every byte of a name, nothing of the person's environment, all or nothing."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store.checkpoints.points import Checkpoint
from forkpoint.store.errors import GitFailed, GitMissing, StoreDamaged, StoreUnwritable
from forkpoint.store.git import process
from forkpoint.store.git.compare import compare
from forkpoint.store.git.reader import Objects, Stored
from forkpoint.store.git.stream import EMPTY_TREE, Stream, blob_id, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

part = st.binary(min_size=1, max_size=6).filter(
    lambda name: not set(name) & {0, 47} and name.lower() not in (b".", b"..", b".git") and b"~" not in name
)
trees = st.dictionaries(st.lists(part, min_size=1, max_size=3).map(b"/".join), st.binary(max_size=8), max_size=6)


@pytest.fixture(scope="module")
def git_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "objects.git"
    process.create(folder)
    return folder


def without_clashes(tree: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {path: data for path, data in tree.items() if not any(other.startswith(path + b"/") for other in tree)}


def written(git_dir: Path, tree: dict[bytes, bytes]) -> Stored:
    stream = Stream(git_dir)
    for data in tree.values():
        stream.blob(data)
    lines = [put(0o100644, blob_id(data), b"files/" + path) for path, data in tree.items()]
    commit = stream.commit(f"refs/test/{secrets.token_hex(8)}", 10**18, lines)
    stream.close()
    files = next((oid for name, _, oid in Objects(git_dir).entries(commit) if name == b"files"), EMPTY_TREE)
    return Stored(Checkpoint("x", "r", "manual", "after", 0), "", files, "", "", "")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(tree=trees.map(without_clashes), other=trees.map(without_clashes))
def test_every_name_and_byte_comes_back_and_differences_are_exact(
    git_dir: Path, tree: dict[bytes, bytes], other: dict[bytes, bytes]
) -> None:
    left, right = written(git_dir, tree), written(git_dir, other)
    objects = Objects(git_dir)
    state = objects.state(left)
    assert {path: objects.read(node.oid) for path, node in state.items()} == tree
    expected = {path for path in tree.keys() | other.keys() if tree.get(path) != other.get(path)}
    assert set(compare(objects, left, right)) == expected


def test_an_empty_tree_is_a_tree(git_dir: Path) -> None:
    assert written(git_dir, {}).files == EMPTY_TREE
    assert dict(Objects(git_dir).state(written(git_dir, {}))) == {}


def test_a_chain_cannot_be_cut_off_by_accident(git_dir: Path) -> None:
    for attempt in range(2):
        stream = Stream(git_dir)
        stream.commit("refs/test/chain", 10**18 + attempt * 10**9, [])
        if attempt == 0:
            stream.close()
            continue
        with pytest.raises(GitFailed, match="does not contain"):
            stream.close()


def test_a_stream_that_is_abandoned_leaves_no_ref(git_dir: Path) -> None:
    stream = Stream(git_dir)
    stream.commit("refs/test/abandoned", 10**18, [])
    stream.abandon()
    assert Objects(git_dir).ref("refs/test/abandoned") is None


def test_no_git_on_path_is_one_clear_line(git_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(GitMissing, match="git was not found on PATH; install git"):
        process.call(git_dir, "version")


def test_git_is_cut_off_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    found = process.environment()
    assert {name for name in found if name.startswith("GIT_")} == {
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_GLOBAL",
        "GIT_NO_LAZY_FETCH",
        "GIT_OPTIONAL_LOCKS",
        "GIT_TERMINAL_PROMPT",
    }


def test_files_of_the_store_are_the_person_s_alone(git_dir: Path) -> None:
    old = os.umask(0)
    try:
        written(git_dir, {b"a": b"secret"})
    finally:
        os.umask(old)
    open_to_others = [path for path in git_dir.rglob("*") if path.is_file() and path.stat().st_mode & 0o077]
    assert open_to_others == []


def test_a_damaged_object_is_named(git_dir: Path) -> None:
    with pytest.raises(StoreDamaged):
        Objects(git_dir).read("1" * 40)


@pytest.mark.parametrize(
    "words",
    [
        b"fatal: sha1 file 'objects/pack/tmp_pack_eufGLj' write error. Out of diskspace\n",
        b"fatal: unable to create temporary file: No space left on device\n",
        b"error: unable to create directory for refs/points/aa: Permission denied\n",
    ],
)
def test_a_git_that_could_not_write_is_told_as_a_store_that_cannot_be_written(words: bytes) -> None:
    assert isinstance(process.failure("fast-import", words, 128), StoreUnwritable)


def test_the_binding_is_imported_without_what_only_the_network_needs_and_leaves_no_stand_in() -> None:
    script = """
import sys
from forkpoint.store.git.libgit import pygit2
pygit2.Oid
assert not {"ssl", "tarfile"} & sys.modules.keys()
import ssl, tarfile
assert ssl.create_default_context() and tarfile.open
"""
    subprocess.run([sys.executable, "-c", script], check=True)
