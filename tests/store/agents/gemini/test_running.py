"""Which processes of Gemini CLI are at work: the system tells, the program keeps no list."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forkpoint.store import agents

from tests.builders.gemini import GeminiSession

gemini = agents.get("gemini")

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system does not tell of its processes")

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts what looks like the program in a folder."""
    script = tmp_path / "bin" / "gemini"
    script.parent.mkdir()
    script.write_text("import sys\nprint('ready', flush=True)\nsys.stdin.read()\n")
    made: list[subprocess.Popen[bytes]] = []

    def begin(cwd: Path, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(script), *arguments]
        made.append(subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert made[-1].stdout is not None
        made[-1].stdout.readline()
        return made[-1]

    yield begin
    for process in made:
        process.communicate()


def test_a_process_in_the_root_works_at_the_session_that_was_written_last(
    session: GeminiSession, shop: Path, start: Start
) -> None:
    assert gemini.live(str(shop)) == []
    os.utime(session.file, (1, 1))
    running = start(shop, "--yolo")
    assert gemini.live(str(shop)) == [], "nothing was written since"
    session.prompt("One")
    (live,) = gemini.live(str(shop))
    assert (live.agent, live.session, live.pid) == ("gemini", session.id, running.pid)
    assert gemini.live(str(shop.parent / "elsewhere")) == []
    running.communicate()
    assert gemini.live(str(shop)) == []


def test_a_process_that_was_told_its_session_works_at_that(session: GeminiSession, shop: Path, start: Start) -> None:
    other = GeminiSession(session.home, shop)
    start(shop, "-m", "x", "--resume", session.id)
    other.prompt("Newer")
    assert [live.session for live in gemini.live(str(shop))] == [session.id]


def test_another_program_is_none(session: GeminiSession, shop: Path, tmp_path: Path) -> None:
    session.prompt("One")
    with subprocess.Popen([sys.executable, "-c", "input()", "gemini"], cwd=shop, stdin=subprocess.PIPE) as process:
        assert gemini.live(str(shop)) == []
        process.communicate(b"\n")
