"""Whatever becomes of forkpoint, OpenCode goes on: rule 17, with the real agent."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from forkpoint.store.agents.opencode import settings

from tests.builders.scripts import PYTHON
from tests.lab.opencode_cli import OpenCodeCli


def program(opencode: OpenCodeCli, body: str) -> str:
    file = opencode.folder / "bin" / "forkpoint"
    file.parent.mkdir()
    file.write_text(body)
    file.chmod(0o755)
    return str(file)


def is_gone(opencode: OpenCodeCli) -> str:
    return str(opencode.folder / "bin" / "forkpoint")


def has_lost_its_python_and_blocks(opencode: OpenCodeCli) -> str:
    decision = json.dumps({"decision": "block", "reason": "INJECTED"})
    return program(opencode, f"#!/bin/sh\necho INJECTED >&2\necho 'INJECTED, do it'\necho '{decision}'\nexit 2\n")


def hangs(opencode: OpenCodeCli) -> str:
    return program(opencode, f"{PYTHON}import time\ntime.sleep(600)\n")


def finds_a_store_that_is_none(opencode: OpenCodeCli) -> str:
    opencode.store.write_text("not a folder")
    return opencode.executable


@pytest.mark.parametrize(
    "how", [is_gone, has_lost_its_python_and_blocks, hangs, finds_a_store_that_is_none], ids=lambda how: how.__name__
)
def test_the_turn_is_as_without_forkpoint(how: Callable[[OpenCodeCli], str], opencode: OpenCodeCli) -> None:
    settings.install(
        everywhere=True,
        root=opencode.project,
        executable=how(opencode),
        backups=opencode.folder / "backups",
        env=opencode.env,
    )
    assert opencode.ask("Do TURN2 please") == "TURN2 is done."
    assert (opencode.project / "shell.txt").read_text() == "shell-made\n"
    for request in opencode.stub.requests:
        assert "INJECTED" not in request.raw
        assert "forkpoint" not in request.raw.replace(str(opencode.folder), "")
