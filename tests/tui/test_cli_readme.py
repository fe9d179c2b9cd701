"""README.md says what the program does."""

from __future__ import annotations

import re
import tomllib

import pytest
from forkpoint.tui.commands.program import COMMANDS

from tests.builders.cli import forkpoint
from tests.readme import README, generated

TEXT = README.read_text("utf-8")


def test_its_tables_are_those_of_the_program() -> None:
    assert generated(TEXT) == TEXT, "run: python tests/readme.py"


def test_the_two_commands_for_a_fresh_machine_are_there_once() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("python3 -m venv .venv && ")]
    assert [line.rpartition("&& ")[2] for line in lines] == [".venv/bin/forkpoint demo", ".venv/bin/pytest"]


def test_every_command_that_it_speaks_of_exists() -> None:
    known = {name for section in COMMANDS.values() for name in section}
    code = re.findall(r"(?ms)^```sh\n(.*?)^```|`([^`\n]+)`", TEXT)
    named = {
        name for block in code for name in re.findall(r"(?m)^(?:.*/)?forkpoint ([a-z]+)", "\n".join(block).strip())
    }
    assert {"demo", "install", "restore"} <= named <= known


def test_every_file_that_it_shows_or_links_exists() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in target]
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []


def test_the_changelog_speaks_of_this_version_or_of_what_is_to_come() -> None:
    version = tomllib.loads((README.parent / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    changelog = (README.parent / "CHANGELOG.md").read_text("utf-8")
    assert f"## [{version}]" in changelog or "## [Unreleased]" in changelog


@pytest.mark.parametrize("name", [name for section in COMMANDS.values() for name in section])
def test_help_of_every_command_begins_with_what_it_does(name: str) -> None:
    answer = forkpoint(name, "--help")
    assert answer.code == 0
    assert f"Usage: forkpoint {name}" in answer.out
    if name != "hook":
        assert "-C DIR" in answer.out and "--json" in answer.out


def test_help_lists_every_command() -> None:
    out = forkpoint("--help").out
    assert all(re.search(rf"(?m)^  {name} ", out) for section in COMMANDS.values() for name in section)
