"""Each kind of record that Gemini CLI writes is shown as what it is, or hidden, and takes nothing else away."""

from __future__ import annotations

import pytest

from tests.builders.gemini import GeminiSession
from tests.data.gemini_kinds import kinds
from tests.data.kinds import Kind, is_shown


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.name)
def test_a_record_of_this_kind_is_shown_as_what_it_is(kind: Kind, session: GeminiSession) -> None:
    def turn(prompt: str, answer: str) -> None:
        session.prompt(prompt)
        session.reply(answer)

    is_shown(kind, "gemini", session, turn, session.cwd)
