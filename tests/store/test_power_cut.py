"""The power goes at any moment: what was reported is on the disk, and what was not leaves everything in order.

An act is recorded call by call. After each call disks are made of what was not yet durable (see `powercut`), and on
each of them the next commands find a store that verifies and a workspace as before, as asked, or to be recovered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..builders.faults import Ended, run
from ..builders.folders import seen
from ..builders.powercut import Disk, Image, record
from ..builders.scenes import SCENES
from ..builders.stage import Laws, Stage, everything, made_stage

LONG = os.environ.get("FORKPOINT_TEST_PROFILE") == "long"
SEEDS = 8 if LONG else 1
CUTS = 10_000 if LONG else 4
"""After how many calls, spread evenly over the act, the power goes."""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return made_stage(tmp_path / "stage", monkeypatch)


def recorded(stage: Stage, name: str) -> tuple[Disk, Ended]:
    """The disk before an act, and the act as it was recorded; it was done once and the disk is as it left it."""
    prepare, act = SCENES[name]
    prepare(stage)
    stage.keep()
    disk = Disk(stage.tops)
    ended = run(lambda: act(stage), recorder=record)
    assert not ended.error, ended.error
    return disk, ended


def images(disk: Disk, ended: Ended) -> Iterator[tuple[int, str, Image]]:
    """What the power cut may leave after some of the calls, the last one always among them."""
    total = len(ended.records)
    cuts = {total, *range(0, total, max(1, total // CUTS))}
    for number in range(total + 1):
        if number in cuts:
            for name, image in disk.images(SEEDS * (3 if number == total else 1)):
                yield number, name, image
        if number < total:
            disk.apply(ended.records[number])


@pytest.mark.parametrize("name", SCENES)
def test_every_call_that_writes_is_recorded(stage: Stage, name: str) -> None:
    disk, ended = recorded(stage, name)
    for one in ended.records:
        disk.apply(one)
    told, real = disk.whole().tree(), stage.all()
    assert {path for path in told.keys() | real.keys() if told.get(path) != real.get(path)} == set()


@pytest.mark.parametrize("name", SCENES)
def test_the_power_goes_at_any_moment(stage: Stage, name: str) -> None:
    disk, ended = recorded(stage, name)
    asked = stage.asked or seen(stage.project)
    laws = Laws(stage, asked, everything(os.fsencode(stage.claude)), tuple(ended.value.get("gone", ())))
    for number, what, image in images(disk, ended):
        stage.lay(image)
        told = ended if number == len(ended.records) else Ended(killed=True)
        try:
            laws.check(told, back=bool(number % 2))
        except BaseException as error:
            error.add_note(
                f"after {number} of {len(ended.records)} calls, {what}: {ended.records[number - 1 : number]}"
            )
            raise
