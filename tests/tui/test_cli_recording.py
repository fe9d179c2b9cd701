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
    assert forkpoint("status", "--line").out.startswith("● recording Claude Code · 1 checkpoint, ")

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


# --- several agents ------------------------------------------------------------------------------------------------


@pytest.fixture
def three(settings: Path, machine: Path) -> dict[str, Path]:
    """Claude Code, Gemini CLI and Pi are in use; what stands in their folders is the person's."""
    gemini, pi = machine / ".gemini" / "settings.json", machine / ".pi" / "agent" / "extensions" / "forkpoint.js"
    for folder in (gemini.parent, pi.parent.parent):
        folder.mkdir(parents=True)
    gemini.write_text(GEMINI)
    return {"claude": settings, "gemini": gemini, "pi": pi}


GEMINI = '{\n  // mine\n  "ui": {"theme": "GitHub"}\n}\n'


def test_without_a_name_every_agent_in_use_is_switched_on_and_off(project: Path, three: dict[str, Path]) -> None:
    shown = forkpoint("install", "--dry-run")
    assert [line for line in shown.lines if line.startswith("+++ ")] == [f"+++ {file}" for file in three.values()]
    answer = forkpoint("install")
    assert answer.code == 0
    for name, file in three.items():
        assert f"hook {name}" in file.read_text() or f"forkpoint {name}" in file.read_text()
        assert str(file) in answer.out
    status = forkpoint("status")
    assert status.code == 0
    assert "Claude Code, Gemini CLI, Pi" in status.out
    assert forkpoint("status", "--json").json["agents"] == ["claude", "gemini", "pi"]
    assert forkpoint("doctor").out.count(": hooks installed") == 3

    assert forkpoint("uninstall").code == 0
    assert (three["claude"].read_text(), three["gemini"].read_text()) == (SETTINGS, GEMINI)
    assert not three["pi"].exists() and not three["pi"].parent.exists()


def test_the_broken_file_of_one_agent_stops_no_other(project: Path, three: dict[str, Path]) -> None:
    three["claude"].write_text("{ not json")
    dry = forkpoint("install", "--dry-run")
    assert dry.code == 1 and "Claude Code" in dry.err
    answer = forkpoint("install")
    assert answer.code == 1
    assert answer.err.splitlines()[-1] == "forkpoint: 2 of 3 agents done"
    assert "Claude Code cannot read this settings file, it is no valid JSON" in answer.err
    assert str(three["claude"]) in answer.err
    assert answer.lines[-1].startswith("First checkpoint: ")
    assert three["claude"].read_text() == "{ not json"
    assert forkpoint("status", "--json").json["agents"] == ["gemini", "pi"]
    assert "not Claude Code: hooks not installed" in forkpoint("status").out

    again = forkpoint("install", "--json")
    assert again.code == 1
    assert {agent["agent"]: bool(agent["error"]) for agent in again.json["agents"]} == {
        "claude": True,
        "gemini": False,
        "pi": False,
    }
    taken = forkpoint("uninstall")
    assert taken.code == 1
    assert taken.err.splitlines()[-1] == "forkpoint: 4 of 5 agents done"
    assert three["gemini"].read_text() == GEMINI and not three["pi"].exists()


def test_an_extension_of_ours_that_a_person_changed_stays_and_is_told(project: Path, three: dict[str, Path]) -> None:
    assert forkpoint("install", "pi").code == 0
    three["pi"].write_text(three["pi"].read_text() + "// mine\n")
    answer = forkpoint("uninstall", "pi", "--everywhere")
    assert answer.code == 1
    assert "this extension of forkpoint's for Pi was changed by hand" in answer.err
    assert three["pi"].read_text().endswith("// mine\n")
    assert "Pi: hooks changed by hand" in forkpoint("doctor").out


def test_an_agent_that_wants_to_be_asked_first_says_so(project: Path, machine: Path) -> None:
    (machine / ".codex").mkdir()
    answer = forkpoint("install", "codex")
    assert answer.code == 0
    assert any(line.startswith("Codex CLI: installed, but not trusted yet") for line in answer.lines)
    assert forkpoint("status").code == 1
    assert "Codex CLI: hooks installed, but not trusted yet" in forkpoint("status", "--json").json["why"]


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
