"""The real program in tmux: real keys, other sizes, pastes of both kinds, and another program in its terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.app import a_parser, contents
from tests.builders.recorded import Recorded
from tests.lab import terminal
from tests.lab.terminal import Terminal, wait_until

PASTED = "yes\nrestore both files\ngo on, delete it\nfork from here\nundo\nSave it all!\n"
CLAUDE = """#!/bin/sh
echo "agent $1 $2, then: $4"
read answer
echo "the person said $answer"
read answer
"""
EDITOR = '#!/bin/sh\nprintf " and keep tabs" >>"$1"\n'


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    if why := terminal.missing():
        pytest.skip(why)
    return a_parser(tmp_path / "headers")


@pytest.fixture
def app(agent: Recorded, tmp_path: Path) -> Iterator[Terminal]:
    """forkpoint in a terminal of 100 by 30; the agent and the editor are small programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"claude": CLAUDE, "adds": EDITOR}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "EDITOR": "adds",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    with Terminal(
        [sys.executable, "-m", "forkpoint.tui.cli"], cwd=agent.project, env=env, columns=100, lines=30
    ) as screen:
        screen.see("Folded lines")
        yield screen


def test_keys_and_other_sizes(app: Terminal, agent: Recorded) -> None:
    before = contents(agent.project)
    app.press("K", "r")
    app.see('Go back to before prompt 2 "Now fold continuation lines"')
    app.see("Restored +3 files")
    app.resize(60, 15)
    app.see(r"Cancel esc +Diff d +Go back ctrl\+s │$")
    app.resize(160, 50)
    app.see("parse.py: 4 lines go, 1 comes back")
    app.press("f")
    app.see("Discarded +2 files in the guard")
    app.press("C-s")
    app.see("Gone back: 3 of 3 files went back.  u undoes")
    assert set(contents(agent.project)) == {"parse.py", "docs/notes.txt"}
    app.resize(80, 24)
    app.press("u")
    app.see("Undo: went back to before prompt 2")
    app.press("Right", "Right", "Enter")
    app.see("Undone: 3 of 3 files went back.  U does it again")
    assert contents(agent.project) == before


@pytest.mark.parametrize("bracketed", [True, False], ids=["bracketed", "as if typed"])
@pytest.mark.parametrize("keys", [("K",), ("K", "r", "b")], ids=["the tree", "going back"])
def test_a_paste_changes_nothing(app: Terminal, agent: Recorded, keys: tuple[str, ...], bracketed: bool) -> None:
    before, acts = contents(agent.project), agent.store().operations()
    app.press(*keys)
    if len(keys) > 1:
        app.see(r"\(•\)b both")
    app.paste(PASTED, bracketed=bracketed)
    # What is pasted last is seen last: the help comes once everything before it was taken.
    app.press("Escape", "Escape", "Escape", "Escape", "?")
    app.see("Help|Keys")
    assert contents(agent.project) == before
    assert agent.store().operations() == acts


def test_the_agent_gets_the_terminal_with_the_prompt_from_the_editor_and_the_app_comes_back(
    app: Terminal, agent: Recorded
) -> None:
    app.press("K", "f")
    app.see("Carries +4 entries")
    app.press("C-s")
    app.see("Branch fold-continuation-lines is ready")
    app.press("C-s")
    app.see("agent --resume [0-9a-f-]+, then: Now fold continuation lines and keep tabs$")
    app.resize(70, 20)
    app.type("hello")
    app.press("Enter")
    app.see("the person said hello")
    # ctrl+c is the agent's.
    app.press("C-c")
    app.see("claude ended with code ")
    app.see("fold-continuation-lines")
    app.press("q")
    wait_until(lambda: "ended with" not in app.text(), "the app has left")
