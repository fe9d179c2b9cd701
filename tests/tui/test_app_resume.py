"""Going on with a branch in its agent, from the app."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.tui.screens.resume import ResumeDialog

from tests.builders.app import focused, frame, press, running, until, unwrapped
from tests.builders.recorded import Recorded


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """The programs that were given the terminal, and the folders."""
    found: list[tuple[list[str], str]] = []

    def runs(app: object, command: list[str], folder: str) -> str:
        found.append((list(command), folder))
        return ""

    monkeypatch.setattr("forkpoint.tui.running.run_in_terminal", runs)
    return found


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """Two turns, and a third one after going back to before the second."""
    agent = Recorded(tmp_path / "shop")
    agent.starts()
    agent.asked("Add a page")
    agent.stops()
    second = agent.asked("Fold the lines")
    agent.stops()
    agent.session.leaf = agent.session.parents[second]
    agent.asked("Another way")
    agent.stops()
    return agent


async def test_the_palette_goes_on_with_the_row_s_branch(agent: Recorded, ran: list[tuple[list[str], str]]) -> None:
    async with running(agent.store(), (100, 30)) as pilot:
        await press(pilot, "ctrl+p", *"Go on", "enter")
        await until(pilot, lambda: f"--resume {agent.session.id}" in unwrapped(pilot.app))
        assert "Copy command y" in frame(pilot.app)
        assert isinstance(pilot.app.screen, ResumeDialog)
        assert focused(pilot.app) == "cancel"
        await press(pilot, "y")
        assert f"claude --resume {agent.session.id}" in pilot.app.clipboard
        assert ran == []
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: bool(ran))
    assert ran == [(["claude", "--resume", agent.session.id], str(agent.project))]
    assert agent.store().operations() == []


async def test_a_branch_that_was_left_needs_a_copy_and_that_is_said_first(
    agent: Recorded, ran: list[tuple[list[str], str]]
) -> None:
    files = set(agent.session.file.parent.iterdir())
    async with running(agent.store(), (100, 30)) as pilot:
        await press(pilot, "g", ")", "ctrl+p", *"Go on", "enter")
        await until(pilot, lambda: "it goes on with a copy that does" in frame(pilot.app))
        await press(pilot, "y")
        assert set(agent.session.file.parent.iterdir()) == files, "no letter writes an agent's file"
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: bool(ran))
    (made,) = set(agent.session.file.parent.iterdir()) - files
    assert ran == [(["claude", "--resume", made.stem], str(agent.project))]
    assert "Another way" not in made.read_text()
