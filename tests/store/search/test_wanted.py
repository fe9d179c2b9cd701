"""What a query means, and that the index of letters misses nothing that a text holds."""

from __future__ import annotations

import sqlite3

import pytest
from forkpoint.store.search.index import WORDS
from forkpoint.store.search.wanted import fold, wanted
from hypothesis import example, given, settings
from hypothesis import strategies as st

TEXT = "Def parse(data):\n    return Unfold(data)"


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("parse", True),
        ("PARSE", False),
        ("def", True),
        ("Def", True),
        ("unfold data", True),
        ("data unfold", True),
        ("unfold missing", False),
        ('"parse(data)"', True),
        ('"data parse"', False),
        ('"return unfold', True),
        ('"Return Unfold"', False),
        ("arse(da", True),
    ],
)
def test_words_quotes_and_capital_letters(query: str, held: bool) -> None:
    assert wanted(query).held_by(TEXT) is held


@pytest.mark.parametrize(
    ("query", "text"),
    [("straße", "STRASSE straße"), ("ΟΔΟΣ".lower(), "ΟΔΟΣ"), ("οδοσ", "οδος"), ("i", "İ"), ("ÄÖ".lower(), "xÄÖx")],
)
def test_letters_of_all_scripts_are_small_ones_too(query: str, text: str) -> None:
    assert wanted(query).held_by(text)
    start, end = wanted(query).places(text)[-1]
    assert fold(text[start:end]) == fold(query)


def test_marks_are_in_order_and_apart() -> None:
    looked_for = wanted("ab bc c")
    assert looked_for.places("xabcx ab c") == [(1, 4), (6, 8), (9, 10)]
    assert looked_for.first("xabcx") == 1


@pytest.mark.parametrize("query", ["", '"', '""', "   ", '" '])
def test_where_nothing_is_asked_there_is_nothing_to_look_for(query: str) -> None:
    assert [word for word in wanted(query).words if word.strip()] == []


LETTERS = st.text(st.sampled_from("aAbB\"' \n\t.-İßςΣ→🙂\u0301\u200b"), max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(LETTERS, max_size=8), LETTERS)
@example(["a" * 40 + "b" * 40], "a" * 30 + "b" * 30)
@example(['say "hi"'], '"hi"')
def test_whatever_holds_the_words_is_found_by_its_letters(texts: list[str], query: str) -> None:
    looked_for = wanted(query)
    connection = sqlite3.connect(":memory:")
    connection.execute(WORDS.format("said"))
    for number, text in enumerate(texts):
        connection.execute("INSERT INTO said_words (rowid, text) VALUES (?, ?)", (number, fold(text)))
    if not looked_for.match:
        return
    asked = connection.execute("SELECT rowid FROM said_words WHERE said_words MATCH ?", (looked_for.match,))
    found = {number for (number,) in asked}
    assert {number for number, text in enumerate(texts) if looked_for.held_by(text)} <= found
