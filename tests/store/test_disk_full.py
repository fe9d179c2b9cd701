"""A disk that is full for real, the store's or the project's: one clear sentence, and with space all works at once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from forkpoint.store.errors import ForkpointError

from ..builders.faults import Ended
from ..builders.folders import make, seen
from ..builders.scenes import SCENES
from ..builders.stage import Laws, Stage, everything, made_stage

BLOCK = 4096
ROOMS = (0, 1, 2, 3, 5, 8, 13, 21, 34, 60)
"""How many blocks are left on the disk when the act begins."""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return made_stage(tmp_path / "stage", monkeypatch)


def small_disk(at: Path, size: str) -> None:
    """Puts a disk of a few megabytes at a folder; skips where nobody lets us."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", at], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("only root can mount a small disk")


@pytest.fixture(params=["data", "project"])
def full(request: pytest.FixtureRequest, stage: Stage) -> Iterator[Path]:
    """The folder whose disk is small: the store's or the project's."""
    at = stage.top / str(request.param)
    small_disk(at, "4m")
    yield at
    subprocess.run(["umount", "--lazy", at], check=True)


def filled(disk: Path, room: int) -> Path:
    """A file that takes all of the disk but so many blocks; in the project it stands where nobody captures it."""
    filler = disk / ".git" / "filler"
    filler.parent.mkdir(exist_ok=True)
    found = os.statvfs(disk)
    with open(filler, "wb") as stream:
        stream.write(b"\0" * max(0, (found.f_bavail - room) * BLOCK))
    return filler


def large(stage: Stage) -> None:
    """Files that take more room than is left, as they were and as they are."""
    chance = Random(1)
    for moment in ("then", "now"):
        make(stage.project, {f"large/{number}": chance.randbytes(30_000) for number in range(4)})
        if moment == "then":
            stage.save("large then")


def attempted(stage: Stage, name: str) -> Ended:
    try:
        return Ended(killed=False, value=SCENES[name].act(stage))
    except ForkpointError as error:
        return Ended(killed=False, error=str(error), exit=error.exit_code)


@pytest.mark.parametrize("name", ["save", "restore", "undo", "fork", "undo of files and conversation"])
def test_with_space_again_all_works_at_once(stage: Stage, full: Path, name: str) -> None:
    (stage.data / "settings.toml").write_text("[limits]\nleast_free = 0\n")
    SCENES[name].prepare(stage)
    large(stage)
    (full / ".git").mkdir(exist_ok=True)
    stage.keep()
    attempted(stage, name)
    laws = Laws(stage, seen(stage.project), everything(os.fsencode(stage.claude)), whole=False)
    told: list[str] = []
    for number, room in enumerate(ROOMS):
        stage.reset()
        filler = filled(full, room)
        ended = attempted(stage, name)
        told.append(ended.error)
        filler.unlink()
        try:
            laws.check(ended, back=bool(number % 2))
        except BaseException as error:
            error.add_note(f"{room} blocks were left: {ended}")
            raise
    if full == stage.data:
        assert any("space" in one for one in told), told
        assert name == "save" or all("nothing was changed" in one or name == "fork" for one in told if "space" in one)
        assert not told[-1], "there was space enough in the end"
