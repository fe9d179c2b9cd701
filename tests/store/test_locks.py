"""Locks: one holder at a time, named while it holds, and everybody who waits is served in turn."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from forkpoint.store.errors import Busy
from forkpoint.store.locks import held, holder
from forkpoint.store.waiting import telling

from ..builders.children import child, elsewhere, ended, until


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def held_elsewhere(lock: Path, who: str) -> AbstractContextManager[int]:
    """Another process holds the lock; gives its id."""
    return elsewhere(lambda: held(lock, who=who))


def test_who_gives_up_is_told_who_holds_it(lock: Path) -> None:
    with held_elsewhere(lock, "restore") as pid, pytest.raises(Busy) as told, held(lock, who="save", wait=0.05):
        pass
    assert told.value.what.startswith(f"forkpoint restore (pid {pid}, since 0 s) is at work")
    assert told.value.exit_code == 3


def test_another_thread_of_the_same_process_is_named_as_well(lock: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with held(lock, who="undo"):
            entered.set()
            leave.wait(30)

    with held(lock, who="save"):
        pass
    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(30)
    with pytest.raises(Busy, match=rf"forkpoint undo \(pid {os.getpid()}"), held(lock, who="save", wait=0):
        pass
    leave.set()
    thread.join()


def test_nobody_is_named_who_held_it_before(lock: Path) -> None:
    with held(lock, who="save"):
        pass
    assert holder(lock) == "another forkpoint"
    with held_elsewhere(lock, "restore"):
        assert "restore" in holder(lock)
    assert holder(lock) == "another forkpoint"


def test_a_killed_holder_is_in_nobody_s_way(lock: Path) -> None:
    with held_elsewhere(lock, "restore"):
        pass
    with held(lock, who="save", wait=0):
        assert f"pid {os.getpid()}" in holder(lock)


def test_who_waits_is_told_for_whom_and_when_it_is_over(lock: Path) -> None:
    said: list[str] = []
    with held_elsewhere(lock, "save"):
        with telling(said.append), pytest.raises(Busy), held(lock, who="restore", wait=1.3):
            pass
        assert said[0].startswith("waiting for forkpoint save (pid ")
        assert said[-1] == ""
        with telling(said.append), pytest.raises(Busy), held(lock, who="restore", wait=0.1):
            pass
    assert said.count("") == 1, "who waits for a moment only is told nothing"


def test_those_who_wait_are_served_in_the_order_in_which_they_came(lock: Path, tmp_path: Path) -> None:
    served = tmp_path / "served"

    def wait(number: int) -> None:
        with held(lock, who=f"save {number}"), open(served, "a") as file:
            file.write(f"{number}\n")

    waiting: list[int] = []
    with held_elsewhere(lock, "save"):
        for number in range(8):
            waiting.append(child(lambda number=number: wait(number)))
            until(lambda: len(in_line(lock)) == len(waiting))
    assert ended(waiting) == [0] * 8
    assert served.read_text().split() == [str(number) for number in range(8)]


def test_who_is_killed_while_waiting_holds_up_nobody(lock: Path) -> None:
    def wait() -> None:
        with held(lock, who="save"):
            pass

    with held_elsewhere(lock, "save"):
        pid = child(wait)
        until(lambda: len(in_line(lock)) == 1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert len(in_line(lock)) == 1
    with held(lock, who="save", wait=0):
        pass
    assert in_line(lock) == []


def test_who_is_stopped_while_waiting_holds_up_nobody_and_keeps_its_place(lock: Path, tmp_path: Path) -> None:
    served = tmp_path / "served"

    def wait(who: str) -> None:
        with held(lock, who=who), open(served, "a") as file:
            file.write(f"{who}\n")

    with held_elsewhere(lock, "save"):
        stopped = child(lambda: wait("stopped"))
        until(lambda: len(in_line(lock)) == 1)
        os.kill(stopped, signal.SIGSTOP)
        other = child(lambda: wait("other"))
        until(lambda: len(in_line(lock)) == 2)
    assert os.waitpid(other, 0)[1] == 0
    os.kill(stopped, signal.SIGCONT)
    assert os.waitpid(stopped, 0)[1] == 0
    assert served.read_text().split() == ["other", "stopped"]


def test_no_two_hold_it_at_once(lock: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")

    def work() -> None:
        for _ in range(5):
            with held(lock, who="save"):
                seen = int(count.read_text())
                time.sleep(0.001)
                count.write_text(str(seen + 1))

    workers = [child(work) for _ in range(20)]
    assert ended(workers) == [0] * 20
    assert count.read_text() == "100"


def in_line(lock: Path) -> list[str]:
    """The tickets of those who wait."""
    line = Path(f"{lock}.line")
    return os.listdir(line) if line.exists() else []
