"""What holds most of the store is named, with a line that stops it and what deleting it would free."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.errors import NoWorkspace
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder
from forkpoint.store.upkeep.usage import PathUsage, Usage, ignore_line

from ...builders.folders import make
from ...builders.recorded import Recorded
from ...builders.tampering import place_of, ref_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "0\n"}) / "shop"


def weight(project: Path, *contents: bytes) -> int:
    """What blobs take in the store, as git tells it."""
    folder = roots.adopt(os.path.realpath(project), data_folder()).git_dir
    total = 0
    for content in contents:
        command = ["git", f"--git-dir={folder}", "hash-object", "--stdin"]
        oid = subprocess.run(command, input=content, capture_output=True, check=True).stdout
        command = ["git", f"--git-dir={folder}", "cat-file", "--batch-check=%(objectsize:disk)"]
        total += int(subprocess.run(command, input=oid, capture_output=True, check=True).stdout)
    return total


def of(found: Usage, path: bytes) -> PathUsage:
    return next(item for item in found.paths if item.path == path)


def test_the_largest_paths_come_first_with_all_their_versions(project: Path) -> None:
    store = Store.open(project)
    versions = [os.urandom(size) for size in (40_000, 50_000, 60_000)]
    small = os.urandom(20_000)
    for content in versions:
        (project / "data.bin").write_bytes(content)
        (project / "small.bin").write_bytes(small)
        store.save()
    (project / "data.bin").unlink()
    store.save()
    found = store.usage()
    assert [item.path for item in found.paths] == [b"data.bin", b"small.bin", b"a"]
    data = of(found, b"data.bin")
    assert (data.versions, data.alone, data.bytes) == (3, *2 * [weight(project, *versions)])
    assert of(found, b"small.bin").bytes == weight(project, small)
    assert found.workspace <= found.total < found.free


def test_what_stands_at_two_paths_belongs_to_neither_alone(project: Path) -> None:
    content, own = os.urandom(30_000), os.urandom(1_000)
    make(project, {"sub/x": ""})
    for path in ("one.bin", "sub/two.bin"):
        (project / path).write_bytes(content)
    store = Store.open(project)
    store.save()
    (project / "one.bin").write_bytes(own)
    store.save()
    found = store.usage()
    one, two = of(found, b"one.bin"), of(found, b"sub/two.bin")
    assert (one.alone, one.bytes) == (weight(project, own), weight(project, content, own))
    assert (two.alone, two.bytes) == (0, weight(project, content))


def test_a_folder_of_many_even_files_is_named_as_one(project: Path) -> None:
    for number in range(40):
        file = project / "node_modules" / f"package{number % 20}" / f"file{number}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(2_000))
    (project / "node_modules" / "package0" / "large.bin").write_bytes(os.urandom(3_000))
    (project / "dist").mkdir()
    for number in range(3):
        (project / "dist" / f"{number}.bin").write_bytes(os.urandom(10_000))
    Store.open(project).save()
    found = Store.open(project).usage()
    assert [(item.path, item.is_folder) for item in found.paths[:4]] == [
        (b"node_modules", True),
        *((path, False) for path in sorted((b"dist/0.bin", b"dist/1.bin", b"dist/2.bin"), key=rank(found))),
    ]
    assert of(found, b"node_modules").versions == 41


def rank(found: Usage) -> Callable[[bytes], int]:
    return [item.path for item in found.paths].index


def test_a_point_frees_what_it_alone_holds(project: Path) -> None:
    store = Store.open(project)
    contents = [os.urandom(20_000), os.urandom(40_000), os.urandom(30_000)]
    points: list[str] = []
    for content in contents:
        (project / "data.bin").write_bytes(content)
        points.append(store.save().id)
    (project / "copy.bin").write_bytes(contents[0])  # so that the first point is not alone with it
    points.append(store.save().id)
    found = store.usage()
    frees = {item.point.id: item.frees for item in found.points}
    assert found.points[0].point.id == points[1]
    assert weight(project, contents[1]) < frees[points[1]] < weight(project, contents[1]) + 2_000
    assert frees[points[0]] < 2_000, "its file came back at another path"
    assert frees[points[2]] < 2_000, "its file is still there"


@pytest.mark.parametrize("number", range(5))
def test_what_is_told_is_what_deleting_really_frees(project: Path, number: int) -> None:
    store = Store.open(project)
    for step in range(5):
        (project / f"own{step}.bin").write_bytes(os.urandom(10_000 * (step + 1)))
        (project / f"own{step - 1}.bin").unlink(missing_ok=True)
        (project / "sub").mkdir(exist_ok=True)
        (project / "sub" / f"kept{step}").write_bytes(os.urandom(5_000))
        store.save()
    store.repack()
    before = sum(size for size in sizes(project))
    chosen = store.usage().points[number]
    store.delete([chosen.point.id], anyway=True)
    operation = sum(sizes(project)) - before
    store.repack()
    freed = before + operation - sum(sizes(project))
    assert abs(freed - chosen.frees) < 2_000, "but for deltas and indexes"


def sizes(project: Path) -> list[int]:
    folder = roots.adopt(os.path.realpath(project), data_folder()).git_dir
    return [pack.stat().st_size for pack in folder.rglob("*.pack")]


def test_a_session_weighs_what_its_conversation_takes(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Make it")
    for _ in range(3):
        agent.runs(f"echo {os.urandom(5_000).hex()}", lambda folder: None)
    agent.stops()
    agent.store().tree()
    (session,) = agent.store().usage().sessions
    assert (session.id, session.agent, session.title) == (agent.session.id, "claude", "Make it")
    assert 15_000 < session.bytes < agent.session.file.stat().st_size


ODD = [
    b"plain.txt",
    b"a folder/with blanks ",
    b"#hash",
    b"!bang",
    b"-dash",
    b"star*.txt",
    b"question?",
    b"[brackets]",
    b"back\\slash",
    b"ends with backslash\\",
    b"tab\there",
    b"line\nfeed",
    b"return\r",
    b"tab at the end\t",
    b"  blanks  ",
    b"**",
    b"n\xc3\xa4me",
    b"na\xcc\x88me",
    b"not utf-8 \xff\xfe",
    b'"quoted"',
    b"\xc2\xa0no-break blank\xc2\xa0",
    b"\xe2\x80\xa8line separator",
]


def captured(project: Path, point: str) -> set[bytes]:
    objects = Objects(place_of(project).git_dir)
    state = objects.state(objects.stored(objects.refs(ref_of(point))[ref_of(point)]))
    return {path for path, node in state.items() if node.kind != "folder"}


@pytest.mark.parametrize("path", ODD)
@pytest.mark.parametrize("is_folder", [False, True])
def test_adding_the_line_leaves_the_path_out(project: Path, path: bytes, is_folder: bool) -> None:
    top = os.fsencode(project)
    file = (
        os.path.join(top, path, b"inside" if is_folder else b"").rstrip(b"/") if is_folder else os.path.join(top, path)
    )
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "wb") as stream:
        stream.write(b"content")
    make(project, {"sub/plain.txt": "another"})
    store = Store.open(project)
    before = store.save().id
    line = ignore_line(path, is_folder)
    assert line.isprintable()
    (project / ".forkpointignore").write_text(f"{line}\n", "utf-8")
    after = store.save().id
    assert captured(project, before) ^ captured(project, after) == {b".forkpointignore", os.path.relpath(file, top)}


def test_a_folder_that_is_not_recorded_has_no_usage(project: Path) -> None:
    with pytest.raises(NoWorkspace):
        Store.open(project).usage()


def test_a_damaged_checkpoint_keeps_nothing_from_being_weighed(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    store = agent.store()
    (project / "b").write_bytes(os.urandom(9_000))
    store.save()
    place = roots.adopt(os.path.realpath(project), data_folder())
    newest = max(place.git_dir.rglob("*.pack"), key=lambda pack: pack.stat().st_mtime_ns)
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 255
    newest.chmod(0o600)
    newest.write_bytes(data)
    assert Store.open(project).usage().paths
