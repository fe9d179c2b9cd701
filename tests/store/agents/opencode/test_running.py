"""Which processes of OpenCode are at work in a folder, from what the system tells of its processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.opencode import running

from tests.builders.opencode import OpenCode

agent = agents.get("opencode")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "proc"
    folder.mkdir()
    monkeypatch.setattr(running, "PROC", str(folder))
    return folder


def process(proc: Path, pid: int, cwd: Path, *words: str, state: str = "S", age: float = 0.0) -> None:
    """A process that began so many seconds ago."""
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"\0".join(os.fsencode(word) for word in words) + b"\0")
    clock = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()
    ticks = int((clock - age) * os.sysconf("SC_CLK_TCK"))
    (folder / "stat").write_text(f"{pid} (open code) {state} " + "0 " * 18 + f"{ticks} 0\n")
    (folder / "cwd").symlink_to(cwd)


def test_a_process_in_the_root_is_live_with_the_session_that_it_works_on(
    proc: Path, opencode: OpenCode, project: Path
) -> None:
    opencode.now = int(time.time() * 1000) - 5_000
    session = opencode.session(project)
    session.turn("One")
    (project / "sub").mkdir()
    process(proc, 11, project, "/usr/bin/opencode", age=60)
    process(proc, 12, project / "sub", "opencode", "run", "-s", "ses_named", age=30)
    process(proc, 13, project.parent, "opencode")
    process(proc, 14, project, "vim", "opencode")
    process(proc, 15, project, "opencode", state="Z")
    found = agent.live(str(project))
    assert [(item.pid, item.session, item.agent) for item in found] == [
        (11, session.id, "opencode"),
        (12, "ses_named", "opencode"),
    ]
    assert abs(found[0].since - (time.time_ns() - 60 * 10**9)) < 30 * 10**9


def test_one_that_began_after_everything_was_said_has_no_session_yet(
    proc: Path, opencode: OpenCode, project: Path
) -> None:
    opencode.session(project).turn("One")
    process(proc, 11, project, "opencode")
    process(proc, 12, project, "opencode", "--session", "ses_old", "--fork", age=-1)
    assert [item.session for item in agent.live(str(project))] == ["", ""]


def test_where_processes_cannot_be_looked_at_only_hooks_tell(proc: Path, project: Path) -> None:
    (proc / "11").mkdir()
    assert agent.live(str(project)) == []
    proc.joinpath("11").rmdir()
    proc.rmdir()
    assert agent.live(str(project)) == []
