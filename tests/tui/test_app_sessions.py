"""The sessions of a folder and of all folders with their forks, and everything by time, with real keys."""

from __future__ import annotations

import os
import re
from pathlib import Path
from threading import Event

import pytest
from forkpoint.store.api import Store
from forkpoint.store.model import Overview, SessionInfo
from forkpoint.tui.app import ForkpointApp
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.everything import EverythingScreen
from forkpoint.tui.screens.main import MainScreen
from forkpoint.tui.screens.sessions import SessionsScreen

from tests.builders.app import Watched, a_parser, frame, main, press, running, settled, until
from tests.builders.claude import ClaudeSession
from tests.builders.recorded import Recorded
from tests.builders.terminal import Terminal
from tests.builders.whole import whole

SIZES = [(60, 15), (80, 24), (160, 50)]


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """Two sessions in one folder, one with a branch that was left; and four in another folder."""
    agent = a_parser(tmp_path / "headers")
    other = Recorded(agent.project)
    other.starts()
    other.asked("Why is the build slow?")
    left = other.asked("Make it compile once")
    other.stops("It does.")
    other.session.rewind(left)
    other.asked("Rather cache the result")
    other.stops("Cached.")
    (tmp_path / "api").mkdir()
    for name in ("codex", "gemini", "opencode", "pi"):
        whole(name, tmp_path / "api")
    return agent


@pytest.mark.parametrize("size", SIZES)
async def test_sessions_stand_with_their_forks_here_and_in_all_folders(agent: Recorded, size: tuple[int, int]) -> None:
    async with running(agent.store(), size) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
        await until(pilot, lambda: "├─ compile-once" in frame(pilot.app))
        lines = frame(pilot.app).split("\n")
        assert lines[0].split()[:2] == ["Sessions", "2"]
        (fork,) = [at for at, line in enumerate(lines) if "├─ compile-once" in line]
        assert "Rather cache the" in lines[fork - 1] and "◀" in lines[fork - 1]
        if size[0] >= 80:
            assert "3 prompts · 5 entries · 2 branches · Claude Code" in frame(pilot.app)
        if size[0] >= 160:
            assert "Make it compile once" in lines[fork], "what was asked on the branch"
        await press(pilot, "a")
        await until(pilot, lambda: "all folders" in frame(pilot.app) and "4 sessions" in frame(pilot.app))
        await press(pilot, "/", *"gemini")
        assert "1 of 6" in frame(pilot.app)
        assert "/api" in frame(pilot.app), "its folder stays above it"
        await press(pilot, "enter", "enter")
        await until(pilot, lambda: main(pilot.app).timeline.outline is not None)
        await until(pilot, lambda: "Gemini CLI · " in frame(pilot.app))
        assert pilot.app.store.root.endswith("/api")  # type: ignore[attr-defined]


async def test_enter_on_a_fork_goes_to_its_end(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await until(pilot, lambda: "├─ compile-once" in frame(pilot.app))
        await press(pilot, "/", *"compile-once", "enter", "G", "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        await until(pilot, lambda: (row := main(pilot.app).timeline.row) is not None and row.text == "It does.")


async def test_in_home_and_at_the_top_the_sessions_of_all_folders_come_first(agent: Recorded) -> None:
    app = ForkpointApp(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "/headers" in frame(app) and "/api" in frame(app))
        assert "Everything, by time" not in frame(app), "that is a workspace's own"
        await press(pilot, "/", *"cache", "enter", "enter")
        await until(pilot, lambda: app.is_open)
        await until(pilot, lambda: "Why is the build slow?" in frame(app) and app.screen is main(app))
        await press(pilot, "s")
        await until(pilot, lambda: "◀" in frame(app))
    app = ForkpointApp(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "/headers" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running or app._exit)


async def test_a_folder_that_is_gone_or_never_recorded_is_told_and_stays_listed(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    gone = tmp_path / "gone"
    gone.mkdir()
    ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), gone).turn("Long ago")
    ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), home).turn("At home")
    gone.rmdir()
    app = ForkpointApp(None)
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, lambda: "Long ago" in frame(app) and "At home" in frame(app))
        assert "! its folder is not there any more" in frame(app)
        assert "! its folder is one that forkpoint never records" in frame(app)
        await press(pilot, "/", *"long", "enter", "enter")
        await until(pilot, lambda: "this is not a folder" in frame(app))
        assert isinstance(app.screen, SessionsScreen)


@pytest.mark.parametrize("size", SIZES)
async def test_everything_by_time_leads_to_every_kind_of_point(agent: Recorded, size: tuple[int, int]) -> None:
    store = agent.store()
    store.save(label="before lunch")
    point = next(point for point in store.tree(agent.session.id).points if point.reason == "prompt")
    store.pin(point.id)
    store.label(point.id, "the start")
    async with running(agent.store(), size) as pilot:
        if not isinstance(pilot.app.screen, SessionsScreen):
            await press(pilot, "s")
        await press(pilot, "g", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, EverythingScreen))
        await settled(pilot)
        assert "Today" in frame(pilot.app)
        await press(pilot, "/", *"label", "enter")
        assert 'label "the start"' in frame(pilot.app)
        await press(pilot, "escape", "/", *"fold.py", "enter")
        assert "Write fold.py" in frame(pilot.app)
        assert "1 of " in frame(pilot.app)
        await press(pilot, "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen))
        await until(pilot, lambda: "def unfold(lines):" in frame(pilot.app))
        await press(pilot, "escape", "D")
        await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen))
        await press(pilot, "escape", "y")
        assert "Copied " in frame(pilot.app)
        await press(pilot, "escape", "escape", "/", *"lunch", "enter", "enter")
        await until(pilot, lambda: pilot.app.screen is main(pilot.app))
        await until(pilot, lambda: (row := main(pilot.app).timeline.row) is not None and row.text == "before lunch")


async def test_what_cannot_be_read_of_one_session_hides_no_other(agent: Recorded) -> None:
    broken = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), agent.project)
    broken.turn("This one is torn")
    with open(broken.file, "ab") as stream:
        stream.write(b'{"no record\n{"type":"user"\n')
    async with running(Store.open(agent.project), (120, 24)) as pilot:
        await until(pilot, lambda: "├─ compile-once" in frame(pilot.app))
        await until(pilot, lambda: "reading" not in frame(pilot.app).split("\n")[0])
        (line,) = [
            line for line in frame(pilot.app).split("\n") if "This one is torn" in line and "Claude Code" in line
        ][:1]
        assert "!" in line


class Slow(Store):
    """A store in which reading a session for the list takes until it is let go on."""

    go_on: Event

    def overview(self, info: SessionInfo) -> Overview:
        self.go_on.wait(30)
        return super().overview(info)


async def test_two_thousand_sessions_are_listed_moved_through_and_filtered_while_they_are_read(tmp_path: Path) -> None:
    first = whole("claude", tmp_path)
    data, name = first.file.read_text(), first.file.name
    for number in range(2_000):

        def other(found: re.Match[str], number: int = number) -> str:
            return f"{int(found[0], 16) ^ (number + 1) * 2_654_435_761 % (1 << 32):08x}"

        told = re.sub(r'(?<![0-9A-Za-z])[0-9a-f]{8}(?=[-"])', other, data)
        file = first.file.with_name(re.sub(r"^[0-9a-f]{8}", other, name))
        file.write_text(told.replace("Prompt 2", f"Query{number}"))
    store = Slow.open(tmp_path)
    assert isinstance(store, Slow)
    store.go_on = Event()
    app = ForkpointApp(Watched(store), "files")  # type: ignore[arg-type]
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        main(app).action_sessions()
        await until(pilot, lambda: "reading 1 of 2,001" in frame(app))
        screen = app.screen
        assert isinstance(screen, SessionsScreen)
        await pilot.press("G")
        assert screen.list.cursor == screen.list.line_count - 1
        await pilot.press("/", *"Query1999")
        await until(pilot, lambda: "1 of 2001" in frame(app))
        assert "Query1999" in frame(app)
        store.go_on.set()
        await until(pilot, lambda: "reading" in frame(app) and "reading 1 of" not in frame(app))
        await pilot.press("escape", "escape")


def test_the_program_itself_begins_with_all_folders_in_home_and_records_none_of_them(agent: Recorded) -> None:
    home = Path(os.environ["HOME"])
    before = os.listdir(home / "forkpoint" / "workspaces")
    terminal = Terminal(home)
    terminal.until("all folders")
    terminal.until("Rather cache the")
    terminal.type("S")
    terminal.quiet()
    terminal.type("q")
    terminal.quiet()
    assert terminal.close() == 0
    assert os.listdir(home / "forkpoint" / "workspaces") == before
