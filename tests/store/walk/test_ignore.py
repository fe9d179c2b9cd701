"""What forkpoint ignores is what git ignores."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.checkpoints import capture, points
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.walk import named
from forkpoint.store.walk.ignore import RuleBook, Rules, Source
from forkpoint.store.walk.scan import Limits, scan
from forkpoint.store.walk.statindex import Index
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...builders.folders import git, make, repository

NAMES = ("a", "b", "build", "x.log", "keep.log", "Doc")
PATTERNS = (
    "*.log",
    "!keep.log",
    "build/",
    "/a",
    "a/*",
    "!a/b",
    "**/build",
    "a/**/b",
    "Doc",
    "b",
    "[ab]",
    "?.log",
    "#no",
    "\\!a",
    " ",
    "a ",
    "!build/",
)


def kept(root: Path) -> set[str]:
    place = roots.adopt(os.path.realpath(root), data_folder())
    taken = capture.take(place, capture.Wanted(points.Checkpoint(reason="manual")))
    objects = Objects(place.git_dir)
    commit = objects.ref(points.ref_of(taken.id))
    assert commit is not None
    return {os.fsdecode(path) for path, node in objects.state(objects.stored(commit)).items() if node.kind != "folder"}


def git_keeps(root: Path) -> set[str]:
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {name for name in listed.split("\0") if name and os.path.lexists(root / name)}


paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
texts = st.lists(st.sampled_from(PATTERNS), max_size=5).map("\n".join)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(files=st.sets(paths, min_size=1, max_size=8), top=texts, inner=texts, forced=st.booleans())
def test_random_trees_and_patterns_are_ignored_as_by_git(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], top: str, inner: str, forced: bool
) -> None:
    root = repository(tmp_path_factory.mktemp("r") / "root")
    chosen = [path for path in files if not any(other.startswith(path + "/") for other in files)]
    make(root, {path: path for path in chosen})
    make(root, {".gitignore": top})
    if os.path.isdir(root / "a"):
        make(root, {"a/.gitignore": inner})
    if forced:
        git(root, "add", "-f", chosen[0])
    assert kept(root) == git_keeps(root)
    # Once more with a warm index, and after the rules have changed.
    assert kept(root) == git_keeps(root)
    make(root, {".gitignore": inner})
    assert kept(root) == git_keeps(root)


def test_the_rules_of_then_answer_for_every_level() -> None:
    book = RuleBook([Source("", ".gitignore", "*.log\nout/\n"), Source("sub/", ".gitignore", "!x.log\n/deep/\n")])
    assert book.ignores("a.log")
    assert book.ignores("out", True) and book.ignores("out/any/thing")
    assert not book.ignores("sub/x.log")
    assert book.ignores("sub/y.log")
    assert book.ignores("sub/deep/file")
    assert not book.ignores("deep/file")


def test_our_own_ignore_file_is_asked_before_git_s() -> None:
    rules = Rules((Source("", ".gitignore", "*.log"),)).extended([Source("", ".forkpointignore", "!*.log")])
    rules = rules.extended([Source("sub/", ".gitignore", "*.log")])
    assert not rules.ignore("sub/a.log", False)


def test_a_root_below_the_work_tree_s_top_obeys_the_rules_above_it(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {".gitignore": "*.log\n/part/out/\n/other/\n", "part/a": "1"})
    make(top, {"part/x.log": "", "part/out/y": "", "part/other/z": ""})
    assert kept(top / "part") == {"a", "other/z"}
    done = subprocess.run(["git", "ls-files", "-o", "-c", "--exclude-standard"], cwd=top / "part", capture_output=True)
    assert set(done.stdout.decode().split()) == {"a", "other/z"}


def test_excludes_are_found_wherever_the_person_named_them(tmp_path: Path, machine: Path) -> None:
    root = repository(tmp_path / "root", {"a": "1"})
    make(root, {"b.swp": ""})
    (machine / "mine").write_text("*.swp\n")
    assert kept(root) == {"a", "b.swp"}
    (machine / "more").write_text(f"[Core]\n\texcludesfile = {machine / 'mine'}\n")
    with (machine / ".gitconfig").open("a") as stream:
        stream.write(f"[include]\n\tpath = {machine / 'more'}\n")
    assert kept(root) == git_keeps(root) == {"a"}
    (machine / ".gitconfig").write_text("")
    git(root, "config", "core.excludesFile", str(machine / "mine"))
    assert kept(root) == {"a"}
    git(root, "config", "--unset", "core.excludesFile")
    make(machine, {".config/git/ignore": "a\n"})
    assert kept(root) == {"a", "b.swp"}  # tracked, and the default file does not speak of the other
    make(machine, {".config/git/ignore": "*.swp\n"})
    assert kept(root) == {"a"}


def test_a_pattern_that_brings_a_folder_back_does_not_bring_back_what_others_ignore_in_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    make(root, {".gitignore": "build/\n!keep.log\n*.o\n!/a\n", "keep.log/build/x": "", "a/y.o": "", "a/z": ""})
    assert kept(root) == git_keeps(root) == {".gitignore", "a/z"}


def test_a_folder_that_becomes_a_file_of_that_name_is_judged_anew_and_the_other_way_round(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {".gitignore": "made/\n", "made/x": "1", "other/y": "1", "plain": "1"})
    assert kept(root) == {".gitignore", "other/y", "plain"}
    (root / "made" / "x").unlink()
    (root / "made").rmdir()
    make(root, {"made": "a file", ".gitignore": "made/\n"})
    assert kept(root) == {".gitignore", "made", "other/y", "plain"}
    (root / "made").unlink()
    make(root, {"made/x": "1"})
    assert kept(root) == {".gitignore", "other/y", "plain"}


RETURNS = ("!a/b", "!build/a", "!a/b/x.log", "!build/*", "!a/**", "!keep.log", "a", "build/", "*.log", "!/a/", "a/b")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(
    files=st.sets(paths, min_size=1, max_size=10),
    top=texts,
    ours=st.lists(st.sampled_from(RETURNS), max_size=4).map("\n".join),
    inner=st.lists(st.sampled_from(RETURNS), max_size=2).map("\n".join),
    named_too=st.booleans(),
)
def test_what_is_captured_is_what_the_rules_of_then_let_through(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], top: str, ours: str, inner: str, named_too: bool
) -> None:
    root = tmp_path_factory.mktemp("r")
    chosen = {path for path in files if not any(other.startswith(path + "/") for other in files)}
    make(root, {path: path for path in chosen})
    make(root, {".gitignore": top, ".forkpointignore": ours})
    if os.path.isdir(root / "a"):
        make(root, {"a/.forkpointignore": inner})
        chosen.add("a/.forkpointignore")
    some = named.joined({}, sorted(chosen)[:2] if named_too else [])
    found = scan(os.path.realpath(root), Index(), Limits(1 << 30, named=some))
    captured = {os.fsdecode(path) for path, node in found.state().items() if node.kind == "file"}
    book = RuleBook(found.sources)
    expected = {path for path in chosen | {".gitignore", ".forkpointignore"} if not book.ignores(path)}
    assert captured == expected | set(named.listed(some))
    again = scan(
        os.path.realpath(root),
        Index(folders=found.folders, stamps=found.stamps, named=some),
        Limits(1 << 30, named=some),
    )
    assert again.state() == found.state()
