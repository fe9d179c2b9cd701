"""Whatever becomes of forkpoint, Gemini CLI goes on: rule 17, with the real agent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forkpoint.store.agents.gemini import settings
from forkpoint.store.executable import this_executable

from tests.lab.gemini_cli import GeminiCli


def installed(gemini: GeminiCli, executable: str) -> None:
    settings.HOOKS.install(
        everywhere=True, root=gemini.project, executable=executable, backups=gemini.folder / "backups", env=gemini.env
    )


def program(gemini: GeminiCli, body: str) -> str:
    file = gemini.folder / "bin" / "forkpoint"
    file.parent.mkdir()
    file.write_text(body)
    file.chmod(0o755)
    return str(file)


def is_gone(gemini: GeminiCli) -> str:
    return str(gemini.folder / "bin" / "forkpoint")


def prints_and_blocks(gemini: GeminiCli) -> str:
    decision = json.dumps({"decision": "deny", "reason": "INJECTED", "systemMessage": "INJECTED"})
    return program(gemini, f"#!/bin/sh\necho INJECTED >&2\necho 'INJECTED'\necho '{decision}'\nexit 2\n")


def hangs(gemini: GeminiCli) -> str:
    """It reads nothing, prints without end what is no word of ours, and never ends by itself."""
    released = gemini.folder / "released"
    return program(gemini, f"#!/bin/sh\nwhile [ ! -e {released} ]; do echo noise; sleep 0.1; done\n")


def finds_a_store_that_is_none(gemini: GeminiCli) -> str:
    gemini.store.write_text("not a folder")
    return this_executable()


@pytest.fixture
def released(gemini: GeminiCli) -> Iterator[None]:
    yield
    (gemini.folder / "released").touch()


@pytest.mark.parametrize("how", [is_gone, prints_and_blocks, hangs], ids=lambda how: how.__name__)
def test_the_turn_is_as_without_forkpoint(
    how: Callable[[GeminiCli], str], gemini: GeminiCli, released: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Eight seconds at each of six hooks would take the test's time.
    monkeypatch.setattr(settings, "HOOKS", dataclasses.replace(settings.HOOKS, patience=1))
    installed(gemini, how(gemini))
    said = gemini.ask("Do TURN2B please")
    assert (said["response"], said.get("error")) == ("TURN2B is done.", None)
    assert "ook" not in said["said"], "no word of a hook is shown"
    assert (gemini.project / "big.txt").stat().st_size == 200_000
    assert not (gemini.project / "todelete.txt").exists()
    # The program tells the model where its own skills are, which is in our cache of agents.
    sent = "".join(request.raw for request in gemini.stub.requests).replace(str(gemini.program.parents[3]), "")
    assert "INJECTED" not in sent
    assert "forkpoint" not in sent


def test_the_person_is_told_that_nothing_is_recorded_and_the_model_is_not(gemini: GeminiCli, screens: None) -> None:
    installed(gemini, finds_a_store_that_is_none(gemini))
    with gemini.screen("--yolo") as screen:
        screen.see("forkpoint: not recording since [0-9:]+, .*forkpoint doctor")
    gemini.ask("QUESTION")
    assert gemini.stub.conversations()
    assert all("not recording" not in request.raw for request in gemini.stub.requests)


def test_settings_with_comments_come_out_as_they_were(gemini: GeminiCli) -> None:
    file = gemini.config / "settings.json"
    mine = file.read_text().replace("{", "{\n  // mine, and it stays\n", 1)
    file.write_text(mine)
    gemini.forkpoint("install", "gemini", "--yes")
    assert "// mine, and it stays" in file.read_text()
    gemini.ask("Do TURN2B please")
    assert [point["reason"] for point in gemini.forkpoint("log")["checkpoints"]].count("tool") == 2
    gemini.forkpoint("uninstall", "gemini", "--yes")
    assert file.read_text() == mine
    assert Path(settings.settings_file(everywhere=True, root=gemini.project, env=gemini.env)) == file
