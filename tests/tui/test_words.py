"""How ages, times, counts and sizes are said."""

from __future__ import annotations

import pytest
from forkpoint.tui import words

SECOND = 1_000_000_000
NOON = 1_796_040_000 * SECOND
DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "short", "long"),
    [
        (0, "now", "just now"),
        (59, "now", "just now"),
        (60, "1m", "1 min ago"),
        (3_599, "59m", "59 min ago"),
        (3_600, "1h", "1 hour ago"),
        (2 * 3_600, "2h", "2 hours ago"),
        (DAY, "1d", "yesterday"),
        (3 * DAY, "3d", "3 days ago"),
        (20 * DAY, "2w", "2 weeks ago"),
        (400 * DAY, "1y", "1 year ago"),
        (-5, "now", "just now"),
    ],
)
def test_ages(seconds: int, short: str, long: str) -> None:
    then = NOON - seconds * SECOND
    assert words.age(then, NOON) == short
    assert words.long_age(then, NOON) == long


def test_clock_times_name_the_day_where_it_is_another() -> None:
    assert words.clock(NOON, NOON) == "12:00"
    assert words.clock(NOON - 2 * DAY * SECOND, NOON) == "28 Nov"
    assert words.clock(NOON - 400 * DAY * SECOND, NOON) == "Oct 25"
    assert words.moment(NOON - 2 * DAY * SECOND, NOON) == "28 Nov 12:00"
    assert words.day(NOON, NOON) == "Today"
    assert words.day(NOON - DAY * SECOND, NOON) == "Yesterday"
    assert words.day(NOON - 2 * DAY * SECOND, NOON) == "Saturday, 28 Nov"


def test_counts_lines_and_durations() -> None:
    assert words.count(1, "file") == "1 file"
    assert words.count(2, "branch", "branches") == "2 branches"
    assert words.count(1_204, "file") == "1,204 files"
    assert words.signed(12, 3) == "+12 −3"
    assert words.signed(None, None) == ""
    assert words.short(9_999) == "9999"
    assert words.short(12_345) == "12k"
    assert words.short(3_000_000) == "3M"
    assert words.duration(12 * SECOND) == "12 s"
    assert words.duration(31 * 60 * SECOND) == "31 min"
    assert words.listing(["a", "b", "c"], 2) == "a · b · 1 more"
    assert words.listing(["a", "b"], 2) == "a · b"
