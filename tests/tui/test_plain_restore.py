"""Which command lines of `restore` are answered without the parser."""

from __future__ import annotations

import pytest
from forkpoint.tui.plain_restore import requested

NOT_PLAIN = """
ID --files
ID --yes
--files --yes
A B --files --yes
ID --files --both --yes
ID --files --yes -C
ID --files --yes --path p
ID --files --yes --help
ID --files --yes --json=1
ID --files --yes --
"""


@pytest.mark.parametrize("line", NOT_PLAIN.strip().splitlines())
def test_what_may_ask_or_is_wrong_is_left_to_the_parser(line: str) -> None:
    assert requested(line.split()) is None


def test_a_plain_line_is_read_in_any_order() -> None:
    found = requested(["-C", "folder", "--all", "--files", "ID", "--json", "-y", "--live", "--dry-run"])
    assert found is not None
    call, asked = found
    assert (call.folder, call.json) == ("folder", True)
    assert (asked.id, list(asked.scopes)) == ("ID", ["files"])
    assert asked.everything and asked.yes and asked.live and asked.dry_run
