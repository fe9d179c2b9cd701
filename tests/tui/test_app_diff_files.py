"""The diff screen on every kind of change, at every size, by real keys."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.restore import RestoreDialog
from textual.pilot import Pilot

from tests.builders.app import LookedAt, focused, frame, press, running, settled, until
from tests.builders.recorded import Recorded
from tests.builders.tampering import flip_object, git, place_of
from tests.builders.terminal import Terminal

SIZES = [(60, 15), (80, 24), (160, 50)]
FILES = 9


def before(folder: Path) -> None:
    code = "".join(f"def step_{number}(value):\n    return value + {number}\n\n\n" for number in range(20))
    files = {"bad.txt": "1\n", "ev\x1b[31mil.txt": "x\x1b]0;title\x07\n", "gone.py": code[:60], "old.py": code[:90]}
    for name, text in (files | {"run.sh": "#!/bin/sh\n", "text.py": code}).items():
        (folder / name).write_text(text)
    (folder / "binary.png").write_bytes(b"\0" * 3000)
    (folder / "link").symlink_to("gone.py")


def after(folder: Path) -> None:
    text = (folder / "text.py").read_text().replace("value + 3", "value * 3").replace("value + 17", "17 +  value")
    (folder / "text.py").write_text(text + "# " + "a long line " * 40 + "\n")
    (folder / "bad.txt").write_text("2\n")
    (folder / "ev\x1b[31mil.txt").write_text("x\x1b]0;other\x07\n")
    (folder / "gone.py").unlink()
    (folder / "moved").mkdir()
    (folder / "old.py").rename(folder / "moved/new.py")
    (folder / "run.sh").chmod(0o755)
    (folder / "binary.png").write_bytes(b"\0" * 4200)
    (folder / "empty.txt").touch()
    (folder / "link").unlink()
    (folder / "link").symlink_to("text.py")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LookedAt]:
    """Two checkpoints between which every kind of change lies; the bytes of one file are spoilt."""
    folder = tmp_path_factory.mktemp("kinds")
    project = folder / "project"
    project.mkdir()
    names = {"FORKPOINT_HOME": str(folder / "forkpoint"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setenv(name, value)
        before(project)
        Store.open(project).save(label="before")
        after(project)
        point = Store.open(project).save(label="after").id
        place = place_of(project)
        flip_object(place, git(place, "rev-parse", f"refs/points/{point[:2]}/{point}:files/bad.txt").strip())
    yield LookedAt(project, names)


@pytest.fixture
def store(seen: LookedAt, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name, value in seen.names.items():
        monkeypatch.setenv(name, value)
    return seen.store()


async def opened(pilot: Pilot[None]) -> DiffScreen:
    """The diff from the first checkpoint, marked, to the last one."""
    await press(pilot, "g", "space", "G", "d")
    screen = pilot.app.screen
    assert isinstance(screen, DiffScreen), frame(pilot.app)
    await until(pilot, lambda: screen.content is not None and screen.content.diff.whole)
    return screen


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_kind_of_change_is_told_in_words_and_both_ends_are_named(
    store: Store, size: tuple[int, int]
) -> None:
    async with running(store, size) as pilot:
        screen = await opened(pilot)
        head = frame(pilot.app).split("\n")[0]
        assert head.index('"before" · ') < head.index('"after" · ')
        told = [frame(pilot.app)]
        for _ in range(FILES - 1):
            await press(pilot, "J")
            told.append(frame(pilot.app))
            assert all(len(line) <= size[0] for line in told[-1].split("\n"))
        assert "file 9 of 9" in told[-1]
        for words in (
            "! ",
            "binary, 3.0 kB → 4.2 kB",
            "empty.txt  added",
            "an empty file",
            "ev␛[31mil.txt",
            "gone.py  deleted",
            "the link went to gone.py, goes to text.py",
            "old.py → moved/new.py  renamed",
            "can be run now, mode 644 → 755",
            "return value * 3",
        ):
            assert words in "\n".join(told), words
        await press(pilot, "]", "]", "]")
        assert "hunk 3 of 3 · file 9 of 9" in frame(pilot.app)
        await press(pilot, "]")
        assert "No hunk below." in frame(pilot.app)
        await press(pilot, "escape", "escape")
        assert pilot.app.screen is not screen


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_views_searching_and_the_list_of_files_work_at_every_size(store: Store, size: tuple[int, int]) -> None:
    async with running(store, size) as pilot:
        screen = await opened(pilot)
        pane = screen.pane
        await press(pilot, "b")
        if focused(pilot.app) == "diff":  # it stood there already, and has gone
            await press(pilot, "b")
        assert focused(pilot.app) == "files"
        assert "moved/new.py" in frame(pilot.app)
        await press(pilot, "j", "j", "y", "J", "]", "G")
        assert pilot.app.clipboard == "empty.txt"
        assert screen.files.item is not None and screen.files.item.key == "8"
        await press(pilot, "escape", "escape", "b", "enter")
        assert (focused(pilot.app), pane.file) == ("diff", 8)
        await press(pilot, "w", "G")
        assert pane.wrap and "a long line" in frame(pilot.app)
        await press(pilot, "w", "#", *["right"] * 40)
        assert "«" in frame(pilot.app) and not pane.numbers
        await press(pilot, "s")
        assert pane.split == (size[0] == 160)
        await press(pilot, "g", "/", *"value")
        found = len(pane.hits)
        assert f"hit 1 of {found}" in frame(pilot.app).split("\n")[0] and found > 9
        await press(pilot, "enter", "n", "n", "N")
        assert f"hit 2 of {found}" in frame(pilot.app).split("\n")[0]
        await press(pilot, "escape", "/", *"not there", "enter")
        assert "Nothing holds “not there”." in frame(pilot.app)
        await press(pilot, "escape", "/", *"17", "escape", "q")
        assert pilot.app.screen is not screen


async def test_a_file_whose_bytes_are_gone_is_told_in_its_place(store: Store) -> None:
    async with running(store) as pilot:
        screen = await opened(pilot)
        assert screen.pane.file == 0
        told = frame(pilot.app).split("\n")
        assert told[1].startswith("▌bad.txt")
        assert told[2] == " ! its bytes are missing or damaged in the store: forkpoint verify tells more"


async def test_white_space_is_left_out_of_lines_and_counts(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("if a:\n  b()\n")
    store = Store.open(tmp_path)
    store.save()
    (tmp_path / "a.py").write_text("if a:\n    b()\n")
    store.save()
    async with running(Store.open(tmp_path)) as pilot:
        await opened(pilot)
        assert "+1  −1" in frame(pilot.app)
        await press(pilot, "W")
        assert "only white space differs" in frame(pilot.app)
        assert "+1" not in frame(pilot.app)
        await press(pilot, "W", "escape")
        assert "no white space" not in frame(pilot.app).split("\n")[0]
        assert "+1  −1" in frame(pilot.app)


async def test_y_copies_a_hunk_and_at_a_heading_the_path(store: Store) -> None:
    async with running(store) as pilot:
        await opened(pilot)
        await press(pilot, "G", "K", "y")
        assert pilot.app.clipboard == "text.py"
        await press(pilot, "]", "y")
        assert pilot.app.clipboard.startswith("@@ -11,7 +11,7 @@ def step_2(value):\n ")
        assert "\n-    return value + 3\n+    return value * 3\n" in pilot.app.clipboard
        assert "Copied this hunk of text.py, 9 lines." in frame(pilot.app)


async def test_a_mark_lasts_through_everything_by_time_and_one_goes_back_to_the_older_end(store: Store) -> None:
    async with running(store) as pilot:
        await press(pilot, "G", "space", "s", "g", "enter")
        await until(pilot, lambda: "before" in frame(pilot.app))
        await press(pilot, "G", "d")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen), frame(pilot.app)
        await until(pilot, lambda: screen.content is not None)
        head = frame(pilot.app).split("\n")[0]
        assert head.index('"after" · ') < head.index('"before" · ')
        await press(pilot, "r")
        dialog = pilot.app.screen
        assert isinstance(dialog, RestoreDialog)
        await until(pilot, lambda: "before" in frame(pilot.app).split("Scope")[0])
        assert dialog.way.target == screen.right  # type: ignore[union-attr]
        await press(pilot, "escape", "q")
        await press(pilot, "space")
        assert "Marked: d on another row" in frame(pilot.app)
        await press(pilot, "space")
        assert "The mark is gone." in frame(pilot.app)


async def test_a_partial_checkpoint_is_compared_over_what_it_knows(tmp_path: Path) -> None:
    project = tmp_path / "before"
    project.mkdir()
    for name in ("page.html", "app.py", "other.txt"):
        (project / name).write_text("one\n")
    agent = Recorded(project, hooked=False)
    agent.asked("First")
    agent.session.write("page.html", "two\n")
    agent.stops()
    agent.asked("Second")
    agent.session.write("page.html", "three\n")
    agent.session.edit("app.py", "one", "ONE")
    agent.stops()
    async with running(agent.store(), (100, 30)) as pilot:
        await press(pilot, "g", "ctrl+p", *"Diff to now", "enter")
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen), frame(pilot.app)
        await until(pilot, lambda: screen.content is not None)
        assert screen.content is not None
        told = frame(pilot.app).split("\n")[1]
        assert told.startswith(" A partial checkpoint knows 2 files only: of all others")
        assert [file.path for file in screen.content.diff.files] == [b"app.py", b"page.html"]


def lines(pilot: Pilot[None]) -> list[str]:
    """What the pane shows below the heading, without the scroll bar."""
    return [line[:78].rstrip() for line in frame(pilot.app).split("\n")[2:20]]


async def test_a_long_diff_shows_its_beginning_while_the_rest_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text("".join(f"line {n}\n" for n in range(90)))
    store = Store.open(tmp_path)
    (tmp_path / "first").touch()
    store.save()
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text("".join(f"other {n}\n" for n in range(90)))
    store.save()
    go_on = threading.Event()
    compare = Store.diff

    def waiting(self: Store, *args: Any, begin: Any = None, **more: Any) -> Any:
        def begun(diff: Any) -> None:
            begin(diff)
            assert go_on.wait(20)

        return compare(self, *args, begin=begin and begun, **more)

    monkeypatch.setattr(Store, "diff", waiting)
    async with running(Store.open(tmp_path)) as pilot:
        await pilot.press("g", "space", "G", "d")
        await until(pilot, lambda: "reading on …" in frame(pilot.app))
        screen = pilot.app.screen
        assert isinstance(screen, DiffScreen)
        await pilot.press("J", "j", "j", "j")
        place, shown = screen.pane.place(), lines(pilot)
        assert place is not None and place[0] == b"1.txt"
        go_on.set()
        await until(pilot, lambda: screen.content is not None and screen.content.diff.whole)
        await settled(pilot)
        assert screen.pane.place() == place
        assert lines(pilot) == shown
        assert "9 files  +810  −810" in frame(pilot.app).split("\n")[0]
        await press(pilot, "G")
        assert screen.pane.file == 8


async def test_counts_take_the_colours_of_another_theme(store: Store) -> None:
    async with running(store) as pilot:
        await opened(pilot)
        for theme in ("calm-blue-orange", "calm"):
            pilot.app.theme = theme
            await pilot.pause()
            header = pilot.app.screen._compositor.render_strips()[0]
            (ink,) = [segment.style for segment in header if segment.text.strip().startswith("+")]
            assert ink is not None and ink.color is not None
            assert ink.color.name == pilot.app.theme_variables["added"]


async def test_without_an_editor_e_says_what_to_set(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    async with running(store) as pilot:
        await opened(pilot)
        await press(pilot, "e")
        assert "No editor is named: set EDITOR." in frame(pilot.app)


def test_the_editor_gets_the_terminal_and_the_diff_comes_back_with_what_it_changed(
    store: Store, seen: LookedAt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("".join(f"line {n}\n" for n in range(30)))
    Store.open(project).save()
    text = (project / "a.txt").read_text()
    (project / "a.txt").write_text(text.replace("line 20", "line twenty"))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "editing $1 of $2"\nread answer\necho "written by $answer" >>"$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    terminal = Terminal(project, {**os.environ, "VISUAL": str(editor)})
    terminal.until("checkpoint")
    terminal.quiet()
    for keys in ("\x10", "Diff to now", "\r"):
        terminal.type(keys)
        terminal.quiet()
    terminal.until("twenty")
    terminal.type("]e")
    terminal.until(f"editing +18 of {project / 'a.txt'}")
    terminal.output = b""
    terminal.type("hand\n")
    terminal.until("written by hand")
    assert terminal.close() == 0
