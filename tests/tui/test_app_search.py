"""Searching everything on the screen, with real keys at every size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from forkpoint.store.api import Store
from forkpoint.store.model import Found
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.file import FileScreen
from forkpoint.tui.screens.search import SearchScreen
from textual.pilot import Pilot

from tests.builders.app import a_parser, focused, frame, main, press, running, settled, until
from tests.builders.recorded import Recorded

SIZES = [(60, 15), (80, 24), (160, 50)]


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    return a_parser(tmp_path / "headers")


def search(pilot: Pilot[None]) -> SearchScreen:
    assert isinstance(pilot.app.screen, SearchScreen)
    return pilot.app.screen


@pytest.mark.parametrize("size", SIZES)
async def test_results_come_as_one_types_and_enter_goes_to_the_row(agent: Recorded, size: tuple[int, int]) -> None:
    async with running(agent.store(), size) as pilot:
        await press(pilot, "S")
        await press(pilot, *"fold")
        await until(pilot, lambda: "6 in 1 session, 2 files" in frame(pilot.app))
        shown = frame(pilot.app)
        assert "Now fold continuation lines" in shown
        assert "reply" in shown and "call" in shown
        assert focused(pilot.app) == "query"
        await press(pilot, *"ed")
        await until(pilot, lambda: "1 in 1 session" in frame(pilot.app))
        await press(pilot, *["backspace"] * 2)
        await until(pilot, lambda: "6 in 1 session" in frame(pilot.app))
        await press(pilot, *["down"] * 5)
        hit = search(pilot).list.hit
        assert hit is not None and hit.kind == "prompt"
        if size[0] >= 80:
            assert "branch write-parser-headers" in frame(pilot.app)
        await press(pilot, "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        row = main(pilot.app).timeline.row
        assert row is not None and row.text == "Now fold continuation lines"


@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]])
async def test_a_file_is_shown_as_it_was_with_the_words_marked(agent: Recorded, size: tuple[int, int]) -> None:
    agent.asked("Away with it")
    agent.runs("rm fold.py", lambda folder: (folder / "fold.py").unlink())
    async with running(agent.store(), size) as pilot:
        await press(pilot, "S", *"yield from", "tab")
        await until(pilot, lambda: "1 file" in frame(pilot.app))
        await press(pilot, "v", "v", "v", "v", "v")
        await until(pilot, lambda: "only files" in frame(pilot.app) and "1 in 1" not in frame(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: "1  def unfold(lines):" in frame(pilot.app))
        shown = pilot.app.screen
        assert isinstance(shown, FileScreen)
        assert "as it was at" in frame(pilot.app)
        assert shown.lines.cursor == 1
        await press(pilot, "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen))
        await press(pilot, "escape", "y")
        assert "Copied 1 line." in frame(pilot.app)
        await press(pilot, "escape", "escape")
        assert search(pilot).list.hit is not None
        await press(pilot, "enter")
        await press(pilot, "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        row = main(pilot.app).timeline.row
        assert row is not None and "fold.py" in row.text


async def test_enter_waits_for_what_was_typed_last(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "S", *"yield")
        await until(pilot, lambda: "1 file" in frame(pilot.app))
        await pilot.press("ctrl+u", *"write a parser", "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        await until(
            pilot,
            lambda: (row := main(pilot.app).timeline.row) is not None and row.text == "Write a parser for headers",
        )


async def test_the_words_are_kept_and_what_came_since_is_found(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "S", *"zebra")
        await until(pilot, lambda: "Nothing holds zebra." in frame(pilot.app))
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot.app)
        agent.asked("Paint a zebra")
        await press(pilot, "S")
        await until(pilot, lambda: "1 in 1 session" in frame(pilot.app))
        assert "Paint a zebra" in frame(pilot.app)
        await pilot.click("#list", offset=(5, 1))
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        await until(pilot, lambda: (row := main(pilot.app).timeline.row) is not None and row.text == "Paint a zebra")


async def test_kinds_are_gone_through_and_letters_of_the_list_are_no_words(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "S", *"fold")
        await until(pilot, lambda: "6 in 1 session, 2 files" in frame(pilot.app))
        assert "v Kinds" not in frame(pilot.app)
        await press(pilot, "tab")
        assert "v Kinds" in frame(pilot.app)
        for only, told in (("prompts", "1 in 1"), ("replies", "1 in 1"), ("calls", "2 in 1"), ("outputs", "2 in 1")):
            await press(pilot, "v")
            await until(
                pilot, lambda only=only, told=told: f"only {only}" in frame(pilot.app) and told in frame(pilot.app)
            )
        await press(pilot, "y")
        assert "Copied 1 line." in frame(pilot.app)
        await press(pilot, "/")
        assert focused(pilot.app) == "query"
        await press(pilot, "question_mark", "q")
        await until(pilot, lambda: "Nothing holds fold?q." in frame(pilot.app))
        await press(pilot, "f1")
        assert "change what is looked for" in frame(pilot.app)


class Slow(Store):
    """A store in which a search takes until it is cancelled."""

    begun: Event
    ended: Event

    def search(self, query: str, *, cancelled: Callable[[], bool] = lambda: False, **more: Any) -> Found:  # type: ignore[override]
        if not query:
            return Found(query, (), False)
        self.begun.set()
        while not cancelled():
            self.ended.wait(0.01)
        self.ended.set()
        return Found(query, (), True)


async def test_esc_stops_a_search_and_the_next_one_leaves(agent: Recorded) -> None:
    store = Slow.open(agent.project)
    assert isinstance(store, Slow)
    store.begun, store.ended = Event(), Event()
    async with running(store) as pilot:
        await press(pilot, "S")
        await settled(pilot)
        await pilot.press(*"fold")
        await until(pilot, store.begun.is_set)
        await pilot.press("escape")
        await until(pilot, store.ended.is_set)
        assert "Stopped looking." in frame(pilot.app)
        await press(pilot, "escape", "escape")
        assert pilot.app.screen is main(pilot.app)
