"""Checkpoints hold every kind of file byte for byte, and nothing of the person's git is touched."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.checkpoints import capture, points
from forkpoint.store.checkpoints.capture import Wanted
from forkpoint.store.checkpoints.points import Checkpoint
from forkpoint.store.errors import Refused, StoreUnwritable, UnsafePlace
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.saving import save as save_root
from forkpoint.store.states import State
from forkpoint.store.workspace import Workspace

from ...builders.folders import Link, git, make, repository, seen
from ...builders.people import as_nobody

ODD_NAMES = (
    b"two words",
    b" leading",
    b"trailing ",
    b"-dash",
    b"tab\there",
    b"line\nfeed",
    b'quo"te',
    b"back\\slash",
    "ä".encode(),
    "ä".encode(),
    b"not-utf8-\xff\xfe",
    b"x" * 255,
    b"'single'",
    b"$HOME",
    b"\x01\x7f",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder


def place_of(root: Path) -> roots.Place:
    return roots.adopt(os.path.realpath(root), data_folder())


def save(root: Path, **wanted: object) -> capture.Taken:
    draft = Checkpoint(reason="manual")
    return capture.take(place_of(root), Wanted(draft, **wanted))  # type: ignore[arg-type]


def state_of(root: Path, point: str) -> State:
    objects = Objects(place_of(root).git_dir)
    commit = objects.ref(points.ref_of(point))
    assert commit is not None
    return objects.state(objects.stored(commit))


def as_seen(root: Path, point: str) -> dict[bytes, tuple[str, int, bytes]]:
    """A checkpoint in the form of `seen`, without folders of the usual mode."""
    objects = Objects(place_of(root).git_dir)
    found: dict[bytes, tuple[str, int, bytes]] = {}
    for path, node in state_of(root, point).items():
        found[path] = (node.kind, node.mode, objects.read(node.oid) if node.oid else b"")
    return found


def on_disk(root: Path) -> dict[bytes, tuple[str, int, bytes]]:
    """What is on the disk, without folders that hold something and have the usual mode."""
    everything = seen(root)
    return {
        path: what
        for path, what in everything.items()
        if what[0] != "folder" or what[1] != 0o755 or not any(other.startswith(path + b"/") for other in everything)
    }


def test_every_kind_of_file_is_kept_byte_for_byte(root: Path) -> None:
    make(
        root,
        {
            "plain": "text\n",
            "empty": "",
            "nul": b"a\0b",
            "bom": b"\xef\xbb\xbfx",
            "crlf": b"a\r\nb\rc",
            "no end": "last line",
            "deep/er/and/deeper": "x",
            "hollow/inner": None,
            "to-file": Link("plain"),
            "to-folder": Link("deep"),
            "dangling": Link("nowhere"),
            "absolute": Link("/etc/hostname"),
            "outside": Link("../.."),
        },
    )
    make(root, {b"names/" + name: name for name in ODD_NAMES})
    (root / "plain").chmod(0o600)
    (root / "nul").chmod(0o755)
    (root / "crlf").chmod(0o444)
    (root / "hollow").chmod(0o700)
    assert as_seen(root, save(root).id) == on_disk(root)


def test_a_second_checkpoint_holds_only_what_changed_and_still_everything(root: Path) -> None:
    make(root, {"a": "1", "swap": "file", "gone/x": "x", "gone/y": "y", "keep": "k", "mode": "m"})
    first = save(root)
    before = on_disk(root)
    (root / "swap").unlink()
    for path in ("gone/x", "gone/y"):
        (root / path).unlink()
    (root / "gone").rmdir()
    make(root, {"a": "2", "swap/inner": "now a folder", "gone": "now a file", "new/empty": None})
    (root / "mode").chmod(0o640)
    second = save(root)
    assert as_seen(root, second.id) == on_disk(root)
    assert as_seen(root, first.id) == before
    assert second.changed


def test_nothing_changed_stores_nothing_when_only_drift_is_wanted(root: Path) -> None:
    make(root, {"a": "1"})
    first = save(root)
    again = save(root, only_drift=True)
    assert (again.made, again.changed, again.id) == (False, False, first.id)
    (root / "a").chmod(0o600)
    assert save(root, only_drift=True).made


def test_a_file_changed_within_the_clock_s_granule_is_still_noticed(root: Path) -> None:
    for content in ("aa", "bb", "cc", "dd"):
        make(root, {"same size": content})
        taken = save(root)
        assert as_seen(root, taken.id)[b"same size"][2] == content.encode()


def test_a_changed_file_with_its_old_time_is_noticed(root: Path) -> None:
    make(root, {"a": "1"})
    old = time.time_ns() - 10**10
    os.utime(root / "a", ns=(old, old))
    save(root)
    make(root, {"a": "2"})
    os.utime(root / "a", ns=(old, old))
    assert as_seen(root, save(root).id)[b"a"][2] == b"2"


def test_what_cannot_be_captured_is_named_and_the_rest_is_kept(root: Path) -> None:
    make(root, {"fine": "x"})
    os.mkfifo(root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(root)
    listener.bind("socket")
    os.chdir(here)
    data_folder().mkdir(parents=True, exist_ok=True)
    (data_folder() / "settings.toml").write_text("[limits]\nlargest_file = 10\n")
    make(root, {"big": "x" * 11})
    taken = save(root)
    listener.close()
    assert dict(taken.uncaptured) == {
        "pipe": "a FIFO",
        "socket": "a socket",
        "big": "11 bytes, more than the limit of 10",
    }
    assert set(as_seen(root, taken.id)) == {b"fine"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody who may not read")
def test_an_unreadable_file_or_folder_is_uncaptured(tmp_path: Path) -> None:
    make(tmp_path, {"p/shut/in": "z", "p/secret": "x", "p/open": "y"})
    (tmp_path / "p/secret").chmod(0)
    (tmp_path / "p/shut").chmod(0)
    os.chown(tmp_path / "p", 65534, 65534)

    def capture_there() -> str:
        os.environ["FORKPOINT_HOME"] = f"{tmp_path}/store"
        taken = capture.take(roots.adopt(f"{tmp_path}/p", data_folder()), Wanted(Checkpoint(reason="manual")))
        return f"{taken.files} {sorted(taken.uncaptured.items())}"

    assert as_nobody(tmp_path, capture_there) == "1 [('secret', 'not readable'), ('shut', 'not readable')]"


def test_ignored_files_are_left_out_and_tracked_ones_kept(root: Path) -> None:
    repository(root, {".gitignore": "*.log\nbuild/\n", "a.py": "1"})
    make(root, {"forced.log": "tracked", "build/kept": "tracked", "x.log": "ignored", "build/out": "ignored"})
    git(root, "add", "-f", "forced.log", "build/kept")
    assert set(state_of(root, save(root).id)) == {b".gitignore", b"a.py", b"forced.log", b"build/kept"}
    git(root, "rm", "-q", "--cached", "forced.log")
    make(root, {"sub/.gitignore": "!*.log\n", "sub/y.log": "back in", ".forkpointignore": "!x.log\na.py\n"})
    expected = {b".gitignore", b"build/kept", b"sub/.gitignore", b"sub/y.log", b".forkpointignore", b"x.log"}
    assert set(state_of(root, save(root).id)) == expected


def test_exclude_files_of_repository_and_person_are_honoured(root: Path, machine: Path) -> None:
    repository(root, {"a": "1"})
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("private\n")
    (machine / "mine").write_text("*.swp\n")
    git(root, "config", "--global", "core.excludesFile", str(machine / "mine"))
    make(root, {"private": "x", "b.swp": "x", "b": "2"})
    assert set(state_of(root, save(root).id)) == {b"a", b"b"}


def test_files_of_nested_repositories_are_kept_but_never_their_git(root: Path) -> None:
    repository(root, {"top": "1"})
    repository(root / "inner", {"in": "2", ".gitignore": "*.o\n"})
    make(root, {"inner/x.o": "ignored there"})
    (root / "module").mkdir()
    make(root, {"module/.git": "gitdir: ../.git/modules/module\n", "module/file": "3"})
    kept = set(state_of(root, save(root).id))
    assert kept == {b"top", b"inner/in", b"inner/.gitignore", b"module/file"}


def test_in_a_nested_repository_git_s_rules_begin_anew_and_ours_go_on(root: Path) -> None:
    repository(root, {"top": "1", ".gitignore": "*.log\n", ".forkpointignore": "*.tmp\n"})
    repository(root / "inner", {"in": "2"})
    first = save(root).id
    make(root, {"x.log": "ignored", "inner/x.log": "not here", "inner/x.tmp": "never"})
    assert set(state_of(root, save(root).id)) - set(state_of(root, first)) == {b"inner/x.log"}
    then = Workspace(root, None).side(first)
    assert then.ignores(b"x.log")
    assert not then.ignores(b"inner/x.log")
    assert then.ignores(b"inner/x.tmp")


def test_bytes_on_disk_win_over_attributes_and_filters(root: Path) -> None:
    repository(root, {"text": b"a\r\nb\n", ".gitattributes": "* text eol=crlf ident\n", "id": "$Id$\n"})
    assert as_seen(root, save(root).id)[b"text"][2] == b"a\r\nb\n"
    assert as_seen(root, save(root).id)[b"id"][2] == b"$Id$\n"


def test_the_project_s_git_is_not_touched(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(root, {"a": "1"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-commit", "reference-transaction", "pre-commit", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    git(root, "config", "--global", "core.hooksPath", str(hooks))
    monkeypatch.setenv("GIT_DIR", str(root / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(root / ".git/objects"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(root / ".git/index"))
    before = {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")}
    make(root, {"b": "2"})
    taken = save(root)
    assert {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")} == before
    assert not (tmp_path / "ran").exists()
    monkeypatch.delenv("GIT_DIR")
    assert set(state_of(root, taken.id)) == {b"a", b"b"}


def test_our_own_store_inside_of_the_root_is_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKPOINT_HOME", str(root / "store"))
    make(root, {"a": "1"})
    assert set(state_of(root, save(root).id)) == {b"a"}


def test_a_link_planted_for_a_folder_is_kept_as_a_link(root: Path, tmp_path: Path) -> None:
    make(tmp_path / "elsewhere", {"secret": "not ours"})
    make(root, {"folder/file": "x"})
    save(root)
    (root / "folder/file").unlink()
    (root / "folder").rmdir()
    (root / "folder").symlink_to(tmp_path / "elsewhere")
    assert set(state_of(root, save(root).id)) == {b"folder"}


def test_a_lost_or_damaged_index_costs_nothing_but_time(root: Path) -> None:
    make(root, {"a": "1", "b/c": "2"})
    first = save(root)
    index = place_of(root).index_file
    index.write_bytes(b"garbage" + index.read_bytes())
    second = save(root)
    index.unlink()
    assert as_seen(root, first.id) == as_seen(root, second.id) == as_seen(root, save(root).id)


def test_home_and_the_whole_disk_are_refused(machine: Path) -> None:
    for folder in (str(machine), "/"):
        with pytest.raises(UnsafePlace):
            roots.adopt(os.path.realpath(folder), data_folder())


def test_a_store_that_cannot_be_written_says_so(root: Path) -> None:
    make(root, {"a": "1"})
    save(root)
    place = place_of(root)
    (place.git_dir / "objects").rename(place.git_dir / "away")
    (place.git_dir / "objects").write_text("in the way")
    make(root, {"a": "2"})
    with pytest.raises((StoreUnwritable, capture.GitFailed)):
        save(root)


def test_a_save_killed_at_any_moment_loses_no_checkpoint(root: Path) -> None:
    make(root, {f"f{number}": str(number) for number in range(300)})
    kept = save(root)
    before = as_seen(root, kept.id)
    script = "from forkpoint.store import capture, points, roots\nfrom forkpoint.store.home import data_folder\n"
    script += "draft = points.Checkpoint(reason='manual')\n"
    script += f"capture.take(roots.adopt({os.path.realpath(root)!r}, data_folder()), capture.Wanted(draft))\n"
    for delay in (0.02, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1):
        make(root, {f"f{number}": f"{delay} {number}" for number in range(300)})
        child = subprocess.Popen([sys.executable, "-c", script])
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert as_seen(root, save(root).id) == on_disk(root)
    assert as_seen(root, kept.id) == before
    git(place_of(root).git_dir, "fsck", "--strict", "--no-dangling")


def test_a_moved_folder_is_found_again(root: Path, tmp_path: Path) -> None:
    make(root, {"a": "1"})
    first = place_of(root)
    root.rename(tmp_path / "moved")
    assert place_of(tmp_path / "moved").root.id == first.root.id


def test_a_folder_made_anew_at_the_same_path_is_another_root(root: Path, tmp_path: Path) -> None:
    make(root, {"a": "1"})
    first = place_of(root)
    root.rename(tmp_path / "old")
    root.mkdir()
    assert roots.find(os.path.realpath(root), data_folder()) is None
    old = roots.replaced(os.path.realpath(root), data_folder())
    assert old is not None and old.root.id == first.root.id


def test_a_very_large_folder_is_asked_about_before_its_first_checkpoint(root: Path) -> None:
    data_folder().mkdir(parents=True, exist_ok=True)
    (data_folder() / "settings.toml").write_text("[limits]\nlargest_tree = 3\n")
    make(root, {f"f{number}": "x" for number in range(5)})
    with pytest.raises(Refused, match=r"more than 3 files.*save --yes"):
        save(root)
    assert save(root, agreed=True).files == 5
    make(root, {f"more{number}": "x" for number in range(5)})
    assert save(root).files == 10


def test_a_file_that_grows_while_it_is_read_is_stored_as_moving_and_ends(root: Path) -> None:
    make(root, {"log": "x" * 4096})
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"f=open({str(root / 'log')!r},'ab',0)\nprint(flush=True)\nwhile True: f.write(b'y'*65536)",
        ],
        stdout=subprocess.PIPE,
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    try:
        taken = save(root)
    finally:
        writer.kill()
        writer.communicate()
    assert taken.checkpoint is not None
    assert taken.checkpoint.moving == ("log",)
    (root / "log").unlink()


@pytest.mark.parametrize("name", [".gitignore", ".forkpointignore"])
def test_a_folder_or_fifo_that_is_called_like_an_ignore_file_says_nothing(root: Path, name: str) -> None:
    make(root, {f"{name}/a": "1", "b": "1", "below/c": "1"})
    os.mkfifo(root / "below" / name)
    taken = save(root)
    assert dict(taken.uncaptured) == {f"below/{name}": "a FIFO"}
    assert {path for path, node in state_of(root, taken.id).items() if node.kind == "file"} == {
        f"{name}/a".encode(),
        b"b",
        b"below/c",
    }


def test_people_s_files_that_begin_like_a_restore_s_spare_ones_are_kept(root: Path) -> None:
    spare = ".forkpoint-0123456789abcdef-3"
    make(root, {".forkpoint-notes": "1", f"{spare}x": "1", spare: "1", f"{spare}.new/a": "1"})
    assert sorted(state_of(root, save(root).id)) == [f"{spare}x".encode(), b".forkpoint-notes"]


def test_an_agent_s_own_data_inside_of_the_root_is_left_out_and_its_settings_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root / ".claude"))
    make(
        root,
        {".claude/projects/-p/s.jsonl": "{}\n", ".claude/.claude.json": "{}", ".claude/settings.json": "{}", "a": ""},
    )
    taken = save(root)
    assert sorted(state_of(root, taken.id)) == [b".claude/settings.json", b"a"]
    assert dict(taken.uncaptured) == dict.fromkeys([".claude/projects", ".claude/.claude.json"], "the agent's own")


def test_a_person_is_asked_before_a_folder_made_anew_gets_a_record_of_its_own(root: Path) -> None:
    make(root, {"a": "1"})
    first = save_root(os.path.realpath(root))
    root.rename(root.with_name("old"))
    make(root, {"a": "2"})
    with pytest.raises(Refused, match="deleted and made anew"):
        save_root(os.path.realpath(root))
    second = save_root(os.path.realpath(root), agreed=True)
    third = save_root(os.path.realpath(root))
    assert len({first.id, second.id, third.id}) == 3
    assert len(roots.places(data_folder())) == 2
