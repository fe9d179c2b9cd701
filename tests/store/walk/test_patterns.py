"""Ignore patterns mean what they mean to git, the odd ones above all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forkpoint.store.walk.patterns import verdict
from forkpoint.store.walk.scan import Limits, scan
from forkpoint.store.walk.statindex import Index
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...builders.folders import make, repository

NAMES = ("a", "b", "ab", "a.b", "ä", "-", "a b", "b ", "#x", "!a", "*", "a\\", "[a]", "{a,b}", "A")
PIECES = (
    *("a", "b", "ä", "A", ".", "x", "-", "{a,b}", "a/", "/a/", "a/b", "/", "//", "*", "**", "?", "*.", "**/", "/**"),
    *("[ab]", "[!a]", "[^b]", "[a-", "[a-b", "a-]", "[", "]", "[]", "[]]", "[\\]]", "[[:alpha:]]", "[[:no:]]", "[[:"),
    *("\\", "\\\\", "\\*", "\\a", "\\ ", " ", "\t", "\r", "!", "\\!", "#", "\\#", "\ufeff", "$", "(", "+", "^"),
)
texts = st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with every name in three depths."""
    wanted = {
        f"{folder}{name}": "" for folder in ("", "d/", "d/a/b/") for name in NAMES if (folder, name) != ("d/", "a")
    }
    return make(repository(tmp_path_factory.mktemp("odd") / "root"), dict.fromkeys(wanted, ""))


def git_keeps(folder: Path) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-o", "--exclude-standard"], cwd=folder, capture_output=True, check=True
    )
    return {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}


def we_keep(folder: Path) -> set[str]:
    found = scan(os.path.realpath(folder), Index(), Limits(1 << 30)).state()
    return {os.fsdecode(path) for path, node in found.items() if node.kind != "folder"}


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(top=texts, inner=texts, exclude=texts, below=st.booleans())
def test_any_patterns_leave_out_what_git_leaves_out(
    root: Path, top: str, inner: str, exclude: str, below: bool
) -> None:
    make(root, {".gitignore": top, "d/.gitignore": inner, ".git/info/exclude": exclude})
    folder = root / "d" if below else root
    ignored = subprocess.run(["git", "check-ignore", "-q", "d"], cwd=root)
    if not below or ignored.returncode:
        assert we_keep(folder) == git_keeps(folder)


@pytest.mark.parametrize("pattern", ["a\\", "[a-", "[[:no:]]", "b[", "!", "/", "\\"])
def test_a_pattern_that_git_can_make_nothing_of_says_nothing(pattern: str) -> None:
    assert verdict(f"{pattern}\n*.log", "a", False) is None
    assert verdict(f"*.log\n{pattern}", "x.log", False) is True


@pytest.mark.parametrize(
    ("text", "path", "is_folder", "said"),
    [
        ("build/", "build", True, True),
        ("build/", "build", False, None),
        ("/a", "sub/a", False, None),
        ("sub/a", "x/sub/a", False, None),
        ("**/sub/a", "x/y/sub/a", False, True),
        ("a/**/b", "a/b", False, True),
        ("a/**", "a", True, None),
        ("*.log\n!keep.log", "deep/keep.log", False, False),
        ("\ufeff*.log\r\n", "x.log", False, True),
        ("trailing \n", "trailing", False, True),
        ("trailing\\ \n", "trailing ", False, True),
        ("?", "ä", False, None),
        ("??", "ä", False, True),
        ("\udcff*", "\udcffx", False, True),
    ],
)
def test_patterns_say(text: str, path: str, is_folder: bool, said: bool | None) -> None:
    assert verdict(text, path, is_folder) is said
