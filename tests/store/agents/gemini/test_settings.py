"""Gemini CLI's settings: which hooks go in, what switches them off, and that they come out again."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.gemini import settings
from forkpoint.store.agents.gemini.events import READ_ONLY
from forkpoint.store.errors import ForkpointError
from forkpoint.store.executable import this_executable

gemini = agents.get("gemini")


@pytest.fixture
def file(machine: Path) -> Path:
    return machine / ".gemini" / "settings.json"


def install(root: Path, *, everywhere: bool = True, executable: str = "") -> None:
    settings.install(
        everywhere=everywhere, root=root, executable=executable or this_executable(), backups=root.parent / "backups"
    )


def test_each_hook_has_a_name_a_timeout_in_milliseconds_and_no_start_for_tools_that_only_read(
    file: Path, shop: Path
) -> None:
    install(shop)
    hooks = json.loads(file.read_text())["hooks"]
    assert list(hooks) == ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"]
    for groups in hooks.values():
        (hook,) = groups[0]["hooks"]
        assert (hook["type"], hook["name"], hook["timeout"]) == ("command", "forkpoint", 10_000)
        assert "hook gemini" in hook["command"]
    for event in ("BeforeTool", "AfterTool"):
        matcher = re.compile(hooks[event][0]["matcher"])
        assert all(matcher.search(tool) for tool in ("run_shell_command", "write_file", "mcp_x_read_file", "glob_all"))
        assert not any(matcher.search(tool) for tool in READ_ONLY)
    assert gemini.hooks_problem(str(shop)) == ""


def test_comments_and_order_stay_and_what_is_ours_comes_out_exactly(file: Path, shop: Path) -> None:
    mine = '{\n  // mine\n  "general": {"vimMode": true}, /* why */\n  "hooks": {"BeforeTool": [{"hooks": []}]}\n}\n'
    file.parent.mkdir()
    file.write_text(mine)
    install(shop)
    told = file.read_text()
    assert "// mine" in told
    assert told.index("vimMode") < told.index("hooks")
    settings.uninstall(everywhere=True, root=shop, backups=shop.parent / "backups")
    assert file.read_text() == mine


def test_a_file_that_the_program_cannot_read_is_left_alone(file: Path, shop: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"general": {},}')
    with pytest.raises(ForkpointError):
        install(shop)
    assert file.read_text() == '{"general": {},}'


def test_the_project_s_own_settings_can_take_them(shop: Path) -> None:
    install(shop, everywhere=False)
    assert (shop / ".gemini" / "settings.json").exists()
    assert gemini.hooks_problem(str(shop)) == ""
    settings.uninstall(everywhere=False, root=shop, backups=shop.parent / "backups")
    assert not (shop / ".gemini").exists()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"enabled": False}, "hooksConfig.enabled"),
        ({"disabled": ["other", "forkpoint"]}, "hooksConfig.disabled"),
        ({"enabled": True, "disabled": ["other"]}, ""),
        (7, ""),
    ],
)
def test_why_hooks_do_not_run_is_told(config: object, told: str, file: Path, shop: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({"hooksConfig": config}))
    assert gemini.hooks_problem(str(shop)) == "not installed"
    install(shop)
    assert told in gemini.hooks_problem(str(shop))
    assert bool(gemini.hooks_problem(str(shop))) == bool(told)


@pytest.mark.parametrize(
    ("rules", "distrusted"),
    [
        ({"": "DO_NOT_TRUST"}, True),
        ({"..": "DO_NOT_TRUST"}, True),
        ({"..": "DO_NOT_TRUST", "": "TRUST_FOLDER"}, False),
        ({"..": "TRUST_FOLDER", "": "DO_NOT_TRUST"}, True),
        ({"..": "DO_NOT_TRUST", "other": "TRUST_PARENT"}, False),
        ({"other": "DO_NOT_TRUST"}, False),
    ],
)
def test_in_a_folder_that_is_not_trusted_no_hook_runs(
    rules: dict[str, str], distrusted: bool, file: Path, shop: Path
) -> None:
    install(shop)
    told = {os.path.normpath(shop / path): level for path, level in rules.items()}
    file.with_name("trustedFolders.json").write_text(json.dumps(told))
    assert ("not to trust" in gemini.hooks_problem(str(shop))) == distrusted


def test_a_program_that_is_gone_is_told(shop: Path) -> None:
    install(shop, executable="/nowhere/forkpoint")
    assert "their program is gone" in gemini.hooks_problem(str(shop))
