"""Each kind of record that Pi writes is shown as what it is, or hidden, and takes nothing else away."""

from __future__ import annotations

import pytest

from tests.builders.pi import PiSession
from tests.data.kinds import Kind, is_shown
from tests.data.pi_kinds import kinds


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.name)
def test_a_record_of_this_kind_is_shown_as_what_it_is(kind: Kind, session: PiSession) -> None:
    is_shown(kind, "pi", session, session.turn, session.cwd)
