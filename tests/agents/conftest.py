"""Real agents. A test here that takes an agent's fixture is counted, whether it ran or not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import claude_code, codex_cli, gemini_cli, npm, opencode_cli, pi_cli, script, terminal
from tests.lab.chat_completions import ChatCompletions
from tests.lab.claude_code import ClaudeCode
from tests.lab.codex_cli import CodexCli
from tests.lab.gemini_cli import GeminiCli
from tests.lab.generate_content import GenerateContent
from tests.lab.opencode_cli import OpenCodeCli
from tests.lab.pi_cli import PiCli
from tests.lab.responses_api import Responses
from tests.lab.stub_llm import Stub

_ENV = dict(os.environ)
"""As it was before any test cut itself off from it."""

AGENTS = ("claude", "codex", "gemini", "opencode", "pi")
"""Fixtures that are an agent in a project, each named for its agent."""

_RAN: Counter[str] = Counter()
_SKIPPED: Counter[str] = Counter()
_REASONS: dict[str, None] = {}


@pytest.fixture(scope="session")
def claude_program() -> Path:
    """Claude Code, installed if need be."""
    program, why = claude_code.install(npm.cache_folder(_ENV))
    if program is None:
        pytest.skip(f"Claude Code: {why}")
    return program


@pytest.fixture
def claude(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClaudeCode]:
    """Claude Code in a small project, its model played by the stub, without hooks."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("claude")))
    project = folder / "shop"
    script.seed(project)
    with Stub(script.turns(project)) as stub:
        agent = ClaudeCode(claude_program, folder, project, stub)
        agent.prepare()
        yield agent


@pytest.fixture(scope="session")
def gemini_program() -> Path:
    """Gemini CLI, installed if need be."""
    program, why = gemini_cli.install(npm.cache_folder(_ENV))
    if program is None:
        pytest.skip(f"Gemini CLI: {why}")
    return program


@pytest.fixture
def gemini(gemini_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GeminiCli]:
    """Gemini CLI in a small project, its model played by the stub, without hooks."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("gemini")))
    project = folder / "shop"
    script.seed(project)
    with Stub(gemini_cli.turns(project), GenerateContent()) as stub:
        agent = GeminiCli(gemini_program, folder, project, stub)
        agent.prepare()
        yield agent


@pytest.fixture(scope="session")
def pi_program() -> Path:
    """Pi, installed if need be."""
    program, why = pi_cli.install(npm.cache_folder(_ENV))
    if program is None:
        pytest.skip(f"Pi: {why}")
    return program


@pytest.fixture
def pi(pi_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PiCli]:
    """Pi in a small project, its model played by the stub, without our extension."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("pi")))
    project = folder / "shop"
    script.seed(project)
    with Stub(pi_cli.turns(), ChatCompletions()) as stub:
        agent = PiCli(pi_program, folder, project, stub)
        agent.prepare()
        yield agent


@pytest.fixture(scope="session")
def codex_program() -> Path:
    """Codex CLI, installed if need be."""
    program, why = codex_cli.install(npm.cache_folder(_ENV))
    if program is None:
        pytest.skip(f"Codex CLI: {why}")
    return program


@pytest.fixture
def codex(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodexCli]:
    """Codex CLI in a small project, its model played by the stub, without hooks."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("codex")))
    project = folder / "shop"
    script.seed(project)
    with Stub(codex_cli.turns(), Responses()) as stub:
        agent = CodexCli(codex_program, folder, project, stub)
        agent.prepare()
        yield agent


@pytest.fixture(scope="session")
def opencode_program() -> Path:
    """OpenCode, installed if need be."""
    program, why = opencode_cli.install(npm.cache_folder(_ENV))
    if program is None:
        pytest.skip(f"OpenCode: {why}")
    return program


@pytest.fixture
def opencode(opencode_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenCodeCli]:
    """OpenCode in a small project, its model played by the stub, without our plugin."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("opencode")))
    project = folder / "shop"
    script.seed(project)
    with Stub(opencode_cli.turns(project), ChatCompletions()) as stub:
        agent = OpenCodeCli(opencode_program, folder, project, stub)
        agent.prepare()
        yield agent


@pytest.fixture
def screens() -> None:
    """Skips where no terminal can be made."""
    if why := terminal.missing():
        pytest.skip(why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Counts the tests of a real agent; `.ci/run` reads the counts from the file that it names."""
    report = yield
    for agent in AGENTS:
        if agent not in getattr(item, "fixturenames", ()):
            continue
        if report.when == "call" and not report.skipped:
            _count(agent, "ran")
        elif report.skipped:
            _count(agent, "skipped")
            _REASONS[str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)] = None
    return report


def _count(agent: str, what: str) -> None:
    (_RAN if what == "ran" else _SKIPPED)[agent] += 1
    if file := _ENV.get("FORKPOINT_TEST_REPORT"):
        with open(file, "a") as report:
            report.write(f"{agent} {what}\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _RAN or _SKIPPED:
        why = f" ({'; '.join(_REASONS)})" if _REASONS else ""
        ran = ", ".join(f"{agent} {_RAN[agent]}" for agent in AGENTS if _RAN[agent]) or "none"
        terminalreporter.write_line(f"real agents: {ran} ran, {_SKIPPED.total()} skipped{why}")
