"""Rule 13, in real terminals: hostile text in every place, over every screen and every command."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from forkpoint.tui.commands.program import COMMANDS

from tests.builders.hostile import EVIL, IN_NAMES, a_hostile_session, strangers
from tests.builders.interrupting import killed_in_the_middle
from tests.builders.screens import all_screens
from tests.builders.terminal import Terminal
from tests.builders.tour import TOUR, Stop

COLOURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[K|\r|\n|\t")
"""What a command may write beside text."""
OF_TEXTUAL = re.compile(
    rb"\x1b\[[0-9;]*[mHt]|\x1b\[\?[0-9]+(?:\$p|[hl])|\x1b\[[<>=]?[0-9;]*u"
    rb"|\x1b\]22;default\x07|\x1b\]52;c;[A-Za-z0-9+/=]*\x07|\r|\n"
)
"""What Textual writes by itself: colours, where the cursor goes, modes, questions to the terminal, copied text."""
NAME = EVIL.replace("\x00", "").replace("\ud800", "\udcff")
"""What can be an argument of a command."""
KEYS = {"enter": "\r", "escape": "\x1b", "ctrl+s": "\x13", "ctrl+p": "\x10", "tab": "\t", "question_mark": "?"}
WATCHED = """
import sys
from textual.screen import Screen
seen, before = open(sys.argv.pop(1), "a", buffering=1), Screen.__init__
def init(self, *arguments, **more):
    seen.write(type(self).__name__ + chr(10))
    before(self, *arguments, **more)
Screen.__init__ = init
from forkpoint.tui.cli import main
main()
"""
IN_ONE_PROCESS = """
import json, sys
import pytest
from forkpoint.tui.commands.program import run
for arguments in json.loads(sys.argv[1]):
    run(arguments)
print("all done")
"""


PRINTING = ("sessions", "log", "show", "diff", "search", "branches", "status", "operations", "doctor", "usage")


def calls(point: str, prompt: str) -> dict[str, list[list[str]]]:
    """Every command with hostile arguments, and with ones that make it print what is hostile."""
    return {
        "sessions": [[]],
        "log": [[], ["--path", "notes.txt"], ["--path", NAME], [NAME]],
        "show": [[point], [prompt], [NAME]],
        "diff": [[point], [point, "now"], [NAME, NAME]],
        "search": [["yield"], ["Second"], [NAME]],
        "branches": [[]],
        "status": [[], ["--line"]],
        "save": [["-m", f"Label {NAME}"]],
        "restore": [[point, "--files", "--dry-run"], [point, "--both", "--all"], [point, "--path", NAME], [NAME]],
        "fork": [[prompt, "--name", f"branch {NAME}"], [NAME]],
        "resume": [[], [NAME]],
        "undo": [[]],
        "redo": [[]],
        "operations": [[]],
        "label": [[point, f"Named {NAME}"], [NAME, NAME]],
        "pin": [[point], [NAME]],
        "unpin": [[point], [NAME]],
        "install": [["--dry-run"], [NAME]],
        "uninstall": [[NAME]],
        "hook": [["--help"]],
        "run": [["--", NAME]],
        "verify": [[]],
        "rebuild": [[]],
        "doctor": [[]],
        "recover": [[]],
        "usage": [[]],
        "demo": [["--keep", "."], ["--keep", NAME]],
    }


def test_no_command_prints_what_a_terminal_would_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / f"home{IN_NAMES[:40]}"
    monkeypatch.setenv("FORKPOINT_HOME", str(home))
    agent = a_hostile_session(tmp_path)
    tree = agent.store().tree()
    (home / "settings.toml").write_text(f"theme = {json.dumps(IN_NAMES)}\n[keys]\n{json.dumps(IN_NAMES)} = 'x'\n")
    point, prompt = tree.points[-1].id, next(entry.id for entry in reversed(tree.entries) if entry.kind == "prompt")
    told = calls(point, prompt)
    assert told.keys() == {name for section in COMMANDS.values() for name in section}
    wanted = [[name, *arguments] for name, every in told.items() for arguments in every]
    wanted += [[*arguments, "--json"] for arguments in wanted if arguments[0] in PRINTING]
    wanted += [["show", entry.id] for entry in tree.entries]
    wanted += [["log"], ["branches"], ["operations"], [NAME]]
    command = (sys.executable, "-c", IN_ONE_PROCESS, json.dumps(wanted))
    terminal = Terminal(agent.project, command=command, kept=1 << 26)
    terminal.answer_no_until("all done")
    terminal.close()
    assert strangers(terminal.output, COLOURS) == []
    for words in (
        "First",
        "Second",
        "Reply",
        "Label",
        "Call",
        "Named",
        "branch",
        "Trouble",
        "there is no theme",
    ):
        assert f"{words} ".encode() in terminal.output, words


def test_no_screen_writes_what_a_terminal_would_follow(tmp_path: Path) -> None:
    agent = a_hostile_session(tmp_path)
    store = agent.store()
    store.label(store.tree().points[-1].id, f"Named {EVIL}")
    seen = tmp_path / "seen"
    terminal = watched(agent.project, seen)
    for stop in TOUR:
        visit(terminal, stop)
    assert terminal.close() == 0
    found = strangers(terminal.output, OF_TEXTUAL)
    killed_in_the_middle(agent.project, store.tree().points[0].id)
    terminal = watched(agent.project, seen)
    visit(terminal, Stop("RecoverDialog", ("ctrl+p",), "recover", ("enter",)))
    assert terminal.close() == 0
    assert [*found, *strangers(terminal.output, OF_TEXTUAL)] == []
    assert {screen.__name__ for screen in all_screens()} <= set(seen.read_text().split())


def watched(folder: Path, seen: Path) -> Terminal:
    """The app, which writes down the name of every screen that it makes."""
    command = (sys.executable, "-c", WATCHED, str(seen))
    terminal = Terminal(folder, {**os.environ}, command, size=(90, 30), kept=1 << 26)
    terminal.until("Second")
    terminal.quiet()
    return terminal


def visit(terminal: Terminal, stop: Stop) -> None:
    """Opens a screen as the tour says, and leaves it."""
    for key in (*stop.keys, stop.typed, *stop.after):
        for _ in range(3 if key == "ctrl+s" else 0):
            terminal.quiet(0.12)
        if key:
            terminal.type(KEYS.get(key, key))
            terminal.quiet(0.1)
    for _ in range(4):
        terminal.type("\x1b")
        terminal.quiet(0.12)
