"""What is ignored is left alone in both directions, whatever source says so; what the project tracks is not ignored."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ...builders.cli import forkpoint
from ...builders.folders import git, make, repository

Rule = Callable[[Path, Path], object]
"""Makes the rules that ignore `x.log` and `out/` in `project/sub`, given the person's home."""


def top(project: Path, machine: Path) -> object:
    return make(project, {".gitignore": "x.log\nout/\n"})


def inner(project: Path, machine: Path) -> object:
    return make(project, {"sub/.gitignore": "/x.log\n/out\n"})


def above(project: Path, machine: Path) -> object:
    git(project.parent, "init", "-q")
    return make(project.parent, {".gitignore": f"/{project.name}/sub/x.log\n/{project.name}/sub/out\n"})


def exclude(project: Path, machine: Path) -> object:
    return make(repository(project), {".git/info/exclude": "x.log\nout/\n"})


def personal(project: Path, machine: Path) -> object:
    make(machine, {"mine": "x.log\nout/\n"})
    return git(project, "config", "--global", "core.excludesFile", "~/mine")


def personal_in_the_repository(project: Path, machine: Path) -> object:
    make(machine, {"mine": "x.log\nout/\n"})
    return git(repository(project), "config", "core.excludesFile", str(machine / "mine"))


def default(project: Path, machine: Path) -> object:
    return make(machine, {".config/git/ignore": "x.log\nout/\n"})


def ours(project: Path, machine: Path) -> object:
    return make(project, {".forkpointignore": "x.log\nout/\n"})


def ours_below(project: Path, machine: Path) -> object:
    return make(project, {"sub/.forkpointignore": "x.log\nout/\n"})


RULES = [top, inner, above, exclude, personal, personal_in_the_repository, default, ours, ours_below]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path / "project", {"a": "1", "sub/b": "1"})


def save(project: Path) -> dict:  # type: ignore[type-arg]
    return forkpoint("save", "-C", project, "--json").json


def went_back(project: Path, point: str) -> dict:  # type: ignore[type-arg]
    return forkpoint("restore", point, "--files", "--yes", "--all", "--json", "-C", project).json


@pytest.mark.parametrize("rule", RULES)
def test_what_was_ignored_then_and_is_now_is_neither_changed_nor_deleted_nor_brought_back(
    project: Path, machine: Path, rule: Rule
) -> None:
    rule(project, machine)
    make(project, {"sub/x.log": "then", "sub/out/y": "then"})
    saved = save(project)
    assert not any("x.log" in str(item) for item in saved["uncaptured"])
    make(project, {"sub/x.log": "now", "sub/out/y": "now", "sub/out/z": "new", "a": "2", "sub/new": "new"})
    done = went_back(project, saved["id"])
    assert {item["path"] for item in done["restored"]} == {"a", "sub/new"}
    assert (project / "sub/x.log").read_text() == "now"
    assert {path.name: path.read_text() for path in (project / "sub/out").iterdir()} == {"y": "now", "z": "new"}
    (project / "sub/x.log").unlink()
    went_back(project, saved["id"])
    assert not (project / "sub/x.log").exists()


@pytest.mark.parametrize("rule", RULES)
def test_what_is_ignored_only_now_is_not_taken_away(project: Path, machine: Path, rule: Rule) -> None:
    point = save(project)["id"]
    rule(project, machine)
    make(project, {"sub/x.log": "made since", "sub/out/y": "made since"})
    went_back(project, point)
    assert (project / "sub/x.log").read_text() == (project / "sub/out/y").read_text() == "made since"


@pytest.mark.parametrize("rule", [top, inner, ours, ours_below])
def test_what_was_ignored_only_then_is_not_taken_away(project: Path, machine: Path, rule: Rule) -> None:
    rule(project, machine)
    make(project, {"sub/x.log": "then", "sub/out/y": "then"})
    point = save(project)["id"]
    for file in project.rglob(".*ignore"):
        file.write_text("# nothing\n")
    done = went_back(project, point)
    assert {(item["path"], item["why"]) for item in done["kept"]} == {
        ("sub/x.log", "ignored then"),
        ("sub/out/y", "ignored then"),
    }
    assert (project / "sub/x.log").read_text() == (project / "sub/out/y").read_text() == "then"


def test_forkpointignore_brings_back_what_others_ignore_also_in_an_ignored_folder(project: Path) -> None:
    make(
        project,
        {
            ".gitignore": "*.log\nbuild/\nnode_modules/\n",
            ".forkpointignore": "!kept.log\n!build/report.txt\n!/node_modules/mine/\n!node_modules/a*/[x]\n",
            "kept.log": "",
            "other.log": "",
            "build/report.txt": "",
            "build/junk": "",
            "build/kept.log": "",
            "node_modules/mine/deep/b": "",
            "node_modules/mine/b.log": "",
            "node_modules/theirs/b": "",
            "node_modules/ab/x": "",
            "node_modules/ab/y": "",
        },
    )
    point = save(project)["id"]
    for file in sorted(project.rglob("*"), reverse=True):
        if file.is_file() and not file.name.startswith("."):
            file.unlink()
    went_back(project, point)
    back = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert back == {
        ".gitignore",
        ".forkpointignore",
        "a",
        "sub/b",
        "kept.log",
        "build/report.txt",
        "node_modules/mine/deep/b",
        "node_modules/ab/x",
    }
    make(project, {"build/new": "", "node_modules/mine/new": ""})
    done = went_back(project, point)
    assert [item["path"] for item in done["restored"]] == ["node_modules/mine/new"]
    assert (project / "build/new").exists()


def test_what_forkpointignore_leaves_out_is_not_captured_because_something_beside_it_is(project: Path) -> None:
    repository(project, {"private/tracked": "1", "private/other": "1"})
    make(project, {".forkpointignore": "private/\n!private/other\n"})
    assert save(project)["files"] == 4
    assert save(project)["files"] == 4


def version(number: int) -> Rule:
    def make_it(project: Path, machine: Path) -> object:
        return git(project, "update-index", f"--index-version={number}")

    return make_it


def intent_to_add(project: Path, machine: Path) -> object:
    git(project, "rm", "-q", "--cached", "kept.log")
    return git(project, "add", "-f", "-N", "kept.log")


def split(project: Path, machine: Path) -> object:
    git(project, "update-index", "--split-index")
    make(project, {"late.log": "1"})
    return git(project, "add", "-f", "late.log")


def extensions(project: Path, machine: Path) -> object:
    git(project, "update-index", "--force-untracked-cache")
    git(project, "config", "core.fsmonitor", f"touch {machine}/ran; true")
    return git(project, "update-index", "--fsmonitor")


def sparse(project: Path, machine: Path) -> object:
    return git(project, "sparse-checkout", "set", "--cone", "--sparse-index", "far")


def skipped(project: Path, machine: Path) -> object:
    git(project, "update-index", "--assume-unchanged", "kept.log")
    return git(project, "update-index", "--skip-worktree", "out/kept")


def conflicted(project: Path, machine: Path) -> object:
    blob = git(project, "hash-object", "-w", "kept.log").strip()
    stages = "".join(f"100644 {blob} {stage}\tkept.log\n" for stage in (1, 2, 3))
    git(project, "rm", "-q", "--cached", "kept.log")
    return os.popen(f"cd {project} && printf '{stages}' | git update-index --index-info").read()


FORMS = {
    "version 2": version(2),
    "version 3": intent_to_add,
    "version 4": version(4),
    "split": split,
    "untracked cache and fsmonitor": extensions,
    "sparse": sparse,
    "skip-worktree": skipped,
    "in the middle of a merge": conflicted,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_what_the_project_tracks_is_not_ignored_in_whatever_form_its_index_is(
    project: Path, machine: Path, form: Rule
) -> None:
    make(project, {"kept.log": "1", "out/kept": "1", "far/away": "1", "far/x.log": "1"})
    repository(project)
    make(project, {".gitignore": "*.log\nout/\n"})
    git(project, "add", "-A")
    form(project, machine)
    make(project, {"kept.log": "1", "out/kept": "1", "out/new": "", "new.log": ""})
    (machine / "ran").unlink(missing_ok=True)
    index = (project / ".git/index").read_bytes()
    point = save(project)["id"]
    found = shown(project, point)
    assert not (machine / "ran").exists()
    assert (project / ".git/index").read_bytes() == index
    tracked = {name for name in git(project, "ls-files").split() if (project / name).exists()}
    assert {"kept.log", "out/kept"} <= tracked
    assert found == tracked


def shown(project: Path, point: str) -> set[str]:
    """The files of a checkpoint: what is told as gone when the folder is empty."""
    kept = project.parent / "kept aside"
    kept.mkdir()
    for item in project.iterdir():
        if item.name not in (".git", ".gitignore"):
            item.rename(kept / item.name)
    diff = forkpoint("diff", point, "--json", "-C", project).json["files"]
    for item in kept.iterdir():
        item.rename(project / item.name)
    return {file["path"] for file in diff if "folder" not in file["notes"]} | {".gitignore"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a repository to somebody else")
def test_a_repository_of_somebody_else_s_is_asked_all_the_same(project: Path) -> None:
    repository(project, {"kept.log": "1"})
    make(project, {".gitignore": "*.log\n", "new.log": "1"})
    for path in (project, *project.rglob("*")):
        os.chown(path, 65534, 65534)
    saved = save(project)
    assert (saved["files"], saved["unanswered"]) == (4, [])
