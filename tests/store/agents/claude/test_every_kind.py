"""Each kind of record that Claude Code writes is shown as what it is, or hidden, and takes nothing else away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.claude import ClaudeSession
from tests.data.claude_kinds import kinds
from tests.data.kinds import Kind, is_shown


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.name)
def test_a_record_of_this_kind_is_shown_as_what_it_is(kind: Kind, project: Path, machine: Path) -> None:
    session = ClaudeSession(machine / "claude", project)
    is_shown(kind, "claude", session, session.turn, project)
