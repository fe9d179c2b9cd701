"""The agents' table of README.md names the versions that the tests here run."""

from __future__ import annotations

from tests.lab import claude_code, codex_cli, gemini_cli, opencode_cli, pi_cli
from tests.readme import README


def test_the_versions_are_those_that_were_tried() -> None:
    rows = [line.strip("| ").split(" | ") for line in README.read_text("utf-8").splitlines() if line.startswith("|")]
    [named] = [row for row in rows if row[-1] == "OpenCode"]
    [tried] = [row for row in rows if row[0] == "tried with"]
    agents = (claude_code.ClaudeCode, codex_cli.CodexCli, gemini_cli.GeminiCli, pi_cli.PiCli, opencode_cli.OpenCodeCli)
    assert named == [agent.TITLE for agent in agents]
    modules = (claude_code, codex_cli, gemini_cli, pi_cli, opencode_cli)
    assert tried == ["tried with", *(module.VERSION for module in modules)]
