"""Pi processes that are at work: any process that calls itself so, in the folder or under it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store import agents

from tests.builders.pi import PiSession

pi = agents.get("pi")
pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc to ask here")


def start(cwd: Path, title: str = "pi") -> subprocess.Popen[bytes]:
    """A process with this title, as node sets it, waiting for its end."""
    program = shutil.which("sh")
    assert program is not None
    process = subprocess.Popen([title, "-c", "read x"], executable=program, cwd=cwd, stdin=subprocess.PIPE)
    while Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0] != title.encode():
        time.sleep(0.01)
    return process


@pytest.fixture
def process(shop: Path) -> Iterator[subprocess.Popen[bytes]]:
    (shop / "sub").mkdir()
    started = start(shop / "sub")
    yield started
    started.kill()
    started.wait()


def test_a_process_in_the_folder_or_under_it_is_live(shop: Path, process: subprocess.Popen[bytes]) -> None:
    (found,) = pi.live(str(shop))
    assert (found.agent, found.session, found.pid) == ("pi", "", process.pid)
    assert abs(found.since - time.time_ns()) < 600 * 10**9
    (shop / "other").mkdir()
    assert pi.live(str(shop / "other")) == []


def test_it_is_named_by_the_session_that_it_writes(shop: Path, home: Path, process: subprocess.Popen[bytes]) -> None:
    older = PiSession(home, shop / "sub")
    older.turn()
    os.utime(older.file, (0, 0))
    elsewhere = PiSession(home, shop)
    elsewhere.turn()
    assert pi.live(str(shop))[0].session == ""
    written = PiSession(home, shop / "sub", now=older.now)
    written.turn()
    assert pi.live(str(shop))[0].session == written.id


def test_a_process_of_another_name_is_not(shop: Path) -> None:
    other = start(shop, "pip")
    try:
        assert pi.live(str(shop)) == []
    finally:
        other.kill()
        other.wait()


def test_a_process_that_is_gone_is_not(shop: Path, process: subprocess.Popen[bytes]) -> None:
    process.kill()
    assert sys.platform != "linux" or process.wait() != 0
    assert pi.live(str(shop)) == []
