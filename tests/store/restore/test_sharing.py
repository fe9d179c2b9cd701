"""Work that two processes share is whole, whatever becomes of the second one."""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path

import pytest
from forkpoint.store.restore import sharing
from forkpoint.store.walk import vouching

NUMBERS = list(range(2 * sharing.FEWEST))


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vouching, "_processors", lambda: 2)


def test_both_are_done_each_in_a_process_of_its_own() -> None:
    mine, theirs = sharing.both(os.getpid, lambda _: os.getpid())
    assert mine == os.getpid() != theirs
    with pytest.raises(ChildProcessError):
        os.waitpid(theirs or 0, 0)


def test_more_is_told_than_fits_into_a_pipe() -> None:
    assert sharing.both(lambda: 1, lambda _: bytes(1 << 20)) == (1, bytes(1 << 20))


@pytest.mark.parametrize("end", ["killed", "failed", "half told"])
def test_a_second_process_that_does_not_end_well_did_nothing(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def second(_: sharing.Alone) -> list[int]:
        if end == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if end == "failed":
            raise OSError("no")
        real = os.write
        monkeypatch.setattr(os, "write", lambda file, data: os._exit(1) if real(file, data[:3]) else 0)
        return NUMBERS

    assert sharing.both(lambda: "mine", second) == ("mine", None)


def test_where_the_first_fails_the_second_has_ended(tmp_path: Path) -> None:
    begun, late = os.pipe()

    def first() -> None:
        os.read(begun, 1)
        raise KeyboardInterrupt

    def second(_: sharing.Alone) -> None:
        os.write(late, b"x")
        while True:
            (tmp_path / "written").write_bytes(b"")

    with pytest.raises(KeyboardInterrupt):
        sharing.both(first, second)
    (tmp_path / "written").unlink(missing_ok=True)
    os.close(late)
    assert os.read(begun, 1) == b""  # nobody holds the other end any more
    os.close(begun)
    assert not (tmp_path / "written").exists()


def test_a_second_process_notices_that_it_is_alone() -> None:
    heard, told = os.pipe()
    killed = os.fork()
    if killed == 0:

        def second(alone: sharing.Alone) -> None:
            while not alone():
                pass
            os.write(told, b"alone")

        sharing.both(lambda: os.kill(os.getpid(), signal.SIGKILL), second)
    os.waitpid(killed, 0)
    os.close(told)
    assert os.read(heard, 9) == b"alone"
    os.close(heard)


def test_each_item_is_answered_in_its_place_though_the_second_process_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getpid()
    asked: list[int] = []

    def squared(number: int) -> int:
        if number == NUMBERS[-1] and os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        asked.append(number)
        return number * number

    squares = [number * number for number in NUMBERS]
    assert sharing.each(squared, NUMBERS) == squares
    assert asked == NUMBERS  # the second half by the first process, after all
    assert sharing.each(lambda number: number * number, NUMBERS) == squares


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_where_no_second_process_can_be_started_the_first_does_both(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(errno.EAGAIN, "too many")

    held = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, call, refused)
    assert sharing.both(os.getpid, lambda alone: (os.getpid(), alone())) == (os.getpid(), (os.getpid(), False))
    assert sharing.each(str, NUMBERS) == list(map(str, NUMBERS))
    assert len(os.listdir("/dev/fd")) == held


def test_no_second_process_is_begun_beside_other_threads_or_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sharing.is_worth(sharing.FEWEST)
    assert not sharing.is_worth(sharing.FEWEST - 1)
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    assert not sharing.is_worth(sharing.FEWEST)
    ended.set()
    thread.join()
    monkeypatch.setattr(vouching, "_processors", lambda: 1)
    assert not sharing.is_worth(sharing.FEWEST)
