"""A session of Claude Code for each test, whose tree is always sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.claude.reader import Following
from forkpoint.store.model import Conversation, SessionInfo

from tests.builders.claude import ClaudeSession


@pytest.fixture
def session(project: Path, machine: Path) -> ClaudeSession:
    return ClaudeSession(machine / "claude", project)


@pytest.fixture(autouse=True)
def every_tree_is_sound(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever was read: ids are unique, and a parent stands before its children."""
    seen: list[Conversation] = []
    original = Following.read

    def reading(self: Following, info: SessionInfo, sources: Sequence[Source]) -> Conversation:
        seen.append(original(self, info, sources))
        return seen[-1]

    monkeypatch.setattr(Following, "read", reading)
    yield
    for conversation in seen:
        known: set[str] = set()
        for item in conversation.entries:
            assert item.id not in known
            assert item.parent is None or item.parent in known
            known.add(item.id)
            assert len(item.text) <= 300
            assert item.text.isprintable() or any(mark in item.text for mark in "\u200c\u200d\u00a0")
        assert conversation.leaf is None or conversation.leaf in known
