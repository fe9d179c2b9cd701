"""Claude Code processes that are at work: a file of theirs, and a living process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.claude.running import is_alive

claude = agents.get("claude")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.wait()


def start_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def tell(machine: Path, pid: int, cwd: Path, **more: object) -> None:
    """Writes what the program keeps while it runs."""
    folder = machine / "claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    told = {"pid": pid, "sessionId": "s1", "cwd": str(cwd), "startedAt": 1796062847867, "status": "busy", **more}
    (folder / f"{pid}.json").write_text(json.dumps(told))


def test_a_process_in_the_folder_or_under_it_is_live(
    machine: Path, tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "sub").mkdir()
    tell(machine, process.pid, tmp_path / "sub")
    (found,) = claude.live(str(tmp_path))
    assert (found.agent, found.session, found.pid) == ("claude", "s1", process.pid)
    assert found.since == 1796062847867 * 1_000_000
    assert claude.live(str(tmp_path / "other")) == []


def test_a_process_that_is_gone_is_not(machine: Path, tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    tell(machine, process.pid, tmp_path)
    process.kill()
    process.wait()
    assert claude.live(str(tmp_path)) == []


def test_a_dead_process_that_nobody_waited_for_is_not(tmp_path: Path) -> None:
    started = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(started.pid)
    started.wait()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the start of a process cannot be read here")
def test_another_process_with_the_same_number_is_not(
    machine: Path, tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    tell(machine, process.pid, tmp_path, procStart=start_of(process.pid))
    assert len(claude.live(str(tmp_path))) == 1
    tell(machine, process.pid, tmp_path, procStart="17")
    assert claude.live(str(tmp_path)) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/ns"), reason="there are no process namespaces here")
def test_a_process_number_of_a_container_says_nothing_here(
    machine: Path, tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    tell(machine, process.pid, tmp_path, pidDomain="linux:3d12:pid:[1]")
    assert claude.live(str(tmp_path)) == []
    tell(machine, process.pid, tmp_path, pidDomain=f"linux:3d12:{os.readlink('/proc/self/ns/pid')}")
    assert len(claude.live(str(tmp_path))) == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"pid": "1"}', '{"pid": -1, "sessionId": "s", "cwd": "/"}', "[" * 9999]
)
def test_a_damaged_file_is_passed_over(machine: Path, tmp_path: Path, text: str) -> None:
    folder = machine / "claude" / "sessions"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(text)
    (folder / "1.key").write_text("x")
    assert claude.live("/") == []
