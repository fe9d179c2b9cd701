"""The main screen on a recorded session: what it shows, and where its keys lead."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.model import SessionTree
from forkpoint.tui.app import ForkpointApp

from tests.builders.app import LookedAt, a_parser, focused, frame, looked_at, main, press, running, settled, until
from tests.builders.recorded import Recorded

SIZES = [(60, 15), (80, 24), (100, 30), (160, 50)]


_opened: list[list[str]] = []
"""Where opened files are noted now: a hook of the interpreter can never be taken off."""


def _note_opened(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _opened and isinstance(arguments[0], str | bytes):
        _opened[-1].append(os.fsdecode(arguments[0]))


sys.addaudithook(_note_opened)


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The files that this process opens meanwhile."""
    _opened.append([])
    try:
        yield _opened[-1]
    finally:
        _opened.pop()


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    return a_parser(tmp_path / "headers")


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


@pytest.mark.parametrize("size", SIZES)
async def test_the_newest_session_is_open_at_the_present(store: Store, size: tuple[int, int]) -> None:
    async with running(store, size) as pilot:
        shown = frame(pilot.app)
        assert "1  Write a parser for headers" in shown
        assert "2  Now fold continuation lines" in shown
        row = main(pilot.app).timeline.row
        assert row is not None
        assert row.text.startswith("Folded lines are joined")
        assert "◀ here" in shown
        assert all(len(line) <= size[0] for line in shown.split("\n"))


async def test_a_row_tells_lines_checkpoint_and_age(store: Store) -> None:
    async with running(store) as pilot:
        line = next(line for line in frame(pilot.app).split("\n") if "2  Now fold" in line)
        assert "+6" in line
        assert "−3" in line
        assert "●" in line


async def test_two_panes_from_100_columns_and_a_preview_from_150(store: Store) -> None:
    async with running(store, (100, 30)) as pilot:
        await press(pilot, "K")
        assert "1 Conversation   2 Files   4 Facts" in frame(pilot.app)
        assert "yield from lines" not in frame(pilot.app)
        await pilot.resize_terminal(160, 50)
        await settled(pilot)
        assert "yield from lines" in frame(pilot.app)
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert "4 Facts" not in frame(pilot.app)
        assert "docs/notes.txt" in frame(pilot.app)


async def test_the_strip_goes_on_with_the_words_that_its_first_line_has_no_room_for(tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "headers")
    agent.starts()
    agent.asked("What was that?")
    agent.stops("The second step was taken out because nobody needs a nickname to buy tea in a shop.")
    async with running(agent.store()) as pilot:
        words = " ".join(frame(pilot.app).split())
        assert "nickname to buy tea in a shop." in words


async def test_keys_fold_and_move_by_rows_prompts_checkpoints_and_pages(store: Store) -> None:
    async with running(store) as pilot:
        timeline = main(pilot.app).timeline

        def at() -> str:
            assert timeline.row is not None
            return timeline.row.text.split(" ")[0]

        await press(pilot, "g")
        assert at() == "Write"
        await press(pilot, "J")
        assert at() == "Now"
        await press(pilot, "K", "l", "j")
        assert (at(), timeline.row.inset if timeline.row else 0) == ("Write", 1)
        await press(pilot, "h")
        assert timeline.row and timeline.row.kind == "prompt"
        await press(pilot, "h", "G")
        assert at() == "Folded"
        await press(pilot, "[")
        assert at() == "Bash"
        await press(pilot, "right_square_bracket", "H")
        assert timeline.line_count == 2
        await press(pilot, "]")
        await press(pilot, "L", "ctrl+d", "home", "down", "up", "pagedown", "pageup")
        assert timeline.cursor == 0
        assert timeline.line_count == 8
        await press(pilot, "@")
        assert at() == "Folded"


async def test_enter_goes_in_and_esc_comes_back(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "g", "enter")
        assert main(pilot.app).timeline.line_count == 8
        await press(pilot, "j", "enter")
        assert focused(pilot.app) == "detail"
        assert "return data.split" in frame(pilot.app)
        await press(pilot, "escape")
        assert focused(pilot.app) == "tree"


async def test_the_detail_shows_conversation_files_and_facts(store: Store) -> None:
    async with running(store, (120, 40)) as pilot:
        await press(pilot, "K")
        shown = frame(pilot.app)
        assert "▸ Bash rm docs/notes.txt" in shown
        assert "Folded lines are joined." in shown
        await press(pilot, "2")
        shown = frame(pilot.app)
        assert "D docs/notes.txt" in shown
        assert "A fold.py" in shown
        assert "by the shell in Bash rm docs/notes.txt" in shown
        await press(pilot, "4")
        assert "taken before this prompt" in frame(pilot.app)
        await press(pilot, "tab")
        assert focused(pilot.app) == "detail"
        await press(pilot, "tab")
        assert focused(pilot.app) == "tree"


async def test_search_marks_hits_and_n_goes_on(store: Store) -> None:
    async with running(store) as pilot:
        timeline = main(pilot.app).timeline
        await press(pilot, "g", "/", *"write")
        assert len(timeline.hits) == 4
        await press(pilot, "enter")
        assert focused(pilot.app) == "tree"
        await press(pilot, "n")
        first = timeline.row
        await press(pilot, "n", "N")
        assert timeline.row is first
        assert "of 4 hits" in frame(pilot.app)
        await press(pilot, "escape")
        assert timeline.hits == []


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (160, 50)])
async def test_keys_unfold_filter_and_search_at_every_size(store: Store, size: tuple[int, int]) -> None:
    async with running(store, size) as pilot:
        timeline = main(pilot.app).timeline
        await press(pilot, "K", "]")
        assert timeline.row is not None and timeline.row.text.startswith("Write parse.py")
        count = timeline.line_count
        await press(pilot, "l")
        assert timeline.line_count == count + 1
        await press(pilot, "l")
        assert timeline.row is not None and timeline.row.kind == "result"
        await press(pilot, "h", "h")
        assert timeline.line_count == count
        told = [frame(pilot.app).split("\n")[0]]
        for _ in range(4):
            await press(pilot, "v")
            told.append(frame(pilot.app).split("\n")[0])
        names = ["prompts", "changes", "labelled", "errors"]
        assert [f"only {name}" in line for name, line in zip(names, told[1:], strict=True)] == [True] * 4
        await press(pilot, "v", "g", "H")
        before = timeline.line_count
        await press(pilot, "/", *"docs")
        assert timeline.row is not None and timeline.row.text == "Bash rm docs/notes.txt"
        assert "/docs  1 of 1 hit" in frame(pilot.app)
        await press(pilot, "escape")
        assert (timeline.cursor, timeline.line_count) == (0, before)
        await press(pilot, "/", *"docs", "enter")
        assert timeline.row is not None and timeline.row.text == "Bash rm docs/notes.txt"
        await press(pilot, "/", *"nowhere at all", "enter")
        assert "Nothing holds" in frame(pilot.app)
        assert {timeline.render_line(y).cell_length for y in range(timeline.size.height)} == {timeline.size.width}


async def test_filters_keep_the_cursor_near_its_row(store: Store) -> None:
    async with running(store) as pilot:
        timeline = main(pilot.app).timeline
        await press(pilot, "v")
        assert "only prompts" in frame(pilot.app)
        assert timeline.row is not None
        assert timeline.row.text == "Now fold continuation lines"
        await press(pilot, "escape", "escape")
        assert timeline.filter == "all"


async def test_colon_goes_to_an_id_and_says_what_it_does_not_know(store: Store) -> None:
    async with running(store) as pilot:
        point = main(pilot.app).timeline.rows[0].points[0]
        await press(pilot, ":", *point.id[:8], "enter")
        row = main(pilot.app).timeline.row
        assert row is not None
        assert row.text == "Write a parser for headers"
        await press(pilot, ":", *"nowhere", "enter")
        assert "nowhere" in frame(pilot.app)


async def test_a_checkpoint_of_another_terminal_appears_and_the_cursor_stays(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "g")
        agent.asked("And keep the last empty line")
        agent.writes("parse.py", "other\n")
        await until(pilot, lambda: "3  And keep the last empty line" in frame(pilot.app))
        row = main(pilot.app).timeline.row
        assert row is not None
        assert row.text == "Write a parser for headers"


async def test_what_comes_out_of_sight_is_counted(agent: Recorded) -> None:
    for number in range(4):
        agent.asked(f"Go on, {number}")
        agent.stops()
    async with running(agent.store(), (80, 15)) as pilot:
        await press(pilot, "L", "g")
        assert "new below" not in frame(pilot.app)
        agent.asked("And keep the last empty line")
        await until(pilot, lambda: "1 new below" in frame(pilot.app))
        await press(pilot, "G")
        assert "new below" not in frame(pilot.app)


async def test_the_screen_stays_where_it_was_scrolled_to_while_the_tree_grows(agent: Recorded) -> None:
    async with running(agent.store(), (80, 10)) as pilot:
        timeline = main(pilot.app).timeline
        await press(pilot, "L", "G")
        timeline.scroll_to(y=0, animate=False)
        await pilot.pause()
        first = frame(pilot.app).split("\n")[1]
        count = timeline.line_count
        agent.asked("And keep the last empty line")
        await until(pilot, lambda: timeline.line_count > count)
        await settled(pilot)
        assert timeline.scroll_offset.y == 0
        assert frame(pilot.app).split("\n")[1] == first


async def test_following_opens_no_file_while_nothing_changes_and_only_those_that_did(agent: Recorded) -> None:
    other = Recorded(agent.project)
    other.starts()
    other.asked("Something else")
    async with running(agent.store(), session=agent.session.id) as pilot:
        watched = main(pilot.app).app.store

        async def looked(times: int) -> None:
            looks = watched.calls.count("token")  # type: ignore[attr-defined]
            await until(pilot, lambda: watched.calls.count("token") > looks + times)  # type: ignore[attr-defined]

        await looked(3)  # what the app itself keeps when it reads is kept
        await settled(pilot)
        with opened_files() as opened:
            await looked(3)
            assert opened == []
            agent.session.reply("One more reply")
            await until(pilot, lambda: "One more reply" in frame(pilot.app))
            await settled(pilot)
        assert str(agent.session.file) in opened
        assert str(other.session.file) not in opened


class Slow:
    """A store that tells no other session's tree until it may."""

    def __init__(self, store: Store, at_once: str) -> None:
        self._store, self._at_once, self.may = store, at_once, threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def tree(self, session: str | None = None) -> SessionTree:
        if session != self._at_once:
            self.may.wait(20)
        return self._store.tree(session)


async def test_esc_stays_with_the_session_that_is_shown_while_another_one_is_read(agent: Recorded) -> None:
    other = Recorded(agent.project)
    other.starts()
    other.asked("Something else")
    slow = Slow(agent.store(), agent.session.id)
    async with running(slow, session=agent.session.id) as pilot:  # type: ignore[arg-type]
        main(pilot.app).open_session(other.session.id)
        await pilot.pause()
        assert "Reading …  esc stays here" in frame(pilot.app)
        await pilot.press("j", "escape")
        await pilot.pause()
        assert "Reading" not in frame(pilot.app)
        slow.may.set()
        await settled(pilot)
        assert "Now fold continuation lines" in frame(pilot.app)
        assert "Something else" not in frame(pilot.app)


async def test_what_cannot_be_read_is_told_in_place_and_read_again_when_it_can(agent: Recorded) -> None:
    store = agent.store()
    objects = next(store.home.glob("workspaces/*/objects.git"))
    objects.rename(objects.with_name("away"))
    app = ForkpointApp(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Nothing could be read" in frame(app))
        assert "the object store cannot be opened" in frame(app)
        assert "forkpoint doctor" in frame(app)
        objects.with_name("away").rename(objects)
        agent.asked("Is it there again?")
        await until(pilot, lambda: "Is it there again?" in frame(app))
        assert "Nothing could be read" not in frame(app)


async def test_a_click_selects_a_second_one_opens_and_the_footer_has_buttons(store: Store) -> None:
    async with running(store) as pilot:
        timeline = main(pilot.app).timeline
        await pilot.click("#tree", offset=(5, 0))
        await settled(pilot)
        assert timeline.cursor == 0
        await pilot.click("#tree", offset=(5, 0))
        await settled(pilot)
        assert timeline.line_count == 8
        at = frame(pilot.app).split("\n")[-1].index("d Diff")
        await pilot.click("#keys", offset=(at + 2, 0))
        await settled(pilot)
        assert frame(pilot.app).startswith(" Diff")


async def test_text_that_is_dragged_over_is_selected(store: Store) -> None:
    async with running(store, (120, 30)) as pilot:
        await press(pilot, "K")
        detail = pilot.app.screen.query_one("#detail")
        await pilot.mouse_down(detail, offset=(2, 2))
        await pilot.hover(detail, offset=(9, 2))
        await pilot.mouse_up(detail, offset=(9, 2))
        assert pilot.app.screen.get_selected_text() == "Now fold"


async def test_c_saves_a_checkpoint_and_p_pins_it(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "c")
        await until(pilot, lambda: "saved by hand" in frame(pilot.app))
        assert "Checkpoint saved: 2 files." in frame(pilot.app)
        await press(pilot, "G", "p")
        await until(pilot, lambda: "◆" in frame(pilot.app))
        await press(pilot, "p")
        assert "Take the pin away" in frame(pilot.app)
        assert focused(pilot.app) == "cancel"
        await press(pilot, "p", "enter")
        assert "◆" in frame(pilot.app)
        await press(pilot, "p", "ctrl+s")
        await until(pilot, lambda: "◆" not in frame(pilot.app))


async def test_t_labels_a_checkpoint(agent: Recorded) -> None:
    async with running(agent.store()) as pilot:
        await press(pilot, "K", "t", *"green one", "enter")
        assert focused(pilot.app) == "cancel"
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: "[green one]" in frame(pilot.app))
        assert [point.label for point in agent.store().tree().points if point.label] == ["green one"]


async def test_y_copies_the_whole_text(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "y")
        assert pilot.app.clipboard == "Folded lines are joined."
        assert "Copied 1 line." in frame(pilot.app)


async def test_T_shows_clock_times(store: Store) -> None:
    async with running(store) as pilot:
        age = frame(pilot.app).split("\n")[1].split()[-1]
        assert age == "now" or age[-1] in "mhd"
        await press(pilot, "T")
        assert re.fullmatch(r"\d\d:\d\d", frame(pilot.app).split("\n")[1].split()[-1])


async def test_q_leaves(store: Store) -> None:
    async with running(store) as pilot:
        await pilot.press("q")
        assert pilot.app._exit
