"""The list of what a person did: undo and redo along it, each act by its own dialog."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.tui.screens.operations import OperationsScreen
from forkpoint.tui.screens.outcome import OutcomeDialog
from forkpoint.tui.screens.restore import RestoreDialog
from forkpoint.tui.widgets.choices import Told

from tests.builders.app import a_parser, contents, frame, press, running, until
from tests.builders.dialogs import told, whole
from tests.builders.recorded import Recorded

SIZES = [(60, 15), (80, 24), (160, 50)]


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """The parser's session, in which files went back, a checkpoint got a label and a branch was made, in this order."""
    agent = a_parser(tmp_path / "headers")
    store = agent.store()
    first, second = [point.id for point in store.tree().points if point.reason == "prompt"]
    store.restore(store.plan_restore(second, "files"))
    store.label(first, "green")
    store.fork(store.plan_fork(second))
    return agent


def titled(app: object) -> str:
    """The whole title, wherever it has room."""
    title = app.screen.query("#title")  # type: ignore[attr-defined]
    return title.first(Told).words if title else ""


@pytest.mark.parametrize("size", SIZES)
async def test_u_takes_back_up_to_the_row_and_U_does_it_again(agent: Recorded, size: tuple[int, int]) -> None:
    gone_back = contents(agent.project)
    async with running(agent.store(), size) as pilot:
        await press(pilot, "o")
        shown = frame(pilot.app)
        assert [word in shown for word in ("fork", "label", "restore", "u undoes 2", "u undoes 3")] == [True] * 5
        await press(pilot, "j", "j")
        assert "u undoes it and the 2 acts after it, one after the other." in frame(pilot.app)
        assert 'went back to before prompt 2 "Now fold continuation lines"' in " ".join(frame(pilot.app).split())
        await press(pilot, "u")
        assert titled(pilot.app).startswith("Undo 1 of 3: fork fold-continuation-lines: before prompt 2")
        assert 'The session file of branch "fold-continuation-lines" goes to the trash' in told(pilot.app)
        await whole(pilot)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: titled(pilot.app).startswith('Undo 2 of 3: label "green"'))
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: titled(pilot.app).startswith("Undo 3 of 3: went back"))
        await until(pilot, lambda: "Restored   3 files" in told(pilot.app))
        assert told(pilot.app).startswith("Goes away  docs/notes.txt · 1 line of parse.py")
        await whole(pilot)
        assert contents(agent.project) == gone_back
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Undone: 3 of 3 files went back." in frame(pilot.app))
        assert "fold.py" in contents(agent.project)
        assert isinstance(pilot.app.screen, OperationsScreen)
        await until(pilot, lambda: "It is undone; U does it again." in frame(pilot.app))
        await press(pilot, "u")
        assert "It is undone already; U does it again." in frame(pilot.app)
        await press(pilot, "U")
        assert titled(pilot.app).startswith("Redo: went back to before prompt 2")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Done again: 3 of 3 files went back.  u undoes" in frame(pilot.app))
    assert contents(agent.project) == gone_back


async def test_esc_stops_between_two_of_several(agent: Recorded) -> None:
    before = contents(agent.project)
    async with running(agent.store()) as pilot:
        await press(pilot, "o", "G", "u", "ctrl+s")
        await until(pilot, lambda: titled(pilot.app).startswith("Undo 2 of 3"))
        await press(pilot, "escape")
        await until(pilot, lambda: "u undoes 2" in frame(pilot.app))
        assert not isinstance(pilot.app.screen, RestoreDialog)
    assert contents(agent.project) == before
    assert [act.redoable for act in agent.store().operations()] == [False, True, False, False]


async def test_a_branch_that_is_done_again_tells_the_command_to_go_on_with_it(agent: Recorded) -> None:
    store = agent.store()
    store.undo(store.plan_undo())
    async with running(agent.store()) as pilot:
        await press(pilot, "o")
        assert "Not to be undone: redo goes the other way." in frame(pilot.app)
        await press(pilot, "u", "j", "U")
        assert "comes back" in told(pilot.app)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, OutcomeDialog))
        assert told(pilot.app).split("\n")[-1].startswith(f"cd {agent.project} && claude --resume ")
