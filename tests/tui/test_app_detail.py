"""The detail in the app, with real keys: conversation, files in three ways, facts, and a file's history."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import StoreDamaged
from forkpoint.store.model import Block, Entry
from forkpoint.tui.screens import looking
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.filehistory import FileHistoryScreen
from forkpoint.tui.widgets.reading import Reading
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from tests.builders.app import LookedAt, focused, frame, main, press, running, settled, until
from tests.builders.recorded import Recorded
from tests.builders.rich import a_rich_session

SIZES = [(60, 15), (80, 24), (160, 50)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LookedAt]:
    """The rich session, what another one did after it, and what a person has not saved."""
    folder = tmp_path_factory.mktemp("detail")
    with pytest.MonkeyPatch.context() as patch:
        names = {"FORKPOINT_HOME": str(folder / "forkpoint"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
        for name, value in names.items():
            patch.setenv(name, value)
        first = a_rich_session(folder / "headers")
        other = Recorded(first.project)
        other.starts()
        other.asked("Say what is folded")
        other.writes("fold.py", "def unfold(lines):\n    yield from sorted(lines)\n")
        other.stops()
        (first.project / "fold.py").write_text("mine\n")
        names["SESSION"] = first.session.id
    yield LookedAt(folder / "headers", names)


@pytest.fixture
def store(seen: LookedAt, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name, value in seen.names.items():
        monkeypatch.setenv(name, value)
    return seen.store()


def session(seen: LookedAt) -> str:
    return seen.names["SESSION"]


def reading(app: Any) -> Reading:
    return main(app).reading


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_folded_opens_and_closes_with_the_place_kept(
    store: Store, seen: LookedAt, size: tuple[int, int]
) -> None:
    async with running(store, size, session=session(seen)) as pilot:
        await press(pilot, "g")
        laid_before = reading(pilot.app)._laid.width
        await press(pilot, "1", "tab") if size[0] == 160 else await press(pilot, "1")
        assert focused(pilot.app) == "detail"
        assert "▌ Please fold the headers." in frame(pilot.app)
        assert reading(pilot.app).text_width == laid_before, "what was laid out while it was hidden is shown as it is"
        await at_link(pilot, "Bash pytest")
        assert "Enter Open" in frame(pilot.app)
        await press(pilot, "enter")
        assert "▾ Bash pytest -q" in frame(pilot.app)
        await at_link(pilot, "281 more lines")
        await press(pilot, "G", "g")
        await press(pilot, "g", "h") if size[0] == 80 else await press(pilot, "escape")
        assert focused(pilot.app) == "tree"
        assert all(len(line) <= size[0] for line in frame(pilot.app).split("\n"))


@pytest.mark.parametrize("size", SIZES)
async def test_2_goes_round_the_three_ways_to_look_at_files(
    store: Store, seen: LookedAt, size: tuple[int, int]
) -> None:
    async with running(store, size, session=session(seen)) as pilot:
        await press(pilot, "g", "2")
        shown = frame(pilot.app)
        assert "2 files  +3 −1" in shown
        assert "A fold.py" in shown and "M parse.py" in shown
        await press(pilot, "2")
        assert "3 files" in frame(pilot.app)
        assert "D docs/notes.txt" in " ".join(frame(pilot.app).split())
        await press(pilot, "2")
        shown = " ".join(frame(pilot.app).split())
        assert "unsure: since the newest checkpoint" in shown
        await press(pilot, "2")
        assert "2 files  +3 −1" in frame(pilot.app)


async def test_clicks_choose_the_way_open_a_call_and_the_wheel_scrolls(store: Store, seen: LookedAt) -> None:
    async with running(store, (160, 30), session=session(seen)) as pilot:
        await press(pilot, "g", "2")
        line = next(y for y, text in enumerate(frame(pilot.app).split("\n")) if "against now" in text)
        at = frame(pilot.app).split("\n")[line].index("against now")
        await pilot.click(offset=(at + 2, line))
        await settled(pilot)
        assert main(pilot.app).mode == "now"
        await press(pilot, "1")
        pane = reading(pilot.app)
        call = next(y for y in range(pane.line_count) if "Write fold.py" in pane.plain(y))
        pane.scroll_to(y=call - 1, animate=False, immediate=True)
        await pilot.pause()
        await pilot.click(pane, offset=(4, call - pane.scroll_offset.y))
        await settled(pilot)
        assert "▾ Write fold.py" in frame(pilot.app)
        top = pane.scroll_offset.y
        assert top > 0
        await pilot._post_mouse_events([MouseScrollUp], widget=pane)
        await until(pilot, lambda: pane.scroll_offset.y < top)


async def test_facts_tell_tokens_and_what_the_checkpoint_covers(store: Store, seen: LookedAt) -> None:
    async with running(store, (80, 24), session=session(seen)) as pilot:
        await press(pilot, "g", "4")
        shown = frame(pilot.app)
        assert "Tokens  71,630 in, 60,000 from cache, 100 out" in shown
        await press(pilot, "pagedown")
        assert "the whole folder but files over 268 MB" in frame(pilot.app)


class Gated:
    """A store in which the whole text of some entries is not read before that is allowed."""

    def __init__(self, store: Store, held: str) -> None:
        self._store, self._held = store, held
        self.waits, self.may = threading.Event(), threading.Event()
        self.read: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def blocks(self, entry: Entry) -> list[Block]:
        self.read.append(entry.text)
        if entry.text == self._held:
            self.waits.set()
            assert self.may.wait(20)
        return self._store.blocks(entry)


async def test_of_rapid_moves_only_the_row_where_the_cursor_rests_is_read_and_shown(
    store: Store, seen: LookedAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated = Gated(store, "Edit parse.py")
    async with running(gated, (120, 30), session=session(seen)) as pilot:  # type: ignore[arg-type]
        await press(pilot, "L", "g")
        timeline = main(pilot.app).timeline
        gated.read.clear()
        monkeypatch.setattr(looking, "REST", 0.5)
        await press(pilot, *"jjjjjjkkkkkkjj")
        row = timeline.row
        assert row is not None and row.entry is not None
        assert gated.read == [row.entry.text], "the others were passed by"
        monkeypatch.setattr(looking, "REST", 0.01)
        assert timeline.outline is not None
        timeline.go_to_row(next(n for n, row in enumerate(timeline.outline.rows) if row.text == "Edit parse.py"))
        await until(pilot, gated.waits.is_set)
        await pilot.press("G")
        await until(pilot, lambda: "A picture of a tea pot." in detail_of(pilot.app))
        gated.may.set()
        await settled(pilot)
        await pilot.pause(0.1)
        assert "A picture of a tea pot." in detail_of(pilot.app), "the answer that came late was dropped"


async def at_link(pilot: Pilot[None], words: str) -> None:
    """Goes down to the line with these words."""
    pane = reading(pilot.app)
    for _ in range(60):
        if pane.link is not None and words in pane.plain(pane.cursor):
            return
        await press(pilot, "j")
    raise AssertionError(f"{words!r} was not come by:\n{frame(pilot.app)}")


def detail_of(app: Any) -> str:
    pane = reading(app)
    return "\n".join(pane.plain(at) for at in range(pane.line_count))


async def test_a_result_of_twenty_megabytes_opens_and_folds(tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "huge", hooked=False)
    agent.asked("Print a lot")
    agent.session.tool("Bash", {"command": "yes"}, "a line of the output\n" * 1_000_000)
    agent.session.tool("Bash", {"command": "cat"}, "x" * 1_000_000)
    agent.stops()
    async with running(agent.store(), (80, 24)) as pilot:
        await press(pilot, "g", "enter", "1")
        assert "▸ Bash yes" in frame(pilot.app)
        await press(pilot, "enter")
        await until(pilot, lambda: "999,981 more lines" in detail_of(pilot.app))
        await at_link(pilot, "999,981 more lines")
        await press(pilot, "enter")
        await until(pilot, lambda: "more characters: y copies all of it" in detail_of(pilot.app))
        assert reading(pilot.app).line_count < 12_000
        await press(pilot, "enter", "G")
        await at_link(pilot, "Bash cat")
        await press(pilot, "enter")
        await until(pilot, lambda: "999,001 more characters" in detail_of(pilot.app))


@pytest.mark.parametrize("size", SIZES)
async def test_enter_on_a_file_opens_its_history_over_all_sessions(
    store: Store, seen: LookedAt, size: tuple[int, int]
) -> None:
    async with running(store, size, session=session(seen)) as pilot:
        await press(pilot, "g", "2")
        if focused(pilot.app) != "detail":
            await press(pilot, "tab")
        await at_link(pilot, "fold.py")
        await press(pilot, "enter")
        screen = pilot.app.screen
        assert isinstance(screen, FileHistoryScreen)
        shown = frame(pilot.app)
        assert "History of fold.py" in shown
        assert "now" in shown and "unsure: since" in shown
        assert "another session" in shown
        assert [touch.who.kind for touch in screen.touches] == ["session", "tool"]
        assert "mine" in shown, "what differs now is shown at once"
        await press(pilot, "j")
        assert "sorted(lines)" in frame(pilot.app)
        await press(pilot, "enter")
        assert focused(pilot.app) == "diff"
        await press(pilot, "escape", "j", "d")
        assert isinstance(pilot.app.screen, DiffScreen)
        assert "mine" in frame(pilot.app) and "parse.py" not in frame(pilot.app)
        await press(pilot, "escape", "at")
        row = main(pilot.app).timeline.row
        assert pilot.app.screen is main(pilot.app)
        assert row is not None and row.text == "Write fold.py"


async def test_a_moment_of_another_session_leads_to_its_tree(store: Store, seen: LookedAt) -> None:
    async with running(store, (120, 30), session=session(seen)) as pilot:
        await press(pilot, "g", "2", "tab", "enter")
        await press(pilot, "j", "at")
        await until(pilot, lambda: "Say what is folded" in frame(pilot.app).split("\n")[0])
        await settled(pilot)
        row = main(pilot.app).timeline.row
        assert row is not None and row.text == "Write fold.py"


async def test_a_change_of_another_terminal_appears_in_a_file_s_history(tmp_path: Path) -> None:
    agent = a_rich_session(tmp_path / "headers")
    async with running(agent.store(), (120, 30)) as pilot:
        await press(pilot, "g", "2", "tab", "enter")
        screen = pilot.app.screen
        assert isinstance(screen, FileHistoryScreen)
        first = screen.touch
        agent.asked("Once more")
        agent.writes("fold.py", "def unfold(lines):\n    return lines\n")
        await until(pilot, lambda: len(screen.touches) == 2)
        await settled(pilot)
        assert screen.touch == first, "the cursor stays on its moment"
        await press(pilot, "k")
        assert "return lines" in frame(pilot.app)


class Broken:
    """A store in which nothing can be compared."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def diff(self, *given: object, **named: object) -> None:
        raise StoreDamaged("a content is missing", todo="forkpoint verify")


async def test_what_cannot_be_compared_hides_nothing_else(store: Store, seen: LookedAt) -> None:
    async with running(Broken(store), (120, 30), session=session(seen)) as pilot:  # type: ignore[arg-type]
        await press(pilot, "g")
        assert "▌ Please fold the headers." in frame(pilot.app)
        await press(pilot, "2")
        assert "a content is missing" in frame(pilot.app)
        assert "forkpoint verify" in frame(pilot.app)
        await press(pilot, "4")
        assert "71,630 in" in frame(pilot.app)


async def test_what_a_restore_did_is_told_in_its_row(tmp_path: Path) -> None:
    agent = a_rich_session(tmp_path / "headers")
    store = agent.store()
    first = store.tree().points[0].id
    store.restore(store.plan_restore(first, "files", everything=True))
    async with running(agent.store(), (160, 50)) as pilot:
        row = next(n for n, row in enumerate(main(pilot.app).timeline.rows) if row.kind == "operation")
        main(pilot.app).timeline.cursor = row
        await press(pilot, "2")
        shown = frame(pilot.app)
        assert "D fold.py" in shown and "A docs/notes.txt" in shown
        assert "a person" in shown
