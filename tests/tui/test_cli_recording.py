"""Recording is switched on and off by a command that shows first what it does; the hook itself never fails."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.builders.cli import Talk, every_file, forkpoint, process

SETTINGS = '{\n\t"theme": "dark",\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}\n'


@pytest.fixture
def settings() -> Path:
    """The person's settings of Claude Code, which hold a hook of their own."""
    file = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    file.parent.mkdir()
    file.write_text(SETTINGS)
    return file


def test_a_dry_run_shows_file_and_lines_and_changes_nothing(project: Path, settings: Path) -> None:
    answer = forkpoint("install", "claude", "--dry-run")
    assert answer.code == 0
    assert answer.lines[0] == str(project)
    assert str(settings) in answer.out
    added = [line for line in answer.lines if line.startswith("+") and "hook claude" in line]
    assert len(added) == 9
    assert settings.read_text() == SETTINGS
    assert not Path(os.environ["FORKPOINT_HOME"]).exists()


def test_install_takes_the_first_checkpoint_and_uninstall_leaves_no_byte(project: Path, settings: Path) -> None:
    answer = forkpoint("install")
    assert answer.code == 0
    assert answer.lines[-1].startswith("First checkpoint: ")
    hooks = json.loads(settings.read_text())["hooks"]
    assert len(hooks) == 9 and len(hooks["Stop"]) == 2
    assert len(forkpoint("log", "--json").json["checkpoints"]) == 1
    assert forkpoint("status").code == 0
    assert forkpoint("status", "--line").out.startswith("● recording claude · 1 checkpoint, ")

    again = forkpoint("install", "claude")
    assert again.lines[1:] == ["Recording is switched on already."]
    assert len(forkpoint("log", "--json").json["checkpoints"]) == 1

    assert forkpoint("uninstall").code == 0
    assert settings.read_text() == SETTINGS
    assert forkpoint("status").code == 1
    assert len(forkpoint("log", "--json").json["checkpoints"]) == 1, "what was recorded stays"
    assert every_file(project) == {"a.txt": b"a\n"}


def test_install_here_uses_the_project_s_local_settings(project: Path, settings: Path) -> None:
    document = forkpoint("install", "claude", "--here", "--json").json
    (agent,) = document["agents"]
    assert (agent["agent"], agent["file"], agent["changes"]) == (
        "claude",
        str(project / ".claude/settings.local.json"),
        True,
    )
    assert document["checkpoint"]["files"] >= 1
    assert settings.read_text() == SETTINGS
    assert forkpoint("uninstall").code == 0
    assert every_file(project) == {"a.txt": b"a\n"}


def test_a_person_is_shown_the_lines_and_asked(project: Path, settings: Path) -> None:
    talk = Talk("install", "claude", cwd=project)
    talk.until("Change the file like this? [y/N]")
    assert "hook claude" in talk.seen
    talk.type("\n")
    assert talk.close() == 3
    assert settings.read_text() == SETTINGS

    talk = Talk("install", "claude", cwd=project)
    talk.until("[y/N]")
    talk.type("y\n")
    assert talk.close() == 0
    assert "First checkpoint: " in talk.seen
    assert settings.read_text() != SETTINGS


def test_from_the_home_folder_hooks_are_installed_and_nothing_is_recorded(machine: Path, settings: Path) -> None:
    answer = forkpoint("-C", machine, "install", "claude")
    assert answer.code == 0
    assert "hook claude" in settings.read_text()
    assert "First checkpoint" not in answer.out
    assert forkpoint("-C", machine, "install", "claude", "--here").code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["install", "nobody"], "nobody"),
        (["install", "--everywhere", "--here"], "exclude each other"),
        (["install"], "no agent is in use here yet"),
    ],
)
def test_what_does_not_fit_is_wrong_usage(project: Path, arguments: list[str], words: str) -> None:
    answer = forkpoint(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


def test_settings_that_are_no_json_are_left_as_they_are(project: Path, settings: Path) -> None:
    settings.write_text("{ not json")
    answer = forkpoint("install", "claude")
    assert answer.code == 1
    assert answer.err.count("\n") == 1 and str(settings) in answer.err
    assert settings.read_text() == "{ not json"
    assert not Path(os.environ["FORKPOINT_HOME"]).exists()


PAYLOAD = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "5f0c7f0a-0000-4000-8000-000000000001",
    "prompt_id": "5f0c7f0a-0000-4000-8000-000000000002",
    "prompt": "Go",
    "transcript_path": "/nowhere/none.jsonl",
}


def test_a_hook_records_in_silence(project: Path) -> None:
    answer = process("hook", "claude", cwd=project, given=json.dumps({**PAYLOAD, "cwd": str(project)}))
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert forkpoint("status", "--json").json["checkpoints"] == 1


@pytest.mark.parametrize("given", ["", "{", "[]", "\x00\xff", json.dumps({**PAYLOAD, "cwd": "/nowhere"})])
@pytest.mark.parametrize(
    "arguments",
    [["claude"], ["claude", "--bogus"], [], ["nobody"], ["--json", "claude"]],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_a_hook_never_fails(project: Path, arguments: list[str], given: str) -> None:
    answer = process("hook", *arguments, cwd=project, given=given)
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_hook_whose_installation_is_broken_does_not_fail(project: Path, tmp_path: Path) -> None:
    """The engine cannot even be imported."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/json.py").write_text("raise SystemError('broken')\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "broken")}
    answer = process("hook", "claude", cwd=project, env=env, given=json.dumps({**PAYLOAD, "cwd": str(project)}))
    assert (answer.code, answer.out, answer.err) == (0, "", "")
