"""The app in a real terminal: what reaches it, and giving it to another program."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.builders.app import a_parser
from tests.builders.cli import Talk
from tests.builders.recorded import Recorded
from tests.builders.terminal import Terminal


def test_escape_sequences_of_a_transcript_never_reach_the_terminal(tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "evil")
    agent.starts()
    agent.asked("Harmless \x1b]0;gotcha\x07 \x1b]52;c;Z290Y2hh\x07 \x9b5n words\u202e")
    agent.writes("a\x1b[31m.txt", "line \x1b]0;gotcha\x07\n")
    agent.stops("Done \x1b]0;gotcha\x07.")
    terminal = Terminal(agent.project)
    terminal.until("Harmless")
    for key in ("g", "l", "j", "\r", "\x1b", "d"):
        terminal.type(key)
        terminal.quiet()
    assert terminal.close() == 0
    for sequence in (b"\x1b]0;gotcha", b"\x1b]52;c;Z290", b"\x9b5n", "\u202e".encode(), b"\x1b[31m.txt"):
        assert sequence not in terminal.output


def test_the_agent_gets_the_terminal_and_the_app_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text('#!/bin/sh\necho "agent $1 $2 in $(pwd)"\nread answer\necho "agent ends"\n')
    claude.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    agent = a_parser(tmp_path / "headers")
    terminal = Terminal(agent.project)
    terminal.until("Folded lines")
    terminal.type("K")
    terminal.quiet()
    terminal.type("f")
    terminal.until("Carries")
    terminal.quiet()
    terminal.type("\x13")
    terminal.until("Continue now")
    terminal.quiet()
    terminal.type("\x13")
    terminal.until("agent --resume")
    assert f"in {agent.project}".encode() in terminal.output
    terminal.output = b""
    terminal.type("hello\n")
    terminal.until("agent ends")
    terminal.until("Write a parser")
    assert terminal.close() == 0


def test_an_agent_that_cannot_be_started_is_told_in_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = shutil.which("git")
    assert git is not None
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(programs))
    terminal = Terminal(a_parser(tmp_path / "headers").project)
    terminal.until("Folded lines")
    terminal.type("K")
    terminal.quiet()
    terminal.type("f")
    terminal.until("Carries")
    terminal.quiet()
    terminal.type("\x13")
    terminal.until("Continue now")
    terminal.quiet()
    terminal.output = b""
    terminal.type("\x13")
    terminal.until("could not be started")
    terminal.until("Write a parser")
    assert terminal.close() == 0


def test_a_terminal_without_abilities_gets_the_tree_as_text(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    dumb = Talk(cwd=agent.project, env={**os.environ, "TERM": "dumb"})
    dumb.until("Now fold continuation lines")
    assert dumb.close() == 0
    assert "\x1b" not in dumb.seen


def test_a_terminal_that_goes_away_ends_the_app(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    terminal = Terminal(agent.project)
    terminal.until("Folded lines")
    os.close(terminal._master)
    assert terminal.child.wait(20) is not None


def test_a_terminal_that_goes_away_in_the_middle_of_much_output_ends_the_app(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    terminal = Terminal(agent.project)
    terminal.until("Folded lines")
    terminal.quiet()
    # Nobody reads along: what is to be written waits, and more than the writer's queue holds is on its way.
    os.write(terminal._master, b"LHjk" * 200)
    terminal.used_more_than(0.5)
    os.close(terminal._master)
    assert terminal.child.wait(20) is not None
