"""Copying: through tmux inside of it, else by OSC 52; and the person is told which."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path

import pytest
from forkpoint.tui import clipboard

from tests.builders.app import a_parser
from tests.builders.terminal import Terminal as Bare
from tests.lab import terminal
from tests.lab.terminal import Terminal


def test_in_tmux_what_is_copied_becomes_its_buffer(tmp_path: Path) -> None:
    if why := terminal.missing():
        pytest.skip(why)
    agent = a_parser(tmp_path / "headers")
    env = {**os.environ, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "forkpoint.tui.cli"]
    with Terminal(command, cwd=agent.project, env=env, columns=100, lines=30, told=True) as screen:
        screen.see("Folded lines")
        screen.press("K", "y")
        screen.see(r"Copied 1 line\.  by tmux")
        assert terminal.wait_until(screen.buffer, "the buffer") == "Now fold continuation lines"


def test_elsewhere_the_terminal_is_asked_by_osc_52(tmp_path: Path) -> None:
    screen = Bare(a_parser(tmp_path / "headers").project)
    screen.until("Folded lines")
    screen.quiet()
    screen.type("K")
    screen.quiet()
    screen.type("y")
    screen.until("OSC 52")
    wanted = base64.b64encode(b"Now fold continuation lines")
    assert b"\x1b]52;c;" + wanted + b"\x07" in screen.output
    assert screen.close() == 0


def test_a_tmux_that_takes_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "tmux"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("TMUX", "/nowhere,1,0")
    assert clipboard.way() == clipboard.IN_TMUX
    assert not clipboard.give_to_tmux("text")


def test_text_that_is_no_utf8_is_copied_as_the_bytes_that_it_was() -> None:
    assert clipboard.encoded("caf\udce9") == b"caf\xe9"
    assert clipboard.encoded("\ud800") == b"?"
    assert clipboard.sequence("\x1b]0;x\x07").count("\x1b") == 1
