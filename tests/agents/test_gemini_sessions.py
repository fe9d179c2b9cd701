"""Real sessions of Gemini CLI: recorded by its hooks, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.folders import seen
from tests.lab.gemini_cli import GeminiCli
from tests.lab.stub_llm import Act
from tests.lab.terminal import Terminal, wait_until

from .shown import before_prompt, checkpoints, every_checkpoint, is_forked, paths, texts


@pytest.fixture
def recorded(gemini: GeminiCli) -> GeminiCli:
    """Gemini CLI with our hooks, put in by the command that people use."""
    gemini.record()
    return gemini


# --- the tree ------------------------------------------------------------------------------------------------------


def test_equal_calls_and_those_side_by_side_and_of_a_sub_agent_have_their_own_checkpoints(
    recorded: GeminiCli,
) -> None:
    start = seen(recorded.project)
    recorded.ask("Do TURNTWICE please")
    log = recorded.forkpoint("log")
    made = every_checkpoint(log, "tool")
    assert [text for text, _ in made[:2]] == ["run_shell_command echo again >> twice.txt"] * 2
    assert made[0][1]["entry"] != made[1][1]["entry"], "each of two equal calls has its own checkpoint"
    # Of two shell calls that run side by side one save may hold what both did.
    side_by_side = {"run_shell_command echo a > a.txt", "run_shell_command echo b > b.txt"}
    assert {text for text, _ in made[2:-1]} - side_by_side == {"write_file c.txt"}
    assert {text for text, _ in made[2:-1]} & side_by_side
    assert made[-1][0] == "write_file sub.txt", "what a sub-agent wrote is bound to its own call"
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURNTWICE please"), "--files", "--yes")
    assert paths(done, "restored") == {"a.txt", "b.txt", "c.txt", "sub.txt", "twice.txt"}
    assert seen(recorded.project) == start


# --- rewinds and forks ----------------------------------------------------------------------------------------------


def test_a_rewind_in_gemini_s_own_screen_is_a_fork(recorded: GeminiCli, screens: None) -> None:
    with recorded.screen("--yolo") as screen:
        _say(screen, "Do TURN1 please", "TURN1 is done")
        _say(screen, "Do TURN2 please", "TURN2 is done")
        _type(screen, "/rewind")
        screen.see("Stay at current position")
        wait_until(lambda: _chosen(screen, "● Do TURN2 please"), "the prompt is chosen")
        screen.press("Enter")
        screen.see("Rewind conversation and revert code changes")
        screen.press("Enter")
        wait_until(lambda: (recorded.project / "new.txt").read_text() == "new v2\n", "the rewind is done")
        screen.see(r"[*] +Do TURN2 please")
        _say(screen, "Do TURN3 please", "TURN3 is done")
    is_forked(recorded.forkpoint("log"), left="Do TURN2 please", instead="Do TURN3 please")


def _type(screen: Terminal, text: str) -> None:
    """Types and sends a text: an Enter that comes too soon after it is taken for a pasted one, or completes a word."""
    screen.press("C-u")
    screen.see(r"[*] +Type your message")
    screen.type(text)
    screen.see(f"[*] +{re.escape(text)}")
    wait_until(lambda: _sent(screen, text), f"{text} is sent")


def _sent(screen: Terminal, text: str) -> bool:
    screen.press("Enter")
    try:
        return bool(screen.see(r"[*] +Type your message|Stay at current position", 2))
    except AssertionError:
        return False


def _chosen(screen: Terminal, row: str) -> bool:
    """Goes up by one; every answer to a call is a row of its own, without words."""
    screen.press("Up")
    try:
        return bool(screen.see(row, 1))
    except AssertionError:
        return False


def _say(screen: Terminal, text: str, answer: str) -> None:
    _type(screen, text)
    screen.see(answer)
    screen.see("Type your message")


def test_a_fork_before_the_first_prompt_is_a_session_that_is_known(recorded: GeminiCli) -> None:
    recorded.ask("Do TURN3 please")
    first = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN3 please"), "--name", "anew")
    assert first["command"][1:] == ["--session-id", first["session"]]
    assert recorded.ask("QUESTION", *first["command"][1:])["session_id"] == first["session"]
    assert recorded.told(recorded.stub.conversations()[-1]) == [Act("user", "QUESTION")]
    assert checkpoints(recorded.forkpoint("log"), "prompt")["QUESTION"]["branch"] == "anew"


# --- what the agent deletes ------------------------------------------------------------------------------------------


def test_a_session_that_the_agent_lost_is_browsed_restored_and_forked(recorded: GeminiCli) -> None:
    recorded.keep_sessions_as_people_do()
    start = seen(recorded.project)
    session = recorded.ask("Do TURN1 please")["session_id"]
    [file] = recorded.transcripts()
    file.rename(_in_an_earlier_minute(file))
    recorded.ask("Do TURN2 please", "--resume", session)
    recorded.forkpoint("log")
    gone = _in_an_earlier_minute(file)
    recorded.run([recorded.program, "--list-sessions"])
    assert not gone.exists(), "the agent takes its own session for a broken one"

    log = recorded.forkpoint("log", session)
    assert texts(log) == ["Do TURN1 please", "Do TURN2 please"]
    assert "deleted" in recorded.sessions()[0]["problem"]
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"), "--name", "saved")
    recorded.ask("QUESTION", *fork["command"][1:])
    recorded.run([recorded.program, "--list-sessions"])
    recorded.run([recorded.program, "--list-sessions"])
    sent = [request for request in recorded.stub.conversations() if request.turn == "QUESTION"]
    assert "Do TURN1 please" in sent[0].raw
    assert "TURN2" not in sent[0].raw
    assert [path for path in recorded.transcripts() if fork["session"] in path.name], "a fork of ours is not lost so"
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN1 please"), "--files", "--yes")
    assert done["failed"] == []
    assert seen(recorded.project) == start


def _in_an_earlier_minute(file: Path) -> Path:
    return file.with_name(re.sub(r"T\d\d-\d\d-", "T00-00-", file.name))
