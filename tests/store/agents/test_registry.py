"""One registry of agents: a new agent is one new file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Agent
from forkpoint.store.errors import UsageError


def test_every_agent_has_all_the_functions() -> None:
    wanted = [name for name in vars(Agent) if not name.startswith("_")]
    for name in agents.names():
        module = agents.get(name)
        assert name == module.NAME
        assert [item for item in wanted if not hasattr(module, item)] == []


def test_a_new_file_is_a_new_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "abacus.py").write_text('NAME = "abacus"\n')
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path)])
    assert set(agents.names()) >= {"abacus", "claude"}
    assert agents.get("abacus").NAME == "abacus"


def test_an_unknown_agent_is_told_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="claude"):
        agents.get("clippy")


def test_naming_an_agent_loads_nothing_heavy() -> None:
    program = """
import sys
from forkpoint.store import agents
from forkpoint.store.agents import base
claude = agents.get("claude")
assert claude.TITLE == "Claude Code"
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"msgspec", "pygit2", "tinydb", "unidiff"} & set(done.stdout.split())
