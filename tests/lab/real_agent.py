"""A real agent in a project, with a home, a model and a store of the test's own: what all agents have in common."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, cast

from .stub_llm import Act, Json, Request, Stub, acts


@dataclass
class RealAgent(ABC):
    """An agent's program and everything around it; each agent adds its variables, its settings and its ways to ask."""

    program: Path
    folder: Path
    """Everything of this test is in it."""
    project: Path
    stub: Stub
    extra: dict[str, str] = field(default_factory=dict)

    NAME: ClassVar[str]
    """The word that forkpoint's commands use."""
    TITLE: ClassVar[str]
    """What people call it."""
    ASIDE: ClassVar[str] = r"(?!)"
    """What the program adds by itself to what a person says, as a regular expression."""

    WHOLE_TREES: ClassVar[bool] = False
    """Whether it keeps whole trees by itself, as these tests run it."""

    @property
    @abstractmethod
    def config(self) -> Path:
        """The folder of its settings."""

    def record(self) -> None:
        """Switches recording on, by the command that people use."""
        self.forkpoint("install", self.NAME, "--yes")

    @abstractmethod
    def prepare(self) -> None:
        """What keeps the program from asking anything when it starts."""

    @abstractmethod
    def say(self, prompt: str) -> None:
        """One turn in the newest session of the project, or in the first one."""

    @abstractmethod
    def start(self, prompt: str, *options: str) -> subprocess.Popen[bytes]:
        """One turn, not waited for."""

    @abstractmethod
    def go_on(self, command: Sequence[str], prompt: str) -> None:
        """One turn by the command that forkpoint names to go on with a session."""

    @abstractmethod
    def transcripts(self) -> list[Path]:
        """The session files of the project, the oldest first; what a fork of ours is must not change them."""

    def answer(self, prompt: str) -> str:
        """What the model says last to a prompt."""
        return self.stub.script[next(word for word in prompt.split() if word in self.stub.script)][-1].text

    def told(self, request: Request) -> list[Act]:
        """What a request tells the model of the conversation, without what the program adds by itself."""
        found: list[Act] = []
        for act in acts(request.messages):
            text = re.sub(self.ASIDE, "", act.text, flags=re.DOTALL).strip()
            if act.who not in ("system", "developer") and (text or act.who == "result"):
                found.append(act._replace(text=text))
        return found

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def variables(self) -> dict[str, str]:
        """What this agent needs in its environment: a test's model, no updates, no traffic."""
        return {}

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of agent, hooks and commands: no real key, no traffic but to the stub."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TMPDIR": str(self.folder / "tmp"),
            "FORKPOINT_HOME": str(self.store),
            **self.variables,
            **self.extra,
        }

    @property
    def executable(self) -> str:
        """The forkpoint that is tested."""
        return os.path.join(os.path.dirname(sys.executable), "forkpoint")

    def forkpoint(self, *arguments: str, code: int = 0) -> Json:
        """A command of forkpoint in the project, which has to end with this code; gives what it prints as JSON."""
        done = self.run([self.executable, *arguments, "--json"])
        assert done.returncode == code, f"{arguments} gave {done.returncode}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def run(
        self, command: Sequence[str | Path], *, cwd: Path | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """A program in the project (or elsewhere) and this environment, without a terminal."""
        return subprocess.run(
            command,
            cwd=cwd or self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def sessions(self) -> list[Json]:
        """The sessions of this agent, as forkpoint lists them."""
        return [item for item in cast("list[Json]", self.forkpoint("sessions")) if item["agent"] == self.NAME]

    def begin(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        """A program in the project, not waited for."""
        return subprocess.Popen(
            command, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
