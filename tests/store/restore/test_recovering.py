"""A restore that is killed leaves the folder as before, as asked, or to be settled; nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.api import RestorePlan, Store
from forkpoint.store.errors import Interrupted, Refused
from forkpoint.store.home import data_folder
from forkpoint.store.restore import apply, swap
from forkpoint.store.roots import places

from ...builders.folders import make, seen
from ...builders.recorded import Recorded

FILES = 400
SCRIPT = """
import sys
from forkpoint.store.api import Store
store = Store.open(sys.argv[1])
plan = store.plan_restore(sys.argv[2], "files")
print("planned", flush=True)
sys.stdin.readline()
store.restore(plan)
print("done", flush=True)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "p", {f"d{number % 7}/f{number}": f"then {number}\n" for number in range(FILES)})


def changed(root: Path) -> None:
    """Half of the files are rewritten, a quarter deleted, others are new."""
    make(root, {f"d{number % 7}/f{number}": f"now {number}\n" for number in range(0, FILES, 2)})
    for number in range(1, FILES, 4):
        (root / f"d{number % 7}/f{number}").unlink(missing_ok=True)
    make(root, {f"new/f{number}": "new\n" for number in range(50)})


def killed_after(root: Path, point: str, delay: float) -> None:
    """A restore in a process of its own that is killed so long after its journal was begun, or when it is done."""
    (place,) = [place for place in places(data_folder()) if place.root.path == str(root)]
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(root), point], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.readline() == b"planned\n"
    child.stdin.write(b"\n")
    child.stdin.flush()
    while not place.journal_file.exists() and child.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    child.communicate()


def spares(root: Path) -> list[str]:
    return [str(path) for path in root.rglob(".forkpoint-*")]


@pytest.mark.parametrize("back", [True, False])
def test_killed_at_any_moment_it_is_settled_without_a_loss(root: Path, back: bool) -> None:
    store = Store.open(root)
    asked = seen(root)
    point = store.save(label="then").id
    interrupted = 0
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1, 0.2):
        changed(root)
        before = seen(root)
        killed_after(root, point, delay)
        store = Store.open(root)
        if store.interrupted:
            interrupted += 1
            with pytest.raises(Refused, match="interrupted"):
                store.restore(store.plan_restore(point, "files"))
            assert all(finding.ok for finding in store.recover(back=back))
            assert seen(root) == (before if back else asked)
        else:
            assert seen(root) in (before, asked)
        assert not store.interrupted
        assert spares(root) == []
        assert all(finding.ok for finding in store.verify())
        Store.open(root).save()
    assert interrupted, "no kill came while the restore was under way"


def test_somebody_s_work_since_the_crash_is_left_and_named(root: Path) -> None:
    store = Store.open(root)
    point = store.save().id
    for delay in (0.0, 0.01, 0.03, 0.06):
        changed(root)
        killed_after(root, point, delay)
        store = Store.open(root)
        if store.interrupted:
            break
        store.restore(store.plan_restore(point, "files"))
    else:
        pytest.skip("no kill came while the restore was under way")
    make(root, {"d0/f0": "mine since\n"})
    found = store.recover(back=True)
    assert [finding.what for finding in found if not finding.ok and "d0/f0" in finding.what]
    assert (root / "d0/f0").read_text() == "mine since\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RecursionError("too deep"), MemoryError()], ids=repr)
def test_whatever_stops_a_restore_is_told_with_what_to_do(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    store = Store.open(root)
    point = store.save().id
    changed(root)
    before = seen(root)
    expect = swap.expect
    left = iter(range(20))

    def stopping(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise error
        return expect(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(swap, "expect", stopping)
        with pytest.raises(Interrupted, match="stopped in the middle"):
            store.restore(store.plan_restore(point, "files"))
    assert seen(root) != before
    assert all(finding.ok for finding in Store.open(root).recover(back=True))
    assert seen(root) == before and spares(root) == []


def test_nothing_to_recover_is_said(root: Path) -> None:
    store = Store.open(root)
    store.save()
    assert [(finding.ok, finding.what) for finding in store.recover()] == [(True, "no restore was interrupted here")]


def test_a_restore_under_way_is_not_taken_for_an_interrupted_one(root: Path) -> None:
    store = Store.open(root)
    store.save()
    place = next((store.home / "workspaces").glob("*/roots/*"))
    (place / "journal.json").write_text("{}")
    import fcntl

    descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert not store.interrupted
    os.close(descriptor)


class Killed(BaseException):
    """Stands for the death of the process: nothing below handles it."""


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    found = Recorded(make(tmp_path, {"shop/a": "0\n"}) / "shop")
    found.starts()
    found.asked("Change it")
    found.runs("make", lambda root: make(root, {"a": "1\n", "new": "1\n"}))
    found.stops()
    return found


def interrupted(act: Callable[[], object], *, done: bool) -> None:
    """Does something and dies in the middle of it: before the files are changed, or after it and before it is told."""
    real = apply.carry_out

    def carry_out(*arguments: Any) -> None:
        if done:
            real(*arguments)
        raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(apply, "carry_out", carry_out)
        act()


def both(agent: Recorded) -> tuple[Store, RestorePlan]:
    store = agent.store()
    point = next(point for point in store.tree().points if point.reason == "tool")
    agent.asked("Once more")
    agent.runs("make", lambda root: make(root, {"a": "2\n"}))
    agent.stops()
    return store, store.plan_restore(point.id, "both")


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_files_and_branch_of_an_interrupted_restore_are_settled_as_one(agent: Recorded, back: bool, done: bool) -> None:
    store, plan = both(agent)
    before = agent.store().tree()
    assert plan.fork is not None
    file = Path(plan.fork.fork.file)
    interrupted(lambda: store.restore(plan), done=done)
    store = agent.store()
    assert store.interrupted
    assert all(finding.ok for finding in store.recover(back=back))
    built = agent.store().tree()
    assert ((agent.project / "a").read_text(), file.exists()) == (("2\n", False) if back else ("1\n", True))
    assert (built.here.talk == before.here.talk) is back
    assert len(built.branches) == len(before.branches) + (not back)
    assert [operation.kind for operation in store.operations()] == ([] if back else ["restore"])


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_an_interrupted_undo_took_it_back_or_it_did_not(agent: Recorded, back: bool, done: bool) -> None:
    store, plan = both(agent)
    result = store.restore(plan)
    assert plan.fork is not None and result.fork is not None
    file = Path(plan.fork.fork.file)
    store = agent.store()
    interrupted(lambda: store.undo(store.plan_undo()), done=done)
    store = agent.store()
    assert all(finding.ok for finding in store.recover(back=back))
    assert ((agent.project / "a").read_text(), file.exists()) == (("1\n", True) if back else ("2\n", False))
    store = agent.store()
    if back:
        store.undo(store.plan_undo())
    else:
        store.redo(store.plan_redo())
    assert ((agent.project / "a").read_text(), file.exists()) == (("2\n", False) if back else ("1\n", True))
