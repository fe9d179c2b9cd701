"""The real OpenCode: installed once into a cache, then run against the stub in a home of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import npm, script
from .real_agent import RealAgent
from .stub_llm import Json, Script, Tool
from .terminal import Terminal, wait_until

VERSION = "1.18.33"
SILENCES = (45.0, 90.0, 180.0)
"""Seconds in which a turn without a screen has to ask its model, at each of its starts; a busy machine needs many."""
PATIENCE = 180.0
"""Seconds in which it then has to end."""
ENDED = "SELECT id FROM message WHERE json_extract(data, '$.finish') = 'stop'"
"""Answers that are over."""

PLUGINS = "@opencode-ai/plugin"
"""What OpenCode installs into a settings folder when it starts, unless it is there."""


def install(cache: Path) -> tuple[Path | None, str]:
    """The program, installed with npm when it is not there yet; or None and why it cannot be had."""
    beside, why = npm.install(cache / f"opencode-plugin-{VERSION}", [f"{PLUGINS}@{VERSION}"], _plugins)
    if beside is None:
        return None, why
    return npm.install(cache / f"opencode-{VERSION}", [f"opencode-ai@{VERSION}"], _program)


def _plugins(folder: Path) -> Path | None:
    return folder if (folder / "node_modules" / PLUGINS).is_dir() and (folder / "package-lock.json").exists() else None


def _program(folder: Path) -> Path | None:
    """The native program of this system, if it is there and runs: its package needs no script that installs it."""
    found = sorted(folder.glob("node_modules/opencode-*/bin/opencode"))
    return next((program for program in found if npm.runs(program, VERSION)), None)


class OpenCodeCli(RealAgent):
    """OpenCode in a project that is a git repository: only there it takes snapshots."""

    NAME = "opencode"
    TITLE = "OpenCode"
    WHOLE_TREES = True

    @property
    def config(self) -> Path:
        return self.home / ".config" / "opencode"

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "opencode"

    @property
    def database(self) -> Path:
        return self.data / "opencode.db"

    @property
    def variables(self) -> dict[str, str]:
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        path = os.pathsep.join((str(self.program.parent), os.environ["PATH"]))
        return {"PATH": path, **{f"OPENCODE_DISABLE_{name}": "1" for name in off}}

    def prepare(self) -> None:
        """The stub as the only model; nothing is asked and nothing fetched when it starts."""
        self.config.mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        model = {"name": "stub", "tool_call": True, "limit": {"context": 128000, "output": 8000}}
        stub = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "stub",
            "options": {"baseURL": f"{self.stub.url}/v1", "apiKey": "test"},
            "models": {"stub-model": model},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "stub/stub-model",
            "small_model": "stub/stub-model",
            "permission": "allow",
            "provider": {"stub": stub},
        }
        (self.config / "opencode.json").write_text(json.dumps(settings))
        installed = self.program.parents[3].with_name(f"opencode-plugin-{VERSION}")
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(installed / name, self.config / name)
        (self.config / "node_modules").symlink_to(installed / "node_modules")
        git = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "begin"]):
            assert self.run([*git, *command]).returncode == 0

    def ask(self, prompt: str, *options: str, cwd: Path | None = None) -> str:
        """One turn without a screen; gives the last text of the answer."""
        # As words: an argument with blanks in it reaches the model in quotation marks.
        command = ["opencode", "run", "--format", "json", *options, *prompt.split(" ")]
        tries = (self._finished(command, silence, cwd) for silence in SILENCES)
        done = next((told for told in tries if told is not None), None)
        assert done is not None, "OpenCode never asked its model"
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        said = [event["part"]["text"] for event in told if event["type"] == "text"]
        assert said, f"OpenCode gave {done.returncode}: {done.stdout}{done.stderr}"
        return said[-1]

    def _finished(
        self, command: Sequence[str], silence: float, cwd: Path | None
    ) -> subprocess.CompletedProcess[str] | None:
        """What a program without a screen gave; None when its own server did not answer it, so that nothing happened.

        It may never answer the first request after it started. A prompt that it has stored already would be there
        twice if it were started again: seconds may lie between that and the question to the model.
        """
        before = self._happened()
        with subprocess.Popen(
            command,
            cwd=cwd or self.project,
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                out, err = process.communicate(timeout=silence)
            except subprocess.TimeoutExpired:
                # It stands still while it is judged, so that nothing can happen in between.
                process.send_signal(signal.SIGSTOP)
                if self._happened() == before:
                    process.kill()
                    return None
                process.send_signal(signal.SIGCONT)
                try:
                    out, err = process.communicate(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def _happened(self) -> tuple[int, int]:
        """How often the model was asked, and how many messages are stored; -1 while the database cannot tell."""
        try:
            return len(self.stub.requests), self.rows("SELECT count(*) AS n FROM message")[0]["n"]
        except sqlite3.Error as error:
            nothing = "no such table" in str(error) or not self.database.exists()
            return len(self.stub.requests), 0 if nothing else -1

    def say(self, prompt: str) -> None:
        self.ask(prompt, *(["--continue"] if self.database.exists() else []))

    def go_on(self, command: Sequence[str], prompt: str) -> None:
        with self.screen(*command) as screen:
            self.tell(screen, prompt)

    def tell(self, screen: Terminal, prompt: str, answer: str = "") -> None:
        """Types and sends a prompt, and waits for the answer."""
        ended = self.rows(ENDED)
        screen.type(prompt)
        screen.see(prompt)
        screen.press("Enter")
        screen.see(re.escape(answer or self.answer(prompt)))
        wait_until(lambda: any(row not in ended for row in self.rows(ENDED)), f"{prompt} is answered")

    def start(self, prompt: str, *options: str) -> subprocess.Popen[bytes]:
        """One turn without a screen, not waited for."""
        return self.begin(["opencode", "run", *options, *prompt.split(" ")])

    def screen(self, *command: str) -> Terminal:
        """The agent's own screen, ready for a prompt."""
        terminal = Terminal(command or ["opencode"], cwd=self.project, env=self.env)
        terminal.see("ctrl.p commands")
        return terminal

    def transcripts(self) -> list[Path]:
        return [self.database] if self.database.exists() else []

    def rows(self, query: str) -> list[Json]:
        """What a query of its database gives."""
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]


class Tools(NamedTuple):
    """OpenCode's tools in a project."""

    project: Path

    def read(self, path: str) -> Tool:
        return Tool("read", {"filePath": str(self.project / path)})

    def write(self, path: str, content: str) -> Tool:
        return Tool("write", {"filePath": str(self.project / path), "content": content})

    def edit(self, path: str, old: str, new: str) -> Tool:
        return Tool("edit", {"filePath": str(self.project / path), "oldString": old, "newString": new})

    def shell(self, command: str) -> Tool:
        return Tool("bash", {"command": command, "description": "a command"})


def turns(project: Path) -> Script:
    """The turns of `script.turns`, in the tools of this agent."""
    job = {"description": "small job", "prompt": "SUBJOB: write sub.txt", "subagent_type": "general"}
    return script.turns(Tools(project), Tool("task", job))
