"""When nobody can say what is ignored, a save stands and says so, and a restore stops before its first write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store.home import data_folder
from forkpoint.store.walk.ignore import LARGEST

from ...builders.cli import forkpoint, without
from ...builders.folders import Link, git, make, repository
from ...builders.people import as_nobody

Spoil = Callable[[Path, Path], str]
"""Breaks something of a project, given the person's home; gives how the source is named."""


def folder_for_a_file(name: str) -> Spoil:
    def spoil(project: Path, machine: Path) -> str:
        (project / name).unlink(missing_ok=True)
        make(project, {f"{name}/in": "1"})
        return f"{name} (a folder)"

    return spoil


def fifo(name: str) -> Spoil:
    def spoil(project: Path, machine: Path) -> str:
        (project / name).unlink(missing_ok=True)
        os.mkfifo(project / name)
        return f"{name} (no file)"

    return spoil


def too_large(project: Path, machine: Path) -> str:
    (project / ".gitignore").write_bytes(b"#" * (LARGEST + 1))
    return ".gitignore (larger than 4 MiB)"


def link_of_ours(project: Path, machine: Path) -> str:
    make(project, {"rules": "x\n", ".forkpointignore": Link("rules")})
    return ".forkpointignore (a link, which is not followed)"


def damaged_index(project: Path, machine: Path) -> str:
    index = project / ".git/index"
    index.write_bytes(b"garbage" + index.read_bytes()[7:])
    return f"{os.path.realpath(index)} (git cannot read what is tracked)"


def exclude_folder(project: Path, machine: Path) -> str:
    exclude = project / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    exclude.mkdir(parents=True)
    return f"{os.path.realpath(exclude)} (a folder)"


def global_folder(project: Path, machine: Path) -> str:
    (machine / ".config/git/ignore").mkdir(parents=True)
    return f"{machine}/.config/git/ignore (a folder)"


def broken_configuration(project: Path, machine: Path) -> str:
    (machine / ".gitconfig").write_text("[core\n\texcludesFile = x\n")
    return "core.excludesFile (git does not tell core.excludesFile"


SPOILT: dict[str, Spoil] = {
    "a folder for .gitignore": folder_for_a_file(".gitignore"),
    "a FIFO for .gitignore": fifo(".gitignore"),
    "a folder for .forkpointignore": folder_for_a_file(".forkpointignore"),
    "deep below": fifo("sub/.gitignore"),
    "too large": too_large,
    "ours is a link": link_of_ours,
    "the project's index": damaged_index,
    "exclude": exclude_folder,
    "global": global_folder,
    "configuration": broken_configuration,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project", {".gitignore": "*.log\n", "a": "1", "sub/b": "1"})


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_a_save_stands_and_a_restore_stops_before_the_first_write(project: Path, machine: Path, spoil: Spoil) -> None:
    make(project, {"x.log": "ignored"})
    point = forkpoint("save", "-C", project, "--json").json["id"]
    make(project, {"a": "2"})
    named = spoil(project, machine)
    saved = forkpoint("save", "-C", project, "--json")
    source, _, why = named.rstrip(")").partition(" (")
    assert saved.code == 0
    told = saved.json["unanswered"]
    assert [item["path"] for item in told] == [source] and told[0]["why"].startswith(why)
    assert named.rstrip(")") in forkpoint("save", "-C", project).out
    for options in (["--dry-run"], ["--yes"], ["--yes", "--all"]):
        refused = forkpoint("restore", point, "--files", "-C", project, *options)
        assert refused.code == 3
        assert named in refused.err
    assert (project / "a").read_text() == "2"


def test_the_doctor_tells_what_the_newest_checkpoint_could_not_ask(project: Path, machine: Path) -> None:
    named = too_large(project, machine)
    forkpoint("save", "-C", project)
    assert named in forkpoint("doctor", "-C", project).out
    make(project, {".gitignore": "*.log\n"})
    forkpoint("save", "-C", project)
    assert named not in forkpoint("doctor", "-C", project).out


def test_an_undo_stops_as_well(project: Path, machine: Path) -> None:
    point = forkpoint("save", "-C", project, "--json").json["id"]
    make(project, {"a": "2"})
    assert forkpoint("restore", point, "--files", "--yes", "-C", project).code == 0
    named = too_large(project, machine)
    refused = forkpoint("undo", "--yes", "-C", project)
    assert (refused.code, named in refused.err) == (3, True)
    assert (project / "a").read_text() == "1"


def test_what_was_made_is_kept_when_it_could_not_be_asked_then(project: Path, machine: Path) -> None:
    (project / "sub/.gitignore").mkdir()
    point = forkpoint("save", "-C", project, "--json").json["id"]
    (project / "sub/.gitignore").rmdir()
    make(project, {"new": "1", "sub/new": "1", "a": "2"})
    done = forkpoint("restore", point, "--files", "--yes", "--all", "--json", "-C", project).json
    assert {item["path"] for item in done["restored"]} == {"a", "new", "sub/.gitignore"}
    assert [(item["path"], item["why"]) for item in done["kept"]] == [
        ("sub/new", "not known whether it was ignored then")
    ]


def test_a_repaired_source_is_asked_again(project: Path, machine: Path) -> None:
    git(project, "add", "-f", *make_all(project, "kept.log"))
    forkpoint("save", "-C", project)
    whole = (project / ".git/index").read_bytes()
    stat = (project / ".git/index").stat()
    damaged_index(project, machine)
    assert forkpoint("save", "-C", project, "--json").json["files"] == 3
    (project / ".git/index").write_bytes(whole)
    os.utime(project / ".git/index", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    saved = forkpoint("save", "-C", project, "--json").json
    assert (saved["files"], saved["unanswered"]) == (4, [])


def make_all(project: Path, *names: str) -> tuple[str, ...]:
    make(project, dict.fromkeys(names, "x"))
    return names


def test_without_git_nothing_is_restored(
    project: Path, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "config", "--global", "core.excludesFile", str(machine / "mine"))
    point = forkpoint("save", "-C", project, "--json").json["id"]
    make(project, {"a": "2"})
    monkeypatch.setenv("PATH", without(tmp_path / "bin", "git")["PATH"])
    refused = forkpoint("restore", point, "--files", "--yes", "-C", project)
    assert refused.code == 1
    assert "git was not found" in refused.err
    assert (project / "a").read_text() == "2"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody who may not read")
@pytest.mark.parametrize("source", [".gitignore", "sub/.gitignore", ".forkpointignore", ".git/info/exclude", "mine"])
def test_a_source_that_may_not_be_read_stops_the_restore(tmp_path: Path, machine: Path, source: str) -> None:
    project = repository(tmp_path / "project", {"a": "1", "sub/b": "1"})
    make(project, {source: "x\n"})
    (machine / ".gitconfig").write_text(f"[core]\n\texcludesFile = {project}/mine\n")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 65534, 65534)
    os.chown(machine, 65534, 65534)

    def act() -> str:
        os.environ.update(FORKPOINT_HOME=f"{tmp_path}/store", HOME=str(machine))
        point = forkpoint("save", "-C", project, "--json").json["id"]
        (project / source).chmod(0)
        make(project, {"a": "2"})
        saved = forkpoint("save", "-C", project, "--json").json
        refused = forkpoint("restore", point, "--files", "--yes", "-C", project)
        return json.dumps([saved["unanswered"], refused.code, refused.err, (project / "a").read_text()])

    told, code, words, content = json.loads(as_nobody(tmp_path, act))
    named = source if source.startswith((".g", "sub", ".f")) and "info" not in source else f"{project}/{source}"
    assert told == [{"path": named, "why": "not readable"}]
    assert (code, content) == (3, "2")
    assert f"{named} (not readable)" in words


def test_a_link_called_gitignore_says_nothing_as_to_git(project: Path, tmp_path: Path) -> None:
    (project / ".gitignore").unlink()
    make(project, {"rules": "a\n", ".gitignore": Link("rules"), "x.log": "1"})
    saved = forkpoint("save", "-C", project, "--json").json
    assert saved["unanswered"] == []
    assert saved["files"] == len(git(project, "ls-files", "-co", "--exclude-standard").split())
    assert data_folder().exists()
