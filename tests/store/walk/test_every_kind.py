"""Every kind of file through a save, a change and a restore: byte for byte, mode for mode, and nothing else touched."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from forkpoint.store.api import Store
from forkpoint.store.model import Inventory
from forkpoint.store.walk import reading
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...builders.cli import forkpoint, process
from ...builders.folder import Thing, Tree, file, folder, lay, link, seen, whole
from ...builders.folders import git, make, repository
from ...builders.people import as_nobody

LONG = os.environ.get("FORKPOINT_TEST_PROFILE") == "long"
IS_ROOT = os.geteuid() == 0
CHUNKS = (1 << 16, 1 << 20, 8 << 20)
"""Sizes at which reading, hashing or writing goes on with another piece or another way."""


class Kind(NamedTuple):
    """A part of the project as it is saved, and as it is afterwards; both are saved, and both come back."""

    then: Tree
    now: Tree


def grows(name: bytes) -> Kind:
    return Kind({name: file("then\n")}, {name: file("now\n")})


def comes_and_goes(name: bytes) -> tuple[Kind, Kind]:
    return Kind({name: file("x\n")}, {}), Kind({}, {name: file("x\n")})


CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "text": b"one\ntwo\n",
    "no newline at the end": b"one\ntwo",
    "binary": bytes(range(256)) * 3,
    "NUL": b"a\0b\n",
    "BOM": b"\xef\xbb\xbfa\n",
    "CRLF": b"a\r\nb\r\n",
    "lone CR": b"a\rb\r",
    "mixed ends": b"a\r\nb\nc\rd",
    "UTF-16": "text\n".encode("utf-16"),
    "not UTF-8": b"\xff\xfe\xc3\n",
    "looks like git": b"blob 3\0abc",
    "looks like fast-import": b"done\ncommit refs/heads/x\ndata <<EOF\n",
    "ident and conflict markers": b"$Id: x $\n<<<<<<< a\n=======\n>>>>>>> b\n",
    "LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5\n",
}
STATES: dict[str, Tree] = {
    "nothing": {},
    "a file": {b"x": file("file\n")},
    "an executable": {b"x": file("file\n", 0o755)},
    "a link": {b"x": link("nowhere")},
    "an empty folder": {b"x": folder()},
    "a closed folder": {b"x": folder(0o700)},
    "a folder with files": {b"x/in": file("in\n"), b"x/deep/er": file("er\n")},
    "a folder with a link": {b"x/in": link("../x")},
}
LINKS = {
    "to a file": b"plain",
    "to a folder": b"folder",
    "dangling": b"nowhere/at/all",
    "absolute": b"/etc/hostname",
    "out of the root": b"../../../..",
    "to itself": b"l",
    "with odd bytes": b'\xff\n"\\ ',
    "long": b"x/" * 2000,
}
NAMES: dict[str, bytes] = {
    "two words": b"two words",
    "leading space": b" x",
    "trailing space": b"x ",
    "leading dash": b"-rf",
    "tab": b"a\tb",
    "newline": b"a\nb",
    "only a newline": b"\n",
    "carriage return": b"a\r",
    "quotes": b"\"a\" 'b'",
    "leading quote": b'"a',
    "backslash": b"a\\b\\",
    "escape sequence": b"\x1b[31mred\x07",
    "composed": "\u00e9".encode(),
    "decomposed": "e\u0301".encode(),
    "not UTF-8": b"\xff\xc3",
    "lone surrogate": b"\xed\xb0\x80",
    "255 bytes": b"n" * 255,
    "255 bytes of umlauts": "\u00e4".encode() * 127 + b"a",
    "glob": b"*?[a]{b}",
    "percent and dollar": b"%s $HOME ~",
    "dots": b"...",
    "like a ref": b"refs@{0}^",
    "like git's": b".gitmodules",
    "like an index": b"files",
    "trailing dot": b"a.",
    "device of another system": b"NUL.txt",
    "no-break space": "\u00a0".encode(),
    "right to left": "\u202egpj.exe".encode(),
    "line separator": "a\u2028b".encode(),
}
MODES = (0o600, 0o400, 0o444, 0o640, 0o664, 0o666, 0o700, 0o755, 0o777, *((0o000,) if IS_ROOT else ()))
SPECIAL_MODES = (0o4755, 0o2755, 0o1644, 0o6711)

KINDS: dict[str, Kind] = {
    **{f"content: {name}": Kind({b"f": file(data)}, {b"f": file(b"other" + data)}) for name, data in CONTENTS.items()},
    **{f"content that comes: {name}": Kind({b"f": file("x")}, {b"f": file(data)}) for name, data in CONTENTS.items()},
    **{
        f"size {size + more:,}": Kind({b"f": file(b"s" * (size + more))}, {b"f": file(b"t" * (size - more))})
        for size in CHUNKS
        for more in (-1, 0, 1)
    },
    "sizes that cross the border": Kind({b"f": file(b"s" * ((8 << 20) + 5))}, {b"f": file("small")}),
    **{f"mode {mode:o}": Kind({b"f": file("same\n", mode)}, {b"f": file("same\n")}) for mode in MODES},
    **{f"special mode {mode:o}": Kind({b"f": file("same\n", mode)}, {b"f": file("o\n")}) for mode in SPECIAL_MODES},
    **{f"mode {mode:o} with bytes": Kind({b"f": file("a\n", mode)}, {b"f": file("b\n", 0o640)}) for mode in MODES[:3]},
    **{
        f"folder mode {mode:o}": Kind({b"d": folder(mode), b"d/f": file("x")}, {b"d/f": file("x")})
        for mode in (0o700, 0o750, 0o777, 0o1777, 0o2775)
    },
    **{f"{one} ↔ {other}": Kind(STATES[one], STATES[other]) for one in STATES for other in STATES if one != other},
    **{
        f"link {name}": Kind({b"l": link(target), b"plain": file("p"), b"folder/x": file("x")}, {b"l": link("else")})
        for name, target in LINKS.items()
    },
    **{f"name: {name}": grows(odd) for name, odd in NAMES.items()},
    **{f"folder name: {name}": Kind({odd + b"/f": file("1")}, {odd: folder()}) for name, odd in NAMES.items()},
    **{f"name that goes: {name}": comes_and_goes(odd)[0] for name, odd in NAMES.items()},
    **{f"name that comes: {name}": comes_and_goes(odd)[1] for name, odd in NAMES.items()},
    "case-only rename of a file": Kind({b"Readme": file("r\n")}, {b"README": file("r\n")}),
    "case-only rename of a folder": Kind({b"Docs/a": file("r\n")}, {b"docs/a": file("r\n")}),
    "names that differ only in case": Kind({b"a": file("1"), b"A": file("2")}, {b"a": file("2"), b"A": file("1")}),
    "both Unicode forms side by side": Kind(
        {"\u00e9".encode(): file("1"), "e\u0301".encode(): file("2")}, {"\u00e9".encode(): file("3")}
    ),
    "two files that change places": Kind({b"a": file("1"), b"b": file("2")}, {b"a": file("2"), b"b": file("1")}),
    "a folder and a file that change places": Kind(
        {b"a/in": file("1"), b"b": file("2")}, {b"b/in": file("1"), b"a": file("2")}
    ),
    "nested empty folders": Kind({b"a/b/c": folder(), b"a/d": folder(0o700)}, {b"a": folder()}),
    "a folder that is emptied": Kind({b"d/f": file("x")}, {b"d": folder()}),
    "a name that sorts before its folder": Kind({b"a/x": file("1"), b"a.x": file("2")}, {b"a-x": file("3")}),
    "deep": Kind({b"/".join([b"deep"] * 200): file("1")}, {b"/".join([b"deep"] * 199): file("2")}),
    "path as long as the system takes": Kind({b"/".join([b"d" * 200] * 15): file("1")}, {}),
}


def under(base: bytes, tree: Tree) -> dict[bytes, Thing]:
    """A tree in a folder of its own, which is there also when the tree is empty."""
    return {
        base: folder(),
        base + b"/stays": file("stays\n"),
        **{base + b"/" + path: what for path, what in tree.items()},
    }


def gathered(side: str) -> dict[bytes, Thing]:
    """All kinds, each in its folder."""
    found: dict[bytes, Thing] = {}
    for number, kind in enumerate(KINDS.values()):
        found |= under(b"%03d" % number, kind.then if side == "then" else kind.now)
    return found


def become(root: Path, wanted: Tree) -> None:
    """Turns a folder into a tree by changing what differs."""
    top = os.fsencode(root)
    target, present = whole(wanted), seen(root)
    for path in sorted(present, reverse=True):
        if target.get(path) is None or target[path].kind != present[path].kind:
            full = os.path.join(top, path)
            os.rmdir(full) if present[path].kind == "folder" else os.unlink(full)
    for path, thing in target.items():
        before = present.get(path)
        if before and before.kind == thing.kind == "file" and before.data == thing.data:
            os.chmod(os.path.join(top, path), thing.mode)
        elif before and before.kind == thing.kind != "folder" and before != thing:
            os.unlink(os.path.join(top, path))
    present = seen(root)
    lay(root, {path: thing for path, thing in target.items() if present.get(path) != thing})


class Journey(NamedTuple):
    """The project after each step, and what the restores said."""

    then: dict[bytes, Thing]
    """As it is after the restore of the first state …"""
    now: dict[bytes, Thing]
    """… and after that of the second one."""
    first: Inventory
    untouched: tuple[set[bytes], set[bytes]]
    """Paths whose inode or time changed at each restore."""


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    """Saves all kinds, changes them, saves again, goes back and forth: once for all the tests below."""
    place = tmp_path_factory.mktemp("kinds")
    (place / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(place / "home"))
        root = place / "project"
        become_new(root, gathered("then"))
        point = saved(root, place)
        become(root, gathered("now"))
        other = saved(root, place)
        before = stamps(root)
        first = go(root, place, point)
        then, between = seen(root), stamps(root)
        go(root, place, other)
        return Journey(then, seen(root), first, (moved(before, between), moved(between, stamps(root))))


def become_new(root: Path, wanted: Tree) -> None:
    root.mkdir()
    become(root, wanted)


def saved(root: Path, place: Path) -> str:
    made = Store.open(root, home=place / "store").save()
    assert not made.uncaptured and not made.unanswered
    return made.id


def go(root: Path, place: Path, point: str) -> Inventory:
    store = Store.open(root, home=place / "store")
    plan = store.plan_restore(point, "files", everything=True)
    result = store.restore(plan)
    assert not (result.failed or result.late_conflicts or plan.inventory.kept or plan.inventory.conflicts)
    return plan.inventory


def stamps(root: Path) -> dict[bytes, tuple[int, int]]:
    """Inode and time of every file and link."""
    found: dict[bytes, tuple[int, int]] = {}
    for base, _, files in os.walk(os.fsencode(root)):
        for name in files:
            what = os.lstat(os.path.join(base, name))
            found[os.path.relpath(os.path.join(base, name), os.fsencode(root))] = (what.st_ino, what.st_mtime_ns)
    return found


def moved(before: Mapping[bytes, tuple[int, int]], after: Mapping[bytes, tuple[int, int]]) -> set[bytes]:
    return {path for path in before.keys() & after.keys() if before[path] != after[path]}


@pytest.mark.parametrize("name", KINDS)
def test_it_comes_back_as_it_was_and_goes_again(journey: Journey, name: str) -> None:
    base = b"%03d" % list(KINDS).index(name)

    def part(tree: Tree) -> dict[bytes, Thing]:
        return {path: thing for path, thing in tree.items() if path.startswith(base)}

    kind = KINDS[name]
    assert part(journey.then) == whole(under(base, kind.then))
    assert part(journey.now) == whole(under(base, kind.now))


def test_nothing_else_is_written(journey: Journey) -> None:
    then, now = whole(gathered("then")), whole(gathered("now"))
    alike = {path for path in then.keys() & now.keys() if then[path] == now[path]}
    for touched in journey.untouched:
        assert not touched & alike
    assert {change.path for change in journey.first.restored} <= (then.keys() | now.keys()) - alike


# --- what is more than its bytes -------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "project", {"a": "1\n"})


def save(root: Path) -> str:
    return Store.open(root).save().id


def back(root: Path, point: str) -> Inventory:
    store = Store.open(root)
    plan = store.plan_restore(point, "files", everything=True)
    result = store.restore(plan)
    assert not (result.failed or result.late_conflicts)
    return plan.inventory


def test_the_other_name_of_a_hard_link_is_never_written_through(root: Path, tmp_path: Path) -> None:
    make(root, {"one": "then\n", "sub/two": ""})
    (root / "sub/two").unlink()
    os.link(root / "one", root / "sub/two")
    os.link(root / "one", tmp_path / "elsewhere")
    point = save(root)
    (root / "one").write_text("now\n")
    back(root, point)
    assert (root / "one").read_text() == (root / "sub/two").read_text() == "then\n"
    assert (tmp_path / "elsewhere").read_text() == "now\n"
    (root / "one").chmod(0o600)
    os.link(root / "one", tmp_path / "third")
    back(root, point)
    assert stat.S_IMODE((root / "one").stat().st_mode) == 0o644
    assert (tmp_path / "third").read_text() == "then\n"


def specials(root: Path) -> Iterator[str]:
    os.mkfifo(root / "pipe")
    yield "a FIFO"
    with socket.socket(socket.AF_UNIX) as listener, inside(root):
        listener.bind("socket")
    yield "a socket"
    if IS_ROOT:
        try:
            os.mknod(root / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            return
        yield "a device"


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """The current folder, for a name that is too long from elsewhere."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def test_what_is_no_file_is_uncaptured_and_left_alone_in_both_directions(root: Path) -> None:
    make(root, {"pipe": "was a file\n", "device": "was a file\n"})
    early = save(root)
    for name in ("pipe", "device"):
        (root / name).unlink()
    kinds = list(specials(root))
    made = Store.open(root).save()
    assert sorted(why for _, why in made.uncaptured) == sorted(kinds)
    make(root, {"a": "2\n"})
    kept = {change.path: change.why for change in back(root, early).kept}
    assert kept[b"pipe"] == "cannot be captured now: a FIFO"
    assert stat.S_ISFIFO((root / "pipe").lstat().st_mode) and stat.S_ISSOCK((root / "socket").lstat().st_mode)
    assert (root / "a").read_text() == "1\n"
    (root / "pipe").unlink()
    make(root, {"pipe": "a file again\n"})
    assert {c.path: c.why for c in back(root, made.id).kept}[b"pipe"] == "not captured then: a FIFO"
    assert (root / "pipe").read_text() == "a file again\n"


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become somebody who may not read")
def test_an_unreadable_file_or_folder_is_left_alone_with_all_that_is_in_it(tmp_path: Path) -> None:
    project = make(tmp_path / "p", {"a": "1", "shut/in": "then", "shut/sub/in": "then", "secret": "then"})
    for path in (project, *project.rglob("*")):
        os.chown(path, 65534, 65534)

    def act() -> str:
        os.environ["FORKPOINT_HOME"] = f"{tmp_path}/store"
        store = Store.open(project)
        open_then = store.save().id
        (project / "shut/in").write_text("now")
        (project / "shut/new").write_text("new")
        (project / "secret").write_text("now")
        (project / "a").write_text("2")
        (project / "shut").chmod(0)
        (project / "secret").chmod(0)
        shut_then = store.save()
        went = back(project, open_then)
        words = [f"{os.fsdecode(change.path)}: {change.why}" for change in went.kept]
        (project / "shut").chmod(0o755)
        (project / "secret").chmod(0o644)
        went = back(project, shut_then.id)
        words += [f"{os.fsdecode(change.path)}: {change.why}" for change in went.kept]
        left = {str(p.relative_to(project)): p.read_text() for p in sorted(project.rglob("*")) if p.is_file()}
        return "\n".join([*sorted(f"{path} {why}" for path, why in shut_then.uncaptured), *words, str(left)])

    told = as_nobody(tmp_path, act).splitlines()
    assert told[:2] == ["secret not readable", "shut not readable"]
    assert {line for line in told[2:-1] if line.startswith(("shut/", "secret"))} == {
        "secret: cannot be captured now: not readable",
        "shut/in: cannot be captured now: not readable",
        "shut/sub/in: cannot be captured now: not readable",
        "secret: not captured then: not readable",
        "shut/in: not captured then: not readable",
        "shut/new: not captured then: not readable",
        "shut/sub/in: not captured then: not readable",
    }
    assert told[-1] == str({"a": "2", "secret": "now", "shut/in": "now", "shut/new": "new", "shut/sub/in": "then"})


def test_files_of_nested_repositories_and_submodules_come_back_and_their_git_is_untouched(
    root: Path, tmp_path: Path
) -> None:
    repository(tmp_path / "library", {"lib.c": "1\n", ".gitignore": "*.o\n"})
    repository(root)
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "library"), "module")
    git(root, "commit", "-q", "-m", "with a module")
    repository(root / "nested/inner", {"in.py": "1\n"})
    git(root, "worktree", "add", "-q", str(root / "tree"), "-b", "side")
    point = save(root)
    own = {path: git_state(root / path) for path in (".git", "module/.git", "nested/inner/.git", "tree/.git")}
    make(root, {"module/lib.c": "2\n", "module/x.o": "ignored", "nested/inner/in.py": "2\n", "tree/a": "2\n"})
    (root / "nested/inner/in.py").unlink()
    back(root, point)
    assert (root / "module/lib.c").read_text() == (root / "nested/inner/in.py").read_text() == "1\n"
    assert (root / "tree/a").read_text() == "1\n"
    assert (root / "module/x.o").exists()
    assert {path: git_state(root / path) for path in own} == own


def git_state(path: Path) -> dict[str, tuple[bytes, int]]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def test_no_filter_and_no_attribute_stands_between_the_disk_and_the_store(root: Path, machine: Path) -> None:
    repository(root)
    make(
        root,
        {
            ".gitattributes": "*.txt text eol=crlf ident\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "note.txt": b"$Id$\na\r\nb\n",
            "model.bin": CONTENTS["LFS pointer"],
        },
    )
    for name in ("clean", "smudge", "process"):
        git(root, "config", "--global", f"filter.lfs.{name}", f"touch {machine}/ran; cat")
    git(root, "config", "--global", "filter.lfs.required", "true")
    git(root, "config", "--global", "core.autocrlf", "true")
    git(root, "config", "--global", "diff.lfs.textconv", f"touch {machine}/ran; cat")
    before = seen_files(root)
    point = save(root)
    make(root, {"note.txt": b"x\n", "model.bin": b"\0" * 5000})
    forkpoint("diff", point, "-C", root)
    back(root, point)
    assert seen_files(root) == before
    assert not (machine / "ran").exists()


def seen_files(root: Path) -> dict[bytes, Thing]:
    return {path: thing for path, thing in seen(root).items() if not path.startswith(b".git/") and path != b".git"}


def test_a_sparse_checkout_stays_sparse(root: Path) -> None:
    repository(root, {"near/a": "1\n", "far/b": "1\n"})
    git(root, "sparse-checkout", "set", "--cone", "near")
    assert not (root / "far").exists()
    point = save(root)
    index = (root / ".git/index").read_bytes()
    make(root, {"near/a": "2\n", "far/b": "made by hand\n"})
    back(root, point)
    assert (root / "near/a").read_text() == "1\n"
    assert not (root / "far").exists()
    assert (root / ".git/index").read_bytes() == index


def test_a_file_larger_than_the_limit_is_named_with_its_size_and_works_when_the_limit_is_raised(
    root: Path, machine: Path
) -> None:
    setting = machine / "forkpoint/settings.toml"
    setting.parent.mkdir()
    setting.write_text("[limits]\nlargest_file = 1000\n")
    make(root, {"big": b"b" * 1001, "fits": b"f" * 1000})
    point = forkpoint("save", "-C", root, "--json").json
    assert point["uncaptured"] == [{"path": "big", "why": "1,001 bytes, more than the limit of 1,000"}]
    assert "1,001 bytes, more than the limit of 1,000" in forkpoint("show", point["id"], "-C", root).out
    make(root, {"big": b"c" * 1001, "fits": b"g"})
    kept = {change.path: change.why for change in back(root, point["id"]).kept}
    assert kept == {}
    assert ((root / "big").read_bytes(), (root / "fits").read_bytes()) == (b"c" * 1001, b"f" * 1000)
    setting.write_text("[limits]\nlargest_file = 2000\n")
    raised = save(root)
    (root / "big").unlink()
    assert [change.path for change in back(root, raised).restored] == [b"big"]
    assert (root / "big").read_bytes() == b"c" * 1001
    assert {c.path: c.why for c in back(root, point["id"]).kept} == {
        b"big": "not captured then: 1,001 bytes, more than the limit of 1,000"
    }


@pytest.mark.parametrize("size", [80_000, (8 << 20) + 1], ids=["at once", "in pieces"])
def test_a_file_that_never_holds_still_is_stored_as_moving_and_not_proposed(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    make(root, {"data": b"0" * size})
    number = 0

    def write_meanwhile(before: os.stat_result, after: os.stat_result) -> bool:
        """Somebody writes as many bytes between two looks; right after the last time no clock tells that."""
        nonlocal number
        if before.st_size != size:
            return True
        number += 1
        make(root, {"data": b"%d" % number * size})
        return time.time_ns() - before.st_mtime_ns < reading.FRESH

    with monkeypatch.context() as patch:
        patch.setattr(reading, "_same", write_meanwhile)
        point = save(root)
    assert (number, Store.open(root).covered(point).moving) == (reading.TRIES, ("data",))
    make(root, {"data": "still\n"})
    plan = Store.open(root).plan_restore(point, "files", everything=True)
    assert [(c.path, c.why, c.preselected) for c in plan.inventory.kept] == [
        (b"data", "it was being written when it was stored", False)
    ]
    assert "moving" in forkpoint("show", point, "-C", root).out


def test_a_tree_deeper_than_a_path_may_be_long_and_than_files_may_be_open_comes_back_whole(root: Path) -> None:
    at = os.open(root, os.O_RDONLY)
    for number in range(1000):
        os.mkdir("folder", dir_fd=at)
        above, at = at, os.open("folder", os.O_RDONLY, dir_fd=at)
        os.close(above)
        write_in(at, f"{number}\n")
    try:
        with few_files_open():
            point = process("save", "-C", root)
            assert point.code == 0 and "1,001 files" in point.out
            write_in(at, "changed\n")
            done = process("restore", point.out.split()[1], "--files", "--all", "--yes", "-C", root)
        assert (done.code, done.err, done.out.count("Restored 1 of 1 file")) == (0, "", 1)
        assert os.read(os.open("f", os.O_RDONLY, dir_fd=at), 100) == b"999\n"
    finally:
        os.close(at)
        subprocess.run(["rm", "-rf", str(root)], check=True)


def write_in(folder: int, text: str) -> None:
    opened = os.open("f", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=folder)
    os.write(opened, text.encode())
    os.close(opened)


@contextmanager
def few_files_open() -> Iterator[None]:
    """As few as a login has on macOS, for the processes that are started meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


# --- any trees -------------------------------------------------------------------------------------------------------

bare = st.binary(min_size=1, max_size=6).filter(lambda name: not set(name) & {0, 47} and name not in (b".", b".."))
odd = st.sampled_from([b"a", b"b", b"c", *NAMES.values()]) | bare
names = odd.filter(lambda name: name.lower() not in (b".git", b".gitignore", b".forkpointignore"))
paths = st.lists(names, min_size=1, max_size=3).map(b"/".join)
data = st.sampled_from(list(CONTENTS.values())) | st.binary(max_size=50)
files = st.builds(file, data, st.sampled_from([0o644, 0o755, 0o600, 0o444, 0o777]))
things = (
    files | st.builds(link, st.sampled_from(list(LINKS.values()))) | st.builds(folder, st.sampled_from([0o755, 0o700]))
)


def standing(tree: Mapping[bytes, Thing]) -> dict[bytes, Thing]:
    """What of a tree can stand at the same time: nothing below a file or a link."""
    found: dict[bytes, Thing] = {}
    for path, thing in sorted(tree.items(), key=lambda item: item[0].count(b"/")):
        above = [path[:cut] for cut in range(len(path)) if path[cut : cut + 1] == b"/"]
        if all(found.get(parent, folder()).kind == "folder" for parent in above):
            found[path] = thing
    return found


trees = st.dictionaries(paths, things, max_size=8).map(standing)


@settings(max_examples=200 if LONG else 12, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(then=trees, now=trees)
def test_any_tree_turns_into_any_other_and_back(then: Tree, now: Tree) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        root = place / "project"
        become_new(root, then)
        point = saved(root, place)
        become(root, now)
        other = saved(root, place)
        go(root, place, point)
        assert seen(root) == whole(then)
        go(root, place, other)
        assert seen(root) == whole(now)
    finally:
        shutil.rmtree(place)
