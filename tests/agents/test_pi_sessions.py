"""Real sessions of Pi: recorded by our extension, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import pytest

from tests.builders.pi import PiSession
from tests.lab.pi_cli import PiCli
from tests.lab.stub_llm import Act
from tests.lab.terminal import Terminal, wait_until

from .shown import before_prompt, checkpoints, is_forked, paths, texts


@pytest.fixture
def recorded(pi: PiCli) -> PiCli:
    """Pi with our extension, put in by the command that people use."""
    pi.record()
    return pi


def test_a_session_that_pi_deleted_can_be_gone_on_with(recorded: PiCli) -> None:
    recorded.ask("Do TURN1 please")
    recorded.ask("Do TURN2 please", "--continue")
    asked = next(request for request in recorded.stub.conversations() if request.turn == "TURN2")
    recorded.forkpoint("log")
    recorded.transcripts()[0].unlink()
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"))
    before = len(recorded.stub.requests)
    assert recorded.run([*fork["command"], "-p", "QUESTION"]).stdout.strip() == "Just an answer, no tools."
    sent = next(request for request in recorded.stub.requests[before:] if request.turn)
    assert recorded.told(sent)[:-1] == recorded.told(asked)[:-1]
    assert texts(recorded.forkpoint("log")) == ["Do TURN1 please", "Do TURN2 please", "QUESTION"]


def test_a_session_of_version_1_that_pi_brings_to_its_newest_form_is_shown_once_and_forked(recorded: PiCli) -> None:
    old = PiSession(recorded.config, recorded.project, version=1)
    old.turn("Old one")
    old.turn("Old two")
    recorded.forkpoint("save")
    recorded.forkpoint("log", old.id)
    before = old.file.read_bytes()
    recorded.ask("QUESTION three", "--session", str(old.file))
    assert not old.file.read_bytes().startswith(before)
    log = recorded.forkpoint("log", old.id)
    assert texts(log) == ["Old one", "Old two", "QUESTION three"]
    assert len(log["branches"]) == 1
    prompt = next(entry["id"] for entry in log["entries"] if entry["text"] == "Old two")
    fork = recorded.forkpoint("fork", prompt)
    recorded.run([*fork["command"], "-p", "QUESTION four"])
    sent = recorded.told(recorded.stub.conversations()[-1])
    assert sent == [Act("user", "Old one"), Act("assistant", "Done."), Act("user", "QUESTION four")]


def test_a_rewind_in_pi_s_own_tree_is_a_fork(recorded: PiCli, screens: None) -> None:
    with recorded.screen() as screen:
        say(screen, "Do TURN1 please", "TURN1 is done")
        say(screen, "Do TURN2 please", "TURN2 is done")
        left = len(recorded.forkpoint("log")["entries"])
        screen.type("/tree")
        screen.press("Enter")
        screen.see("Session Tree")
        for _ in range(5):
            screen.press("Up")
        screen.see("\u203a • user: Do TURN2")
        screen.press("Enter")
        screen.see("Summarize branch")
        (recorded.project / "by-hand.txt").write_text("before the rewind is done\n")
        screen.press("Enter")
        # Nothing tells of it in Pi's file, but our extension does.
        wait_until(lambda: stops(recorded) == ["TURN1 is done."], "the rewind is noticed")
        assert len(recorded.forkpoint("log")["entries"]) == left
        screen.press("C-u")
        say(screen, "Do TURN3 please", "TURN3 is done")
    is_forked(recorded.forkpoint("log"), left="Do TURN2 please", instead="Do TURN3 please")


def stops(agent: PiCli) -> list[str]:
    """The texts of the entries at which Pi stopped, or went to in its tree, with new files."""
    log = agent.forkpoint("log")
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return [entries[point["entry"]] for point in log["checkpoints"] if point["reason"] == "stop"]


def say(screen: Terminal, text: str, answer: str) -> None:
    screen.type(text)
    screen.see(text)
    screen.press("Enter")
    screen.see(answer)


def test_what_a_sub_agent_wrote_is_bound_to_the_call_that_started_it(recorded: PiCli) -> None:
    recorded.ask("Do TURNAGENT please")
    assert (recorded.project / "sub.txt").exists()
    assert len(recorded.sessions()) == 1
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURNAGENT please"]
    made = checkpoints(log, "tool")
    assert list(made) == ["bash pi --no-session -p 'SUBJOB: write sub.txt'"]
    assert [point["reason"] for point in log["checkpoints"]].count("prompt") == 1
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURNAGENT please"), "--files", "--yes")
    assert paths(done, "restored") == {"sub.txt"}


def test_recording_goes_on_in_every_session_of_one_process(recorded: PiCli, screens: None) -> None:
    with recorded.screen() as screen:
        say(screen, "QUESTION one", "Just an answer")
        screen.type("/new")
        screen.press("Enter")
        screen.see("New session started")
        say(screen, "QUESTION two", "Just an answer")
        screen.type("/fork")
        screen.press("Enter")
        screen.see("Fork from Message")
        screen.press("Enter")
        screen.see("Forked to new session")
        screen.press("C-u")
        say(screen, "QUESTION three", "Just an answer")
    shown = [info["id"] for info in recorded.sessions()]
    made = [text for session in shown for text in checkpoints(recorded.forkpoint("log", session), "prompt")]
    assert sorted(made) == ["QUESTION one", "QUESTION three", "QUESTION two"]


def test_the_project_s_own_extension_records_once_it_is_trusted(pi: PiCli) -> None:
    pi.forkpoint("install", "pi", "--here", "--yes")
    pi.forkpoint("install", "pi", "--yes")
    assert (pi.project / ".pi" / "extensions" / "forkpoint.js").exists()
    pi.ask("Do TURN3 please", "--approve")
    log = pi.forkpoint("log")
    assert list(checkpoints(log, "prompt")) == ["Do TURN3 please"]
    assert len([point for point in log["checkpoints"] if point["reason"] == "prompt"]) == 1
