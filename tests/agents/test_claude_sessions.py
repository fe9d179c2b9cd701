"""Real sessions of Claude Code: recorded by its hooks, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import json

import pytest

from tests.lab.claude_code import ClaudeCode
from tests.lab.stub_llm import Json
from tests.lab.terminal import Terminal, wait_until

from .shown import before_prompt, checkpoints, is_forked, paths, restored


@pytest.fixture
def recorded(claude: ClaudeCode) -> ClaudeCode:
    """Claude Code with our hooks, put in by the command that people use."""
    claude.record()
    return claude


# --- the tree ------------------------------------------------------------------------------------------------------


def test_what_a_sub_agent_wrote_is_bound_to_its_own_call(recorded: ClaudeCode) -> None:
    recorded.ask("Do TURNAGENT please")
    wait_until((recorded.project / "sub.txt").exists, "the sub-agent wrote")
    log = wait_until(lambda: _with_tool(recorded, "Write sub.txt"), "its checkpoint is recorded")
    assert (
        checkpoints(log, "tool")["Write sub.txt"]["files"]
        == checkpoints(log, "prompt")["Do TURNAGENT please"]["files"] + 1
    )


def _with_tool(claude: ClaudeCode, text: str) -> Json | None:
    log = claude.forkpoint("log")
    return log if text in checkpoints(log, "tool") else None


# --- what people do meanwhile ---------------------------------------------------------------------------------------


def test_a_person_s_edit_between_two_hooks_is_a_conflict_and_stays(recorded: ClaudeCode) -> None:
    recorded.ask("Do TURN1 please")
    mine = recorded.project / "existing.txt"
    mine.write_text(mine.read_text() + "by a person\n")
    (recorded.project / "own.txt").write_text("by a person\n")
    recorded.ask("QUESTION", "--continue")
    text = mine.read_text()
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN1 please"), "--files", "--yes")
    assert paths(done, "conflicts") == {"existing.txt"}
    assert paths(done, "kept") == {"own.txt"}
    assert mine.read_text() == text
    assert (recorded.project / "own.txt").read_text() == "by a person\n"
    assert (recorded.project / "todelete.txt").read_text() == "delete me\n"
    assert not (recorded.project / "new.txt").exists()


def test_a_call_that_was_interrupted_is_not_waited_for(recorded: ClaudeCode, screens: None) -> None:
    asleep = recorded.project / ".asleep"
    with recorded.screen() as screen:
        _say(screen, "Do TURNSLOW please", "I sleep")
        wait_until(asleep.exists, "the shell sleeps")
        point = before_prompt(recorded, "Do TURNSLOW please")
        recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        screen.press("Escape")
        screen.see("Interrupted")
        # No hook tells of it; the transcript does.
        done = wait_until(lambda: restored(recorded, point), "the restore is let through")
    assert paths(done, "restored") == {"slow.txt"}
    assert not (recorded.project / "slow.txt").exists()


# --- rewinds and forks ----------------------------------------------------------------------------------------------


def test_a_rewind_in_claude_s_own_screen_is_a_fork(recorded: ClaudeCode, screens: None) -> None:
    with recorded.screen() as screen:
        _say(screen, "Do TURN1 please", "TURN1 is done")
        _say(screen, "Do TURN2 please", "TURN2 is done")
        _say(screen, "/rewind", "Restore the code")
        screen.press("Up")
        screen.press("Enter")
        screen.see("Restore code and conversation")
        screen.press("Enter")
        wait_until(lambda: not (recorded.project / "shell.txt").exists() or _rewound(recorded), "the rewind is done")
        _say(screen, "Do TURN3 please", "TURN3 is done")
    is_forked(recorded.forkpoint("log"), left="Do TURN2 please", instead="Do TURN3 please")


def _rewound(claude: ClaudeCode) -> bool:
    """Claude's own rewind knows nothing of what the shell made: only the edited file tells."""
    return (claude.project / "new.txt").read_text() == "new v2\n"


def _say(screen: Terminal, text: str, answer: str) -> None:
    screen.press("C-u")
    screen.type(text)
    screen.see(text)
    screen.press("Enter")
    screen.see(answer)
    screen.see("bypass permissions on|Esc to cancel|Enter to")


# --- installing -----------------------------------------------------------------------------------------------------


def test_why_hooks_are_refused_in_a_file_with_comments_claude_would_not_read_them(claude: ClaudeCode) -> None:
    fired = claude.folder / "fired"
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"touch {fired}"}]}]}}
    (claude.config / "settings.json").write_text("// mine\n" + json.dumps(hook))
    claude.ask("QUESTION")
    assert not fired.exists()
    refused = claude.forkpoint("install", "claude", "--yes", code=1)
    assert "a comment in line 1" in refused["error"]["what"]
