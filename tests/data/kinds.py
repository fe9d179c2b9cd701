"""Kinds of records of the agents, and what a person is shown of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.builders.reading import read_only, texts

Shown = tuple[str, str, str]
"""Kind, flavour and text of a row."""
Json = dict[str, Any]


class Kind(NamedTuple):
    """A kind of record."""

    name: str
    write: Callable[[Any], object]
    """Writes one into a session of the agent's builder."""
    shown: tuple[Shown, ...] = ()
    """Nothing for what is hidden."""


def is_shown(kind: Kind, agent: str, session: Any, turn: Callable[[str, str], object], cwd: Path) -> None:
    """Asserts that a record of a kind in the middle of a session shows what it should, and takes nothing else away."""
    turn("before", "Said before.")
    kind.write(session)
    turn("after", "Said after.")
    conversation = read_only(agent, cwd)
    shown = [(entry.kind, entry.flavour, entry.text) for entry in conversation.entries]
    before = [("prompt", "", "before"), ("reply", "", "Said before.")]
    assert shown == [*before, *kind.shown, ("prompt", "", "after"), ("reply", "", "Said after.")]
    assert texts(conversation) == [text for _, _, text in shown], "what follows hangs on what was before"
    assert conversation.problems == ()
