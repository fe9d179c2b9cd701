"""Copying, wherever the terminal is: through tmux where we are in one, else by OSC 52, which travels over ssh too.

tmux drops a program's own OSC 52 unless it was told not to; its `load-buffer -w` writes to the outer terminal itself.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Mapping

LONGEST = 5.0
"""Seconds that tmux may take."""
IN_TMUX = "by tmux"
BY_TERMINAL = "by the terminal (OSC 52), where it allows that"


def way(environment: Mapping[str, str] = os.environ) -> str:
    """How what is copied now gets there, in words."""
    return IN_TMUX if environment.get("TMUX") and shutil.which("tmux") else BY_TERMINAL


def give_to_tmux(text: str) -> bool:
    """Hands a text to tmux, which keeps it as a buffer and gives it to the outer terminal; False where it did not."""
    command = ["tmux", "load-buffer", "-w", "-"]
    try:
        done = subprocess.run(command, input=encoded(text), capture_output=True, timeout=LONGEST, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def sequence(text: str) -> str:
    """OSC 52: base64 lets nothing of the text reach the screen."""
    return f"\x1b]52;c;{base64.b64encode(encoded(text)).decode('ascii')}\x07"


def encoded(text: str) -> bytes:
    """The text in UTF-8; what came from bytes that are not is those bytes again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
