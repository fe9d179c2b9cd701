"""Other programs in the app's terminal: the agent, and the person's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from .app import ForkpointApp


def run_in_terminal(app: ForkpointApp, command: Sequence[str], folder: str) -> str:
    """Gives the terminal to a program until it ends; returns what went wrong, or ""."""
    problem = ""
    try:
        with app.suspend():
            # Nothing may be raised in here: the app takes the terminal back only when this block ends well.
            try:
                code = subprocess.run(list(command), cwd=folder).returncode
                problem = f"{command[0]} ended with code {code}." if code else ""
            except OSError as error:
                problem = f"{command[0]} could not be started: {error.strerror}. Copy the command instead."
    except SuspendNotSupported:
        return "This terminal cannot be given to another program: copy the command instead."
    return problem


def editor() -> list[str]:
    """The person's editor, as words of a command; empty where none is named."""
    return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")


def edit_file(app: ForkpointApp, path: str, line: int) -> str:
    """Opens a file at a line in the editor; returns what went wrong, or ""."""
    words = editor()
    if not words:
        return "No editor is named: set EDITOR."
    if not os.path.isfile(path):
        return "The file is not in the folder now, so there is nothing to edit."
    place = [] if os.path.basename(words[0]) in ("code", "subl") else [f"+{line}"]
    return run_in_terminal(app, [*words, *place, path], os.path.dirname(path))


def edit_text(app: ForkpointApp, text: str) -> str:
    """Opens a text in the editor, as a file of its own that stays; returns what went wrong, or ""."""
    words = editor()
    if not words:
        return "No editor is named: set EDITOR."
    with tempfile.NamedTemporaryFile("w", prefix="forkpoint-prompt-", suffix=".md", delete=False) as file:
        file.write(text)
    return run_in_terminal(app, [*words, file.name], os.path.dirname(file.name))
