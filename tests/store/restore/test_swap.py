from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import pytest
from forkpoint.store.errors import Refused, StoreDamaged
from forkpoint.store.restore import swap
from forkpoint.store.restore.below import opened_root
from forkpoint.store.restore.change import Change
from forkpoint.store.restore.swap import Changed, Swapper

from ...builders.folder import Contents, Thing, Tree, file, folder, lay, link, seen

TOKEN = "0123456789abcdef"
HARD_LINK = os.link
KINDS = {
    "nothing": None,
    "file": file("one\n", 0o640),
    "read-only file": file("two\n", 0o444),
    "program": file("#!/bin/sh\n", 0o755),
    "same bytes, private": file("one\n", 0o600),
    "link": link("elsewhere/that is not there"),
    "link out": link("/etc/passwd"),
    "folder": folder(0o755),
    "private folder": folder(0o700),
}

ODD = [b"new\nline", b'quo"te', b"\xff\xfe", b"-rf", b"trailing ", b"tab\t", b"back\\slash", b"\xc3\xa9", b"x" * 255]


def carry(
    root: Path, path: bytes, before: Thing | None, after: Thing | None, *, store: Tree | None = None, number: int = 0
) -> None:
    things = [thing for thing in (before, after) if thing]
    contents = Contents(dict(enumerate(things)) if store is None else store)  # type: ignore[arg-type]
    with opened_root(root) as descriptor:
        swapper = Swapper(descriptor, contents, TOKEN)
        swapper.carry(number, Change(path, before and before.node, after and after.node))


def tree(**things: Thing | None) -> dict[bytes, Thing]:
    return {name.encode(): thing for name, thing in things.items() if thing}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("before", "after"), list(permutations(KINDS, 2)))
def test_every_kind_turns_into_every_other(root: Path, before: str, after: str) -> None:
    lay(root, tree(path=KINDS[before], beside=file("left alone\n")))
    carry(root, b"path", KINDS[before], KINDS[after])
    assert seen(root) == tree(path=KINDS[after], beside=file("left alone\n"))


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_are_exact_whatever_the_umask(root: Path, umask: int) -> None:
    lay(root, {})
    old = os.umask(umask)
    try:
        carry(root, b"a", None, file("a", 0o664))
        carry(root, b"b", None, folder(0o775))
    finally:
        os.umask(old)
    assert seen(root) == tree(a=file("a", 0o664), b=folder(0o775))


@pytest.mark.parametrize("name", ODD)
def test_names_of_any_bytes_come_through(root: Path, name: bytes) -> None:
    lay(root, {name: file("old")})
    carry(root, name, file("old"), file("new"))
    assert seen(root) == {name: file("new")}
    carry(root, name, file("new"), None)
    assert seen(root) == {}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("after", [file("new"), link("new"), folder(), None])
@pytest.mark.parametrize(
    ("expected", "present"),
    [
        (file("old"), file("edited")),
        (file("old"), file("old", 0o600)),
        (file("old"), link("old")),
        (file("old"), folder()),
        (file("old"), None),
        (link("old"), link("edited")),
        (link("old"), file("old")),
        (folder(), file("edited")),
        (folder(), folder(0o711)),
    ],
)
def test_what_is_not_as_the_guard_holds_it_stays(
    root: Path, expected: Thing, present: Thing | None, after: Thing | None
) -> None:
    if expected.kind == "folder" and after and after.kind == "folder":
        after = folder(0o700)
    lay(root, tree(path=present))
    with pytest.raises(Changed):
        carry(root, b"path", expected, after)
    assert seen(root) == tree(path=present)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("after", [file("new"), link("new"), folder(0o700)])
@pytest.mark.parametrize("present", [file("theirs"), link("theirs"), folder(), folder(0o700)])
def test_a_path_that_appeared_is_not_overwritten(root: Path, present: Thing, after: Thing) -> None:
    lay(root, tree(path=present))
    with pytest.raises(Changed):
        carry(root, b"path", None, after)
    assert seen(root) == tree(path=present)


class Meddler:
    """Changes the path at the last moment: after it was looked at, before it is taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, when: str, act: Callable[[], object]) -> None:
        real = getattr(swap, when)
        self.pending: Callable[[], object] | None = act

        def meddled(*arguments: object) -> None:
            if self.pending:
                self.pending, act = None, self.pending
                act()
            real(*arguments)

        monkeypatch.setattr(swap, when, meddled)


@pytest.mark.parametrize("after", [file("new"), link("new"), folder()])
def test_an_edit_at_the_last_moment_comes_out_and_goes_back(
    root: Path, monkeypatch: pytest.MonkeyPatch, after: Thing
) -> None:
    lay(root, tree(path=file("old")))
    Meddler(monkeypatch, "exchange", lambda: (root / "path").write_text("edited"))
    with pytest.raises(Changed):
        carry(root, b"path", file("old"), after)
    assert seen(root) == tree(path=file("edited"))


def test_an_edit_before_a_deletion_comes_out_and_goes_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, tree(path=file("old")))
    Meddler(monkeypatch, "move", lambda: (root / "path").write_text("edited"))
    with pytest.raises(Changed):
        carry(root, b"path", file("old"), None)
    assert seen(root) == tree(path=file("edited"))


def test_a_file_made_at_the_last_moment_is_not_replaced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, {})
    Meddler(monkeypatch, "move", lambda: (root / "path").write_text("theirs"))
    with pytest.raises(Changed):
        carry(root, b"path", None, file("new"))
    assert seen(root) == tree(path=file("theirs"))


def test_a_file_put_into_a_folder_that_is_replaced_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, tree(path=folder()))
    Meddler(monkeypatch, "exchange", lambda: (root / "path" / "theirs").write_text("theirs"))
    with pytest.raises(Changed, match="not empty"):
        carry(root, b"path", folder(), file("new"))
    assert seen(root) == {b"path": folder(), b"path/theirs": file("theirs")}


@pytest.mark.usefixtures("way")
def test_a_folder_that_holds_something_is_not_replaced(root: Path) -> None:
    lay(root, {b"path/ignored": file("theirs")})
    with pytest.raises(Changed, match="not empty"):
        carry(root, b"path", folder(), file("new"))
    assert seen(root) == {b"path": folder(), b"path/ignored": file("theirs")}


def test_a_folder_that_holds_something_is_not_removed(root: Path) -> None:
    lay(root, {b"path/ignored": file("theirs")})
    with pytest.raises(OSError, match="not empty"):
        carry(root, b"path", folder(), None)
    assert seen(root) == {b"path": folder(), b"path/ignored": file("theirs")}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("after", [file("new"), file("old", 0o600), None])
def test_the_other_name_of_a_hard_link_is_never_written_through(root: Path, after: Thing | None) -> None:
    lay(root, tree(path=file("old")))
    HARD_LINK(root / "path", root / "other")
    carry(root, b"path", file("old"), after)
    assert seen(root) == tree(path=after, other=file("old"))


def test_a_change_of_mode_alone_leaves_inode_and_time(root: Path) -> None:
    lay(root, tree(path=file("old")))
    os.utime(root / "path", ns=(1, 1_000_000_000))
    before = (root / "path").stat()
    carry(root, b"path", file("old"), file("old", 0o755))
    after = (root / "path").stat()
    assert (after.st_ino, after.st_mtime_ns, stat.S_IMODE(after.st_mode)) == (before.st_ino, before.st_mtime_ns, 0o755)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner(root: Path) -> None:
    lay(root, tree(path=file("old")))
    os.chown(root / "path", 1234, 4321)
    carry(root, b"path", file("old"), file("new", 0o4755))
    found = (root / "path").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o4755)


def test_a_replaced_file_keeps_its_attributes(root: Path) -> None:
    lay(root, tree(path=file("old")))
    try:
        os.setxattr(root / "path", "user.origin", b"somewhere")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    carry(root, b"path", file("old"), file("new"))
    assert os.getxattr(root / "path", "user.origin") == b"somewhere"


@pytest.mark.parametrize(
    ("before", "after"), [(file("old"), file("new")), (file("old"), None), (None, file("new")), (None, folder())]
)
def test_a_link_in_place_of_a_folder_is_not_followed(
    tmp_path: Path, root: Path, before: Thing | None, after: Thing | None
) -> None:
    outside = lay(tmp_path / "outside", {b"deep/path": file("old")} if before else {b"deep": folder()})
    lay(root, {b"src": link(str(outside))})
    with pytest.raises(Changed):
        carry(root, b"src/deep/path", before, after)
    assert seen(root) == {b"src": link(str(outside))}
    assert seen(outside) == ({b"deep": folder(), b"deep/path": file("old")} if before else {b"deep": folder()})


@pytest.mark.parametrize(
    "path", [b"../path", b"a/../../path", b"/path", b"a//path", b"", b".", b"a/.git/hooks/x", b".GIT/config", b"a\0b"]
)
def test_hostile_paths_are_refused(tmp_path: Path, root: Path, path: bytes) -> None:
    lay(root, {b"a/b": file("b")})
    with pytest.raises(Refused):
        carry(root, path, None, file("new"))
    assert seen(tmp_path) == {
        b"project": folder(root.stat().st_mode & 0o7777),
        b"project/a": folder(),
        b"project/a/b": file("b"),
    }


def test_a_store_that_gives_other_bytes_changes_nothing(root: Path) -> None:
    lay(root, tree(path=file("old")))
    wrong = Contents()
    wrong.held = {file("new").node.oid: b"other"}
    with opened_root(root) as descriptor, pytest.raises(StoreDamaged):
        Swapper(descriptor, wrong, TOKEN).carry(0, Change(b"path", file("old").node, file("new").node))
    assert seen(root) == tree(path=file("old"))


def test_a_full_disk_leaves_the_path_and_nothing_beside_it(root: Path) -> None:
    class Full(Contents):
        def copy(self, oid: str, descriptor: int) -> None:
            os.write(descriptor, b"half")
            raise OSError(28, "No space left on device")

    lay(root, tree(path=file("old")))
    with opened_root(root) as descriptor, pytest.raises(OSError, match="No space"):
        Swapper(descriptor, Full(), TOKEN).carry(0, Change(b"path", file("old").node, file("new").node))
    assert seen(root) == tree(path=file("old"))


def test_a_name_whose_inode_was_just_written_is_not_deleted(root: Path) -> None:
    """On a disk that ignores case, README and readme are one file."""
    lay(root, {})
    with opened_root(root) as descriptor:
        swapper = Swapper(descriptor, Contents({b"": file("new")}), TOKEN)
        swapper.carry(0, Change(b"README", None, file("new").node))
        os.link(root / "README", root / "readme")
        with pytest.raises(Refused, match="just written"):
            swapper.carry(1, Change(b"readme", file("new").node, None))
    assert seen(root) == tree(README=file("new"), readme=file("new"))


@pytest.fixture
def pipe_and_socket(root: Path) -> Iterator[None]:
    lay(root, {})
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(root / "socket"))
        yield


@pytest.mark.usefixtures("pipe_and_socket")
@pytest.mark.parametrize("name", [b"pipe", b"socket"])
def test_pipes_and_sockets_are_neither_read_nor_replaced(root: Path, name: bytes) -> None:
    with pytest.raises(Changed):
        carry(root, name, file("old"), file("new"))
    with pytest.raises(Changed):
        carry(root, name, None, file("new"))
    assert set(seen(root)) == {b"pipe", b"socket"}
