"""The list screens, help and the palette; and the first open where nothing is recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.installing import planned_installs

from tests.builders.app import a_parser, contents, focused, frame, main, press, running, settled, until
from tests.builders.claude import ClaudeSession
from tests.builders.recorded import Recorded


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    return a_parser(tmp_path / "headers")


async def test_sessions_are_listed_filtered_and_opened(agent: Recorded) -> None:
    other = Recorded(agent.project)
    other.starts()
    other.asked("Why is the build slow?")
    other.stops("It compiles everything twice.")
    async with running(agent.store()) as pilot:
        await until(pilot, lambda: "Everything, by time" in frame(pilot.app))
        await press(pilot, "escape")
        await settled(pilot)
        assert "Why is the build slow?" in frame(pilot.app)
        assert "Everything, by time" not in frame(pilot.app)
        await press(pilot, "s")
        await settled(pilot)
        shown = frame(pilot.app)
        assert "Everything, by time" in shown
        assert shown.index("Why is the build") < shown.index("Now fold")
        await press(pilot, "/", *"fold", "enter")
        assert "1 of 2" in frame(pilot.app)
        assert focused(pilot.app) == "list"
        await press(pilot, "enter")
        await until(pilot, lambda: "1  Write a parser" in frame(pilot.app))


async def test_where_there_are_several_sessions_the_newest_is_one_enter_away(agent: Recorded) -> None:
    other = Recorded(agent.project)
    other.starts()
    other.asked("Why is the build slow?")
    other.stops("It compiles everything twice.")
    async with running(agent.store()) as pilot:
        await until(pilot, lambda: "Everything, by time" in frame(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        await until(pilot, lambda: "1  Why is the build slow?" in frame(pilot.app))


async def test_everything_by_time_stands_under_days_and_opens_at_its_row(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "s", "g", "enter")
        await until(pilot, lambda: "Today" in frame(pilot.app))
        assert "Now fold continuation lines" in frame(pilot.app)
        await press(pilot, "G", "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        await settled(pilot)
        row = main(pilot.app).timeline.row
        assert row is not None
        assert row.text == "Write a parser for headers"


async def test_branches_and_operations_lead_to_their_rows(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "o")
        assert "Nothing was restored, forked, labelled or pinned here yet." in frame(pilot.app)
        await press(pilot, "escape", "K", "r", "f")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Gone back" in frame(pilot.app))
        await settled(pilot)
        await press(pilot, "g", "o")
        assert "u undoes" in frame(pilot.app)
        await press(pilot, "enter")
        row = main(pilot.app).timeline.row
        assert row is not None
        assert row.kind == "operation"
        await press(pilot, "r")
        assert "This row is an operation" in frame(pilot.app)
        await press(pilot, "b")
        assert "write-parser-headers" in frame(pilot.app)
        await press(pilot, "enter")
        assert pilot.app.screen is main(pilot.app)


async def test_help_lists_the_keys_of_the_screen_beneath(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "?")
        assert "next, previous prompt" in frame(pilot.app)
        await press(pilot, "/", *"undo", "enter")
        assert "undo, redo what a person did last" in frame(pilot.app)
        await press(pilot, "?")
        await press(pilot, "?")
        assert pilot.app.screen is main(pilot.app)
        await press(pilot, "K", "d", "?")
        assert "side by side or one below the other" in frame(pilot.app)
        assert "next, previous prompt" not in frame(pilot.app)


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_help_cuts_no_word_shows_its_first_heading_and_offers_no_opening(
    agent: Recorded, size: tuple[int, int]
) -> None:
    async with running(agent.store(), size=size) as pilot:
        await press(pilot, "?")
        first = frame(pilot.app)
        assert "Every list and pane" in first
        assert "Open" not in first
        seen = ""
        for _ in range(8):
            seen += frame(pilot.app)
            await press(pilot, "pagedown")
        assert "ctrl+c copies it" in " ".join(seen.split())
        assert "…" not in seen
        await press(pilot, "g")
        assert "Every list and pane" in frame(pilot.app)
        await press(pilot, "enter")
        assert "Every list and pane" in frame(pilot.app)


async def test_keys_that_can_do_nothing_now_say_why(agent: Recorded) -> None:
    for step in planned_installs(str(agent.project), ["claude"]):
        step.carried_out()
    async with running(agent.store()) as pilot:
        await press(pilot, "n")
        assert "Nothing is searched for yet." in frame(pilot.app)
        await press(pilot, "i")
        assert "Recording Claude Code is on." in frame(pilot.app)
        await press(pilot, "u")
        shown = frame(pilot.app)
        assert "there is nothing to undo" in shown
        assert "ctrl+s" not in shown
        assert "Diff d" not in shown


async def test_the_palette_offers_every_action_and_opens_dialogs_only(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "ctrl+p")
        await press(pilot, *"go back")
        await until(pilot, lambda: "Go back…" in frame(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: "What goes back?" in frame(pilot.app))
        assert focused(pilot.app) == "cancel"


@pytest.fixture
def found(tmp_path: Path) -> ClaudeSession:
    """A session that Claude wrote before forkpoint was there."""
    project = tmp_path / "old"
    project.mkdir()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), project)
    session.prompt("Write a parser")
    session.write("parse.py", "def parse(): pass\n")
    session.reply("Done.")
    session.end_turn()
    session.prompt("Now a test")
    session.write("test_parse.py", "def test(): pass\n")
    session.reply("Done too.")
    session.end_turn()
    return session


async def test_the_first_open_tells_what_was_found_and_writes_nothing(found: ClaudeSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "old")
    before = contents(Path(os.environ["HOME"]))
    async with running(store) as pilot:
        await until(pilot, lambda: "Found: 1 session, 2 prompts" in frame(pilot.app))
        shown = frame(pilot.app)
        assert "2 files have earlier states" in shown
        assert "Not known: what the shell changed." in shown
        assert "c saves the files now" in shown
        assert "i shows what recording adds" in shown
        assert contents(Path(os.environ["HOME"])) == before
        await press(pilot, "c")
        await until(pilot, lambda: "Checkpoint saved: 2 files." in frame(pilot.app))
        await until(pilot, lambda: "Found:" not in frame(pilot.app))
    assert store.status().checkpoints == 1


async def test_one_agent_s_broken_file_is_told_and_the_others_are_switched_on(
    found: ClaudeSession, tmp_path: Path
) -> None:
    home = Path(os.environ["HOME"])
    (home / ".pi" / "agent").mkdir(parents=True)
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    settings.write_text("{ not json")
    async with running(Store.open(tmp_path / "old"), (100, 40)) as pilot:
        await until(pilot, lambda: "In use on this machine: Claude Code and Pi." in frame(pilot.app))
        await press(pilot, "i")
        await until(pilot, lambda: "Claude Code stays as it is: Claude Code cannot read" in frame(pilot.app))
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Recording Pi, first checkpoint of 2 files taken." in frame(pilot.app))
        await until(pilot, lambda: "● recording Pi" in frame(pilot.app))
    assert settings.read_text() == "{ not json"
    assert (home / ".pi" / "agent" / "extensions" / "forkpoint.js").exists()


async def test_i_shows_the_lines_and_ctrl_s_switches_recording_on(found: ClaudeSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "old")
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    async with running(store) as pilot:
        await press(pilot, "i")
        assert "settings.json" in frame(pilot.app)
        assert focused(pilot.app) == "cancel"
        await press(pilot, "i", "enter")
        assert not settings.exists()
        await press(pilot, "i")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Recording Claude Code, first checkpoint of 2 files taken." in frame(pilot.app))
        await until(pilot, lambda: "● recording Claude Code" in frame(pilot.app))
    assert "hook claude" in settings.read_text()


async def test_a_save_is_called_by_its_label_once(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    store = Store.open(tmp_path / "bare")
    store.save(label="before lunch")
    async with running(store, session="files") as pilot:
        assert frame(pilot.app).split("\n")[1].count("before lunch") == 1


async def test_what_needs_a_row_is_not_offered_without_one(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    async with running(Store.open(tmp_path / "bare")) as pilot:
        keys = frame(pilot.app).split("\n")[-1]
        assert "Record…" in keys
        assert "Checkpoint" in keys
        assert "Go back" not in keys
        assert "Fork" not in keys


async def test_an_empty_folder_says_what_would_be_here(tmp_path: Path) -> None:
    async with running(Store.open(tmp_path)) as pilot:
        await until(pilot, lambda: "No agent's session was found" in frame(pilot.app))
        await press(pilot, "r", "d", "f", "J", "enter", "t", "space", "v", "@", "[", "y")
        assert pilot.app.screen is main(pilot.app)
