"""Real agents. A test here that takes an agent's fixture is counted, whether it ran or not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.lab import claude_code, codex_cli, gemini_cli, npm, opencode_cli, pi_cli, script, terminal
from tests.lab.chat_completions import ChatCompletions
from tests.lab.claude_code import ClaudeCode
from tests.lab.codex_cli import CodexCli
from tests.lab.gemini_cli import GeminiCli
from tests.lab.generate_content import GenerateContent
from tests.lab.opencode_cli import OpenCodeCli
from tests.lab.pi_cli import PiCli
from tests.lab.real_agent import RealAgent
from tests.lab.responses_api import Responses
from tests.lab.stub_llm import Anthropic, Api, Script, Stub

_ENV = dict(os.environ)
"""As it was before any test cut itself off from it."""


class Kind(NamedTuple):
    """How one of the agents is had."""

    made: type[RealAgent]
    install: Callable[[Path], tuple[Path | None, str]]
    turns: Callable[[Path], Script]
    api: Callable[[], Api]


KINDS = {
    "claude": Kind(ClaudeCode, claude_code.install, claude_code.turns, Anthropic),
    "codex": Kind(CodexCli, codex_cli.install, codex_cli.turns, Responses),
    "gemini": Kind(GeminiCli, gemini_cli.install, gemini_cli.turns, GenerateContent),
    "opencode": Kind(OpenCodeCli, opencode_cli.install, opencode_cli.turns, ChatCompletions),
    "pi": Kind(PiCli, pi_cli.install, pi_cli.turns, ChatCompletions),
}
"""The agents; for each there is a fixture of its name, which is the agent in a project."""

_PROGRAMS: dict[str, tuple[Path | None, str]] = {}
_RAN: Counter[str] = Counter()
_SKIPPED: Counter[str] = Counter()
_REASONS: dict[str, None] = {}


def _program(name: str) -> Path:
    """The agent's program, installed if need be; skips the test where it cannot be had."""
    if name not in _PROGRAMS:
        _PROGRAMS[name] = KINDS[name].install(npm.cache_folder(_ENV))
    program, why = _PROGRAMS[name]
    if program is None:
        pytest.skip(f"{KINDS[name].made.TITLE}: {why}")
    return program


@contextmanager
def _in_a_project(name: str, made: pytest.TempPathFactory) -> Iterator[RealAgent]:
    """An agent in a small project, its model played by the stub, without hooks of ours."""
    program, kind = _program(name), KINDS[name]
    folder = Path(os.path.realpath(made.mktemp(name)))
    project = folder / "shop"
    script.seed(project)
    with Stub(kind.turns(project), kind.api()) as stub:
        agent = kind.made(program, folder, project, stub)
        agent.prepare()
        yield agent


@pytest.fixture(params=KINDS)
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAgent]:
    """Each of the agents in turn."""
    with _in_a_project(request.param, tmp_path_factory) as made:
        yield made


def _fixture(name: str) -> object:
    """A fixture that is one agent."""

    @pytest.fixture(name=name)
    def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAgent]:
        with _in_a_project(name, tmp_path_factory) as agent:
            yield agent

    return made


claude, codex, gemini, opencode, pi = map(_fixture, KINDS)


@pytest.fixture
def screens() -> None:
    """Skips where no terminal can be made."""
    if why := terminal.missing():
        pytest.skip(why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Counts the tests of a real agent; `.ci/run` reads the counts from the file that it names."""
    report = yield
    name = _agent_of(item)
    if name and report.when == "call" and not report.skipped:
        _count(name, "ran")
    elif name and report.skipped:
        _count(name, "skipped")
        _REASONS[str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)] = None
    return report


def _agent_of(item: pytest.Item) -> str:
    """The agent that a test is about; "" for none."""
    if isinstance(item, pytest.Function) and hasattr(item, "callspec") and "agent" in item.callspec.params:
        return str(item.callspec.params["agent"])
    return next((name for name in KINDS if name in getattr(item, "fixturenames", ())), "")


def _count(agent: str, what: str) -> None:
    (_RAN if what == "ran" else _SKIPPED)[agent] += 1
    if file := _ENV.get("FORKPOINT_TEST_REPORT"):
        with open(file, "a") as report:
            report.write(f"{agent} {what}\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _RAN or _SKIPPED:
        why = f" ({'; '.join(_REASONS)})" if _REASONS else ""
        ran = ", ".join(f"{name} {_RAN[name]}" for name in KINDS if _RAN[name]) or "none"
        terminalreporter.write_line(f"real agents: {ran} ran, {_SKIPPED.total()} skipped{why}")
