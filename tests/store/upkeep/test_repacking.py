"""Repacking makes the store small while others save and read, frees what was deleted, and is safe from being killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forkpoint.store import roots, saving
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture
from forkpoint.store.checkpoints.points import Checkpoint
from forkpoint.store.errors import Busy, StoreDamaged, StoreUnwritable
from forkpoint.store.git.reader import Objects
from forkpoint.store.git.refs import listed
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place
from forkpoint.store.upkeep import repacking

from ...builders.folders import make
from ...builders.recorded import Recorded

start_apart = repacking.start_apart


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "0\n"}) / "shop"


def place_of(project: Path) -> Place:
    return roots.adopt(os.path.realpath(project), data_folder())


def lines(seed: int) -> list[str]:
    source = random.Random(seed)
    return [f"{source.randrange(10**9)} {source.randrange(10**9)}\n" for _ in range(200)]


def edited(project: Path, count: int) -> list[str]:
    """Checkpoints of a file that is edited a little each time."""
    store, text, found = Store.open(project), lines(0), list[str]()
    for number in range(count):
        text[number % 200] = f"{number}\n"
        make(project, {"a": "".join(text), "part/c": f"{number}\n"})
        found.append(store.save().id)
    return found


def packs(project: Path) -> list[Path]:
    return sorted(place_of(project).git_dir.rglob("*.pack"))


def size(project: Path) -> int:
    return sum(pack.stat().st_size for pack in packs(project))


def sound(project: Path) -> bool:
    return all(finding.ok for finding in Store.open(project).verify())


def test_many_packs_and_refs_become_few(project: Path) -> None:
    points = edited(project, 24)
    store = Store.open(project)
    store.label(points[0], "first")
    before = size(project)
    done = store.repack()
    assert (done.packs_before, done.packs) == (25, 1) and done.bytes_before == before
    assert done.bytes == size(project) < before / 2
    assert [name for name in place_of(project).git_dir.rglob("refs/**/*") if name.is_file()] == []
    assert sound(project)
    assert [point.id for point in Store.open(project).tree("files").points] == points
    assert store.diff(points[0], points[1]).files
    edited(project, 2)
    assert sound(project) and len(packs(project)) > 1


def test_what_was_deleted_is_freed_and_nothing_else(project: Path) -> None:
    agent = Recorded(project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    (project / "secret").write_bytes(os.urandom(500_000))
    point = Store.open(project).save().id
    (project / "secret").unlink()
    edited(project, 3)
    store = agent.store()
    oid = next(node.oid for path, node in store._workspace.side(point).state.items() if path == b"secret")
    store.delete([point])
    assert Objects(place_of(project).git_dir).holds(oid)
    freed = store.repack()
    assert freed.bytes < freed.bytes_before - 400_000
    assert not Objects(place_of(project).git_dir).holds(oid)
    assert not place_of(project).unreachable_file.exists()
    assert sound(project)
    assert [entry.text for entry in agent.store().tree(agent.session.id).entries if entry.kind == "prompt"] == [
        "Make it"
    ]


def test_nothing_is_freed_without_a_deletion(project: Path) -> None:
    edited(project, 3)
    place = place_of(project)
    git("hash-object", "-w", "--stdin", folder=place.git_dir, data=b"nobody's")
    oid = git("hash-object", "--stdin", folder=place.git_dir, data=b"nobody's").decode().strip()
    Store.open(project).repack()
    assert Objects(place.git_dir).holds(oid)


def git(*arguments: str, folder: Path, data: bytes = b"") -> bytes:
    command = ["git", f"--git-dir={folder}", *arguments]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def test_what_comes_while_it_packs_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save goes on meanwhile, and takes from the old packs what nothing reached when the packing began."""
    points = edited(project, 4)
    make(project, {"a": "the same again\n"})
    again = Store.open(project).save().id
    edited(project, 1)
    store = Store.open(project)
    store.delete([points[1], again])
    packed, saved = repacking._packed, list[str]()

    def meanwhile(place: Place, *arguments: object, **options: object) -> list[str]:
        if saved:
            return packed(place, *arguments, **options)  # type: ignore[arg-type]
        found = packed(place, *arguments, **options)  # type: ignore[arg-type]
        make(project, {"a": "the same again\n"})
        saved.append(store.save().id)
        return found

    monkeypatch.setattr(repacking, "_packed", meanwhile)
    store.repack()
    assert sound(project)
    assert store.diff(points[0], saved[0]).files


def test_a_large_content_that_nothing_reached_is_kept_when_a_save_took_it_meanwhile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = os.urandom(1_000_000), os.urandom(1_000_000)
    store, points = Store.open(project), list[str]()
    for content in versions:
        (project / "large").write_bytes(content)
        points.append(store.save().id)
    store.delete(points[:1])
    packed, saved = repacking._packed, list[str]()

    def meanwhile(place: Place, *arguments: object, **options: object) -> list[str]:
        found = packed(place, *arguments, **options)  # type: ignore[arg-type]
        if not saved:
            before = size(project)
            (project / "large").write_bytes(versions[0])
            saved.append(store.save().id)
            assert size(project) < before + 100_000
        return found

    monkeypatch.setattr(repacking, "_packed", meanwhile)
    store.repack()
    assert saved and sound(project)
    state = Store.open(project)._workspace.side(saved[0]).state
    assert Objects(place_of(project).git_dir).read(state[b"large"].oid) == versions[0]
    store.delete(saved, anyway=True)
    store.repack()
    assert size(project) < 1_100_000 and sound(project)
    (project / "large").write_bytes(versions[0])
    store.save()
    assert sound(project)


def test_a_deletion_that_comes_while_it_packs_is_freed_the_next_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = edited(project, 4)
    store = Store.open(project)
    store.delete(points[:1])
    packed = repacking._packed

    def meanwhile(place: Place, *arguments: object, **options: object) -> list[str]:
        monkeypatch.setattr(repacking, "_packed", packed)
        found = packed(place, *arguments, **options)  # type: ignore[arg-type]
        store.delete(points[1:2])
        return found

    monkeypatch.setattr(repacking, "_packed", meanwhile)
    store.repack()
    assert place_of(project).unreachable_file.exists()
    store.repack()
    assert not place_of(project).unreachable_file.exists() and sound(project)


def test_a_store_with_a_broken_ref_frees_nothing(project: Path) -> None:
    points = edited(project, 3)
    store = Store.open(project)
    store.delete(points[:1])
    place = place_of(project)
    broken = place.git_dir / "refs" / "points" / points[1][:2] / points[1]
    whole = broken.read_bytes()
    broken.write_bytes(b"\0" * 41)
    with pytest.raises(StoreDamaged, match="nothing is freed"):
        store.repack()
    broken.write_bytes(whole)
    assert sound(project)


def test_a_checkpoint_whose_ref_was_taken_away_can_still_be_put_back(project: Path) -> None:
    points = edited(project, 4)
    place = place_of(project)
    ref = f"refs/points/{points[1][:2]}/{points[1]}"
    commit = listed(place.git_dir).commits[ref]
    (place.git_dir / ref).unlink()
    Store.open(project).delete(points[:1])
    Store.open(project).repack()
    git("update-ref", ref, commit, folder=place.git_dir)
    assert Store.open(project).diff(points[1], points[2]).files


def test_it_needs_room_for_both_the_old_and_the_new(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(project, 3)
    monkeypatch.setattr(repacking, "AIR", 1 << 60)
    with pytest.raises(StoreUnwritable, match="too little space on the disk to repack"):
        Store.open(project).repack()


def test_only_one_is_at_it(project: Path) -> None:
    edited(project, 2)
    with repacking.held(repacking._lock(place_of(project)), who="repack"), pytest.raises(Busy):
        Store.open(project).repack()


def test_a_command_starts_it_when_it_is_due_and_waits_for_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(project, 4)
    place = place_of(project)
    monkeypatch.setattr(repacking, "start_apart", start_apart)
    edited(project, 1)
    assert len(packs(project)) == 5, "not yet"
    monkeypatch.setattr(repacking, "PACKS", 5)
    monkeypatch.setattr(saving, "FILES", 10)
    edited(project, 1)
    until = time.monotonic() + 60
    while len(packs(project)) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    with repacking.held(repacking._lock(place), who="test", wait=60):
        assert len(packs(project)) == 1
    assert not repacking.due(place), "it was tried just now"
    os.utime(repacking._lock(place), (0, 0))
    assert not repacking.due(place)
    edited(project, 6)
    os.utime(repacking._lock(place), (0, 0))
    assert repacking.due(place)


def test_a_hook_starts_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Place] = []
    monkeypatch.setattr(repacking, "start_apart", started.append)
    monkeypatch.setattr(repacking, "PACKS", 1)
    place = place_of(project)
    for number in range(4):
        make(project, {"a": f"{number}\n"})
        capture.take(place, capture.Wanted(Checkpoint(reason="tool")))
    assert len(packs(project)) == 4 and not started


KILLED = """
import os, signal, sys
from forkpoint.store.upkeep import repacking
from forkpoint.store.api import Store

number, folder = int(sys.argv[1]), sys.argv[2]
count = 0
def tick():
    global count
    if count == number:
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1

def armed(real):
    def call(*arguments, **options):
        tick()
        return real(*arguments, **options)
    return call

for name in ("_git", "sync_folder"):
    setattr(repacking, name, armed(getattr(repacking, name)))
from pathlib import Path
os.replace = armed(os.replace)
Path.unlink = armed(Path.unlink)
Store.open(folder).repack()
print(count)
"""


MOMENTS = 60 if os.environ.get("FORKPOINT_TEST_PROFILE") == "long" else 12


def test_killed_at_any_moment_the_store_is_whole_and_the_next_one_finishes(project: Path) -> None:
    """Killed at steps from the first to the last, each time in the store that the one before left."""
    points = edited(project, 8)
    steps = 0
    for round_ in range(MOMENTS + 1):
        points += edited(project, 3)
        Store.open(project).delete([points.pop(1)], anyway=True)
        moment = steps * (round_ - 1) // MOMENTS if round_ else -1
        command = [sys.executable, "-c", KILLED, str(moment), str(project)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        assert sound(project), f"killed at step {moment}"
        assert set(points) == {point.id for point in Store.open(project).tree("files").points}
        steps = steps or int(done.stdout)
    Store.open(project).repack()
    assert len(packs(project)) == 1 and sound(project)
    assert not [name for name in os.listdir(packs(project)[0].parent) if not name.startswith("pack-")]


WORKER = """
import os, sys
from pathlib import Path
from forkpoint.store.api import Store
from forkpoint.store.errors import Busy

what, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
for number in range(count):
    store = Store.open(folder)
    if what == "repack":
        try:
            store.repack()
        except Busy:
            pass
        continue
    (folder / what).write_text(f"{number}\\n" * 50)
    made = store.save().id
    if number % 3 == 2:
        store.delete([made], anyway=True)
    else:
        print(made)
"""


def test_saving_deleting_and_repacking_at_once_loses_nothing(project: Path) -> None:
    points = edited(project, 3)
    work = [("one", 9), ("two", 9), ("repack", 6), ("repack", 6)]
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, what, str(project), str(count)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for what, count in work
    ]
    told = [worker.communicate(timeout=120) for worker in crowd]
    assert [worker.returncode for worker in crowd] == [0] * 4, [err for _, err in told]
    reported = [line for out, _ in told for line in out.split()]
    assert len(reported) == 12
    assert {point.id for point in Store.open(project).tree("files").points} == {*points, *reported}
    assert sound(project)
    Store.open(project).repack()
    assert sound(project) and not place_of(project).unreachable_file.exists()


READER = """
import os, sys, time
from forkpoint.store.api import Store

folder, stop, *points = sys.argv[1:]
store = Store.open(folder)
objects = store._workspace.objects()
rounds = 0
while not os.path.exists(stop) or rounds < 3:
    for point in points:
        stored = objects.stored(objects.ref(f"refs/points/{point[:2]}/{point}"))
        objects._states.clear()
        for path, node in objects.state(stored).items():
            assert len(objects.read(node.oid)) > 0
    rounds += 1
print(rounds)
"""


def test_a_reader_that_stays_open_reads_on_while_packs_vanish(project: Path, tmp_path: Path) -> None:
    points = edited(project, 40)
    stop = tmp_path / "stop"
    command = [sys.executable, "-c", READER, str(project), str(stop), *points[:10]]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = Store.open(project)
    more = points
    for _ in range(4):
        store.repack()
        more = edited(project, 4)
        store.delete(more[:2], anyway=True)
    store.repack()
    stop.touch()
    out, err = reader.communicate(timeout=60)
    assert reader.returncode == 0, err
    assert int(out) >= 3 and sound(project) and more
