"""Every act that writes is stopped, cut short or refused at each of its calls; the next command finds all whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ..builders.faults import ERRORS, Ended, Fault, Step, run
from ..builders.folders import seen
from ..builders.scenes import SCENES, Reported
from ..builders.stage import Laws, Stage, everything, made_stage

LONG = os.environ.get("FORKPOINT_TEST_PROFILE") == "long"
"""All faults at all steps; otherwise every kill and, of the rest, a sample that is spread evenly."""
TORN, REFUSED = (1, 1) if LONG else (11, 61)
KILLED = {"save": 1, "restore": 1}
"""The acts that are killed at each of their steps in the short profile too; the others at each fifth."""

Act = Callable[[], Reported]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return made_stage(tmp_path / "stage", monkeypatch)


def staged(stage: Stage, name: str) -> tuple[Act, Laws, tuple[Step, ...]]:
    """The stage before an act, the act, and what an undisturbed run of it writes and leaves."""
    prepare, act = SCENES[name]
    prepare(stage)
    stage.keep()

    def acts() -> Reported:
        return act(stage)

    ended = run(acts)
    assert not ended.error, ended.error
    unseen = [step for step in ended.steps if not step.seen]
    assert not unseen, unseen
    asked = stage.asked or seen(stage.project)
    laws = Laws(stage, asked, everything(os.fsencode(stage.claude)), tuple(ended.value.get("gone", ())))
    return acts, laws, ended.steps


def struck(stage: Stage, acts: Act, laws: Laws, fault: Fault, number: int) -> Ended:
    """Runs the act with a fault and checks what is left."""
    stage.reset()
    ended = run(acts, fault)
    try:
        laws.check(ended, back=bool(number % 2))
    except BaseException as error:
        error.add_note(f"{fault}: {ended}")
        raise
    return ended


def kills(steps: tuple[Step, ...], every: int = 1) -> Iterator[Fault]:
    """A kill before each step (which is after the one before), after the last, and in the middle of writes."""
    for number, step in enumerate(steps):
        if number % every == 0:
            yield Fault("before", number)
        if step.kind in ("write", "feed") and step.size > 1 and number % TORN == 0:
            yield Fault("torn", number)
    yield Fault("after", len(steps) - 1)


def refusals(steps: tuple[Step, ...], stage: Stage) -> list[Fault]:
    """Each step refused once, in each way that the system may; and all from a step on."""
    found: list[Fault] = []
    for number, step in enumerate(steps):
        found += [Fault("error", number, code) for code in ERRORS[step.kind]]
        for code in (errno.ENOSPC, errno.EROFS, errno.EACCES):
            for below in ("", str(stage.data), str(stage.project)):
                found.append(Fault("from", number, code, below))
    return found


@pytest.mark.parametrize("name", SCENES)
def test_killed_at_any_step(stage: Stage, name: str) -> None:
    acts, laws, steps = staged(stage, name)
    for number, fault in enumerate(kills(steps, 1 if LONG else KILLED.get(name, 5))):
        # The steps may differ by a few from one run to the next: the system is asked for what it told a moment ago.
        assert struck(stage, acts, laws, fault, number).struck or fault.step > 0.8 * len(steps)


@pytest.mark.parametrize("name", SCENES)
def test_refused_at_any_step(stage: Stage, name: str) -> None:
    acts, laws, steps = staged(stage, name)
    laws = replace(laws, whole=False)
    for number, fault in enumerate(refusals(steps, stage)[::REFUSED]):
        struck(stage, acts, laws, fault, number)
