"""Whatever becomes of forkpoint, Claude Code goes on: rule 17, with the real agent."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store.agents.claude import settings
from forkpoint.store.executable import this_executable

from tests.builders.scripts import PYTHON
from tests.lab.claude_code import ClaudeCode


def installed(claude: ClaudeCode, executable: str) -> None:
    settings.install(
        everywhere=True, root=claude.project, executable=executable, backups=claude.folder / "backups", env=claude.env
    )


def program(claude: ClaudeCode, body: str) -> str:
    file = claude.folder / "bin" / "forkpoint"
    file.parent.mkdir()
    file.write_text(body)
    file.chmod(0o755)
    return str(file)


def is_gone(claude: ClaudeCode) -> str:
    return str(claude.folder / "bin" / "forkpoint")


def has_lost_its_python(claude: ClaudeCode) -> str:
    return program(claude, "#!/nowhere/bin/python3\nfrom forkpoint.tui.cli import main\nmain()\n")


def has_lost_a_module(claude: ClaudeCode) -> str:
    return program(claude, f"{PYTHON}import forkpoint_of_another_version\n")


def does_not_know_the_command(claude: ClaudeCode) -> str:
    body = f"{PYTHON}import argparse\nargparse.ArgumentParser().add_argument('--later')\nraise SystemExit(2)\n"
    return program(claude, body)


def prints_and_blocks(claude: ClaudeCode) -> str:
    decision = json.dumps({"decision": "block", "reason": "INJECTED"})
    return program(claude, f"#!/bin/sh\necho INJECTED >&2\necho 'INJECTED, do it'\necho '{decision}'\nexit 2\n")


def finds_a_store_that_is_none(claude: ClaudeCode) -> str:
    claude.store.write_text("not a folder")
    return this_executable()


def finds_no_git(claude: ClaudeCode) -> str:
    tools = claude.folder / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "env", "rm", "mv", "cat", "ls", "grep", "sed"):
        for folder in os.environ["PATH"].split(":"):
            if os.path.exists(os.path.join(folder, name)) and not (tools / name).exists():
                (tools / name).symlink_to(os.path.join(folder, name))
    claude.extra["PATH"] = str(tools)
    return this_executable()


def finds_a_full_disk(claude: ClaudeCode) -> str:
    """A file system of a few kilobytes where one may be mounted; else a limit on the size of files."""
    claude.store.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(claude.store)],
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        (claude.store / "filler").write_bytes(b"\0" * 60_000)
        return this_executable()
    limited = f"{PYTHON}import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
    return program(claude, limited + "from forkpoint.tui.cli import main\nmain()\n")


@pytest.fixture
def unmounted(claude: ClaudeCode):
    yield
    subprocess.run(["umount", str(claude.store)], capture_output=True, check=False)


BROKEN = [
    is_gone,
    has_lost_its_python,
    has_lost_a_module,
    does_not_know_the_command,
    prints_and_blocks,
    finds_a_store_that_is_none,
    finds_no_git,
    finds_a_full_disk,
]


@pytest.mark.parametrize("how", BROKEN, ids=lambda how: how.__name__)
def test_the_turn_is_as_without_forkpoint(
    how: Callable[[ClaudeCode], str], claude: ClaudeCode, unmounted: None
) -> None:
    installed(claude, how(claude))
    said = claude.ask("Do TURN1 please")
    assert (said["result"], said["is_error"]) == ("TURN1 is done.", False)
    assert (claude.project / "new.txt").read_text() == "new v2\n"
    assert not (claude.project / "todelete.txt").exists()
    for request in claude.stub.requests:
        assert "INJECTED" not in request.raw
        assert "forkpoint" not in request.raw


def test_what_the_person_is_told_does_not_reach_the_model(claude: ClaudeCode) -> None:
    installed(claude, finds_a_store_that_is_none(claude))
    output = subprocess.run(
        [claude.program, "-p", "QUESTION", "--output-format", "stream-json", "--verbose", "--include-hook-events"],
        cwd=claude.project,
        env=claude.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert any("not recording since" in json.dumps(record) for record in records)
    assert all("not recording since" not in request.raw for request in claude.stub.requests)


def test_the_screen_shows_it(claude: ClaudeCode, screens: None) -> None:
    installed(claude, finds_a_store_that_is_none(claude))
    with claude.screen() as screen:
        screen.see("forkpoint: not recording since [0-9:]+, .*forkpoint doctor")


def test_a_working_forkpoint_adds_nothing_to_what_the_model_sees(claude: ClaudeCode) -> None:
    installed(claude, this_executable())
    assert claude.ask("Do TURN2 please")["result"] == "TURN2 is done."
    assert (claude.store / "workspaces").is_dir()
    assert claude.stub.requests
    for request in claude.stub.requests:
        assert "forkpoint" not in request.raw


def test_a_hook_of_another_version_with_an_option_of_its_own_records_all_the_same(claude: ClaudeCode) -> None:
    installed(claude, this_executable())
    file = Path(settings.settings_file(everywhere=True, root=claude.project, env=claude.env))
    file.write_text(file.read_text().replace("hook claude", "hook claude --of-later"))
    assert claude.ask("QUESTION")["result"] == "Just an answer, no tools."
    assert (claude.store / "workspaces").is_dir()
