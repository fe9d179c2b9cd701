"""What the tests of commands and of the app begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.screenguard import guarded


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file, in which the test stands."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True, scope="module")
def screen_that_only_draws() -> Iterator[None]:
    """No app of these tests may read, parse, hash or compare on the thread that draws its screen."""
    with guarded():
        yield
