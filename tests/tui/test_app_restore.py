"""Going back, undo, redo and forks through the app's dialogs, on real files."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.screens.outcome import ForkedDialog, OutcomeDialog
from forkpoint.tui.screens.restore import RestoreDialog

from tests.builders.app import a_parser, contents, focused, frame, main, press, running, settled, until, unwrapped
from tests.builders.dialogs import told, whole
from tests.builders.interrupting import killed_in_the_middle
from tests.builders.recorded import Recorded
from tests.builders.tampering import git, place_of, ref_of

SIZES = [(60, 15), (80, 24), (160, 50)]


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    return a_parser(tmp_path / "headers")


@pytest.fixture
def store(agent: Recorded) -> Store:
    return agent.store()


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
        lines = words.split("\n")
        assert lines[0].startswith("Goes away  prompt “Now fold continuation lines” (")
        assert lines[0].endswith(") · fold.py · 4 lines of parse.py")
        assert lines[1].startswith("Restored   3 files  fold.py: goes, 2 lines")
        assert lines[-1] == "Discarded  1 prompt stays as branch write-parser-headers · 2 files in the guard: u undoes"
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
        await until(pilot, lambda: "claude --resume" in unwrapped(pilot.app))
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


@pytest.mark.parametrize("size", SIZES)
async def test_the_last_line_is_how_to_go_on_where_an_agent_still_has_the_old_conversation(
    agent: Recorded, size: tuple[int, int]
) -> None:
    agent.asked("And tabs")
    agent.tell("PreToolUse", tool_name="Bash", tool_use_id="toolu_open", tool_input={"command": "sleep 60"})
    async with running(agent.store(), size) as pilot:
        await press(pilot, "K", "r", "b")
        assert told(pilot.app).startswith("Claude Code is working here now (Bash, ")
        await press(pilot, "ctrl+s", "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, OutcomeDialog))
        lines = told(pilot.app).split("\n")
        assert lines[-3].startswith("Claude Code is working here now (Bash, ")
        assert lines[-3].endswith("): it still has the old conversation.")
        assert lines[-2] == "To go on with this one:"
        assert lines[-1].startswith(f"cd {agent.project} && claude --resume ")
        await whole(pilot)


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


@pytest.mark.parametrize("size", SIZES)
async def test_a_fork_s_files_stay_away_or_come_into_this_folder_by_their_inventory(
    agent: Recorded, size: tuple[int, int]
) -> None:
    (agent.project / "fold.py").write_text("my own work\n")
    before = contents(agent.project)
    async with running(agent.store(), size) as pilot:
        await press(pilot, "K", "f")
        assert "Agent      Claude Code, as before: no other agent reads its form" in told(pilot.app)
        assert "This folder and this conversation stay as they are." in told(pilot.app)
        await whole(pilot)
        await press(pilot, "b")
        lines = told(pilot.app).split("\n")
        assert lines[0].startswith("Goes away  prompt “Now fold continuation lines” (")
        assert "Conflict ! 1 file   fold.py, changed since, unsure by whom: stays as it is" in told(pilot.app)
        await whole(pilot)
        assert contents(agent.project) == before
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, OutcomeDialog))
        assert told(pilot.app).startswith("Forked: 2 of 2 files went back, the conversation goes on as branch fold-")
        await whole(pilot)
        await press(pilot, "escape")
        assert set(contents(agent.project)) == {"fold.py", "parse.py", "docs/notes.txt"}
        assert (agent.project / "fold.py").read_text() == "my own work\n"
        await press(pilot, "u", "ctrl+s")
        await until(pilot, lambda: "Undone: 2 of 2 files" in frame(pilot.app))
    assert contents(agent.project) == before
    assert [branch.state for branch in agent.store().tree().branches] == ["active"]


async def test_a_name_that_is_taken_is_told_while_it_is_typed(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "f", "shift+tab", "shift+tab", "shift+tab")
        pilot.app.screen.query_one("#name").focus()
        await press(pilot, "end", *["backspace"] * 40)
        assert "A branch needs a name." in frame(pilot.app)
        await press(pilot, *"write-parser-headers")
        await until(pilot, lambda: 'there is a branch "write-parser-headers" already' in frame(pilot.app))
        await press(pilot, "ctrl+s", *"-2")
        await until(pilot, lambda: "already" not in frame(pilot.app))
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Branch write-parser-headers-2 is ready" in frame(pilot.app))


Ran = list[tuple[list[str], str]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The programs that were given the terminal, and their folders; the editor "adds" adds words, "fails" fails."""
    found: Ran = []

    def runs(app: object, command: list[str], folder: str) -> str:
        found.append((list(command), folder))
        if command[0] == "adds":
            with open(command[1], "a") as file:
                file.write(" and tabs\n")
        return "fails ended with code 1." if command[0] == "fails" else ""

    monkeypatch.setattr("forkpoint.tui.running.run_in_terminal", runs)
    return found


@pytest.mark.parametrize(
    ("editor", "says"), [("adds", ["--", "Now fold continuation lines and tabs"]), ("", [])], ids=["editor", "none"]
)
async def test_continuing_now_gives_the_agent_the_prompt_as_the_editor_left_it(
    agent: Recorded, ran: Ran, monkeypatch: pytest.MonkeyPatch, editor: str, says: list[str]
) -> None:
    monkeypatch.setenv("EDITOR", editor)
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "f", "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForkedDialog))
        assert ("Continue opens it in adds first, then Claude Code gets" in told(pilot.app)) == bool(editor)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Back from Claude Code: nothing was said." in frame(pilot.app))
    command, folder = ran[-1]
    assert command[:2] == ["claude", "--resume"]
    assert command[3:] == says
    assert folder == str(agent.project)
    assert len(ran) == (2 if editor else 1)


async def test_an_editor_that_fails_starts_no_agent(agent: Recorded, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "fails")
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "f", "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForkedDialog))
        await press(pilot, "y", "ctrl+s")
        words = "fails ended with code 1. The agent was not started.  the prompt is in the clipboard"
        await until(pilot, lambda: main(pilot.app).notice.words == f"! {words}")
        assert pilot.app.clipboard == "Now fold continuation lines"
    assert [command[0] for command, _ in ran] == ["fails"]


async def test_what_the_agent_added_is_shown_when_the_app_comes_back(
    agent: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(session: str) -> None:
        resumed = agent.goes_on(session)
        resumed.asked("Fold them, and tabs")
        resumed.stops("Tabs too.")

    def works(app: object, command: list[str], folder: str) -> str:
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(says, command[2]).result()
        return ""

    monkeypatch.setattr("forkpoint.tui.running.run_in_terminal", works)
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "f", "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForkedDialog))
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Back from Claude Code: 1 prompt, 2 entries came." in frame(pilot.app))
        await until(pilot, lambda: "Fold them, and tabs" in frame(pilot.app))


async def test_a_branch_from_before_the_first_prompt_is_a_session_of_its_own_that_is_shown(
    agent: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(session: str) -> None:
        begun = Recorded(agent.project)
        begun.session.id, begun.session.file = session, agent.session.file.with_name(f"{session}.jsonl")
        begun.starts()
        begun.asked("Write it in another way")
        begun.stops("Another one.")

    def works(app: object, command: list[str], folder: str) -> str:
        assert list(command[:2]) == ["claude", "--session-id"]
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(says, command[2]).result()
        return ""

    monkeypatch.setattr("forkpoint.tui.running.run_in_terminal", works)
    async with running(agent.store(), session=agent.session.id) as pilot:
        await press(pilot, "g", "f", "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForkedDialog))
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Back from Claude Code: 1 prompt, 2 entries came." in frame(pilot.app))
        await until(pilot, lambda: "1  Write it in another way" in frame(pilot.app))


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
    killed_in_the_middle(agent.project, point)
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
