"""What the watcher tells of, and what it passes over."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.following.watching import BLIND, EDITED, Watcher, is_exhausted
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place
from forkpoint.store.saving import save

from ...builders.folders import make

IGNORED = {".gitignore": "node_modules/\n*.log\n", "node_modules/deep/index.js": "1\n", "src/run.log": "1\n"}


def recorded(root: Path) -> Place:
    save(str(root), home=data_folder())
    place = roots.find(str(root), data_folder())
    assert place is not None
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a.txt": "one\n", "shop/src/b.txt": "one\n"}) / "shop"


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    found = Watcher()
    yield found
    found.close()


def told(watcher: Watcher) -> bytes:
    assert select.select([watcher.told], [], [], 30)[0], "nothing was told"
    return watcher.heard()


def edits_until_told(watcher: Watcher, file: Path) -> bytes:
    """A watch begins in a thread: edits again until one was seen."""
    for number in range(300):
        file.write_text(f"{number}\n")
        if select.select([watcher.told], [], [], 0.1)[0]:
            return watcher.heard()
    raise AssertionError("no edit was told")


def test_an_edit_in_a_folder_that_was_walked_is_told(project: Path, watcher: Watcher) -> None:
    assert watcher.look_again(recorded(project))
    assert set(edits_until_told(watcher, project / "src/b.txt")) == set(EDITED)


def test_what_is_ignored_and_git_s_own_folder_are_not_watched_and_count_for_nothing(
    project: Path, watcher: Watcher
) -> None:
    make(project, {**IGNORED, ".git/HEAD": "ref: refs/heads/main\n", ".git/objects/a": "", ".git/refs/a": ""})
    watcher.look_again(recorded(project))
    assert watcher.watched == {str(project), str(project / "src")}
    passed = (".git", "node_modules", "src/run.log")
    assert [path for path in passed if watcher.counts(str(project / path))] == []
    counted = ("a.txt", "new.txt", "src", "src/b.txt", "src/new.log", "new/folder")
    assert [path for path in counted if not watcher.counts(str(project / path))] == []


def test_a_link_that_leads_out_of_the_root_is_not_followed(project: Path, watcher: Watcher, tmp_path: Path) -> None:
    outside = make(tmp_path, {"outside/x.txt": "1\n"}) / "outside"
    (project / "link").symlink_to(outside)
    watcher.look_again(recorded(project))
    assert watcher.watched == {str(project), str(project / "src")}


def test_a_new_folder_is_watched_after_the_next_walk(project: Path, watcher: Watcher) -> None:
    watcher.look_again(recorded(project))
    assert not watcher.look_again(recorded(project)), "the same folders"
    make(project, {"new/c.txt": "one\n"})
    assert watcher.look_again(recorded(project))
    assert str(project / "new") in watcher.watched


def test_a_name_that_watchfiles_has_no_words_for_ends_the_watch_which_the_next_look_begins_anew(
    project: Path, watcher: Watcher
) -> None:
    watcher.look_again(recorded(project))
    edits_until_told(watcher, project / "a.txt")
    try:
        (Path(os.fsdecode(os.fsencode(project) + b"/\xff\xfe"))).write_text("1\n")
    except OSError:
        pytest.skip("this disk takes no such name")
    while BLIND not in (heard := told(watcher)):
        assert heard
    assert not is_exhausted(watcher.trouble)
    assert watcher.look_again(recorded(project))
    assert EDITED in edits_until_told(watcher, project / "a.txt")
