"""Real sessions of Pi: recorded by our extension, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import pytest

from tests.builders.folders import seen
from tests.lab.pi_cli import PiCli
from tests.lab.stub_llm import Json, Message


@pytest.fixture
def recorded(pi: PiCli) -> PiCli:
    """Pi with our extension, put in by the command that people use."""
    pi.forkpoint("install", "pi", "--yes")
    return pi


def texts(log: Json, kind: str = "prompt") -> list[str]:
    return [entry["text"] for entry in log["entries"] if entry["kind"] == kind]


def checkpoints(log: Json, reason: str) -> dict[str, Json]:
    """Checkpoints of a reason by the text of the entry that they are bound to."""
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return {
        entries[point["entry"]]: point for point in log["checkpoints"] if point["reason"] == reason and point["entry"]
    }


def before_prompt(agent: PiCli, text: str) -> str:
    """The checkpoint before a prompt."""
    return checkpoints(agent.forkpoint("log"), "prompt")[text]["id"]


def paths(inventory: Json, kind: str) -> set[str]:
    return {change["path"] for change in inventory[kind]}


def told(messages: list[Message]) -> list[tuple[str, str, int]]:
    return [(message.role, message.text, message.calls) for message in messages]


def test_three_turns_are_a_tree_with_a_checkpoint_for_everything_that_wrote(recorded: PiCli) -> None:
    for turn, options in (("TURN1", ()), ("TURN2", ("--continue",)), ("TURN3", ("--continue",))):
        recorded.ask(f"Do {turn} please", *options)
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURN1 please", "Do TURN2 please", "Do TURN3 please"]
    assert list(checkpoints(log, "prompt")) == texts(log)
    made = checkpoints(log, "tool")
    # The two edits of one answer run side by side: which one ends first is not said.
    assert made.keys() - {"edit existing.txt"} == {
        "write new.txt",
        "edit new.txt",
        "bash rm todelete.txt && mv torename.txt renamed.txt",
        "bash echo shell-made > shell.txt; echo more >> existing.txt",
        "write sub/dir/three.txt",
    }
    assert len(log["branches"]) == 1
    assert log["here"]["files"] == checkpoints(log, "tool")["write sub/dir/three.txt"]["id"]
    assert log["here"]["dirty"] in (0, False)


def test_what_the_shell_deleted_comes_back_and_undo_takes_it_away_again(recorded: PiCli) -> None:
    start = seen(recorded.project)
    recorded.ask("Do TURN1 please")
    recorded.ask("Do TURN2 please", "--continue")
    end = seen(recorded.project)
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN1 please"), "--both", "--yes")
    assert paths(done, "restored") == {
        "existing.txt",
        "new.txt",
        "renamed.txt",
        "shell.txt",
        "todelete.txt",
        "torename.txt",
    }
    assert done["failed"] == done["conflicts"] == []
    assert seen(recorded.project) == start
    recorded.forkpoint("undo", "--yes")
    assert seen(recorded.project) == end


def test_going_on_with_a_fork_sends_exactly_the_conversation_up_to_it(recorded: PiCli) -> None:
    for turn, options in (("TURN1", ()), ("TURN2", ("--continue",)), ("TURN3", ("--continue",))):
        recorded.ask(f"Do {turn} please", *options)
    (original,) = recorded.transcripts()
    data = original.read_bytes()
    asked = next(request for request in recorded.stub.conversations() if request.turn == "TURN2")
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"), "--name", "alt")
    assert fork["cwd"] == str(recorded.project)
    assert fork["command"] == ["pi", "--session", fork["session"]]
    recorded.ask("QUESTION to the old one", "--continue")
    assert original.read_bytes().startswith(data)
    assert len(original.read_bytes()) > len(data)

    before = len(recorded.stub.requests)
    done = recorded.run([*fork["command"], "-p", "Do TURN3 again please"])
    assert done.stdout.strip() == "TURN3 is done."
    sent = next(request for request in recorded.stub.requests[before:] if request.turn)
    assert told(sent.messages)[:-1] == told(asked.messages)[:-1]
    assert told(sent.messages)[-1] == ("user", "Do TURN3 again please", 0)

    log = recorded.forkpoint("log")
    here = next(branch for branch in log["branches"] if branch["session"] == fork["session"])
    assert here["name"] == "alt"
    assert checkpoints(log, "prompt")["Do TURN3 again please"]["branch"] == "alt"
    assert len(recorded.forkpoint("sessions")) == 1
