"""An OpenCode of each test's own, in the home folder of its own, and a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.opencode import OpenCode


@pytest.fixture
def opencode(machine: Path) -> OpenCode:
    """With an event log and without snapshots, which cost time."""
    return OpenCode(machine / ".local" / "share" / "opencode", snapshots=False)
