"""The real Pi: installed once into a cache with a node of its own, then run against the stub in a home of its own."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import npm, script
from .real_agent import RealAgent
from .stub_llm import Script, Tool
from .terminal import Terminal

VERSION = "1.6.0"
NODE = f"node-{sys.platform}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"
"""This version of Pi needs a newer node than many systems have: npm has one as a package."""


def install(cache: Path) -> tuple[Path | None, str]:
    """The program, installed with npm when it is not there yet; or None and why it cannot be had."""
    return npm.install(cache / f"pi-{VERSION}", [f"@earendil-works/pi-coding-agent@{VERSION}", f"{NODE}@22"], _program)


def _program(folder: Path) -> Path | None:
    program = folder / "node_modules" / ".bin" / "pi"
    return program if program.exists() and npm.runs(program, VERSION, str(_node(program))) else None


def _node(program: Path) -> Path:
    return program.parent.parent / NODE / "bin" / "node"


class PiCli(RealAgent):
    """Pi in a project."""

    NAME = "pi"
    TITLE = "Pi"

    @property
    def config(self) -> Path:
        return self.home / ".pi" / "agent"

    @property
    def variables(self) -> dict[str, str]:
        path = os.pathsep.join((str(self.program.parent), str(_node(self.program).parent), os.environ["PATH"]))
        return {"PATH": path, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def prepare(self) -> None:
        """The stub as the only model; nothing is asked when it starts."""
        self.config.mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        stub = {
            "baseUrl": f"{self.stub.url}/v1",
            "api": "openai-completions",
            "apiKey": "test",
            "models": [{"id": "stub-model"}],
        }
        (self.config / "models.json").write_text(json.dumps({"providers": {"stub": stub}}))
        settings = {"defaultProvider": "stub", "defaultModel": "stub-model", "quietStartup": True}
        (self.config / "settings.json").write_text(json.dumps(settings))

    def ask(self, prompt: str, *options: str, cwd: Path | None = None) -> str:
        """One turn in print mode; gives the answer."""
        done = self.run(["pi", *options, "-p", prompt], cwd=cwd)
        assert done.returncode == 0, f"Pi gave {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def say(self, prompt: str) -> None:
        self.ask(prompt, *(["--continue"] if self.transcripts() else []))

    def go_on(self, command: Sequence[str], prompt: str) -> None:
        assert command[0] == "pi"
        self.ask(prompt, *command[1:])

    def start(self, prompt: str, *options: str) -> subprocess.Popen[bytes]:
        """One turn in print mode, not waited for."""
        return self.begin([self.program, *options, "-p", prompt])

    def screen(self, *options: str) -> Terminal:
        """The agent's own screen, ready for a prompt."""
        terminal = Terminal(["pi", *options], cwd=self.project, env=self.env)
        terminal.see("stub-model")
        return terminal

    def transcripts(self) -> list[Path]:
        """The session files of the project, the oldest first."""
        name = str(self.project).removeprefix("/").replace("/", "-")
        return sorted((self.config / "sessions" / f"--{name}--").glob("*.jsonl"))


class Tools:
    """Pi's tools in a project."""

    def read(self, path: str) -> Tool:
        return Tool("read", {"path": path})

    def write(self, path: str, content: str) -> Tool:
        return Tool("write", {"path": path, "content": content})

    def edit(self, path: str, old: str, new: str) -> Tool:
        return Tool("edit", {"path": path, "edits": [{"oldText": old, "newText": new}]})

    def shell(self, command: str) -> Tool:
        return Tool("bash", {"command": command})


def turns(_: Path) -> Script:
    """The turns of `script.turns`: the sub-agent is another Pi that the shell starts."""
    tools = Tools()
    return script.turns(tools, tools.shell("pi --no-session -p 'SUBJOB: write sub.txt'"))
