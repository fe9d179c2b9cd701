"""Whatever becomes of forkpoint, Pi goes on: rule 17, with the real agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forkpoint.store.agents.pi import extension, settings
from forkpoint.store.executable import this_executable

from tests.builders.scripts import PYTHON
from tests.lab.pi_cli import PiCli
from tests.lab.terminal import wait_until


def installed(pi: PiCli, executable: str) -> None:
    settings.install(everywhere=True, root=pi.project, executable=executable, backups=pi.folder / "backups", env=pi.env)


def program(pi: PiCli, body: str) -> str:
    file = pi.folder / "bin" / "forkpoint"
    file.parent.mkdir()
    file.write_text(body)
    file.chmod(0o755)
    return str(file)


def is_gone(pi: PiCli) -> str:
    return str(pi.folder / "bin" / "forkpoint")


def has_lost_its_python(pi: PiCli) -> str:
    return program(pi, "#!/nowhere/bin/python3\nfrom forkpoint.tui.cli import main\nmain()\n")


def prints_and_blocks(pi: PiCli) -> str:
    decision = json.dumps({"systemMessage": "INJECTED", "decision": "block", "block": True, "reason": "INJECTED"})
    return program(pi, f"#!/bin/sh\necho INJECTED >&2\necho '{decision}'\nexit 2\n")


def hangs_and_prints_without_end(pi: PiCli) -> str:
    return program(
        pi, f"#!/bin/sh\nwhile [ ! -e {pi.folder}/released ]; do head -c 100000 /dev/zero; sleep 0.2; done\n"
    )


def finds_a_store_that_is_none(pi: PiCli) -> str:
    pi.store.write_text("not a folder")
    return this_executable()


BROKEN = [
    is_gone,
    has_lost_its_python,
    prints_and_blocks,
    hangs_and_prints_without_end,
    finds_a_store_that_is_none,
]


@pytest.fixture
def released(pi: PiCli) -> Iterator[None]:
    yield
    (pi.folder / "released").touch()


@pytest.mark.parametrize("how", BROKEN, ids=lambda how: how.__name__)
def test_the_turn_is_as_without_forkpoint(
    how: Callable[[PiCli], str], pi: PiCli, released: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension, "PATIENCE", 1000)
    installed(pi, how(pi))
    done = pi.run(["pi", "-p", "Do TURN1 please"])
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("TURN1 is done.", "", 0)
    assert (pi.project / "new.txt").read_text() == "new v2\n"
    assert not (pi.project / "todelete.txt").exists()
    # Pi tells the model where its own manual is, which is in our cache of agents.
    sent = "".join(request.raw for request in pi.stub.requests).replace(str(pi.program.parents[3]), "")
    assert "INJECTED" not in sent
    assert "forkpoint" not in sent


def test_an_extension_of_another_version_is_replaced_and_one_that_is_not_ours_is_not(pi: PiCli) -> None:
    installed(pi, is_gone(pi))
    file = Path(settings.settings_file(everywhere=True, root=pi.project, env=pi.env))
    assert settings.hooks_problem(pi.project, pi.env).startswith("installed, but its program is gone")
    installed(pi, this_executable())
    assert settings.hooks_problem(pi.project, pi.env) == ""
    file.write_text("export default () => {};\n")
    assert "not ours" in pi.forkpoint("install", "pi", "--yes", code=1)["error"]["what"]
    pi.forkpoint("uninstall", "pi", "--yes")
    assert file.read_text() == "export default () => {};\n"


def test_the_person_is_told_on_the_screen_and_the_model_is_not(pi: PiCli, screens: None) -> None:
    installed(pi, finds_a_store_that_is_none(pi))
    with pi.screen() as screen:
        screen.see("forkpoint: not recording since [0-9:]+")
        screen.type("QUESTION")
        screen.press("Enter")
        screen.see("Just an answer")
    assert pi.stub.conversations()
    assert all("not recording" not in request.raw for request in pi.stub.requests)


def test_keys_that_interrupt_pi_do_not_reach_the_program(pi: PiCli, screens: None) -> None:
    body = f"{PYTHON}import os, sys\n"
    body += (
        f"open({str(pi.folder / 'groups')!r}, 'a').write(f'{{os.getpgrp()}} {{os.getppid()}}\\n')\nsys.stdin.read()\n"
    )
    installed(pi, program(pi, body))
    with pi.screen() as screen:
        screen.type("QUESTION")
        screen.press("Enter")
        screen.see("Just an answer")
        told = wait_until(lambda: (pi.folder / "groups").read_text().split(), "the program was called")
    assert told[0] != told[1]
