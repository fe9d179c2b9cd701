"""The agent takes this process's place: the terminal, the signals and the exit code are its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import NoReturn

from ...store.errors import ForkpointError
from .. import given


def become(command: Sequence[str], folder: str) -> NoReturn:
    """Runs the command in the folder instead of this process. Raises ForkpointError where it cannot be started."""
    program = shutil.which(command[0])
    if program is None:
        raise ForkpointError(f"there is no {command[0]} on PATH to start", todo="run the command where it is installed")
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.chdir(folder)
        if given.umask is not None:
            os.umask(given.umask)
        for number in given.closed:
            os.close(number)
        os.execv(program, list(command))
    except OSError as error:
        raise ForkpointError("the agent could not be started", path=folder, todo=str(error.strerror)) from None
