"""Which folder is which: moved, made anew, inside of another, with two names or an odd one; and a clock that jumps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.errors import NoWorkspace, Refused
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place
from forkpoint.store.saving import save

from ..builders.children import at_once
from ..builders.cli import COMMAND, forkpoint, process
from ..builders.folders import Link, make, seen
from ..builders.people import as_nobody
from .test_recording import Agent, recorded

HOUR = 3600 * 10**9


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "1\n", "shop/src/b": "1\n"}) / "shop"


def place_of(folder: Path | str) -> Place | None:
    return roots.find(os.path.realpath(folder), data_folder())


def saved(folder: Path | str, label: str = "") -> str:
    return save(os.path.realpath(folder), label=label).id


# --- moved ------------------------------------------------------------------------------------------------------------


def test_a_moved_folder_keeps_its_record_and_says_so_once(project: Path, tmp_path: Path) -> None:
    before = saved(project)
    moved = project.rename(tmp_path / "new name")
    answer = process("log", "files", "--json", cwd=moved)
    assert answer.err == f"forkpoint: {moved} was {project} before: its record goes on here\n"
    assert [point["id"] for point in answer.json["checkpoints"]] == [before]
    again = process("save", "--json", cwd=moved)
    assert (again.code, again.err) == (0, "")
    assert [point.id for point in recorded(moved)] == [before, again.json["id"]]


def test_below_a_moved_folder_the_folder_is_the_root(project: Path, tmp_path: Path) -> None:
    saved(project)
    moved = project.rename(tmp_path / "moved")
    assert process("save", "--json", cwd=moved / "src").code == 0
    assert len(recorded(moved)) == 2
    assert len(roots.places(data_folder())) == 1


def test_a_hook_finds_a_moved_folder_too(project: Path, tmp_path: Path) -> None:
    Agent(project).is_asked("Here")
    moved = project.rename(tmp_path / "moved")
    Agent(moved).is_asked("There")
    assert [point.text for point in recorded(moved)] == ["Here", "There"]


def test_a_moved_folder_is_found_though_another_stands_in_its_old_place(project: Path, tmp_path: Path) -> None:
    first = saved(project)
    moved = project.rename(tmp_path / "moved")
    make(tmp_path, {"shop/other": ""})
    with pytest.raises(Refused, match="made anew"):
        saved(project)
    saved(moved)
    assert recorded(moved)[0].id == first
    saved(project)  # nobody else has that path now
    assert len(recorded(project)) == 1


def test_many_that_find_the_moved_folder_at_once_write_it_down_once(project: Path, tmp_path: Path) -> None:
    saved(project)
    moved = project.rename(tmp_path / "moved")
    at_once(tmp_path / "told", [lambda: saved(moved)] * 8)
    assert [place.root.path for place in roots.places(data_folder())] == [str(moved)]
    assert len(recorded(moved)) == 9


def test_a_moved_root_can_be_looked_at_where_that_cannot_be_written_down(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(project)
    moved = project.rename(tmp_path / "moved")

    def read_only(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(roots, "write_atomic", read_only)
    found = place_of(moved)
    assert found is not None
    assert found.root.path == str(moved)


# --- made anew, or gone -----------------------------------------------------------------------------------------------


def test_a_command_asks_before_a_folder_that_was_cloned_anew_and_a_hook_begins_a_new_record(project: Path) -> None:
    saved(project)
    old = place_of(project)
    project.rename(project.with_name("aside"))  # so that its inode is not given to the new one
    make(project, {"a": "cloned\n"})
    answer = process("save", "--json", cwd=project)
    assert answer.code == 3
    assert "deleted and made anew" in answer.json["error"]["what"]
    assert place_of(project) is None
    Agent(project).is_asked("Go")
    new = place_of(project)
    assert old and new and new.workspace != old.workspace


def test_the_record_of_a_folder_that_was_deleted_goes_on_in_the_one_made_anew(project: Path) -> None:
    make(project, {"kept": "work of a week\n"})
    first = saved(project)
    project.rename(project.with_name("aside"))  # so that its inode is not given to the new one
    project.mkdir()
    for command in (["log"], ["restore", first, "--all", "--files", "--yes"], ["save"]):
        told = forkpoint("-C", project, *command)
        assert told.code in (1, 3)
        assert "deleted and made anew" in told.err and "forkpoint recover goes on with its record" in told.err
    assert "deleted and made anew" in forkpoint("-C", project, "doctor").out
    asked = forkpoint("-C", project, "recover")
    assert (asked.code, asked.lines[1]) == (
        3,
        "This folder was made anew since it was recorded. Its record would go on here.",
    )
    assert place_of(project) is None
    answer = forkpoint("-C", project, "recover", "--yes")
    assert (answer.code, answer.lines[1].split("→")[0].strip()) == (0, "✓  the record goes on here: 1 checkpoint")
    assert forkpoint("-C", project, "restore", first, "--all", "--files", "--yes").code == 0
    assert (project / "kept").read_text() == "work of a week\n"
    assert forkpoint("-C", project, "verify").code == 0
    assert forkpoint("-C", project, "recover", "--yes").lines[1] == "✓  no restore was interrupted here"


def test_the_record_of_before_is_named_and_taken_up_though_a_hook_began_another(project: Path) -> None:
    make(project, {"kept": "work of a week\n"})
    first = saved(project)
    old = place_of(project)
    project.rename(project.with_name("aside"))  # so that its inode is not given to the new one
    project.mkdir()
    Agent(project).is_asked("Go")
    new = place_of(project)
    assert old and new and new.workspace != old.workspace
    words = "1 checkpoint of a folder that stood here before"
    for command in ("status", "doctor", "recover"):
        told = forkpoint("-C", project, command).out
        assert words in told and "forkpoint recover --former" in told
    assert process("status", "--json", cwd=project).json["former"] == words
    assert forkpoint("-C", project, "recover", "--former").code == 3
    assert place_of(project) == new
    answer = forkpoint("-C", project, "recover", "--former", "--yes")
    assert (answer.code, answer.lines[1].split("→")[0].strip()) == (0, "✓  the record goes on here: 1 checkpoint")
    assert forkpoint("-C", project, "restore", first, "--all", "--files", "--yes").code == 0
    assert (project / "kept").read_text() == "work of a week\n"
    assert forkpoint("-C", project, "verify").code == 0
    assert forkpoint("-C", project, "recover", "--former", "--yes").code == 0
    again = place_of(project)
    assert again and again.workspace == new.workspace
    assert Store.open(project).status().checkpoints == 1
    shutil.rmtree(old.workspace)
    assert "--former" not in forkpoint("-C", project, "recover").out
    assert forkpoint("-C", project, "recover", "--former", "--yes").code == 1


def test_a_folder_that_is_gone_is_told_in_one_line(project: Path) -> None:
    saved(project)
    store = Store.open(project)
    shutil.rmtree(project)
    with pytest.raises(NoWorkspace, match="not there any more"):
        store.save()
    with pytest.raises(NoWorkspace, match="not there any more"):
        store.tree()


# --- inside of each other ---------------------------------------------------------------------------------------------


def test_the_files_of_a_root_inside_of_another_belong_to_both(project: Path) -> None:
    inner = saved(project / "src")
    outer = saved(project)
    make(project, {"src/b": "2\n", "a": "2\n"})
    store = Store.open(project)
    store.restore(store.plan_restore(outer, "files", everything=True))
    assert seen(project)[b"src/b"][2] == b"1\n"
    make(project, {"src/b": "3\n", "a": "3\n"})
    within = Store.open(project / "src")
    within.restore(within.plan_restore(inner, "files", everything=True))
    assert [seen(project)[path][2] for path in (b"src/b", b"a")] == [b"1\n", b"3\n"]
    assert [act.kind for act in within.operations()] == ["restore"]
    assert process("save", "--json", cwd=project / "src").code == 0
    assert len(recorded(project / "src")) == 3, "the nearest root upwards is the one that is meant"


# --- names ------------------------------------------------------------------------------------------------------------


def test_two_roots_that_differ_only_in_case_are_two(tmp_path: Path) -> None:
    make(tmp_path, {"Shop/a": "upper\n", "shop/a": "lower\n"})
    if os.path.samefile(tmp_path / "Shop", tmp_path / "shop"):
        pytest.skip("this disk takes them for one name")
    upper, lower = saved(tmp_path / "Shop"), saved(tmp_path / "shop")
    make(tmp_path, {"Shop/a": "2\n", "shop/a": "2\n"})
    store = Store.open(tmp_path / "Shop")
    store.restore(store.plan_restore(upper, "files", everything=True))
    assert [(tmp_path / name / "a").read_text() for name in ("Shop", "shop")] == ["upper\n", "2\n"]
    assert [point.id for point in recorded(tmp_path / "shop")] == [lower]


def test_one_folder_with_two_names_is_one_root(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk to which Shop and shop are one, or where a folder is mounted twice: another path, the same inode."""
    first = saved(project)
    other = tmp_path / "SHOP"
    real = os.stat

    def stat(path: object, *arguments: object, **named: object) -> os.stat_result:
        spelled = str(project) if path == str(other) else path
        return real(spelled, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", stat)
    found = roots.find(str(other), data_folder())
    assert found is not None
    assert found.root.path == str(project)
    assert [point.id for point in recorded(project)] == [first]


def test_a_link_to_a_root_is_the_root(project: Path, tmp_path: Path) -> None:
    saved(project)
    make(tmp_path, {"link": Link("shop"), "far": Link("shop/src")})
    saved(tmp_path / "link")
    assert process("save", "--json", "-C", tmp_path / "link", cwd=tmp_path).code == 0
    assert process("save", "--json", cwd=tmp_path / "far").code == 0, "the shell's folder is the root's"
    Agent(tmp_path / "link").is_asked("Go")
    assert len(recorded(project)) == 5
    assert len(roots.places(data_folder())) == 1


@pytest.mark.parametrize("name", [b"new\nline \x1b[31m \xff\xfe", b"-C", b" quo\"te'"])
def test_a_root_with_an_odd_name_is_saved_shown_restored_and_undone(
    name: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(folder)
    monkeypatch.chdir(os.fsdecode(folder))

    def after(*command: str) -> str:
        done = forkpoint(*command)
        assert done.code == 0, done
        assert all(sign.isprintable() for line in done.lines for sign in line)
        return Path("a").read_text()

    for text in ("one", "two"):
        Path("a").write_text(text)
        after("save", "-m", text)
    assert after("log", "files") == "two"
    assert after("restore", "one", "--files", "--all", "--yes") == "one"
    assert after("undo", "--yes") == "two"
    assert after("redo", "--yes", "--json") == "one"
    os.rename(folder, folder + b"2")
    monkeypatch.chdir(os.fsdecode(folder + b"2"))
    answer = process("save", "--json")
    assert (answer.code, answer.err.count("\n")) == (0, 1), "that it was moved is one line whatever its name"
    assert answer.err.rstrip("\n").isprintable()


# --- what cannot be written -------------------------------------------------------------------------------------------


@pytest.mark.skipif("os.geteuid() != 0", reason="only root can become somebody else")
def test_a_root_that_cannot_be_written_is_saved_and_a_restore_names_each_path(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir()
    home.chmod(0o777)
    subprocess.run(["chmod", "-R", "a+rX,go-w", project], check=True)

    def saves() -> str:
        return save(os.path.realpath(project), home=home, label="first").id

    def restores() -> str:
        store = Store.open(project, home=home)
        done = store.restore(store.plan_restore("first", "files", everything=True))
        return json.dumps([[os.fsdecode(item.path) for item in done.done], sorted(map(str, done.failed))])

    point = as_nobody(tmp_path, saves)
    assert len(point) == 16
    make(project, {"a": "2\n"})
    restored, failed = json.loads(as_nobody(tmp_path, restores))
    assert restored == []
    assert len(failed) == 1
    assert "permission denied" in failed[0]
    assert (project / "a").read_text() == "2\n"


@pytest.mark.skipif("os.geteuid() != 0", reason="only root can become somebody else")
def test_a_root_that_nobody_lets_us_see_any_more_is_told_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "closed"

    def looks() -> str:
        make(folder, {"shop/a": "1\n"})
        store = Store.open(folder / "shop", home=tmp_path / "data")
        store.save()
        folder.chmod(0)
        with pytest.raises(NoWorkspace, match=r"cannot be looked at \(Permission denied\)") as told:
            store.tree()
        return told.value.path

    assert as_nobody(tmp_path, looks) == str(folder / "shop")


def mounting(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script in which folders can be mounted; `$@` is forkpoint. Skips the test where that is not allowed."""
    alone = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
    if subprocess.run([*alone, "mount", "--bind", folder, folder], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    command = [*alone, "sh", "-ec", script, "sh", *COMMAND]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_a_root_on_a_read_only_file_system_is_saved_and_a_restore_says_what_it_could_not_do(project: Path) -> None:
    first = saved(project)
    make(project, {"a": "2\n"})
    read_only = 'mount --bind . "$PWD"; mount -o remount,ro,bind "$PWD"; cd "$PWD"\n'
    done = mounting(f'{read_only} "$@" save --json', project)
    assert (done.returncode, json.loads(done.stdout)["files"]) == (0, 2), done
    done = mounting(f'{read_only} "$@" restore {first} --files --all --yes --json', project)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(item["path"], item["why"]) for item in told["failed"]] == [("a", "the file system is read-only")]
    assert (told["restored"], (project / "a").read_text()) == ([], "2\n")


def test_a_root_that_is_mounted_twice_is_one_root(project: Path, tmp_path: Path) -> None:
    saved(project)
    (tmp_path / "again").mkdir()
    done = mounting('mount --bind . ../again; cd ../again/src; "$@" save --json', project)
    assert done.returncode == 0, done
    assert len(recorded(project)) == 2
    assert len(roots.places(data_folder())) == 1


# --- the clock --------------------------------------------------------------------------------------------------------


def test_a_clock_that_goes_backwards_changes_no_order(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [saved(project, "first")]
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - HOUR)
    made.append(saved(project, "second"))
    place = place_of(project)
    assert place is not None
    place.index_file.unlink()
    made.append(saved(project, "third"))
    make(project, {"a": "2\n"})
    made.append(saved(project, "fourth"))
    store = Store.open(project)
    done = store.restore(store.plan_restore("first", "files", everything=True))
    monkeypatch.setattr(time, "time_ns", lambda: real() - 2 * HOUR)
    assert store.undo(store.plan_undo()).done
    points = recorded(project)
    times = [point.time for point in points]
    assert times == sorted(set(times))
    assert [point.id for point in points if point.reason == "manual"] == made
    built = store.tree("files")
    assert [point.id for point in built.points] == [point.id for point in points]
    assert [act.kind for act in store.operations()] == ["undo", "restore"]
    assert store.operations()[1].id == done.operation
    assert built.here.dirty == 0
    assert (project / "a").read_text() == "2\n"


def test_another_file_of_the_same_size_and_time_is_noticed_and_the_same_bytes_are_no_change(project: Path) -> None:
    saved(project)
    file = project / "a"
    for text, changed in (("2\n", 1), ("2\n", 0)):
        before = file.stat()
        make(project, {"new": text})
        os.utime(project / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
        (project / "new").rename(file)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert file.stat().st_ino != before.st_ino
        store = Store.open(project)
        assert store.tree("files").here.dirty == changed
        point = saved(project)
        assert len(store.changes(point).files) == changed
