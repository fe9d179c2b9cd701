"""A project folder and a session of Gemini CLI for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store.model import Conversation

from tests.builders.gemini import GeminiSession
from tests.builders.reading import read_only


@pytest.fixture
def session(machine: Path, shop: Path) -> GeminiSession:
    """A session that was started in the project, without anything said yet."""
    return GeminiSession(machine, shop)


@pytest.fixture
def read(shop: Path) -> Callable[[], Conversation]:
    """Reads the only session of the project."""
    return lambda: read_only("gemini", shop)
