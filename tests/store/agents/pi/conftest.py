"""A home of Pi's and a project folder for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.pi import PiSession


@pytest.fixture
def home(machine: Path) -> Path:
    """Pi's own folder."""
    return machine / ".pi" / "agent"


@pytest.fixture
def session(home: Path, shop: Path) -> PiSession:
    """A session that was started in the project, without anything said yet."""
    return PiSession(home, shop)
