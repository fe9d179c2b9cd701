"""One registry of agents: a new agent is one new file."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from pkgutil import iter_modules

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Agent
from forkpoint.store.errors import UsageError
from forkpoint.store.hook import HookEvent, Step


def test_every_agent_has_all_the_functions() -> None:
    wanted = [name for name in vars(Agent) if not name.startswith("_")]
    for name in agents.names():
        module = agents.get(name)
        assert name == module.NAME
        assert [item for item in wanted if not hasattr(module, item)] == []


def test_no_module_of_a_package_takes_the_name_of_a_function() -> None:
    """Importing a module sets its name in the package: a function of that name would be gone from then on."""
    functions = {name for name in vars(Agent) if not name.startswith("_")}
    for name in agents.names():
        package = import_module(f"{agents.__name__}.{name}")
        modules = {module.name for module in iter_modules(getattr(package, "__path__", ()))}
        assert not modules & (functions | {item for item, value in vars(package).items() if isfunction(value)})


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


@pytest.mark.parametrize("name", agents.names())
def test_a_message_gets_through_exactly_where_the_recorder_has_one(name: str) -> None:
    events = agents.get(name)
    hooks = getattr(import_module(f"{agents.__name__}.{name}.settings"), "HOOKS", None)
    if hooks is None:
        pytest.skip("its extension passes on whatever is for the person")
    assert {event.name for event in hooks.events if event.tells} == {
        event.name for event in hooks.events if events.step(HookEvent(name, name=event.name)).tells
    }
    assert [event for event in hooks.events if events.step(HookEvent(name, name=event.name)) == Step()] == []


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("name", agents.names())
def test_what_is_installed_comes_out_again_with_all_that_was_made_for_it(
    name: str, everywhere: bool, machine: Path, tmp_path: Path
) -> None:
    settings = agents.get(name)
    project = tmp_path / "project"
    project.mkdir()
    before = {folder: sorted(folder.rglob("*")) for folder in (machine, project)}
    options = {"everywhere": everywhere, "root": str(project), "backups": tmp_path / "backups"}
    program = tmp_path / "bin" / "forkpoint"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert agents.get(name).hooks_problem(str(project)) == "not installed"
    shown = settings.install(**options, executable=str(program), dry_run=True)
    assert {folder: sorted(folder.rglob("*")) for folder in before} == before
    assert shown.lines[0] == "--- /dev/null" and str(program) in "".join(shown.lines)
    made = settings.install(**options, executable=str(program))
    assert (made.file, made.after, made.lines) == (shown.file, shown.after, shown.lines)
    assert os.path.dirname(made.file) in agents.get(name).written(str(project))
    assert agents.get(name).hooks_problem(str(project)) != "not installed"
    os.unlink(program)
    assert "program is gone" in agents.get(name).hooks_problem(str(project))
    settings.uninstall(**options)
    assert {folder: sorted(folder.rglob("*")) for folder in before} == before


def test_only_agents_that_were_ever_used_are_asked_for_sessions(machine: Path) -> None:
    assert agents.in_use() == ()
    (machine / ".pi" / "agent").mkdir(parents=True)
    (machine / ".codex").mkdir()
    assert agents.in_use() == ("codex", "pi")
