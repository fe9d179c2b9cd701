"""Other programs in the app's terminal: the agent, and the person's editor."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from .app import ForkpointApp


INSTEAD = " Copy the command instead."
"""What to do where a program that stands in a dialog cannot be started."""


class Edited(NamedTuple):
    """What came of a text in the editor."""

    text: str
    problem: str = ""
    """Why there is none, or ""."""


def run_in_terminal(app: ForkpointApp, command: Sequence[str], folder: str) -> str:
    """Gives the terminal to a program until it ends; returns what went wrong, or ""."""
    problem = ""
    try:
        with app.suspend(), _deaf():
            # Nothing may be raised in here: the app takes the terminal back only when this block ends well.
            try:
                code = subprocess.run(list(command), cwd=folder).returncode
                problem = f"{command[0]} ended with code {code}." if code else ""
            except OSError as error:
                problem = f"{command[0]} could not be started: {error.strerror}.{INSTEAD}"
            except ValueError:  # a NUL among the words
                problem = f"{command[0]} could not be started.{INSTEAD}"
    except SuspendNotSupported:
        return "This terminal cannot be given to another program: copy the command instead."
    return problem


@contextmanager
def _deaf() -> Generator[None]:
    """What is typed belongs to the other program: ctrl+c and ctrl+\\ end that one alone.

    A handler that does nothing: one that ignores would be inherited.
    """
    signals = (signal.SIGINT, signal.SIGQUIT)
    before = [signal.signal(number, lambda *_: None) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def editor() -> list[str]:
    """The person's editor, as words of a command; empty where none is named."""
    try:
        return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError:  # an open quote
        return []


def edit_file(app: ForkpointApp, path: str, line: int) -> str:
    """Opens a file at a line in the editor; returns what went wrong, or ""."""
    words = editor()
    if not words:
        return "No editor is named: set EDITOR."
    if not os.path.isfile(path):
        return "The file is not in the folder now, so there is nothing to edit."
    return run_in_terminal(app, [*words, *at_line(words[0], path, line)], os.path.dirname(path))


def at_line(program: str, path: str, line: int) -> list[str]:
    """A file and its line as an editor takes them."""
    name = os.path.basename(program)
    if name in ("code", "code-insiders", "codium", "cursor", "windsurf"):
        return ["--goto", f"{path}:{line}"]
    if name in ("hx", "helix", "subl", "zed", "lapce"):
        return [f"{path}:{line}"]
    return [f"+{line}", path]


def edited(app: ForkpointApp, text: str) -> Edited:
    """A text as the person leaves it in the editor; as it is where none is named."""
    words = editor()
    if not words:
        return Edited(text)
    with tempfile.TemporaryDirectory(prefix="forkpoint-") as folder:
        file = os.path.join(folder, "prompt.md")
        with open(file, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)
        problem = run_in_terminal(app, [*words, file], folder)
        if problem:
            return Edited("", f"{problem.removesuffix(INSTEAD)} The agent was not started.")
        try:
            with open(file, encoding="utf-8", errors="replace", newline="") as stream:
                return Edited(stream.read().strip("\n"))
        except OSError as error:
            return Edited("", f"The prompt cannot be read again: {error.strerror}. The agent was not started.")
