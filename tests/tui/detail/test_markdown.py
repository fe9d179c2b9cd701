"""Markdown as it stands in the detail: what is told apart, what is indented, and that no text holds it up."""

from __future__ import annotations

import pytest
from forkpoint.tui.detail import markdown as made
from forkpoint.tui.detail.markdown import markdown
from forkpoint.tui.theme import Signs
from forkpoint.tui.widgets.flow import Part

from tests.builders.page import inks, line_with, lines

SIGNS = Signs()


def parts(text: str) -> list[Part]:
    return list(markdown(text, SIGNS))


def test_headings_emphasis_code_and_links_are_told_apart() -> None:
    page = parts("# Why\n\nIt is **bold**, _slanted_ and `code`.\nSee [the text](https://example.org/a).\n\n## Then\n")
    assert lines(page) == [
        "Why",
        "",
        "It is bold, slanted and code.",
        "See the text (https://example.org/a).",
        "",
        "Then",
    ]
    assert "title" in inks(page, "Why")
    assert inks(page, "bold") == "strong"
    assert inks(page, "slanted") == "said"
    assert inks(page, "code") == "code"
    assert inks(page, "the text") == "link"


def test_lists_are_numbered_marked_and_indented_and_quotations_have_a_bar() -> None:
    page = parts("1. one\n   - inner **bold** and so on\n2. two\n\n> said\n> - by him\n")
    assert lines(page) == ["1. one", "   • inner bold and so on", "2. two", "", "▌ said", "▌", "▌ • by him"]
    assert lines(page, 20) == [
        "1. one",
        "   • inner bold and",
        "     so on",
        "2. two",
        "",
        "▌ said",
        "▌",
        "▌ • by him",
    ]


def test_code_has_colours_and_a_ground_and_keeps_its_blanks() -> None:
    page = parts('Look:\n\n```python\ndef fold(lines):\n\tif lines:\n        return "a  b"\n```\n')
    assert lines(page)[2:5] == [" def fold(lines):", "     if lines:", '         return "a  b"']
    assert line_with(page, "def fold").ground == "code"
    assert inks(page, "def") == "code-keyword"
    assert inks(page, '"a  b"') == "code-string"
    text = parts('```python\n"""one\ndef two\n"""\n```')
    assert "code-keyword" not in inks(text, "def two")


def test_a_table_fits_its_width_and_where_it_cannot_each_row_is_told() -> None:
    table = "| Name | Lines |\n|---|--:|\n| parse.py and a long note on it | 12 |\n| `a` | 3 |\n"
    assert lines(parts(table))[:4] == [
        " Name                           │ Lines",
        "────────────────────────────────┼───────",
        " parse.py and a long note on it │    12",
        " a                              │     3",
    ]
    narrow = lines(parts(table), 30)
    assert narrow[2:4] == [" parse.py and a long  │    12", " note on it           │"]
    assert lines(parts(table), 12)[:3] == ["Name:", "  parse.py", "  and a long"]


def test_what_is_no_markdown_stands_as_it_is() -> None:
    assert lines(parts("<b>not html</b> a*b*c \\[x] &lt;")) == ["<b>not html</b> abc [x] <"]
    assert lines(parts("![a picture](shot.png)")) == ["[image a picture: shot.png]"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "*a " * 30_000,
        "> " * 20_000 + "deep",
        "- " * 20_000 + "deep",
        "`" * 30_000,
        "![[" * 20_000,
        "| a " * 9_000 + "|\n" + "|---" * 9_000 + "|\n",
        "\n".join(f"{'  ' * depth}- level {depth}" for depth in range(200)),
        "a" * 1_000_000,
        "word " * 200_000,
        "line\n\n" * 40_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_hostile_and_very_long_texts_are_laid_out_whole(text: str) -> None:
    page = lines(parts(text), 60)
    letters = "".join(page).replace(" ", "")
    assert letters.count("deep") == text.count("deep")
    assert letters.count("a") >= min(text.count("a"), 1_000) or "|" in text


def test_what_is_past_the_limit_follows_as_it_was_written() -> None:
    text = "**bold**\n" * (made.LONGEST // 9 + 10)
    page = lines(parts(text))
    assert page[0] == "bold"
    assert page[-2] == "**bold**"
    assert len(page) == text.count("\n") + 1
