"""Real sessions of OpenCode: recorded by our plugin, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import pytest

from tests.lab.opencode_cli import OpenCodeCli
from tests.lab.stub_llm import Json
from tests.lab.terminal import wait_until

from .shown import checkpoints, is_forked, texts


@pytest.fixture
def recorded(opencode: OpenCodeCli) -> OpenCodeCli:
    """OpenCode with our plugin, put in by the command that people use."""
    opencode.record()
    return opencode


def test_what_a_sub_agent_wrote_is_bound_to_its_own_call(recorded: OpenCodeCli) -> None:
    recorded.ask("Do TURNAGENT please")
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURNAGENT please", "SUBJOB: write sub.txt"]
    wrote = checkpoints(log, "tool")["write sub.txt"]
    assert wrote["files"] == checkpoints(log, "prompt")["Do TURNAGENT please"]["files"] + 1
    assert len(recorded.sessions()) == 1


def test_a_rewind_in_opencode_s_own_screen_is_a_fork(recorded: OpenCodeCli, screens: None) -> None:
    with recorded.screen() as screen:
        recorded.tell(screen, "Do TURN1 please")
        recorded.tell(screen, "Do TURN2 please")
        screen.type("/undo")
        screen.see("/undo")
        screen.press("Enter")
        wait_until(lambda: not (recorded.project / "shell.txt").exists(), "the rewind is done")
        log = wait_until(lambda: _with_notice(recorded), "the database tells of it")
        assert len(log["branches"]) == 2
        screen.press("C-u")
        recorded.tell(screen, "QUESTION instead")
        log = wait_until(lambda: _with_prompt(recorded, "QUESTION instead"), "the answer is stored")
    left = [row["data"] for row in recorded.rows("SELECT data FROM part WHERE data LIKE '%TURN2%'")]
    assert left == [], "OpenCode deleted what was rewound"
    is_forked(log, left="Do TURN2 please", instead="QUESTION instead")


def _with_prompt(opencode: OpenCodeCli, text: str) -> Json | None:
    log = opencode.forkpoint("log")
    return log if text in texts(log) else None


def _with_notice(opencode: OpenCodeCli) -> Json | None:
    log = opencode.forkpoint("log")
    return log if any(text.startswith("Reverted") for text in texts(log, "notice")) else None
