"""Cuts every test off from the machine it runs on: home, settings, locale, terminal and agents' folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store.upkeep import repacking

FOREIGN = (
    "GIT_",
    "XDG_",
    "TEXTUAL",
    "CLAUDE",
    "ANTHROPIC_",
    "CODEX_",
    "GEMINI_",
    "PI_",
    "OPENCODE",
    "OPENAI_",
    "FORKPOINT_",
    "LC_",
    "PYTHON",
)
"""Beginnings of the names of variables that change what the tested programs do."""

ALONE = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "LANG",
    "LANGUAGE",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "TMUX",
    "STY",
)
"""Whole names of further ones."""

KEPT = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "TEXTUAL_SNAPSHOT_TEMPDIR")
"""Foreign by their beginning, but needed to find what is tested."""


def _is_foreign(name: str) -> bool:
    return name not in KEPT and (name in ALONE or name.startswith(FOREIGN))


@pytest.fixture(autouse=True)
def machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder of the test's own, with a git identity; returns it."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if _is_foreign(name):
            monkeypatch.delenv(name)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FORKPOINT_HOME", str(home / "forkpoint"))
    monkeypatch.setenv("FORKPOINT_LEAST_FREE", "0")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # No process of a test outlives it: what starts one for real is tested for itself.
    monkeypatch.setattr(repacking, "start_apart", lambda place: None)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TZ", "UTC")
    return home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The real agents come last: the first time each of them has to be installed."""
    items.sort(key=lambda item: "agents" in item.path.relative_to(Path(__file__).parent).parts[:1])
