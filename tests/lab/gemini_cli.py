"""The real Gemini CLI: installed once into a cache, then run against the stub in a home of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import npm, script
from .real_agent import RealAgent
from .stub_llm import Json, Script, Step, Tool
from .terminal import Terminal

VERSION = "0.61.0"
MODEL = "gemini-2.5-flash"
"""A model of its own choice would first ask a router."""


def install(cache: Path) -> tuple[Path | None, str]:
    """The program, installed with npm when it is not there yet; or None and why it cannot be had."""
    return npm.install(cache / f"gemini-cli-{VERSION}", [f"@google/gemini-cli@{VERSION}"], _program)


def _program(folder: Path) -> Path | None:
    program = folder / "node_modules" / ".bin" / "gemini"
    return program if npm.runs(program, VERSION) else None


class GeminiCli(RealAgent):
    """Gemini CLI in a project."""

    NAME = "gemini"
    TITLE = "Gemini CLI"
    ASIDE = r"<session_context>.*</session_context>"

    @property
    def config(self) -> Path:
        return self.home / ".gemini"

    @property
    def chats(self) -> Path:
        """The folder of the project's sessions."""
        return self.config / "tmp" / self.project.name / "chats"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "COLORTERM": "truecolor",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts itself a second time, with more memory
            "GEMINI_API_KEY": "test",
            "GOOGLE_GEMINI_BASE_URL": self.stub.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def prepare(self) -> None:
        """What keeps the agent from asking about trust and keys when it starts, and from deleting sessions."""
        self.config.mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        general = {
            "checkpointing": {"enabled": True},
            "enableAutoUpdate": False,
            "sessionRetention": {"enabled": False},
        }
        settings = {
            "general": general,
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        }
        (self.config / "settings.json").write_text(json.dumps(settings, indent=2))

    def keep_sessions_as_people_do(self) -> None:
        """The agent deletes sessions as it does where nobody set anything."""
        file = self.config / "settings.json"
        settings = json.loads(file.read_text())
        del settings["general"]["sessionRetention"]
        file.write_text(json.dumps(settings, indent=2))

    def ask(self, prompt: str, *options: str, cwd: Path | None = None) -> Json:
        """One turn without a screen; gives the agent's own summary of it, and under "said" what it said beside it."""
        done = self.run([*self._command(), "--yolo", "-p", prompt, "-o", "json", *options], cwd=cwd)
        try:
            return {**json.loads(done.stdout), "said": done.stderr}
        except ValueError:
            raise AssertionError(f"Gemini CLI gave {done.returncode}: {done.stdout}{done.stderr}") from None

    def say(self, prompt: str) -> None:
        self.ask(prompt, *(["--resume", "latest"] if self.chats.exists() else []))

    def go_on(self, command: Sequence[str], prompt: str) -> None:
        assert command[0] == "gemini"
        self.ask(prompt, *command[1:])

    def start(self, prompt: str, *options: str) -> subprocess.Popen[bytes]:
        """One turn without a screen, not waited for."""
        return self.begin([*self._command(), "--yolo", "-p", prompt, *options])

    def screen(self, *options: str) -> Terminal:
        """The agent's own screen, ready for a prompt."""
        terminal = Terminal([*self._command(), *options], cwd=self.project, env=self.env)
        terminal.see("Type your message")
        return terminal

    def transcripts(self) -> list[Path]:
        """The session files of the project."""
        return sorted(self.chats.glob("session-*"))

    def _command(self) -> Sequence[str]:
        return [str(self.program), "-m", MODEL]


class Tools(NamedTuple):
    """Gemini CLI's tools in a project."""

    project: Path

    def read(self, path: str) -> Tool:
        return Tool("read_file", {"file_path": str(self.project / path)})

    def write(self, path: str, content: str) -> Tool:
        return Tool("write_file", {"file_path": str(self.project / path), "content": content})

    def edit(self, path: str, old: str, new: str) -> Tool:
        file = str(self.project / path)
        return Tool("replace", {"file_path": file, "instruction": "edit", "old_string": old, "new_string": new})

    def shell(self, command: str) -> Tool:
        return Tool("run_shell_command", {"command": command, "description": "a command"})


def turns(project: Path) -> Script:
    """The turns of `script.turns`, and some with equal calls and much output."""
    tools = Tools(project)
    helper = Tool("invoke_agent", {"agent_name": "generalist", "prompt": "SUBJOB: write sub.txt"})
    again = tools.shell("echo again >> twice.txt")
    at_once = (tools.shell("echo a > a.txt"), tools.shell("echo b > b.txt"), tools.write("c.txt", "c\n"))
    return script.turns(
        tools,
        helper,
        TURN2B=(
            Step("I write much.", (tools.write("big.txt", "x" * 200_000),)),
            Step("I delete.", (tools.shell("rm todelete.txt"),)),
            Step("TURN2B is done."),
        ),
        TURNTWICE=(
            Step("I append.", (again,)),
            Step("I append again.", (again,)),
            Step("Both at once.", at_once),
            Step("I start a sub-agent.", (helper,)),
            Step("TURNTWICE is done."),
        ),
        SUBJOB=(
            Step("I write.", (tools.write("sub.txt", "by the sub-agent\n"),)),
            Step("SUBJOB is done.", (Tool("complete_task", {"response": "SUBJOB is done."}),)),
        ),
    )
