"""Each kind of record that Claude Code writes is shown as what it is, or hidden, and takes nothing else away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.claude import ClaudeSession
from tests.builders.reading import read_only, texts
from tests.data.claude_kinds import Kind, kinds


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.name)
def test_a_record_of_this_kind_is_shown_as_what_it_is(kind: Kind, project: Path, machine: Path) -> None:
    session = ClaudeSession(machine / "claude", project)
    session.turn("before", "Said before.")
    kind.write(session)
    session.turn("after", "Said after.")
    conversation = read_only("claude", project)
    shown = [(entry.kind, entry.flavour, entry.text) for entry in conversation.entries]
    around = [("prompt", "", "before"), ("reply", "", "Said before."), ("prompt", "", "after")]
    assert shown == [*around[:2], *kind.shown, around[2], ("reply", "", "Said after.")]
    assert texts(conversation) == [text for _, _, text in shown], "what follows hangs on what was before"
    assert conversation.problems == ()
