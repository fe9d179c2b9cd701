"""The app's start in a real terminal: the tree stands on the screen before the rest of the program is imported."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.builders.app import a_parser
from tests.builders.terminal import Terminal

HEAVY = ("pygit2", "tinydb", "unidiff", "humanize", "watchfiles", "click", "msgspec")
NOTED = """
import pathlib, sys
from forkpoint.tui.screens.first import FirstScreen
file = pathlib.Path(sys.argv.pop())
go_on = FirstScreen._go_on
def noted(self):
    file.write_text(" ".join(sys.modules))
    go_on(self)
FirstScreen._go_on = noted
from forkpoint.tui.cli import main
main()
"""
"""forkpoint, which notes what is imported when the first tree was painted."""


def test_nothing_heavy_is_imported_before_the_first_painted_tree(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    noted = tmp_path / "modules"
    terminal = Terminal(agent.project, command=[sys.executable, "-c", NOTED, str(noted)])
    terminal.until("Now fold continuation lines")
    terminal.until("recording")
    assert terminal.close() == 0
    imported = noted.read_text().split()
    assert "textual.app" in imported
    assert not set(HEAVY) & set(imported)


def test_keys_that_come_before_the_app_are_answered_in_their_order(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    terminal = Terminal(agent.project)
    terminal.type("gp")
    terminal.type("?")
    terminal.until("go back to this row")
    terminal.type("?")
    terminal.quiet()
    assert terminal.close() == 0
    assert [point.pinned for point in agent.store().tree().points if point.pinned] == [True]
    assert agent.store().tree().points[0].pinned or agent.store().tree().points[1].pinned


def test_where_nothing_was_recorded_the_app_opens_as_well(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    terminal = Terminal(tmp_path / "project")
    terminal.until("Nothing is recorded here yet.")
    assert terminal.close() == 0
