"""The diff screen on real checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.actions import actions_of
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.restore import RestoreDialog
from textual.pilot import Pilot

from tests.builders.app import LookedAt, a_parser, focused, frame, looked_at, main, press, running, settled, until


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LookedAt]:
    with looked_at(tmp_path_factory.mktemp("looked-at")) as session:
        yield session


@pytest.fixture
def store(seen: LookedAt, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A session to look at only: it is recorded once for all tests of this file."""
    for name, value in seen.names.items():
        monkeypatch.setenv(name, value)
    return seen.store()


def diff(pilot: Pilot[None]) -> DiffScreen:
    assert isinstance(pilot.app.screen, DiffScreen)
    return pilot.app.screen


async def test_d_shows_what_a_turn_changed_with_both_ends_named(store: Store) -> None:
    async with running(store, (120, 40)) as pilot:
        await press(pilot, "K", "d")
        shown = frame(pilot.app)
        head = shown.split("\n")[0]
        assert 'before prompt 2 "Now fold continuation lines"' in head
        assert "after Bash rm docs/notes.txt" in head
        assert "3 files  +6  −3" in head
        assert shown.split("\n")[1].endswith("file 1 of 3")
        for words in ("docs/notes.txt", "deleted", "fold.py", "added", "parse.py", "from fold import unfold"):
            assert words in shown
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot.app)


async def test_a_mark_and_a_row_are_compared(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "g", "space", "J", "j", "d")
        assert "◇ marked" not in frame(pilot.app)
        content = diff(pilot).content
        assert content is not None
        assert [file.path for file in content.diff.files] == [b"parse.py"]
        await press(pilot, "q", "space", "d")
        assert pilot.app.screen is main(pilot.app)


async def test_jumps_stop_at_files_and_hunks(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "K", "d")
        pane = diff(pilot).pane
        assert pane.file == 0
        await press(pilot, "J")
        assert pane.file == 1
        await press(pilot, "]", "]")
        assert pane.file == 2
        await press(pilot, "K", "K", "K", "K")
        assert pane.file == 0
        assert "No file above." in frame(pilot.app)
        await press(pilot, "G", "[")
        assert pane.file == 2


async def test_views_turn_and_the_cursor_keeps_its_line(store: Store) -> None:
    async with running(store, (160, 50)) as pilot:
        await press(pilot, "K", "d", "J", "J", "j", "j", "j")
        pane = diff(pilot).pane
        assert pane.content is not None
        line = pane.content.text(pane.row)
        assert "│" not in frame(pilot.app).split("\n")[20][43:]
        await press(pilot, "s")
        assert pane.split
        assert pane.content.text(pane.row) == line
        await press(pilot, "s", "w", "#")
        assert (pane.split, pane.wrap, pane.numbers) == (False, True, False)
        assert pane.content.text(pane.row) == line


async def test_side_by_side_says_when_there_is_no_room(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "K", "d", "s")
        assert "Side by side needs 90 columns, here are 80." in frame(pilot.app)


async def test_context_and_white_space_are_asked_of_the_store_anew(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "K", "d")
        await press(pilot, "}")
        assert "6 lines around a change." in frame(pilot.app)
        await press(pilot, "{", "{", "{")
        assert "0 lines around a change." in frame(pilot.app)
        await press(pilot, "W")
        assert "White space is ignored." in frame(pilot.app)
        assert "no white space" in frame(pilot.app).split("\n")[0]


async def test_the_list_of_files_stands_beside_from_150_columns_and_comes_with_b(store: Store) -> None:
    async with running(store, (160, 50)) as pilot:
        await press(pilot, "K", "d")
        assert "D  docs/notes.txt" in frame(pilot.app)
        await press(pilot, "b", "j", "j")
        assert focused(pilot.app) == "files"
        assert diff(pilot).pane.file == 2
        await press(pilot, "enter")
        assert focused(pilot.app) == "diff"
    async with running(store) as pilot:
        await press(pilot, "K", "d")
        assert "D  docs/notes.txt" not in frame(pilot.app)
        await press(pilot, "b")
        assert "D  docs/notes.txt" in frame(pilot.app)
        await press(pilot, "j", "enter")
        assert diff(pilot).pane.file == 1


async def test_e_opens_the_file_as_it_is_at_the_line(
    store: Store, seen: LookedAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[str]] = []
    monkeypatch.setenv("EDITOR", "my-editor --wait")
    monkeypatch.setattr("forkpoint.tui.running.run_in_terminal", lambda app, words, folder: told.append(words) or "")
    async with running(store) as pilot:
        await press(pilot, "K", "d", "J", "J", "G", "e")
        assert told == [["my-editor", "--wait", "+5", str(seen.project / "parse.py")]]
        await press(pilot, "g", "e")
        assert "not in the folder now" in frame(pilot.app)


async def test_y_copies_the_hunk_as_a_patch(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "K", "d", "J", "j", "j", "y")
        assert pilot.app.clipboard.startswith("@@ -0,0 +1,2 @@\n+def unfold(lines):")


async def test_r_goes_back_to_the_older_side_and_the_main_screen_tells_it(tmp_path: Path) -> None:
    project = tmp_path / "headers"
    async with running(a_parser(project).store()) as pilot:
        await press(pilot, "K", "d", "r", "f")
        assert isinstance(pilot.app.screen, RestoreDialog)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "Gone back: 3 of 3" in frame(pilot.app))
        await settled(pilot)
        assert pilot.app.screen is main(pilot.app)
        assert not (project / "fold.py").exists()


async def test_keys_that_come_before_there_is_anything_for_them_do_nothing(store: Store) -> None:
    keys = actions_of("diff")
    assert not any(DiffScreen("first", None).check_action(action.id, ()) for action in keys)
    async with running(store) as pilot:
        await press(pilot, "K", "d")
        assert all(diff(pilot).check_action(action.id, ()) for action in keys)


async def test_what_changes_behind_the_diff_does_not_draw_it_again_and_a_new_size_reaches_both(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "K", "d")
        drawn: list[object] = []
        display = pilot.app._display
        pilot.app._display = lambda screen, update: (drawn.append(update), display(screen, update))[1]  # type: ignore[method-assign]
        main(pilot.app).timeline.refresh()
        for _ in range(5):
            await pilot.pause(0.02)
        assert not any(drawn)
        await pilot.resize_terminal(160, 50)
        await press(pilot, "escape")
        assert main(pilot.app).has_class("-vast")
        assert main(pilot.app).query_one("#side").region.right == 160
