"""A store that is read-only, full, in use or left by a killed process: one clear line, and looking still works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import roots
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture, points
from forkpoint.store.errors import StoreUnwritable
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place

from ..builders.folders import make
from ..builders.people import NOBODY, as_nobody
from ..builders.recorded import Recorded


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a": "1\n"}) / "shop"


def place_of(project: Path) -> Place:
    return roots.adopt(os.path.realpath(project), data_folder())


@pytest.mark.skipif("os.geteuid() != 0", reason="only root can become somebody else")
def test_a_store_that_cannot_be_written_can_still_be_looked_at(project: Path, tmp_path: Path, machine: Path) -> None:
    agent = Recorded(project, hooked=False)
    agent.asked("Make it")
    agent.writes("b", "1\n")
    Store.open(project).save(label="first")
    make(project, {"a": "2\n"})
    agent.store().tree()  # also so that all modules are read: somebody else may not be able to
    (place_of(project).workspace / "catalog.json").unlink()
    (place_of(project).workspace / "catalog.lock").unlink()
    home, config = tmp_path / "data", tmp_path / "claude"
    shutil.move(data_folder(), home)
    shutil.move(agent.session.home, config)
    for folder in (home, config):
        subprocess.run(["chmod", "-R", "a-w,a+rX", folder], check=True)
    # Read-only for its owner, and somebody else's for whoever looks.
    subprocess.run(["chown", "-R", str(NOBODY), home / "workspaces"], check=True)

    def looked() -> str:
        os.environ["CLAUDE_CONFIG_DIR"] = str(config)
        store = Store.open(project, home=home)
        point = store.resolve("first").point
        assert point is not None
        shown = [len(store.tree("files").points), len(store.diff("first").files), store.status().checkpoints]
        plan = store.plan_restore("first", "files")
        return f"{shown} {len(store.sessions())} {len(plan.inventory.restored)} {told(store.save)} {told(store.verify)}"

    def told(act: Callable[[], object]) -> str:
        try:
            act()
        except StoreUnwritable as error:
            return f"{error.what}, {error.todo}"
        return "done"

    unwritable = "the store cannot be written, Permission denied: forkpoint doctor"
    assert as_nobody(tmp_path, looked) == f"[1, 1, 1] 2 1 {unwritable} done"


def test_a_file_size_limit_is_told_as_a_store_that_cannot_be_written(project: Path) -> None:
    (project / "big").write_bytes(os.urandom(400_000))
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from forkpoint.tui.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program, "save"], cwd=project, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("forkpoint: the store cannot be written: ")
    assert "File too large" in done.stderr


def test_what_a_killed_git_left_stops_no_later_one(project: Path) -> None:
    store = Store.open(project)
    saved = store.save()
    store.label(saved.id, "first")
    git_dir = place_of(project).git_dir
    lock, unfinished = git_dir / "refs" / "operations.lock", git_dir / "objects" / "pack" / "tmp_pack_x"
    for file in (lock, unfinished):
        file.write_bytes(b"")
    os.utime(unfinished, (1, 1))
    make(project, {"a": "2\n"})
    assert store.restore(store.plan_restore("first", "files")).done
    assert len(store.operations()) == 2
    assert not lock.exists()
    assert not unfinished.exists()


def test_whoever_only_looks_does_not_wait_for_a_long_save(project: Path) -> None:
    agent = Recorded(project)
    agent.asked("Make it")
    agent.writes("b", "1\n")
    place = place_of(project)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with place.locked("a long save"), place.writing("a long save"):
            os.write(writer, b".")
            time.sleep(60)
        os._exit(0)
    try:
        os.read(reader, 1)
        begun = time.monotonic()
        built = agent.store().tree()
        assert time.monotonic() - begun < 20
        assert [point.reason for point in built.points] == ["prompt", "tool"]
        assert built.here.dirty is None
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert agent.store().tree().here.dirty == 0


def test_many_checkpoints_need_few_open_files(project: Path) -> None:
    for number in range(60):
        make(project, {"a": f"{number}\n"})
        capture.take(place_of(project), capture.Wanted(points.Checkpoint(reason="manual")))
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "from forkpoint.tui.cli import main; main()"
    )
    for command in (["log", "files", "--json"], ["verify"]):
        done = subprocess.run([sys.executable, "-c", program, *command], cwd=project, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "log" not in command or len(json.loads(done.stdout)["checkpoints"]) == 60
