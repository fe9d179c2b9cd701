"""Codex CLI's hooks file, and whether the program runs what stands in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forkpoint.store.agents.codex import settings


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "bin" / "forkpoint"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def install(project: Path, program: str, *, everywhere: bool = True) -> str:
    backups = project.parent / "backups"
    return settings.install(everywhere=everywhere, root=project, executable=program, backups=backups).file


def trust(home: Path, file: str, *, more: str = "") -> None:
    """What Codex writes when a person trusts all hooks."""
    states = "".join(
        f'[hooks.state."{file}:{place}"]\ntrusted_hash = "{digest}"\n' for place, digest in settings.hashes(file)
    )
    (home / "config.toml").write_text(more + states)


def test_hooks_go_into_the_person_s_file_or_the_project_s(project: Path, program: str, machine: Path) -> None:
    assert install(project, program) == str(machine / ".codex" / "hooks.json")
    assert install(project, program, everywhere=False) == str(project / ".codex" / "hooks.json")
    told = json.loads((machine / ".codex" / "hooks.json").read_text())["hooks"]
    assert list(told) == list(settings.EVENTS)
    assert told["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    assert told["PreToolUse"][0]["hooks"][0]["timeout"] == 10


def test_the_home_that_the_person_chose_is_used(project: Path, program: str, tmp_path: Path) -> None:
    env = {"CODEX_HOME": str(tmp_path / "own"), "HOME": "/nowhere"}
    assert settings.settings_file(everywhere=True, root=project, env=env) == str(tmp_path / "own" / "hooks.json")


def test_what_stood_there_stays_and_comes_back_to_the_byte(project: Path, program: str, machine: Path) -> None:
    file = machine / ".codex" / "hooks.json"
    file.parent.mkdir()
    own = '{ "hooks": {"Stop": [{"matcher": "x",\t"hooks": [{"type":"command","command":"true"}]}]}, "x": 1 }\r\n'
    file.write_bytes(own.encode())
    install(project, program)
    assert json.loads(file.read_text())["hooks"]["Stop"][0]["matcher"] == "x"
    settings.uninstall(everywhere=True, root=project, backups=project.parent / "backups")
    assert file.read_bytes() == own.encode()


def test_installed_is_not_yet_trusted(project: Path, program: str) -> None:
    assert settings.hooks_problem(project) == "not installed"
    install(project, program)
    assert "not trusted yet" in settings.hooks_problem(project)
    assert "Trust all and continue" in settings.hooks_problem(project)


def test_hooks_work_once_a_person_trusted_each_of_them(project: Path, program: str, machine: Path) -> None:
    file = install(project, program)
    trust(machine / ".codex", file)
    assert settings.hooks_problem(project) == ""
    config = machine / ".codex" / "config.toml"
    config.write_text(config.read_text().rpartition("[hooks.state")[0])
    assert "not trusted yet" in settings.hooks_problem(project)


def test_hooks_that_changed_since_they_were_trusted_are_told(project: Path, program: str, machine: Path) -> None:
    file = install(project, program)
    trust(machine / ".codex", file)
    hooks = Path(file)
    hooks.write_text(hooks.read_text().replace('"timeout": 10', '"timeout": 11'))
    assert "changed since they were trusted" in settings.hooks_problem(project)


def test_hooks_behind_those_of_the_person_are_trusted_by_their_place(
    project: Path, program: str, machine: Path
) -> None:
    file = machine / ".codex" / "hooks.json"
    file.parent.mkdir()
    file.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}')
    install(project, program)
    assert "stop:1:0" in dict(settings.hashes(str(file)))
    assert "session_start:0:0" in dict(settings.hashes(str(file)))


@pytest.mark.parametrize("key", ["hooks", "codex_hooks"])
def test_hooks_that_are_switched_off_are_told(project: Path, program: str, machine: Path, key: str) -> None:
    file = install(project, program)
    trust(machine / ".codex", file, more=f"[features]\n{key} = false\n")
    assert "switched off" in settings.hooks_problem(project)


def test_one_hook_that_the_person_switched_off_is_told(project: Path, program: str, machine: Path) -> None:
    file = install(project, program)
    trust(machine / ".codex", file)
    config = machine / ".codex" / "config.toml"
    config.write_text(config.read_text() + "enabled = false\n")
    assert "switched off" in settings.hooks_problem(project)


def test_a_project_s_own_hooks_need_the_project_s_trust_too(project: Path, program: str, machine: Path) -> None:
    file = install(project, program, everywhere=False)
    (machine / ".codex").mkdir()
    trust(machine / ".codex", file)
    assert "does not trust this project" in settings.hooks_problem(project)
    trust(machine / ".codex", file, more=f'[projects."{project}"]\ntrust_level = "trusted"\n')
    assert settings.hooks_problem(project) == ""


def test_a_configuration_that_cannot_be_read_trusts_nothing(project: Path, program: str, machine: Path) -> None:
    install(project, program)
    (machine / ".codex" / "config.toml").write_bytes(b"[[[ \xff")
    assert "not trusted yet" in settings.hooks_problem(project)


def test_a_program_that_is_gone_is_told_first(project: Path, program: str, machine: Path) -> None:
    trust(machine / ".codex", install(project, program))
    Path(program).unlink()
    assert "their program is gone" in settings.hooks_problem(project)


@pytest.mark.parametrize(
    ("event", "command", "timeout", "matcher", "digest"),
    [
        ("PreToolUse", 'echo héllo "x"', 7, "Bash", "210573cb9917a3fe5d27c27b8d21ff5b959a702d7eb51187c0787e4a2ad218d4"),
        (
            "UserPromptSubmit",
            "echo hi",
            10,
            None,
            "d1cae2592e7f8e6aee100211ab5d4d746d693ce20dd381c184248461aa0d63b2",
        ),
    ],
)
def test_the_hash_is_that_of_codex_itself(
    event: str, command: str, timeout: int, matcher: str | None, digest: str
) -> None:
    """Told by Codex CLI 0.171.0 (`codex app-server`, hooks/list)."""
    assert settings.hook_hash(event, {"command": command, "timeout": timeout}, matcher) == f"sha256:{digest}"
