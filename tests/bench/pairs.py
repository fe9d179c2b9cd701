"""Running two programs right after each other, and what their ratio says of a promise."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

Measure = TypeVar("Measure")


class Run(NamedTuple):
    """A whole process, from its start to its end."""

    ms: float
    megabytes: float
    """Peak resident memory of the largest of it and the processes that it waited for.

    A process begins as large as the one that started it, so the bench has to stay small itself.
    """
    output: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One promise and what was measured, pair by pair."""

    name: str
    against: str
    reach: float
    aim: float | None
    ours: Sequence[float]
    theirs: Sequence[float]
    unit: str
    note: str = ""

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios; of a measure without a counterpart the median itself."""
        if not self.theirs:
            return statistics.median(self.ours)
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest ratio."""
        ratios = [a / b for a, b in zip(self.ours, self.theirs, strict=True)] if self.theirs else self.ours
        return min(ratios), max(ratios)

    @property
    def verdict(self) -> str:
        """How the measure stands to what was promised."""
        if self.ratio > self.reach:
            return "OVER"
        return "reached" if self.aim is None or self.ratio > self.aim else "aim met"


@dataclass(slots=True)
class Peaks:
    """The highest memory that was seen of each kind of work."""

    found: dict[str, float] = field(default_factory=dict[str, float])

    def see(self, work: str, run: Run) -> Run:
        """Notes a run's memory, and hands the run on."""
        self.found[work] = max(self.found.get(work, 0.0), run.megabytes)
        return run


def run(command: Sequence[str | os.PathLike[str]], folder: Path, env: Mapping[str, str], payload: bytes = b"") -> Run:
    """Runs a program to its end. Ends the bench when it fails: half a measurement says nothing."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as complaint:
        given.write(payload)
        given.seek(0)
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=given, stdout=told, stderr=complaint)
        _, status, used = os.wait4(process.pid, 0)
        spent = (time.perf_counter() - begin) * 1000
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        complaint.seek(0)
        if process.returncode:
            words = (told.read() + complaint.read()).decode("utf-8", "replace")
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}: {words}")
        return Run(spent, used.ru_maxrss / 1024, told.read().decode())


def pair(number: int, ours: Callable[[], Measure], theirs: Callable[[], Measure]) -> tuple[Measure, Measure]:
    """Runs both right after each other; who goes first changes from round to round."""
    if number % 2:
        second = theirs()
        return ours(), second
    first = ours()
    return first, theirs()


def pairs(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[list[float], list[float]]:
    """That many pairs, as two lists."""
    found = [pair(number, ours, theirs) for number in range(rounds)]
    return [first for first, _ in found], [second for _, second in found]


def disk(folder: Path) -> float:
    """Kilobytes that a folder takes, in whole blocks, as du counts them."""
    seen = [folder, *folder.rglob("*")]
    return sum(path.lstat().st_blocks for path in seen) / 2
