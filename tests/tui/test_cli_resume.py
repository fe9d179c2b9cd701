"""`forkpoint resume`: the agent goes on, in the folder and with the session that a branch ends with."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.builders.cli import Talk, forkpoint, process
from tests.builders.folders import make
from tests.builders.recorded import Recorded


class Asked(Recorded):
    """A session whose prompts are remembered."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.prompts: list[str] = []


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Two turns of Claude Code in a folder whose name a shell would take apart."""
    agent = Asked(tmp_path / "my shop")
    monkeypatch.chdir(agent.project)
    agent.starts()
    for prompt in ("Add a page", "Fold the lines"):
        agent.prompts.append(agent.asked(prompt))
        agent.runs("make", lambda root, name=prompt: make(root, {name: "1\n"}))
        agent.stops()
    return agent


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `claude` is a program that tells how it was started."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ntrap "echo heard; exit 7" INT\necho "in $PWD with $*"\nread line\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_without_a_terminal_the_command_is_printed(agent: Asked) -> None:
    line = forkpoint("resume", "--print").out.strip()
    assert line == f"cd {shlex.quote(str(agent.project))} && claude --resume {agent.session.id}"
    answer = forkpoint("resume")
    assert answer.code == 0
    assert answer.lines[-2:] == ["Going on with branch add-page in Claude Code:", f"  {line}"]
    document = forkpoint("resume", "--json").json
    assert document == {
        "branch": "add-page",
        "session": agent.session.id,
        "agent": "claude",
        "command": ["claude", "--resume", agent.session.id],
        "cwd": str(agent.project),
        "forked": False,
        "note": "",
        "live": [],
    }
    assert forkpoint("operations", "--json").json == [], "nothing was done"


def test_in_a_terminal_the_agent_takes_the_place_of_the_command(agent: Asked, on_path: dict[str, str]) -> None:
    talk = Talk("resume", cwd=agent.project, env=on_path)
    talk.until(f"in {agent.project} with --resume {agent.session.id}")
    talk.type("\x03")
    assert talk.close() == 7
    assert "heard" in talk.seen, "signals are the agent's"


def test_a_terminal_without_the_agent_says_so(agent: Asked, tmp_path: Path) -> None:
    talk = Talk("resume", cwd=agent.project, env={**os.environ, "PATH": "/usr/bin:/bin"})
    assert talk.close() == 1
    assert "there is no claude on PATH to start" in talk.seen


def test_a_branch_or_a_session_is_named_by_its_beginning(agent: Asked) -> None:
    for name in ("add-page", "add", agent.session.id, agent.session.id[:8], f"claude:{agent.session.id[:8]}"):
        assert forkpoint("resume", name, "--json").json["session"] == agent.session.id
    answer = forkpoint("resume", "nowhere")
    assert (answer.code, answer.out) == (2, "")
    assert 'no branch and no session is called "nowhere"' in answer.err


def test_a_fork_is_gone_on_with_by_its_name_and_the_first_branch_by_its_own(agent: Asked) -> None:
    checkpoints = forkpoint("log", "--json").json["checkpoints"]
    first, second = (item["id"] for item in checkpoints if item["reason"] == "prompt")
    fork = forkpoint("fork", second, "--name", "other-way", "--json").json
    assert forkpoint("resume", "other", "--json").json["session"] == fork["session"]
    empty = forkpoint("fork", first, "--name", "anew", "--json").json
    assert forkpoint("resume", "anew", "--json").json["command"] == empty["command"]
    assert forkpoint("resume", "add-page", "--json").json["session"] == agent.session.id


def test_after_going_back_it_is_the_branch_that_one_went_back_to(agent: Asked) -> None:
    checkpoints = forkpoint("log", "--json").json["checkpoints"]
    prompts = [item["id"] for item in checkpoints if item["reason"] == "prompt"]
    for point in (prompts[1], prompts[0]):
        gone = forkpoint("restore", point, "--conversation", "--yes", "--json").json
        document = forkpoint("resume", "--json").json
        assert document["session"] == gone["fork"]["session"]
        assert document["command"] == gone["fork"]["command"]
        assert not document["forked"]
        assert forkpoint("undo", "--yes").code == 0
    assert forkpoint("resume", "--json").json["session"] == agent.session.id


def test_a_branch_that_was_left_is_gone_on_with_in_a_copy(agent: Asked) -> None:
    agent.session.leaf = agent.session.parents[agent.prompts[1]]
    agent.asked("Another way")
    agent.stops()
    names = {branch["name"]: branch["session"] for branch in forkpoint("branches", "--json").json}
    (left,) = [name for name, session in names.items() if not session]
    answer = forkpoint("resume", left)
    assert answer.code == 0
    assert "no session of Claude Code ends with this branch: it goes on with a copy that does" in answer.out
    (operation,) = forkpoint("operations", "--json").json
    assert operation["kind"] == "fork"
    session = shlex.split(answer.lines[-2])[-1]
    lines = (agent.session.file.parent / f"{session}.jsonl").read_text().splitlines()
    assert any("Fold the lines" in line for line in lines)
    assert not any("Another way" in line for line in lines)


def test_a_session_whose_file_the_agent_deleted_goes_on_from_the_store(agent: Asked) -> None:
    forkpoint("log")
    agent.session.file.unlink()
    answer = forkpoint("resume", "--json")
    assert answer.code == 0
    assert answer.json["forked"]
    assert answer.json["note"] == "Claude Code deleted its file of this session: it goes on with a copy from the store"
    assert answer.json["session"] != agent.session.id
    file = agent.session.file.parent / f"{answer.json['session']}.jsonl"
    prompts = [line for line in map(json.loads, file.read_text().splitlines()) if line.get("promptId")]
    assert [line["message"]["content"] for line in prompts if isinstance(line["message"]["content"], str)] == [
        "Add a page",
        "Fold the lines",
    ]
    again = forkpoint("resume", "--json").json
    assert (again["session"], again["forked"]) == (answer.json["session"], False)


def test_where_no_agent_worked_there_is_nothing_to_go_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    forkpoint("save")
    answer = forkpoint("resume")
    assert answer.code == 1
    assert "no agent's session was found here" in answer.err


def test_a_session_that_is_open_is_told_and_asked_about(agent: Asked, on_path: dict[str, str]) -> None:
    """Two agents in one session write into one file."""
    sessions = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    sessions.mkdir()
    told = {"pid": os.getpid(), "sessionId": agent.session.id, "cwd": str(agent.project)}
    (sessions / f"{os.getpid()}.json").write_text(json.dumps(told))
    talk = Talk("resume", cwd=agent.project, env=on_path)
    talk.until("Go on all the same? [y/N]")
    assert "Claude Code is open here now" in talk.seen
    talk.type("\n")
    assert talk.close() == 3
    assert process("resume", "--print", cwd=agent.project).code == 0
