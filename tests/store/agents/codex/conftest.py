"""A project folder and a session of Codex CLI's for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.codex import CodexSession


@pytest.fixture
def session(project: Path, machine: Path) -> CodexSession:
    """A session that was started in the project, without anything said yet."""
    return CodexSession(machine / ".codex", project)
