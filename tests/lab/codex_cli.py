"""The real Codex CLI: installed once into a cache, then run against the stub in a home of its own."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import npm
from .real_agent import RealAgent
from .responses_api import FREEFORM
from .stub_llm import Json, Script, Step, Tool
from .terminal import Terminal, wait_until

VERSION = "0.171.0"


def install(cache: Path) -> tuple[Path | None, str]:
    """The program, installed with npm when it is not there yet; or None and why it cannot be had."""
    return npm.install(cache / f"codex-{VERSION}", [f"@openai/codex@{VERSION}"], _program)


def _program(folder: Path) -> Path | None:
    """The native program of this system, if it is there and runs."""
    found = sorted(folder.glob("node_modules/@openai/codex-*/vendor/*/bin/codex"))
    return next((program for program in found if npm.runs(program, VERSION)), None)


def patch(*parts: str) -> Tool:
    """A call of the tool that edits files: each part names a file and tells what becomes of it."""
    return Tool("apply_patch", {FREEFORM: "\n".join(("*** Begin Patch", *parts, "*** End Patch"))})


def add(file: str, *lines: str) -> str:
    return "\n".join((f"*** Add File: {file}", *(f"+{line}" for line in lines)))


def update(file: str, old: str, new: str, to: str = "") -> str:
    moved = [f"*** Move to: {to}"] if to else []
    return "\n".join((f"*** Update File: {file}", *moved, "@@", f"-{old}", f"+{new}"))


def shell(command: str, seconds: int = 10) -> Tool:
    return Tool("exec_command", {"cmd": command, "yield_time_ms": seconds * 1000})


def turns(_: Path) -> Script:
    """The turns of `script.turns`, in the tools of this agent."""
    return {
        "TURN1": (
            Step("I write a new file.", (patch(add("new.txt", "new v1")),)),
            Step("I read a file that existed.", (shell("cat existing.txt"),)),
            Step(
                "I edit both.",
                (patch(update("existing.txt", "line two", "line two EDITED"), update("new.txt", "new v1", "new v2")),),
            ),
            Step("I delete and rename.", (shell("rm todelete.txt && mv torename.txt renamed.txt"),)),
            Step("TURN1 is done."),
        ),
        "TURN2": (
            Step("I edit and move.", (patch(update("new.txt", "new v2", "new v3", to="moved.txt")),)),
            Step("I write by the shell.", (shell("echo shell-made > shell.txt; echo more >> existing.txt"),)),
            Step("TURN2 is done."),
        ),
        "TURN3": (
            Step("A command that fails.", (shell("exit 3"),)),
            Step("I write in a new folder.", (patch(add("sub/dir/three.txt", "three")),)),
            Step("TURN3 is done."),
        ),
        "TURNSLOW": (
            Step("I write.", (patch(add("slow.txt", "slow v1")),)),
            Step("I sleep.", (shell("touch .asleep; while [ -e .asleep ]; do sleep 0.1; done", 60),)),
            Step("TURNSLOW is done."),
        ),
        "TURNSIDE": (
            Step("Two commands side by side.", (shell("echo a > a.txt"), shell("echo b > b.txt"))),
            Step("TURNSIDE is done."),
        ),
        "TURNAGENT": (
            Step("I start a sub-agent.", (Tool("multi_agent_v1.spawn_agent", {"message": "SUBJOB: write sub.txt"}),)),
            Step("I wait for what it writes.", (shell("while [ ! -e sub.done ]; do sleep 0.1; done", 30),)),
            Step("TURNAGENT is done."),
        ),
        "SUBJOB": (
            Step("I write.", (patch(add("sub.txt", "by the sub-agent")),)),
            Step("I say so.", (shell("touch sub.done"),)),
            Step("SUBJOB is done."),
        ),
        "TURNERROR": (Step("", status=400),),
        "QUESTION": (Step("Just an answer, no tools."),),
    }


class CodexCli(RealAgent):
    """Codex CLI in a project."""

    NAME = "codex"
    TITLE = "Codex CLI"
    ASIDE = r"^<environment_context>.*"

    @property
    def config(self) -> Path:
        return self.home / ".codex"

    @property
    def variables(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.config), "STUB_KEY": "test"}

    def prepare(self) -> None:
        """The stub as its model's provider. Only models that it knows get the tool that patches files."""
        self.config.mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").mkdir(exist_ok=True)
        (self.config / "config.toml").write_text(
            f"""model = "gpt-5.5"  # the person's own comment
model_provider = "stub"
check_for_update_on_startup = false

[model_providers.stub]
name = "stub"
base_url = "{self.stub.url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 1
stream_max_retries = 1

[features]
daemon_auto_start = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui.model_availability_nux]
"gpt-6.1-sol" = 4

[analytics]
enabled = false

[projects."{self.project}"]
trust_level = "trusted"
"""
        )

    def record(self) -> None:
        super().record()
        from forkpoint.store.agents.codex import settings  # only to install the agent nothing of ours is needed

        self.trust(settings.hashes(str(self.config / "hooks.json")))

    def trust(self, hashes: Iterable[tuple[str, str]]) -> None:
        """Trusts hooks as a person does in the agent's screen: its configuration then holds their hashes."""
        with (self.config / "config.toml").open("a") as file:
            for place, digest in hashes:
                file.write(f'\n[hooks.state."{self.config}/hooks.json:{place}"]\ntrusted_hash = "{digest}"\n')

    def ask(self, prompt: str, *before: str, cwd: Path | None = None) -> list[Json]:
        """One turn of `codex exec`; before: its subcommand. Gives the events that it tells."""
        done = self.run(self._exec(prompt, before), cwd=cwd)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert events, f"Codex CLI gave {done.returncode}: {done.stdout}{done.stderr}"
        return events

    def say(self, prompt: str) -> None:
        self.ask(prompt, *(["resume", "--last"] if self.transcripts() else []))

    def go_on(self, command: Sequence[str], prompt: str) -> None:
        assert command[0] == "codex"
        with self.screen(*command[1:]) as screen:
            self.tell(screen, prompt)

    def tell(self, screen: Terminal, prompt: str, answer: str = "") -> None:
        """Types and sends a prompt, and waits for the answer, or what is wanted of it."""
        screen.see("Ask Codex")
        screen.type(prompt)
        screen.see(re.escape(prompt))
        wait_until(lambda: _sent(screen), f"{prompt} is sent")
        screen.see(re.escape(answer or self.answer(prompt)))
        screen.see("Worked for|esc to interrupt")

    def start(self, prompt: str, *before: str) -> subprocess.Popen[bytes]:
        """One turn of `codex exec`, not waited for."""
        return self.begin(self._exec(prompt, before))

    def screen(self, *options: str) -> Terminal:
        """The agent's own screen, as it comes up."""
        return Terminal([str(self.program), *self._options(), *options], cwd=self.project, env=self.env)

    def transcripts(self) -> list[Path]:
        """The session files, the oldest first."""
        return sorted(self.config.glob("sessions/*/*/*/rollout-*.jsonl"))

    def _exec(self, prompt: str, before: Sequence[str]) -> list[str]:
        return [str(self.program), "exec", *before, *self._options(), "--json", "--skip-git-repo-check", prompt]

    def _options(self) -> list[str]:
        return ["--dangerously-bypass-approvals-and-sandbox"]


def _sent(screen: Terminal) -> bool:
    """Enter that comes too soon after the text is taken for a part of it."""
    screen.press("Enter")
    return "Ask Codex" in screen.text() or "esc to interrupt" in screen.text()


def said(events: Sequence[Json]) -> list[str]:
    """What the agent said in a turn."""
    items = [event.get("item", {}) for event in events if event.get("type") == "item.completed"]
    return [item["text"] for item in items if item.get("type") == "agent_message"]


def thread(events: Sequence[Json]) -> str:
    """The session that a turn belongs to."""
    return next(event["thread_id"] for event in events if event.get("type") == "thread.started")
