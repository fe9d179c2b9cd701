"""Text from outside can neither move the cursor, nor turn the reading direction, nor hide itself."""

from __future__ import annotations

import unicodedata

import pytest
from forkpoint.store.text import SLICE, clean, first_line, path_text, without_colour
from hypothesis import given
from hypothesis import strategies as st

JOINERS = "\u200c\u200d"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x1b[2J", "␛[2J"),
        ("a\x9b31mb", "a<U+009B>31mb"),
        ("\x00\x7f", "␀␡"),
        ("safe\u202etxt.exe", "safe<U+202E>txt.exe"),
        ("a\u2066b\u2069", "a<U+2066>b<U+2069>"),
        ("a\u200bb\ufeff", "a<U+200B>b<U+FEFF>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("half \ud83d", "half <U+D83D>"),
        ("line\u2028line", "line<U+2028>line"),
        ("1\t2\n3\r\n4\r5", "1 2 3 4␍5"),
        ("café 漢字 👩\u200d💻 ’", "café 漢字 👩\u200d💻 ’"),
    ],
)
def test_what_a_terminal_would_obey_is_made_visible(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_lines_and_tabs_stay_where_lines_are_kept() -> None:
    assert clean("a\tb\r\nc\n\x1b", keep_lines=True) == "a\tb\nc\n␛"


@given(st.text(st.characters(), max_size=80), st.booleans())
def test_nothing_that_is_cleaned_keeps_a_control_character(text: str, keep_lines: bool) -> None:
    kept = {"\n", "\t"} if keep_lines else set[str]()
    for char in clean(text, keep_lines):
        assert char in kept or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
        assert char in JOINERS or unicodedata.bidirectional(char) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
        )


@given(st.text(st.characters(), max_size=80))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(), max_size=400), st.integers(2, 300))
def test_a_first_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = first_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_a_first_line_is_the_first_that_holds_anything() -> None:
    assert first_line("\n\n   \n  Fix it \x1b[1m\nthen test") == "Fix it ␛[1m"
    assert first_line("  \n\t") == ""


def test_a_cut_line_says_that_it_is_cut() -> None:
    assert first_line("x" * 300) == "x" * 300
    assert first_line("x" * 301) == "x" * 299 + "…"
    assert first_line("x" * 10_000_000 + "\ny", 5) == "xxxx…"


def test_a_program_s_colours_go_and_its_other_escapes_stay() -> None:
    assert without_colour("\x1b[1;31mred\x1b[m \x1b[2K") == "red \x1b[2K"


def test_a_path_that_is_not_unicode_can_be_read() -> None:
    assert path_text(b"caf\xe9/\x1b[31m.txt") == "caf\\xe9/␛[31m.txt"
    assert path_text("caf\udce9") == "caf\\xe9"
    assert path_text("café") == "café"


def test_a_very_long_text_is_cleaned_as_its_parts_are() -> None:
    part = "a\x1b[2Jb\r\n\u202ec\t漢"
    long = part * (3 * SLICE // len(part) + 1)
    assert len(long) > 3 * SLICE
    assert clean(long, keep_lines=True) == clean(part, keep_lines=True) * (len(long) // len(part))
