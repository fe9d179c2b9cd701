"""Real sessions of OpenCode: recorded by our plugin, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import pytest

from tests.builders.folders import seen
from tests.lab.opencode_cli import OpenCodeCli
from tests.lab.stub_llm import Json, Message
from tests.lab.terminal import Terminal, wait_until


@pytest.fixture
def recorded(opencode: OpenCodeCli) -> OpenCodeCli:
    """OpenCode with our plugin, put in by the command that people use."""
    opencode.forkpoint("install", "opencode", "--yes")
    return opencode


def texts(log: Json, kind: str = "prompt") -> list[str]:
    return [entry["text"] for entry in log["entries"] if entry["kind"] == kind]


def checkpoints(log: Json, reason: str) -> dict[str, Json]:
    """Checkpoints of a reason by the text of the entry that they are bound to."""
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return {
        entries[point["entry"]]: point for point in log["checkpoints"] if point["reason"] == reason and point["entry"]
    }


def told(messages: list[Message]) -> list[tuple[str, str, int]]:
    return [(message.role, message.text, message.calls) for message in messages]


def say(screen: Terminal, text: str, answer: str) -> None:
    screen.type(text)
    screen.see(text)
    screen.press("Enter")
    screen.see(answer)


def test_a_session_is_recorded_restored_and_gone_on_with_from_a_fork_in_its_middle(
    recorded: OpenCodeCli, screens: None
) -> None:
    start = seen(recorded.project)
    recorded.ask("Do TURN1 please")
    recorded.ask("Do TURN2 please", "--continue")
    recorded.ask("Do TURNAGENT please", "--continue")
    end = seen(recorded.project)
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURN1 please", "Do TURN2 please", "Do TURNAGENT please", "SUBJOB: write sub.txt"]
    assert list(checkpoints(log, "prompt")) == texts(log)[:3]
    made = checkpoints(log, "tool")
    assert made.keys() >= {
        "write new.txt",
        "bash rm todelete.txt && mv torename.txt renamed.txt",
        "bash echo shell-made > shell.txt; echo more >> existing.txt",
        "write sub.txt",
    }
    assert made.keys() & {"edit existing.txt", "edit new.txt"}
    assert (len(log["branches"]), log["here"]["dirty"]) == (1, 0)

    point = checkpoints(log, "prompt")["Do TURN1 please"]["id"]
    done = recorded.forkpoint("restore", point, "--files", "--yes")
    assert {change["path"] for change in done["restored"]} == {
        "existing.txt",
        "new.txt",
        "renamed.txt",
        "shell.txt",
        "sub.txt",
        "todelete.txt",
        "torename.txt",
    }
    assert done["failed"] == done["conflicts"] == []
    assert seen(recorded.project) == start
    recorded.forkpoint("undo", "--yes")
    assert seen(recorded.project) == end

    asked = next(request for request in recorded.stub.conversations() if request.turn == "TURN2")
    fork = recorded.forkpoint("fork", checkpoints(log, "prompt")["Do TURN2 please"]["id"], "--name", "alt")
    assert fork["cwd"] == str(recorded.project)
    before = len(recorded.stub.requests)
    with recorded.screen(*fork["command"]) as screen:
        say(screen, "QUESTION instead", "Just an answer")
    sent = next(request for request in recorded.stub.requests[before:] if request.turn == "QUESTION")
    assert told(sent.messages)[1:-1] == told(asked.messages)[1:-1]
    assert (sent.messages[-1].role, sent.messages[-1].text) == ("user", "QUESTION instead")

    log = wait_until(lambda: _with_prompt(recorded, "QUESTION instead"), "the answer is stored")
    here = next(branch for branch in log["branches"] if branch["session"] == fork["session"])
    assert (here["name"], here["state"]) == ("alt", "active")
    assert checkpoints(log, "prompt")["QUESTION instead"]["branch"] == "alt"
    assert texts(log).count("Do TURN1 please") == 1
    refused = recorded.forkpoint("undo", "--yes", code=3)
    assert "continued" in refused["error"]["what"]


def test_a_rewind_in_opencode_s_own_screen_is_a_fork(recorded: OpenCodeCli, screens: None) -> None:
    with recorded.screen() as screen:
        say(screen, "Do TURN1 please", "TURN1 is done")
        say(screen, "Do TURN2 please", "TURN2 is done")
        screen.type("/undo")
        screen.see("/undo")
        screen.press("Enter")
        wait_until(lambda: not (recorded.project / "shell.txt").exists(), "the rewind is done")
        log = wait_until(lambda: _with_notice(recorded), "the database tells of it")
        assert len(log["branches"]) == 2
        screen.press("C-u")
        say(screen, "QUESTION instead", "Just an answer")
        log = wait_until(lambda: _with_prompt(recorded, "QUESTION instead"), "the answer is stored")
    left = [row["data"] for row in recorded.rows("SELECT data FROM part WHERE data LIKE '%TURN2%'")]
    assert left == [], "OpenCode deleted what was rewound"
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["Do TURN2 please"] == parents["QUESTION instead"]
    assert sorted(branch["state"] for branch in log["branches"]) == ["active", "left"]
    active = next(branch["name"] for branch in log["branches"] if branch["state"] == "active")
    assert checkpoints(log, "prompt")["QUESTION instead"]["branch"] == active
    assert checkpoints(log, "prompt")["Do TURN2 please"]["branch"] != active


def test_a_session_from_before_forkpoint_has_whole_trees_to_go_back_to(opencode: OpenCodeCli) -> None:
    start = seen(opencode.project)
    opencode.ask("Do TURN1 please")
    log = opencode.forkpoint("log")
    point = checkpoints(log, "import")["Do TURN1 please"]
    opencode.forkpoint("restore", point["id"], "--files", "--all", "--yes")
    assert seen(opencode.project) == start
    # Nothing of it was written by us: neither into its database nor into its repository.
    assert opencode.forkpoint("sessions")[0]["agent"] == "opencode"


def _with_prompt(opencode: OpenCodeCli, text: str) -> Json | None:
    log = opencode.forkpoint("log")
    return log if text in texts(log) else None


def _with_notice(opencode: OpenCodeCli) -> Json | None:
    log = opencode.forkpoint("log")
    return log if any(text.startswith("Reverted") for text in texts(log, "notice")) else None
