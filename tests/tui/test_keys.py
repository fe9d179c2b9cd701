"""Keys and colours of the person's own: followed, shown wherever keys are named, and told where they are wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.errors import ForkpointError
from forkpoint.store.home import choose, chosen
from forkpoint.tui.actions import ACTIONS, Action
from forkpoint.tui.app import ForkpointApp
from forkpoint.tui.keys import BY_NAME, SCREENS, Keys, judged, read
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.help import HelpScreen
from forkpoint.tui.screens.restore import RestoreDialog
from textual._xterm_parser import XTermParser
from textual.command import CommandPalette
from textual.events import Key
from textual.keys import _character_to_key

from tests.builders.app import a_parser, frame, main, press, running, until
from tests.builders.cli import forkpoint
from tests.builders.screens import all_screens

OWN = """
[keys]
"tree.diff" = "D"
help = 3

[keys.everywhere]
help = ["f2", ","]
palette = "ctrl+o"

[keys.dialog]
confirm = "f9"
cancel = "ctrl+x"

[keys.tree]
restore = "x"
fork = "H"
"""


def settings(text: str) -> Path:
    """Writes the person's settings; gives the store's home."""
    home = Path(os.environ["FORKPOINT_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.toml").write_text(text)
    return home


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"tree.dif": "D"}, "there is no action tree.dif with a key"),
        ({"tree.resume": "D"}, "there is no action tree.resume with a key"),
        ({"tree": {"diff": "hyper+d"}}, "tree.diff: there is no key hyper+d"),
        ({"tree.diff": "ctrl+m"}, "tree.diff: there is no key ctrl+m"),
        ({"tree.diff": ""}, 'tree.diff: there is no key ""'),
        ({"tree.diff": "\x1b"}, "tree.diff: there is no key ␛"),
        ({"tree.diff": 4}, "tree.diff needs a key"),
        ({"tree.diff": []}, "tree.diff needs a key"),
        ({"tree.diff": "r"}, "tree.diff: r is tree.restore in the tree"),
        ({"tree.diff": "j"}, "tree.diff: j is move.cursor_down in the tree"),
        ({"tree.diff": "?"}, "tree.diff: ? is everywhere.help in the tree"),
        ({"tree.diff": "ctrl+q"}, "tree.diff: ctrl+q leaves from anywhere in the tree"),
        ({"detail.follow": "d"}, "detail.follow: d is tree.diff in the tree"),
        ({"diff.wrap": "tab"}, "diff.wrap: tab goes from pane to pane in the diff"),
        ({"dialog.cancel": "enter"}, "dialog.cancel: enter chooses and presses in the dialogs"),
        ({"dialog.confirm": "y"}, "dialog.confirm: y may not be what does it: it can be typed or pasted by mistake"),
        *(
            ({"dialog.confirm": key}, f"dialog.confirm: {key} may not be what does it")
            for key in ("space", "enter", "escape", "ctrl+j", "ctrl+k", "comma", "ö")
        ),
        ("d", "keys must be a section, [keys]"),
    ],
)
def test_a_wrong_entry_is_told_and_its_default_stands(entries: object, told: str) -> None:
    keys, wrong = judged(entries)
    assert keys == Keys()
    assert wrong[0].what.startswith(told)
    assert all(this.todo for this in wrong)


def test_only_the_wrong_entry_is_dropped_and_keys_can_be_exchanged() -> None:
    keys, wrong = judged({"tree": {"diff": "r", "restore": "d", "fork": "x", "undo": "x"}})
    assert dict(keys.keymap) == {"tree.diff": "r", "tree.restore": "d"}
    assert len(wrong) == 2
    # What takes a key that stands only because another entry was dropped is dropped too.
    keys, wrong = judged({"tree": {"diff": "hyper+x", "restore": "d"}})
    assert (dict(keys.keymap), len(wrong)) == ({}, 2)


def test_the_screens_in_which_keys_may_clash_are_those_that_there_are() -> None:
    of_screens = {tuple(places) for screen in all_screens() if (places := getattr(screen, "PLACES", ()))}
    assert of_screens == set(SCREENS.values())
    assert {action.where for action in ACTIONS} == {"move", "everywhere"}.union(*of_screens)


def test_the_defaults_are_keys_that_are_taken_from_the_settings_too() -> None:
    for name, action in BY_NAME.items():
        if action.keys:
            value = action.keys.split(",")
            keys, wrong = judged({name: value})
            assert wrong == [] or name in ("dialog.confirm",), wrong
            assert keys.of(action).keys == action.keys


SENT = {"home": "\x1b[H", "pagedown": "\x1b[6~", "f5": "\x1b[15~", "enter": "\r", "escape": "\x1b", "tab": "\t"} | {
    "shift+tab": "\x1b[Z",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "ctrl+left": "\x1b[1;5D",
    "shift+up": "\x1b[1;2A",
    "f12": "\x1b[24~",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abdefgjklnoprstuvwxyz"},
    **{character: character for character in "aZ5#,@ö~"},
}


@pytest.mark.parametrize("key", SENT)
def test_a_terminal_sends_the_keys_under_the_names_that_are_taken(key: str) -> None:
    parser = XTermParser()
    events = [*parser.feed(SENT[key]), *parser.feed("")]
    wanted = _character_to_key(key) if len(key) == 1 else key
    assert [event.key for event in events if isinstance(event, Key)] == [wanted]
    assert judged({"tree.copy": key})[1] == [] or key in {
        one for action in ACTIONS for one in action.keys.split(",")
    } | {"shift+tab"}


async def test_own_keys_work_and_are_shown_everywhere(tmp_path: Path) -> None:
    settings(OWN)
    a_parser(tmp_path / "headers")
    async with running(Store.open(tmp_path / "headers"), (100, 60)) as pilot:
        app = pilot.app
        notice = main(app).notice.words
        assert "Settings: there is no action help with a key" in notice and "forkpoint doctor" in notice
        assert " D Diff  x Go back…  f Fork" in frame(app) and "F2 Help" in frame(app)
        await press(pilot, "K", "d")
        assert app.screen is main(app)
        await press(pilot, "D")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await press(pilot, "escape", "comma")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert re.search(r"F2 , +the keys that work here", frame(app))
        assert re.search(r"D +what changed here", frame(app))
        await press(pilot, "f2")
        await until(pilot, lambda: app.screen is main(app))
        await press(pilot, "ctrl+o")
        await until(pilot, lambda: "Diff  (D)" in frame(app))
        assert isinstance(app.screen, CommandPalette)
        await press(pilot, "escape", "ctrl+p")
        assert app.screen is main(app)
        await press(pilot, "x")
        await until(pilot, lambda: "Go back F9" in frame(app))
        assert "Cancel ctrl+x" in frame(app)
        await press(pilot, "c", "ctrl+s")
        assert isinstance(app.screen, RestoreDialog) and not app.screen.busy
        await press(pilot, "ctrl+x")
        await until(pilot, lambda: app.screen is main(app))


async def test_a_theme_that_is_chosen_in_the_palette_is_kept(tmp_path: Path) -> None:
    a_parser(tmp_path / "headers")
    home = settings("# mine\n[limits]\nwait = 9 # short\n")
    async with running(Store.open(tmp_path / "headers"), (100, 30)) as pilot:
        await press(pilot, "ctrl+p", *"colours", "enter")
        await until(pilot, lambda: "high-contrast" in frame(pilot.app))
        assert "no-colour" in frame(pilot.app) and "textual-light" in str(pilot.app.available_themes)
        await press(pilot, *"high-con", "enter")
        await until(pilot, lambda: pilot.app.theme == "high-contrast")
        await until(pilot, lambda: "high-contrast" in (home / "settings.toml").read_text())
    assert (home / "settings.toml").read_text() == '# mine\ntheme = "high-contrast"\n[limits]\nwait = 9 # short\n' or (
        home / "settings.toml"
    ).read_text() == 'theme = "high-contrast"\n# mine\n[limits]\nwait = 9 # short\n'
    assert ForkpointApp(None).theme == "high-contrast"


def test_no_colour_is_asked_for_by_the_environment_whatever_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    settings('theme = "calm-light"\n')
    assert ForkpointApp(None).theme == "calm-light"
    monkeypatch.setenv("NO_COLOR", "1")
    assert ForkpointApp(None).theme == "no-colour"


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", 'theme = "a"\n', 'other = 1\n  theme="a" # old', '[keys]\ntheme = "x"\n', "[[list]]\na = 1\n"],
)
def test_choosing_leaves_every_other_line_as_it_was(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.toml").write_text(text)
    before = chosen(tmp_path)
    choose(tmp_path, "theme", "calm")
    assert chosen(tmp_path) == {**before, "theme": "calm"}
    kept = [line for line in text.splitlines() if "theme" not in line]
    assert [line for line in (tmp_path / "settings.toml").read_text().splitlines() if "theme" not in line] == kept


def test_settings_that_are_too_odd_to_be_changed_stay_and_say_what_to_write(tmp_path: Path) -> None:
    odd = 'words = """\n[not a section]\ntheme = 1\n"""\ntheme = "a"\n'
    (tmp_path / "settings.toml").write_text(odd)
    with pytest.raises(ForkpointError) as told:
        choose(tmp_path, "theme", "calm")
    assert 'write theme = "calm"' in told.value.todo
    assert (tmp_path / "settings.toml").read_text() == odd


def test_doctor_names_each_wrong_entry_and_what_to_do(project: Path) -> None:
    settings('theme = "pink"\n[keys]\n"tree.diff" = "r"\n"dialog.confirm" = "y"\n')
    answer = forkpoint("doctor")
    assert answer.code == 1
    assert "settings: tree.diff: r is tree.restore in the tree" in answer.out
    assert "settings: dialog.confirm: y may not be what does it" in answer.out
    assert "settings: there is no theme pink" in answer.out and "high-contrast" in answer.out
    told = forkpoint("doctor", "--json").json
    assert [this["ok"] for this in told if "settings:" in this["what"]] == [False] * 3


def test_settings_that_are_no_toml_are_told_too(project: Path) -> None:
    settings("keys = [\n")
    assert "the settings cannot be read" in read().wrong[0].what
    answer = forkpoint("doctor")
    assert answer.code == 1 and "the settings cannot be read" in answer.out + answer.err


def test_an_action_keeps_all_but_its_keys() -> None:
    action = BY_NAME["tree.diff"]
    assert isinstance(action, Action)
    changed = Keys({"tree.diff": "D"}).of(action)
    assert (changed.keys, changed.text, changed.footer) == ("D", action.text, action.footer)
