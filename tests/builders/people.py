"""Running a part of a test as somebody who is not root: root ignores file modes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store import roots

NOBODY = 65534


def as_nobody(folder: Path, act: Callable[[], str]) -> str:
    """Runs `act` in a child process that is nobody, with `folder` open to it; gives what it returned or raised.

    Skips the test where nobody may not even read the program: in a clone under a closed home folder.
    """
    code = Path(roots.__file__).parent
    if any(place.stat().st_mode & 0o005 != 0o005 for place in (code, *code.parents)):
        pytest.skip(f"nobody may not read {code}")
    for place in (folder, *folder.parents):
        if place.stat().st_uid == os.geteuid() and place != Path("/"):
            place.chmod(place.stat().st_mode | 0o055)
    folder.chmod(0o777)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.environ["HOME"] = str(folder)
            os.write(writer, act().encode())
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read().decode()
    os.waitpid(child, 0)
    return told
