"""A small whole session of each agent, told in the same words: what a test does with any agent it does with all.

A new agent takes one function here and one line in BUILDERS.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import claude, codex, gemini, opencode, pi


@dataclass
class Whole:
    """One session that is being written."""

    agent: str
    id: str
    cwd: Path
    file: Path
    """Where its records stand."""
    turn: Callable[[str, str, str], object]
    """Adds a prompt, a call that reads a file and gives some output, and a reply."""
    version: tuple[bytes, bytes]
    """How the agent's version stands in the file, and one that nobody has seen."""


@dataclass(frozen=True, slots=True)
class Builder:
    """How the sessions of an agent are written."""

    begin: Callable[[Path], Whole]
    """Begins one in a folder."""
    lines: bool = True
    """Whether a session's file consists of JSON lines, and of its own alone."""


def whole(agent: str, cwd: Path, *, turns: int = 2) -> Whole:
    """A session with that many turns; the prompts are "Prompt 1", "Prompt 2" …"""
    made = BUILDERS[agent].begin(cwd)
    for number in range(1, turns + 1):
        made.turn(f"Prompt {number}", f"output {number}\n" * 20, f"Reply {number}")
    return made


def _claude(cwd: Path) -> Whole:
    session = claude.ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), cwd)

    def turn(prompt: str, output: str, reply: str) -> None:
        session.prompt(prompt)
        session.tool("Read", {"file_path": str(cwd / "a.py")}, output)
        session.reply(reply)
        session.end_turn()

    return Whole("claude", session.id, cwd, session.file, turn, (b'"version":"2.1.332"', b'"version":"99.0.0"'))


def _codex(cwd: Path) -> Whole:
    session = codex.CodexSession(Path(os.environ["HOME"]) / ".codex", cwd)

    def turn(prompt: str, output: str, reply: str) -> None:
        session.prompt(prompt)
        session.shell("cat a.py", output)
        session.reply(reply)
        session.end()

    version = (b'"cli_version":"0.171.0"', b'"cli_version":"99.0.0"')
    return Whole("codex", session.id, cwd, session.file, turn, version)


def _gemini(cwd: Path) -> Whole:
    session = gemini.GeminiSession(Path(os.environ["HOME"]), cwd)

    def turn(prompt: str, output: str, reply: str) -> None:
        session.prompt(prompt)
        session.tool("read_file", {"file_path": str(cwd / "a.py")}, output)
        session.reply(reply)

    return Whole("gemini", session.id, cwd, session.file, turn, (b'"kind":"main"', b'"kind":"brand-new"'))


def _pi(cwd: Path) -> Whole:
    session = pi.PiSession(Path(os.environ["HOME"]) / ".pi" / "agent", cwd)

    def turn(prompt: str, output: str, reply: str) -> None:
        session.prompt(prompt)
        session.call("read", {"path": "a.py"}, output)
        session.reply(reply)

    return Whole("pi", session.id, cwd, session.file, turn, (b'"version":3', b'"version":99'))


def _opencode(cwd: Path) -> Whole:
    home = Path(os.environ["HOME"]) / ".local" / "share" / "opencode"
    if home not in _databases or not (home / "opencode.db").exists():
        _databases[home] = opencode.OpenCode(home, snapshots=False)
    session = _databases[home].session(cwd)

    def turn(prompt: str, output: str, reply: str) -> None:
        session.turn(prompt, reply, opencode.Act("read", {"filePath": str(cwd / "a.py")}, output))

    return Whole("opencode", session.id, cwd, _databases[home].database, turn, (b"", b""))


_databases: dict[Path, opencode.OpenCode] = {}
"""The database of each home: all sessions stand in it."""

BUILDERS = {
    "claude": Builder(_claude),
    "codex": Builder(_codex),
    "gemini": Builder(_gemini),
    "opencode": Builder(_opencode, lines=False),
    "pi": Builder(_pi),
}
