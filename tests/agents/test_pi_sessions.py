"""Real sessions of Pi: recorded by our extension, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import pytest

from tests.builders.folders import seen
from tests.builders.pi import PiSession
from tests.lab.pi_cli import PiCli
from tests.lab.stub_llm import Json, Message
from tests.lab.terminal import Terminal, wait_until


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
    assert [info["agent"] for info in recorded.forkpoint("sessions")].count("pi") == 1


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
    assert told(sent.messages)[:-1] == told(asked.messages)[:-1]
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
    sent = told(recorded.stub.conversations()[-1].messages)
    assert sent[1:] == [("user", "Old one", 0), ("assistant", "Done.", 0), ("user", "QUESTION four", 0)]


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
    log = recorded.forkpoint("log")
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["Do TURN2 please"] == parents["Do TURN3 please"]
    states = {branch["title"]: branch["state"] for branch in log["branches"]}
    assert sorted(states.values()) == ["active", "left"]
    active = next(branch["name"] for branch in log["branches"] if branch["state"] == "active")
    made = checkpoints(log, "tool")
    assert made["write sub/dir/three.txt"]["branch"] == active
    assert made["bash echo shell-made > shell.txt; echo more >> existing.txt"]["branch"] != active


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
    assert [info["agent"] for info in recorded.forkpoint("sessions")].count("pi") == 1
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
    shown = [info["id"] for info in recorded.forkpoint("sessions") if info["agent"] == "pi"]
    made = [text for session in shown for text in checkpoints(recorded.forkpoint("log", session), "prompt")]
    assert sorted(made) == ["QUESTION one", "QUESTION three", "QUESTION two"]


def test_a_restore_during_a_slow_call_is_refused(recorded: PiCli) -> None:
    asleep = recorded.project / ".asleep"
    running = recorded.start("Do TURNSLOW please")
    try:
        wait_until(asleep.exists, "the shell sleeps")
        before = seen(recorded.project)
        point = before_prompt(recorded, "Do TURNSLOW please")
        refused = recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        assert "Pi is in the middle of a tool call here (bash" in refused["error"]["what"]
        assert seen(recorded.project) == before
        (live,) = [info for info in recorded.forkpoint("sessions") if info["live"]]
        assert live["agent"] == "pi"
        asleep.unlink()
        assert running.wait(60) == 0
        recorded.forkpoint("restore", point, "--files", "--yes")
        assert not (recorded.project / "slow.txt").exists()
    finally:
        asleep.unlink(missing_ok=True)
        running.kill()
        running.wait()


def test_uninstalling_leaves_no_trace_and_nothing_is_recorded(pi: PiCli) -> None:
    before = seen(pi.config)
    shown = pi.forkpoint("install", "pi", "--dry-run")
    assert seen(pi.config) == before
    pi.forkpoint("install", "pi", "--yes")
    (file,) = (pi.config / "extensions").iterdir()
    (lines,) = [step["lines"] for step in shown["agents"]]
    assert [line[1:] for line in lines[2:]] == file.read_text().splitlines()
    assert pi.ask("QUESTION") == "Just an answer, no tools."
    recorded = len(pi.forkpoint("log")["checkpoints"])
    assert recorded > 0
    pi.forkpoint("uninstall", "pi", "--yes")
    assert not (pi.config / "extensions").exists()
    pi.ask("Do TURN1 please", "--continue")
    assert len([point for point in pi.forkpoint("log")["checkpoints"] if point["complete"]]) == recorded


def test_a_session_from_before_forkpoint_has_points_to_go_back_to(pi: PiCli) -> None:
    start = (pi.project / "existing.txt").read_bytes()
    pi.ask("Do TURN1 please")
    log = pi.forkpoint("log")
    partial = [point for point in log["checkpoints"] if not point["complete"]]
    pi.forkpoint("restore", partial[0]["id"], "--files", "--yes", "--path", "existing.txt")
    assert (pi.project / "existing.txt").read_bytes() == start
    assert not (pi.project / "todelete.txt").exists()  # the shell's doing is not known here


def test_the_project_s_own_extension_records_once_it_is_trusted(pi: PiCli) -> None:
    pi.forkpoint("install", "pi", "--here", "--yes")
    pi.forkpoint("install", "pi", "--yes")
    assert (pi.project / ".pi" / "extensions" / "forkpoint.js").exists()
    pi.ask("Do TURN3 please", "--approve")
    log = pi.forkpoint("log")
    assert list(checkpoints(log, "prompt")) == ["Do TURN3 please"]
    assert len([point for point in log["checkpoints"] if point["reason"] == "prompt"]) == 1
