"""When a burst of edits is saved: decided by moments alone."""

from __future__ import annotations

from forkpoint.store.following.settling import AGAIN, SETTLED, SHARE, Burst
from hypothesis import given
from hypothesis import strategies as st


def test_nothing_is_due_while_nothing_was_edited() -> None:
    burst = Burst(15)
    assert burst.due() is None
    burst.edited(1.0)
    burst.saved(2.0, 2.1)
    assert burst.due() is None


def test_a_burst_is_due_once_it_has_settled() -> None:
    burst = Burst(15)
    for moment in (1.0, 1.25, 1.5):
        burst.edited(moment)
    assert burst.due() == 1.5 + SETTLED


def test_after_a_save_there_is_a_pause_of_several_times_its_length() -> None:
    burst = Burst(15)
    burst.edited(1.0)
    burst.saved(2.0, 5.0)
    burst.edited(5.1)
    assert burst.due() == 5.0 + 3.0 * SHARE


def test_what_could_not_be_saved_is_tried_again_and_not_forgotten() -> None:
    burst = Burst(15)
    burst.edited(1.0)
    burst.failed(2.0)
    assert burst.due() == 2.0 + AGAIN


@given(st.lists(st.floats(0.01, SETTLED * 0.9), min_size=1, max_size=200), st.floats(0.5, 30), st.floats(0, 3))
def test_edits_without_a_pause_are_saved_every_so_often(gaps: list[float], longest: float, takes: float) -> None:
    """Whatever is written: no edit waits longer than the longest burst, the pause and the save before it."""
    burst, now, oldest = Burst(longest), 0.0, None
    for gap in gaps:
        due = burst.due()
        while due is not None and due <= now:
            assert oldest is not None and due - oldest <= longest + takes * SHARE + takes + SETTLED
            burst.saved(due, due + takes)
            oldest, due = None, burst.due()
        burst.edited(now)
        oldest = now if oldest is None else oldest
        now += gap
