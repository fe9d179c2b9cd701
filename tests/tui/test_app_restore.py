"""Going back, undo, redo and forks through the app's dialogs, on real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.screens.restore import RestoreDialog
from forkpoint.tui.widgets.choices import Told

from tests.builders.app import a_parser, contents, focused, frame, main, press, running, settled, until
from tests.builders.recorded import Recorded
from tests.builders.tampering import git, place_of, ref_of

SIZES = [(60, 15), (80, 24), (160, 50)]


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    return a_parser(tmp_path / "headers")


@pytest.fixture
def store(agent: Recorded) -> Store:
    return agent.store()


def told(app: object) -> str:
    return app.screen.query_one("#told", Told).words  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES)
async def test_the_dialog_tells_what_goes_back_and_does_nothing_before_a_scope_is_chosen(
    agent: Recorded, size: tuple[int, int]
) -> None:
    before = contents(agent.project)
    async with running(agent.store(), size) as pilot:
        await press(pilot, "K", "r")
        assert 'Go back to before prompt 2 "Now fold' in frame(pilot.app)
        assert focused(pilot.app) == "cancel"
        words = told(pilot.app)
        assert "Restored   3 files" in words
        assert "fold.py: goes, 2 lines" in words if size[1] > 22 else "fold.py" in words or "docs/notes.txt" in words
        assert "Discarded" in words
        shown = frame(pilot.app)
        for button in ("Cancel esc", "Diff d", "Go back ctrl+s"):
            assert button in shown
        await press(pilot, "r", "ctrl+s")
        assert "Choose first what goes back" in frame(pilot.app)
        await press(pilot, "enter")
        assert not isinstance(pilot.app.screen, RestoreDialog)
    assert contents(agent.project) == before


async def test_files_go_back_and_u_undoes_and_U_does_it_again(agent: Recorded) -> None:
    before = contents(agent.project)
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "f")
        assert "prompt" not in told(pilot.app)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Gone back: 3 of 3 files went back." in frame(pilot.app))
        assert "u undoes" in frame(pilot.app)
        gone_back = contents(agent.project)
        assert set(gone_back) == {"parse.py", "docs/notes.txt"}
        assert gone_back["docs/notes.txt"] == b"keep me\nplease\n"
        assert "files went back" in frame(pilot.app) or "went back" in frame(pilot.app)
        await press(pilot, "u")
        assert "Undo: " in frame(pilot.app)
        assert contents(agent.project) == gone_back
        await press(pilot, "u")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Undone: 3 of 3 files" in frame(pilot.app))
        assert contents(agent.project) == before
        await press(pilot, "U")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Done again: 3 of 3 files" in frame(pilot.app))
        assert contents(agent.project) == gone_back


async def test_a_person_s_change_is_a_conflict_that_stays_unless_told_otherwise(agent: Recorded) -> None:
    (agent.project / "fold.py").write_text("my own work\n")
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "f")
        assert "Conflict ! 1 file" in told(pilot.app)
        assert "(•) keep mine" in frame(pilot.app)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Gone back" in frame(pilot.app))
        assert (agent.project / "fold.py").read_text() == "my own work\n"
        await press(pilot, "K", "r", "f")
        await press(pilot, *["tab"] * 20)
        scope = pilot.app.screen.query("Choice")
        scope[1].focus()
        await press(pilot, "right", "enter")
        assert "Restored   1 file" in told(pilot.app)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: not (agent.project / "fold.py").exists())


async def test_after_an_undo_the_cursor_is_where_one_is_and_a_long_notice_is_whole(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "b", "ctrl+s")
        await until(pilot, lambda: "To go on with it" in frame(pilot.app))
        await press(pilot, "escape")
        words = " ".join(frame(pilot.app).split())
        assert "files went back, the conversation goes on as branch" in words
        assert "u undoes" in words
        await press(pilot, "@", "u", "ctrl+s")
        await until(pilot, lambda: "Undone" in frame(pilot.app))
        await settled(pilot)
        row = main(pilot.app).timeline.row
        assert row is not None
        assert row.text == "Folded lines are joined."


async def test_moving_to_the_button_and_enter_does_it_once(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "f")
        await press(pilot, "right", "right")
        assert focused(pilot.app) == "confirm"
        await press(pilot, "enter", "enter", "ctrl+s")
        await until(pilot, lambda: "Gone back: 3 of 3" in frame(pilot.app))
    assert [operation.kind for operation in agent.store().operations()] == ["restore"]


async def test_a_file_that_changed_meanwhile_stays_and_the_inventory_is_shown_again(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "f")
        (agent.project / "fold.py").write_text("written meanwhile\n")
        before = contents(agent.project)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Conflict ! 1 file   fold.py" in told(pilot.app))
        assert "a file changed since this was shown: fold.py" in frame(pilot.app)
        assert contents(agent.project) == before
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Gone back: 2 of 2" in frame(pilot.app))
        assert (agent.project / "fold.py").read_text() == "written meanwhile\n"


async def test_ctrl_s_does_nothing_before_the_inventory_of_that_choice_was_shown(agent: Recorded) -> None:
    before = contents(agent.project)
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r")
        dialog = pilot.app.screen
        assert isinstance(dialog, RestoreDialog)
        dialog.action_scope_files()
        dialog.action_confirm()
        assert not dialog.busy
        assert contents(agent.project) == before


async def test_d_shows_the_files_now_and_as_they_would_be(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "K", "r", "d")
        shown = frame(pilot.app)
        assert "Diff  now" in shown
        assert "fold.py" in shown
        await press(pilot, "q")
        assert isinstance(pilot.app.screen, RestoreDialog)


async def test_the_conversation_goes_back_as_a_branch_with_the_command_to_go_on(agent: Recorded) -> None:
    before = contents(agent.project)
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "c")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "claude --resume" in frame(pilot.app))
        shown = frame(pilot.app)
        assert "Continue now ctrl+s" in shown
        assert focused(pilot.app) == "cancel"
        assert pilot.app.clipboard == "Now fold continuation lines"
        await press(pilot, "y")
        assert "claude --resume" in pilot.app.clipboard
        await press(pilot, "escape")
        await until(pilot, lambda: "left" in frame(pilot.app))
    assert contents(agent.project) == before
    tree = agent.store().tree()
    assert [branch.state for branch in tree.branches].count("active") == 1


async def test_a_restore_is_refused_during_an_open_call_until_it_is_confirmed_twice(agent: Recorded) -> None:
    agent.tell("PreToolUse", tool_name="Bash", tool_use_id="toolu_open", tool_input={"command": "sleep 60"})
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "r", "f")
        assert "is working here now" in told(pilot.app).split("\n")[0]
        await press(pilot, "ctrl+s")
        assert "ctrl+s again" in frame(pilot.app)
        assert (agent.project / "fold.py").exists()
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Gone back" in frame(pilot.app))
        assert not (agent.project / "fold.py").exists()


async def test_what_the_engine_refuses_is_told_in_place(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "u")
        assert "there is nothing to undo" in frame(pilot.app)
        await press(pilot, "ctrl+s")
        assert "there is nothing to undo" in frame(pilot.app)
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot.app)


async def test_a_fork_proposes_a_name_and_is_made_by_ctrl_s_alone(agent: Recorded, tmp_path: Path) -> None:
    claude = Path(os.environ["CLAUDE_CONFIG_DIR"])
    files = set(contents(claude))
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "f")
        assert 'Fork from before prompt 2 "Now fold' in frame(pilot.app)
        assert "Carries    " in told(pilot.app)
        assert focused(pilot.app) == "cancel"
        await press(pilot, "tab")
        name = pilot.app.screen.query_one("#name")
        name.focus()
        await press(pilot, "end", *["backspace"] * 40, *"second try", "enter")
        await pilot.pause(0.3)
        await settled(pilot)
        assert focused(pilot.app) == "cancel"
        assert set(contents(claude)) == files
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Branch second try is ready" in frame(pilot.app))
        assert pilot.app.clipboard == "Now fold continuation lines"
        await press(pilot, "escape")
    made = set(contents(claude)) - files
    assert len([file for file in made if file.endswith(".jsonl")]) == 1
    new = next(file for file in made if file.endswith(".jsonl"))
    lines = [json.loads(line) for line in contents(claude)[new].splitlines()]
    assert {line["sessionId"] for line in lines if "sessionId" in line} == {Path(new).stem}


async def test_continuing_now_gives_the_terminal_to_the_agent_and_comes_back(
    agent: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[list[str], str]] = []

    def runs(app: object, command: list[str], folder: str) -> str:
        ran.append((list(command), folder))
        return ""

    monkeypatch.setattr("forkpoint.tui.running.run_in_terminal", runs)
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "f")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Continue now" in frame(pilot.app))
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: bool(ran))
    assert ran[0][0][:2] == ["claude", "--resume"]
    assert ran[0][1] == str(agent.project)


DIES = """
import os, sys
from forkpoint.store.api import Store
from forkpoint.store.restore import apply

step = apply.Run.step

def dies(run, number, *rest):
    step(run, number, *rest)
    os._exit(9)

apply.Run.step = dies
store = Store.open(sys.argv[1])
store.restore(store.plan_restore(sys.argv[2], "files"))
"""


async def test_a_checkpoint_that_was_taken_away_is_told_and_the_others_are_shown(agent: Recorded) -> None:
    store = agent.store()
    points = store.tree().points
    git(place_of(agent.project), "update-ref", "-d", ref_of(points[1].id))
    async with running(agent.store()) as pilot:
        await settled(pilot)
        shown = frame(pilot.app)
        assert f"checkpoint {points[1].id} was taken away" in shown
        assert "! damaged" in shown
        outline = main(pilot.app).timeline.outline
        assert outline is not None and outline.tree is not None
        there = {point.id for point in outline.tree.points}
        assert {point.id for point in points} - there == {points[1].id}


async def test_an_interrupted_restore_is_told_and_settled_only_when_asked(agent: Recorded) -> None:
    before = contents(agent.project)
    point = next(point.id for point in agent.store().tree().points if point.reason == "prompt")
    died = subprocess.run([sys.executable, "-c", DIES, str(agent.project), point])
    assert died.returncode == 9
    torn = contents(agent.project)
    assert torn != before
    async with running(agent.store()) as pilot:
        assert "a restore was interrupted" in frame(pilot.app)
        assert contents(agent.project) == torn
        await press(pilot, "ctrl+p")
        await press(pilot, *"recover")
        await until(pilot, lambda: "Recover…" in frame(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: "Roll back ctrl+s" in frame(pilot.app))
        assert focused(pilot.app) == "cancel"
        assert contents(agent.project) == torn
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "rolled back" in frame(pilot.app))
    assert contents(agent.project) == before
