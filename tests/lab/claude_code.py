"""The real Claude Code: installed once into a cache, then run against the stub in a home of its own."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import npm, script
from .real_agent import RealAgent
from .stub_llm import Json, Script, Step, Tool
from .terminal import Terminal

VERSION = "2.1.332"
"""The version must be named: without one, npm picks the last one that the installed node can run, though the program
needs no node."""


def install(cache: Path) -> tuple[Path | None, str]:
    """The program, installed with npm when it is not there yet; or None and why it cannot be had."""
    return npm.install(cache / f"claude-code-{VERSION}", [f"@anthropic-ai/claude-code@{VERSION}"], _program)


def _program(folder: Path) -> Path | None:
    """The native program of this system, if it is there and runs."""
    found = sorted(folder.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    return next((program for program in found if npm.runs(program, VERSION)), None)


class ClaudeCode(RealAgent):
    """Claude Code in a project."""

    NAME = "claude"
    TITLE = "Claude Code"
    ASIDE = r"<system-reminder>.*?</system-reminder>"

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.stub.url,
            "ANTHROPIC_API_KEY": "test",
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_TMPDIR": str(self.folder / "tmp"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",  # lets root skip permissions
        }

    def prepare(self) -> None:
        """What keeps the agent from asking about themes, trust and keys when it starts."""
        self.config.mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        settings = {"skipDangerousModePermissionPrompt": True, "theme": "dark"}
        (self.config / "settings.json").write_text(json.dumps(settings, indent=2))
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": ["test"], "rejected": []},
            "projects": {str(self.project): trusted},
        }
        (self.config / ".claude.json").write_text(json.dumps(state))

    def ask(self, prompt: str, *options: str, cwd: Path | None = None) -> Json:
        """One turn in print mode; gives the agent's own summary of it."""
        done = self.run([*self._command(), "-p", prompt, "--output-format", "json", *options], cwd=cwd)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"Claude Code gave {done.returncode}: {done.stdout}{done.stderr}") from None

    def say(self, prompt: str) -> None:
        self.ask(prompt, *(["--continue"] if self.transcripts() else []))

    def go_on(self, command: Sequence[str], prompt: str) -> None:
        assert command[0] == "claude"
        self.ask(prompt, *command[1:])

    def start(self, prompt: str, *options: str) -> subprocess.Popen[bytes]:
        """One turn in print mode, not waited for."""
        return self.begin([*self._command(), "-p", prompt, *options])

    def screen(self, *options: str) -> Terminal:
        """The agent's own screen, ready for a prompt."""
        terminal = Terminal([*self._command(), *options], cwd=self.project, env=self.env)
        terminal.see("bypass permissions on")
        return terminal

    def transcripts(self) -> list[Path]:
        """The session files of the project."""
        name = re.sub(r"[^a-zA-Z0-9]", "-", str(self.project))
        return sorted((self.config / "projects" / name).glob("*.jsonl"))

    def _command(self) -> Sequence[str]:
        return [str(self.program), "--dangerously-skip-permissions"]


class Tools(NamedTuple):
    """Claude Code's tools in a project."""

    project: Path

    def read(self, path: str) -> Tool:
        return Tool("Read", {"file_path": str(self.project / path)})

    def write(self, path: str, content: str) -> Tool:
        return Tool("Write", {"file_path": str(self.project / path), "content": content})

    def edit(self, path: str, old: str, new: str) -> Tool:
        return Tool("Edit", {"file_path": str(self.project / path), "old_string": old, "new_string": new})

    def shell(self, command: str) -> Tool:
        return Tool("Bash", {"command": command, "description": "a command"})


def turns(project: Path) -> Script:
    """The turns of `script.turns`, and one with all that is no content of a file."""
    tools = Tools(project)
    job = {"description": "small job", "prompt": "SUBJOB: write sub.txt", "subagent_type": "general-purpose"}
    odd = tools.shell("chmod 600 tool.sh; rm link.txt; ln -s tool.sh link.txt; rmdir empty; mkdir made")
    return script.turns(
        tools,
        Tool("Agent", {**job, "run_in_background": False}),
        TURNODD=(Step("Modes, links and empty folders go.", (odd,)), Step("TURNODD is done.")),
    )
