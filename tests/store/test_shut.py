"""A folder that may not be written to any more, half way: told, nothing is lost, and open again all works."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ..builders.faults import Fault
from ..builders.people import as_nobody
from ..builders.stage import Stage, made_stage
from .test_faults import LONG, staged, struck

pytestmark = pytest.mark.skipif("os.geteuid() != 0", reason="only root can become somebody else")
FOLDERS: dict[str, Callable[[Stage], Path]] = {
    "the project": lambda stage: stage.project,
    "a folder of the project": lambda stage: stage.project / "sub",
    "the workspace's store": lambda stage: next(stage.data.glob("workspaces/*")),
    "the root's store": lambda stage: next(stage.data.glob("workspaces/*/roots/*")),
    "the packs": lambda stage: next(stage.data.glob("workspaces/*/objects.git/objects/pack")),
    "the refs": lambda stage: next(stage.data.glob("workspaces/*/objects.git/refs")),
}
EVERY = 1 if LONG else 23


@pytest.mark.parametrize("what", FOLDERS)
@pytest.mark.parametrize("name", ["save", "restore", "undo"])
def test_a_folder_is_shut_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, what: str) -> None:
    # Once as root, so that all modules are read: somebody else may not be able to.
    acts, laws, steps = staged(made_stage(tmp_path / "first", monkeypatch), name)
    struck(laws.stage, acts, laws, Fault("before", len(steps) // 2), 0)

    def act() -> str:
        try:
            with pytest.MonkeyPatch.context() as patch:
                shut_at_each_step(made_stage(tmp_path / "stage", patch), name, what)
        except BaseException:
            return traceback.format_exc()
        return "done"

    told = as_nobody(tmp_path, act)
    assert told == "done", told


def shut_at_each_step(stage: Stage, name: str, what: str) -> None:
    """Runs the act again and again, and takes the permission away at one step after the other."""
    acts, laws, steps = staged(stage, name)
    laws = replace(laws, whole=False, reopened=FOLDERS[what])
    for number in range(0, len(steps), EVERY):
        stage.reset()
        folder = FOLDERS[what](stage)
        struck(stage, acts, laws, Fault("shut", number, below=str(folder)), number)


def test_what_is_shut_is_shut(tmp_path: Path) -> None:
    """The proof that these tests can fail: nobody cannot write where it is shut."""

    def act() -> str:
        folder = tmp_path / "folder"
        folder.mkdir()
        folder.chmod(0o500)
        return str(os.access(folder, os.W_OK))

    assert as_nobody(tmp_path, act) == "False"
