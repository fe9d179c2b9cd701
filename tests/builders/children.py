"""Processes that a test forks: what they did is told by their exit code, or as JSON."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any


def child(act: Callable[[], object]) -> int:
    """Runs something in a process of its own; gives its id. It ends with 1 where that failed, and prints why."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def ended(children: list[int]) -> list[int]:
    """Waits for the end of all; gives their exit codes."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]


def at_once(folder: Path, acts: list[Callable[[], Any]]) -> list[Any]:
    """Lets all act at the same moment, each in a process of its own; gives what each returned, as JSON takes it."""
    folder.mkdir(exist_ok=True)
    closed, opens = os.pipe()

    def work(number: int, act: Callable[[], Any]) -> None:
        os.close(opens)
        os.read(closed, 1)
        (folder / str(number)).write_text(json.dumps(act()))

    children = [child(lambda number=number, act=act: work(number, act)) for number, act in enumerate(acts)]
    os.close(opens)
    os.close(closed)
    codes = ended(children)
    assert codes == [0] * len(acts), f"{len([code for code in codes if code])} of {len(acts)} failed"
    return [json.loads((folder / str(number)).read_text()) for number in range(len(acts))]


@contextmanager
def elsewhere(hold: Callable[[], AbstractContextManager[object]]) -> Iterator[int]:
    """Another process is inside of what `hold` makes, in this block; gives its id. It is killed at the end."""
    reader, writer = os.pipe()

    def stay() -> None:
        with hold():
            os.write(writer, b".")
            time.sleep(120)

    pid = child(stay)
    os.read(reader, 1)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
        os.close(writer)


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Waits until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.01)
