"""Work of a restore that two processes do at the same time, where there are two processors.

The second one is a copy of the first and shares its locks: nobody else is let in while it runs, even when the first was
killed. What it did counts only when it told all of it.
"""

from __future__ import annotations

import marshal
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ..walk.vouching import may_begin

First = TypeVar("First")
Second = TypeVar("Second")
FEWEST = 200
"""Files; with fewer a second process is not worth its start."""
Alone = Callable[[], bool]
"""Whether the first process is gone."""


def never_alone() -> bool:
    """For work that is done by the first process itself."""
    return False


def is_worth(count: int) -> bool:
    """Whether work on so many files goes quicker with a second process, and whether one can be started."""
    return count >= FEWEST and hasattr(os, "fork") and may_begin()


def both(first: Callable[[], First], second: Callable[[Alone], Second]) -> tuple[First, Second | None]:
    """Does two things at once; of the second, in a process of its own, what it gives in plain values.

    None where that came to nothing, whatever the reason. The second process has ended when this returns or raises.
    Where none can be started the first one does both.
    """
    try:
        reader, writer = os.pipe()
    except OSError:
        return first(), second(never_alone)
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return first(), second(never_alone)
    if child == 0:
        os.close(reader)
        _do(lambda: second(lambda: os.getppid() != parent), writer)
    os.close(writer)
    with open(reader, "rb") as stream:
        try:
            mine = first()
            told = stream.read()
        except BaseException:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            raise
        finally:
            _, status = os.waitpid(child, 0)
    return mine, marshal.loads(told) if status == 0 else None


def each(act: Callable[[First], Second], items: Sequence[First]) -> list[Second]:
    """What an act that changes nothing gives for each item, in plain values."""
    if not is_worth(len(items)):
        return list(map(act, items))
    mine, theirs = items[: len(items) // 2], items[len(items) // 2 :]
    done, told = both(lambda: list(map(act, mine)), lambda _: list(map(act, theirs)))
    return [*done, *(list(map(act, theirs)) if told is None else told)]


def _do(act: Callable[[], Any], writer: int) -> None:
    """Acts, tells what came of it, and ends the process, as a failure unless all of it was told."""
    code = 1
    try:
        data = memoryview(marshal.dumps(act()))
        while data:
            data = data[os.write(writer, data) :]
        code = 0
    finally:
        os._exit(code)
