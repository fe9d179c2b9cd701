"""What holds on every screen: its keys are told, too little room is said, and nothing of it is lost by that."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.tui.actions import help_lines
from forkpoint.tui.screens.dialog import Dialog
from forkpoint.tui.screens.help import HelpScreen
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from tests.builders.app import a_parser, frame, main, press, running, settled, until
from tests.builders.interrupting import killed_in_the_middle
from tests.builders.screens import all_screens
from tests.builders.tour import ELSEWHERE, TOUR, Stop

pytestmark = pytest.mark.filterwarnings("error")


def test_the_tour_goes_to_every_screen_that_there_is() -> None:
    assert {stop.screen for stop in TOUR} | ELSEWHERE.keys() == {screen.__name__ for screen in all_screens()}


async def test_every_screen_tells_its_keys_and_bears_too_little_room(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    async with running(agent.store(), (60, 15)) as pilot:
        for stop in TOUR:
            await go(pilot, stop)
            await too_small(pilot)
            await keys_told(pilot)
            await back(pilot)


async def test_the_dialog_that_settles_an_interrupted_restore_does_so_too(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    killed_in_the_middle(agent.project, agent.store().tree().points[0].id)
    async with running(agent.store(), (60, 15)) as pilot:
        await go(pilot, Stop("RecoverDialog", ("ctrl+p",), "recover", ("enter",)))
        await too_small(pilot)
        await keys_told(pilot)
        await back(pilot)


async def go(pilot: Pilot[None], stop: Stop) -> None:
    """Opens a screen, and waits until it has all it shows."""
    for key in stop.keys:
        await press(pilot, key)
    await press(pilot, *stop.typed)
    if isinstance(pilot.app.screen, CommandPalette):
        found = pilot.app.screen.query_one(CommandList)
        await until(pilot, lambda: found.highlighted is not None and found.option_count < 5)
    for key in stop.after:
        await press(pilot, key)
    await until(pilot, lambda: type(pilot.app.screen).__name__ == stop.screen)
    await settled(pilot)


async def back(pilot: Pilot[None]) -> None:
    """To the tree again."""
    for _ in range(8):
        await press(pilot, "escape")
        if pilot.app.screen is main(pilot.app) and not main(pilot.app).has_class("-detail"):
            return
    raise AssertionError(frame(pilot.app))


async def too_small(pilot: Pilot[None]) -> None:
    """59 by 14 says what to do and does nothing unseen; the old size shows all as it was."""
    app = pilot.app
    before, focus, screen = await still(pilot), app.focused, app.screen
    for width, height in ((59, 15), (1, 1), (59, 14)):
        await pilot.resize_terminal(width, height)
        await settled(pilot)
    words = " ".join(frame(app).split())
    assert words.startswith("forkpoint needs 60 columns and 15 rows; here are 59 and 14. Make the window larger"), words
    assert len(frame(app).split()) == len(words.split())
    if isinstance(screen, Dialog):
        dialog: Dialog[object] = screen
        await press(pilot, "ctrl+s")
        assert app.screen is screen and not dialog.busy
    await pilot.resize_terminal(60, 15)
    assert (await still(pilot), app.focused) == (before, focus)


async def still(pilot: Pilot[None]) -> str:
    """What the screen shows once nothing comes any more: what follows a key by a moment, too."""
    before = ""
    while before != (before := frame(pilot.app)):
        await pilot.pause(0.15)
        await settled(pilot)
    return before


async def keys_told(pilot: Pilot[None]) -> None:
    """? shows the keys of the screen (F1 where a text field has the keys), and the same key goes back to it."""
    screen = pilot.app.screen
    if isinstance(screen, HelpScreen):
        return
    key = "f1" if isinstance(pilot.app.focused, Input) else "question_mark"
    await press(pilot, key)
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    told = {" ".join(item.cells) for item in pilot.app.screen.list.items}  # type: ignore[attr-defined]
    for keys, text in help_lines(pilot.app.choices.keys.actions_of(*screen.PLACES, "everywhere")):  # type: ignore[attr-defined]
        assert any(line.startswith(f"{keys} {text[:20]}") for line in told), (keys, text, told)
    await press(pilot, key)
    await until(pilot, lambda: pilot.app.screen is screen)
