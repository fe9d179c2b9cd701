"""Which words of a changed line stand out."""

from __future__ import annotations

import random

import pytest
from forkpoint.tui.widgets.pairing import paired
from forkpoint.tui.widgets.wordmarks import TOKEN, changed_words


def marked(old: str, new: str) -> tuple[list[str], list[str]]:
    left, right = changed_words(old, new)
    return [old[a:b] for a, b in left], [new[a:b] for a, b in right]


def test_only_the_word_that_changed_is_marked() -> None:
    assert marked("for line in data.split(CRLF):", "for line in unfold(data.split(CRLF)):") == ([], ["unfold(", ")"])
    assert marked("    if not line:", "    if line == BLANK:") == (["not "], [" == BLANK"])


def test_what_is_left_of_both_lines_is_the_same() -> None:
    chance = random.Random(7)
    for _ in range(400):
        old = "".join(chance.choice(["ab", " ", "c", "(", ")", "x1", "."]) for _ in range(chance.randrange(1, 30)))
        new = "".join(token for token in TOKEN.findall(old) if chance.random() > 0.15) + chance.choice(["", " ab", "c"])
        left, right = changed_words(old, new)
        if not left and not right:
            continue
        assert without(old, left) == without(new, right)


def without(text: str, ranges: list[tuple[int, int]]) -> str:
    for start, end in reversed(ranges):
        text = text[:start] + text[end:]
    return text


def test_lines_with_little_in_common_get_no_marks() -> None:
    assert changed_words("import os", "raise HeaderError(line)") == ([], [])


def test_two_same_lines_get_no_marks() -> None:
    assert changed_words("same", "same") == ([], [])


def test_of_a_long_line_what_stands_between_the_common_ends_is_marked() -> None:
    words = "word " * 40_000
    assert marked(f"{words}gone {words}", f"{words}came in {words}") == (["gone"], ["came in"])
    assert marked(f"{words}{words}", f"{words}more {words}") == ([], ["more "])
    assert marked("a" * 500, "b" * 500) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (["a = 1"], ["a = 2"], [(0, 0)]),
        (["import os"], ["raise HeaderError(line)"], []),
        (["one two three", "four five six"], ["new line", "one two 3", "four five 6"], [(0, 1), (1, 2)]),
        (["x(1)", "y(2)"], ["y(3)", "x(4)"], [(0, 0), (1, 1)]),
        ([""], ["", "a"], []),
    ],
)
def test_lines_that_share_words_answer_each_other(old: list[str], new: list[str], pairs: list[tuple[int, int]]) -> None:
    assert paired(old, new) == pairs
