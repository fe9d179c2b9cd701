"""Lines that begin in a comment or a text of an earlier line."""

from __future__ import annotations

import pytest
from forkpoint.tui.widgets.difftext import DiffText
from forkpoint.tui.widgets.spanning import KINDS, MOST, Spans, spanned

from tests.builders.diffs import text_diff


def inside(ending: str, text: str) -> list[bool]:
    """For each line whether it begins in something."""
    return [bool(end) for end in spanned(KINDS[ending], text.split("\n"))]


@pytest.mark.parametrize(
    ("ending", "text", "within"),
    [
        ("py", 'def f():\n    """One.\n\n    Two, if any.\n    """\n    return 1', "001110"),
        ("py", 'def f():\n    """One line."""\n    return 1', "000"),
        ("py", 'goes on, for all\n    """\n    return 1\n\n\ndef g():\n    """Two."""', "1100000"),
        ("py", 'and ends here."""\n\n    x = 1', "100"),
        ("py", 'TEXT = """\nfor all\n"""\nx = 1', "0110"),
        ("py", 'def f():\n    """\n    Text if any.\n    """\n    x = 1', "00110"),
        ("py", "x = 'it\\'s'  # don't \"\"\"\ny = 1", "00"),
        ("py", "a = '''one\ntwo'''; b = '''three\nfour'''\nc", "0110"),
        ("ts", "/** One\n * two\n */\nlet a = 1;", "0110"),
        ("ts", " * two\n */\nlet a = 1;", "110"),
        ("ts", 'a = "/*"; // /*\nb = 1; /* one */ c /*\n two */ d\ne', "0010"),
        ("css", "b */ a { }\n", "10"),
        ("html", "<p>\n<!-- no\nmore -->\n</p>", "0010"),
        ("js", "let it = 1;\nlet b = 2;", "00"),
    ],
)
def test_what_a_line_begins_in(ending: str, text: str, within: str) -> None:
    assert inside(ending, text) == [sign == "1" for sign in within]


def test_each_side_of_a_diff_is_looked_through_by_itself() -> None:
    lines = [" def f():", '-    """Old for all.', "-    if any.", '-    """', '+    """New."""', "     return 1"]
    spans = Spans(DiffText(text_diff(lines, "a.py")))
    assert [spans.within(at) is not None for at in range(2, 8)] == [False, False, True, True, False, False]
    assert Spans(DiffText(text_diff(lines, "a.txt"))).within(4) is None


def test_a_very_long_hunk_is_not_looked_through() -> None:
    spans = Spans(DiffText(text_diff(["+/*"] * MOST * 2, "a.c")))
    assert spans.within(MOST) is None
