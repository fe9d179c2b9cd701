"""A project folder and a session of Gemini CLI for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.model import Conversation

from tests.builders.gemini import GeminiSession

gemini = agents.get("gemini")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def session(machine: Path, shop: Path) -> GeminiSession:
    """A session that was started in the project, without anything said yet."""
    return GeminiSession(machine, shop)


@pytest.fixture
def read(shop: Path) -> Callable[[], Conversation]:
    """Reads the only session of the project."""

    def only() -> Conversation:
        (info,) = gemini.sessions(str(shop))
        return gemini.read(info)

    return only
