"""Real sessions of Gemini CLI: recorded by its hooks, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.folders import seen
from tests.lab.gemini_cli import GeminiCli
from tests.lab.stub_llm import Json, Message
from tests.lab.terminal import Terminal, wait_until


@pytest.fixture
def recorded(gemini: GeminiCli) -> GeminiCli:
    """Gemini CLI with our hooks, put in by the command that people use."""
    gemini.forkpoint("install", "gemini", "--yes")
    return gemini


def texts(log: Json, kind: str = "prompt") -> list[str]:
    return [entry["text"] for entry in log["entries"] if entry["kind"] == kind]


def checkpoints(log: Json, reason: str) -> list[tuple[str, Json]]:
    """Checkpoints of a reason with the text of the entry that they are bound to."""
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return [(entries[p["entry"]], p) for p in log["checkpoints"] if p["reason"] == reason and p["entry"]]


def before_prompt(gemini: GeminiCli, text: str) -> str:
    """The checkpoint before a prompt."""
    return dict(checkpoints(gemini.forkpoint("log"), "prompt"))[text]["id"]


def paths(inventory: Json, kind: str) -> set[str]:
    return {change["path"] for change in inventory[kind]}


def told(messages: list[Message]) -> list[tuple[str, str, int]]:
    """The conversation of a request, without what the program tells of the day and the folder."""
    plain = [
        (m.role, re.sub(r"<session_context>.*</session_context>\s*", "", m.text, flags=re.DOTALL), m.calls)
        for m in messages
    ]
    return [message for message in plain if message[1] or message[2]]


# --- the tree ------------------------------------------------------------------------------------------------------


def test_turns_are_a_tree_with_a_checkpoint_for_everything_that_wrote(recorded: GeminiCli) -> None:
    start = seen(recorded.project)
    recorded.ask("Do TURN1 please")
    recorded.ask("Do TURNTWICE please", "--resume", "latest")
    end = seen(recorded.project)
    log = recorded.forkpoint("log")
    assert texts(log)[:2] == ["Do TURN1 please", "Do TURNTWICE please"]
    assert [text for text, _ in checkpoints(log, "prompt")] == texts(log)[:2]
    made = checkpoints(log, "tool")
    assert [text for text, _ in made[:6]] == [
        "write_file new.txt",
        "replace existing.txt",
        "replace new.txt",
        "run_shell_command rm todelete.txt && mv torename.txt renamed.txt",
        "run_shell_command echo again >> twice.txt",
        "run_shell_command echo again >> twice.txt",
    ]
    assert made[4][1]["entry"] != made[5][1]["entry"], "each of two equal calls has its own checkpoint"
    # Of two shell calls that run side by side one save may hold what both did.
    side_by_side = {"run_shell_command echo a > a.txt", "run_shell_command echo b > b.txt"}
    assert {text for text, _ in made[6:-1]} - side_by_side == {"write_file c.txt"}
    assert {text for text, _ in made[6:-1]} & side_by_side
    assert made[-1][0] == "write_file sub.txt", "what a sub-agent wrote is bound to its own call"
    assert len(log["branches"]) == 1
    assert log["here"]["dirty"] in (0, False)

    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN1 please"), "--both", "--yes")
    assert done["failed"] == done["conflicts"] == []
    assert {"todelete.txt", "torename.txt", "renamed.txt", "twice.txt", "sub.txt"} <= paths(done, "restored")
    assert seen(recorded.project) == start
    recorded.forkpoint("undo", "--yes")
    assert seen(recorded.project) == end


def test_a_restore_during_a_slow_call_is_refused(recorded: GeminiCli) -> None:
    asleep = recorded.project / ".asleep"
    running = recorded.start("Do TURNSLOW please")
    try:
        wait_until(asleep.exists, "the shell sleeps")
        point = wait_until(lambda: _point(recorded, "Do TURNSLOW please"), "the prompt is in the transcript")
        refused = recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        assert "Gemini CLI is in the middle of a tool call" in refused["error"]["what"]
        assert _session(recorded)["live"]
        asleep.unlink()
        assert running.wait(60) == 0
        recorded.forkpoint("restore", point, "--files", "--yes")
        assert not (recorded.project / "slow.txt").exists()
    finally:
        asleep.unlink(missing_ok=True)
        running.kill()
        running.wait()


def _session(gemini: GeminiCli) -> Json:
    """The only session that the agent has."""
    [found] = [session for session in gemini.forkpoint("sessions") if session["agent"] == "gemini"]
    return found


def _point(gemini: GeminiCli, text: str) -> str:
    return dict(checkpoints(gemini.forkpoint("log"), "prompt")).get(text, {}).get("id", "")


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
    log = recorded.forkpoint("log")
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["Do TURN2 please"] == parents["Do TURN3 please"]
    assert sorted(branch["state"] for branch in log["branches"]) == ["active", "left"]
    active = next(branch["name"] for branch in log["branches"] if branch["state"] == "active")
    made = dict(checkpoints(log, "tool"))
    assert made["write_file sub/dir/three.txt"]["branch"] == active
    assert made["run_shell_command echo shell-made > shell.txt; echo more >> existing.txt"]["branch"] != active


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


def test_going_on_with_a_fork_sends_exactly_the_conversation_up_to_it(recorded: GeminiCli) -> None:
    original = recorded.ask("Do TURN1 please")["session_id"]
    recorded.ask("Do TURN2 please", "--resume", original)
    asked = next(request for request in recorded.stub.conversations() if request.turn == "TURN2")
    files = {file: file.read_bytes() for file in recorded.transcripts()}
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"), "--name", "alt")
    assert fork["cwd"] == str(recorded.project)
    assert fork["command"] == ["gemini", "--resume", fork["session"]]
    for file, data in files.items():
        assert file.read_bytes() == data, "the agent's own file is never edited"

    before = len(recorded.stub.requests)
    said = recorded.ask("Do TURN3 please", *fork["command"][1:])
    assert said["session_id"] == fork["session"]
    sent = next(request for request in recorded.stub.requests[before:] if request.turn)
    assert told(sent.messages)[:-1] == told(asked.messages)[:-1]
    assert told(sent.messages)[-1] == ("user", "Do TURN3 please", 0)
    log = recorded.forkpoint("log")
    here = next(branch for branch in log["branches"] if branch["session"] == fork["session"])
    assert here["name"] == "alt"
    assert dict(checkpoints(log, "prompt"))["Do TURN3 please"]["branch"] == "alt"
    assert texts(log).count("Do TURN1 please") == 1
    assert recorded.ask("QUESTION to the newest", "--resume", "latest")["session_id"] == original

    first = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN1 please"), "--name", "anew")
    assert first["command"][1:] == ["--session-id", first["session"]]
    assert recorded.ask("QUESTION", *first["command"][1:])["session_id"] == first["session"]


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
    assert "deleted" in _session(recorded)["problem"]
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
