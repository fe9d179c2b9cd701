"""One list of actions feeds keys, footer, help, palette and README."""

from __future__ import annotations

import inspect
import re
import string
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.actions import ACTIONS, PLACES, Action, Where, actions_of, help_lines, key_names, key_table
from forkpoint.tui.app import ForkpointApp
from forkpoint.tui.screens.dialog import Dialog
from forkpoint.tui.screens.diff import DiffScreen
from forkpoint.tui.screens.everything import EverythingScreen
from forkpoint.tui.screens.file import FileScreen
from forkpoint.tui.screens.filehistory import FileHistoryScreen
from forkpoint.tui.screens.lists import ListScreen
from forkpoint.tui.screens.main import MainScreen
from forkpoint.tui.screens.operations import OperationsScreen
from forkpoint.tui.screens.restore import RestoreDialog
from forkpoint.tui.screens.search import SearchScreen
from forkpoint.tui.screens.sessions import SessionsScreen
from forkpoint.tui.widgets.bars import KeyBar
from forkpoint.tui.widgets.lines import Lines, bindings
from forkpoint.tui.widgets.reading import Reading
from textual.binding import Binding, BindingsMap

from tests.builders.app import a_parser, frame, press, running
from tests.builders.cli import forkpoint
from tests.readme import README

OWNERS: dict[Where, tuple[type[Any], ...]] = {
    "move": (Lines,),
    "tree": (MainScreen,),
    "detail": (Reading,),
    "diff": (DiffScreen,),
    "list": (ListScreen,),
    "operations": (OperationsScreen,),
    "history": (FileHistoryScreen,),
    "sessions": (SessionsScreen,),
    "moments": (EverythingScreen,),
    "found": (SearchScreen,),
    "file": (FileScreen,),
    "dialog": (RestoreDialog,),
    "everywhere": (ForkpointApp,),
}
OF_TEXTUAL = {"palette"}
"""Textual's own binding opens it."""


@pytest.mark.parametrize("action", [action for action in ACTIONS if action.id not in OF_TEXTUAL], ids=lambda a: a.id)
def test_every_action_can_be_done_where_it_is_offered(action: Action) -> None:
    for owner in OWNERS[action.where]:
        assert callable(getattr(owner, f"action_{action.id}", None))


def test_every_key_is_bound_from_the_list() -> None:
    for place, owners in OWNERS.items():
        for owner in owners:
            inherited = Dialog.BINDINGS if owner is RestoreDialog else []
            bound = BindingsMap([*inherited, *owner.BINDINGS])
            for binding in BindingsMap(bindings(place)).key_to_bindings:
                assert binding in bound.key_to_bindings or place == "everywhere"


def test_no_key_means_two_things_in_one_place() -> None:
    screens: tuple[tuple[Where, ...], ...] = (
        ("move", "tree"),
        ("move", "diff"),
        ("move", "list"),
        ("move", "list", "operations"),
        ("move", "list", "sessions"),
        ("move", "list", "moments"),
        ("move", "found"),
        ("move", "file"),
        ("move", "detail"),
        ("move", "history"),
        ("dialog",),
    )
    for places in screens:
        keys = [key for action in actions_of("everywhere", *places) for key in action.keys.split(",") if key]
        assert sorted(keys) == sorted(set(keys))


def test_what_does_it_is_never_a_printable_key() -> None:
    confirm = next(action for action in ACTIONS if action.id == "confirm")
    assert confirm.keys not in string.printable
    printable = [a for a in actions_of("dialog") if len(a.keys) == 1]
    assert {a.id for a in printable} == {"scope_files", "scope_conversation", "scope_both", "dialog_diff"}


def test_each_dialog_is_done_by_ctrl_s_and_the_focused_button_alone() -> None:
    for dialog in all_dialogs():
        keys = BindingsMap([*Dialog.BINDINGS, *dialog.__dict__.get("BINDINGS", [])]).key_to_bindings
        doing = [key for key, found in keys.items() if any(binding.action == "confirm" for binding in found)]
        assert doing == ["ctrl+s"]
        assert dialog.AUTO_FOCUS in ("#cancel", "#label")


def all_dialogs() -> list[type[Dialog[object]]]:
    from forkpoint.tui.screens import asking, fork, label, outcome, record  # noqa: F401 (they must be known)

    found: list[type[Dialog[object]]] = []
    pending = [Dialog]
    while pending:
        found += (below := pending.pop().__subclasses__())
        pending += below
    assert len(found) >= 8
    return [dialog for dialog in found if not inspect.isabstract(dialog)]


def test_neighbours_that_say_the_same_share_a_line() -> None:
    assert ("J K", "next, previous prompt") in help_lines(actions_of("tree"))
    assert ("j ↓ k ↑", "one row down, up") in help_lines(actions_of("move"))


def test_the_table_names_every_key_once() -> None:
    table = key_table()
    rows = [row for row in table.splitlines()[2:]]
    assert all(row.count("|") == 4 for row in rows)
    for action in ACTIONS:
        for key in key_names(action):
            assert f"`{key}`" in table


def test_the_footer_fits_and_never_loses_help_and_quitting() -> None:
    bar = KeyBar()
    bar.actions = sorted((a for a in actions_of("tree", "everywhere") if a.footer), key=lambda a: a.footer)
    for width in (40, 60, 80, 100, 160):
        shown = bar.shown(width)
        assert {"help", "quit_app"} <= {action.id for action in shown}
        assert sum(bar._length(action) for action in shown) + 1 <= width
    assert {"diff", "restore", "fork"} <= {action.id for action in bar.shown(80)}


async def test_help_of_the_command_help_of_the_app_readme_and_footers_name_the_keys_of_the_list(tmp_path: Path) -> None:
    """One list feeds all four: each is compared with it, and with the keys that Textual was given."""
    known = {line for place in PLACES for line in help_lines(actions_of(place))}
    rows = re.findall(r"(?m)^\| [^|]* \| (`.+`) \| (.+) \|$", key_table())
    assert key_table().strip() in README.read_text("utf-8")
    assert {(keys.replace("`", ""), text) for keys, text in rows} == known
    shown = forkpoint("--help").out.partition("Keys in the app")[2]
    told = {line.strip().split("  ")[0] for line in shown.splitlines() if re.match(r" {2}\S", line)}
    assert {"d", "r", "f", "u U", "ctrl+s", "? F1", "ctrl+p", "q"} <= told <= {keys for keys, _ in known}
    a_parser(tmp_path / "headers")
    async with running(Store.open(tmp_path / "headers"), (160, 50)) as pilot:
        for key in ("", "d", "s", "o", "b", "question_mark"):
            await press(pilot, *(("escape", key) if key else ()))
            bar = pilot.app.screen.query_one(KeyBar)
            for action in bar.actions:
                assert action in ACTIONS
                assert any(action.label == line.split(" ", 1)[1] for line in footer(pilot.app)), action
                first = BindingsMap([Binding(action.keys, action.id)]).key_to_bindings
                active = {key: found.binding.action for key, found in pilot.app.screen.active_bindings.items()}
                assert all(active.get(key) in (action.id, "leave", "follow") for key in first), (action, active)


def footer(app: object) -> list[str]:
    """Its keys and labels as they stand on the screen."""
    return [part.strip() for part in re.split(r" {2,}", frame(app).splitlines()[-1]) if " " in part.strip()]
