"""Codex CLI at work now: told by the locks that it holds."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.codex import running

from tests.builders.codex import CodexSession

codex = agents.get("codex")


def lock_of(session: CodexSession) -> Path:
    file = session.home / "thread-writer-locks" / f"{session.id}.lock"
    file.parent.mkdir(exist_ok=True)
    file.touch()
    return file


@pytest.mark.skipif(not os.path.exists(running.LOCKS), reason="this system does not list its locks")
def test_a_session_is_live_while_its_lock_is_held(session: CodexSession) -> None:
    file = lock_of(session)
    (file.parent / ".coordination.lock").touch()
    root = str(session.cwd)
    assert codex.live(root) == []
    with file.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        (found,) = codex.live(root)
        assert (found.agent, found.session, found.pid) == ("codex", session.id, os.getpid())
        assert found.since == file.stat().st_mtime_ns
        assert codex.live(str(session.cwd.parent / "elsewhere")) == []
    assert codex.live(root) == []


@pytest.mark.skipif(not os.path.exists(running.LOCKS), reason="this system does not list its locks")
def test_what_the_server_holds_counts_while_somebody_uses_it(
    session: CodexSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = tmp_path / "processes"
    monkeypatch.setattr(running, "PROCESSES", str(processes))

    def runs(pid: int, *words: str) -> None:
        (processes / str(pid)).mkdir(parents=True)
        (processes / str(pid) / "cmdline").write_bytes(b"\0".join(word.encode() for word in words))

    runs(os.getpid(), "/x/codex", "app-server", "--listen", "unix://")
    runs(4, "codex", "app-server", "daemon", "pid-update-loop")
    root = str(session.cwd)
    with lock_of(session).open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert codex.live(root) == []
        session.prompt("at work")
        assert len(codex.live(root)) == 1
        session.end()
        assert codex.live(root) == []
        runs(5, "/usr/bin/codex", "resume")
        assert len(codex.live(root)) == 1


def test_where_the_system_lists_no_locks_nothing_is_claimed(
    session: CodexSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_of(session)
    monkeypatch.setattr(running, "LOCKS", str(tmp_path / "missing"))
    assert codex.live(str(session.cwd)) == []
    odd = tmp_path / "locks"
    odd.write_text("1: FLOCK  ADVISORY  WRITE x fe:00:zz 0 EOF\n1: -> FLOCK ADVISORY WRITE 3 fe:00:1 0 EOF\n\n")
    monkeypatch.setattr(running, "LOCKS", str(odd))
    assert codex.live(str(session.cwd)) == []


def test_a_lock_of_a_session_that_is_gone_is_nobody_s(session: CodexSession) -> None:
    with lock_of(session).open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        session.file.unlink()
        assert codex.live(str(session.cwd)) == []
