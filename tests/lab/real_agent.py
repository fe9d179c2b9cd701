"""A real agent in a project, with a home, a model and a store of the test's own: what all agents have in common."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .stub_llm import Json, Stub


@dataclass
class RealAgent:
    """An agent's program and everything around it; each agent adds its variables, its settings and its ways to ask."""

    program: Path
    folder: Path
    """Everything of this test is in it."""
    project: Path
    stub: Stub
    extra: dict[str, str] = field(default_factory=dict)

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

    def begin(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        """A program in the project, not waited for."""
        return subprocess.Popen(
            command, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
