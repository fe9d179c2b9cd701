"""Whatever becomes of forkpoint, Codex CLI goes on: rule 17, with the real agent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from forkpoint.store.agents.codex import settings
from forkpoint.store.executable import this_executable

from tests.builders.scripts import PYTHON
from tests.lab.codex_cli import CodexCli, said

DECISION = json.dumps({"systemMessage": "INJECTED", "decision": "block", "continue": False, "reason": "INJECTED"})
PROGRAMS = {
    "has lost its Python": "#!/nowhere/bin/python3\nfrom forkpoint.tui.cli import main\nmain()\n",
    "has lost a module": f"{PYTHON}import forkpoint_of_another_version\n",
    "prints and blocks": f"#!/bin/sh\necho INJECTED >&2\necho 'INJECTED, do it'\necho '{DECISION}'\nexit 2\n",
    "hangs and prints without end": "#!/bin/sh\nwhile sleep 0.2 && head -c 100000 /dev/zero; do :; done\n",
    "finds a store that is none": "",
}
"""How forkpoint is broken → the program that hooks find in its place; "" for the true one."""


def installed(codex: CodexCli, executable: str) -> Path:
    """Our hooks, trusted; the hooks' file."""
    backups = codex.folder / "backups"
    done = settings.install(everywhere=True, root=codex.project, executable=executable, backups=backups, env=codex.env)
    codex.trust(settings.hashes(done.file))
    return Path(done.file)


def went_on(codex: CodexCli) -> None:
    assert said(codex.ask("Do TURN3 please"))[-1] == "TURN3 is done."
    assert (codex.project / "sub" / "dir" / "three.txt").read_text() == "three\n"
    for request in codex.stub.requests:
        assert "INJECTED" not in request.raw
        assert "forkpoint" not in request.raw


@pytest.mark.parametrize("how", PROGRAMS)
def test_the_turn_is_as_without_forkpoint(how: str, codex: CodexCli) -> None:
    program = codex.folder / "bin" / "forkpoint"
    program.parent.mkdir()
    if PROGRAMS[how]:
        program.write_text(PROGRAMS[how])
        program.chmod(0o755)
    else:
        codex.store.write_text("not a folder")
    file = installed(codex, str(program) if PROGRAMS[how] else this_executable())
    if "hangs" in how:
        # The agent gives each hook up after its time; what that is, is trusted along with the hook.
        file.write_text(re.sub('"timeout": [0-9]+', '"timeout": 1', file.read_text()))
        codex.prepare()
        codex.trust(settings.hashes(str(file)))
    went_on(codex)


def test_a_program_that_is_gone_is_not_missed(codex: CodexCli) -> None:
    installed(codex, str(codex.folder / "bin" / "forkpoint"))
    went_on(codex)


def test_what_the_person_is_told_does_not_reach_the_model(codex: CodexCli, screens: None) -> None:
    codex.store.write_text("not a folder")
    installed(codex, this_executable())
    with codex.screen("QUESTION") as screen:
        screen.see("forkpoint: not recording since [0-9:]+, .*forkpoint doctor")
        screen.see("Just an answer")
    assert codex.stub.requests
    assert all("not recording since" not in request.raw for request in codex.stub.requests)


def test_a_working_forkpoint_adds_nothing_to_what_the_model_sees(codex: CodexCli) -> None:
    installed(codex, this_executable())
    went_on(codex)
    assert (codex.store / "workspaces").is_dir()
