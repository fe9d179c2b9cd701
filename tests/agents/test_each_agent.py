"""The same for each of the real agents: its session is recorded, restored, forked in the middle and gone on with."""

from __future__ import annotations

from tests.builders.folders import seen
from tests.lab.real_agent import RealAgent
from tests.lab.stub_llm import Act, Json
from tests.lab.terminal import wait_until

from .shown import (
    before_prompt,
    checkpoints,
    every_checkpoint,
    is_forked,
    paths,
    scripted,
    texts,
    without_details,
)

ONE, TWO, THREE = "Do TURN1 please", "Do TURN2 please", "Do TURN3 please"
NEWEST, INSTEAD = "QUESTION to the newest", "QUESTION instead"
SLOW = "Do TURNSLOW please"
SHELL = ("rm todelete.txt && mv torename.txt renamed.txt", "echo shell-made > shell.txt; echo more >> existing.txt")


def test_a_session_is_recorded_restored_and_gone_on_with_from_a_fork_in_its_middle(
    agent: RealAgent, screens: None
) -> None:
    agent.record()
    start = seen(agent.project)
    for prompt in (ONE, TWO, THREE):
        agent.say(prompt)
    end = seen(agent.project)
    kept = {file: file.read_bytes() for file in agent.transcripts()}

    log = agent.forkpoint("log")
    assert texts(log) == list(checkpoints(log, "prompt")) == [ONE, TWO, THREE]
    made = checkpoints(log, "tool")
    assert {text.partition(" ")[2] for text in made} >= {"new.txt", *SHELL, "sub/dir/three.txt"}
    assert [log["here"]["files"]] == [point["id"] for text, point in made.items() if text.endswith("three.txt")]
    assert (len(log["branches"]), log["here"]["dirty"]) == (1, 0)

    done = agent.forkpoint("restore", before_prompt(agent, ONE), "--both", "--yes")
    expected = {"existing.txt", "renamed.txt", "shell.txt", "sub/dir/three.txt", "todelete.txt", "torename.txt"}
    assert paths(done, "restored") - {"new.txt", "moved.txt"} == expected
    assert done["failed"] == done["conflicts"] == done["kept"] == []
    assert done["discarded"]["turns"] == 3
    assert seen(agent.project) == start, "what the shell deleted is there again"
    agent.forkpoint("undo", "--yes")
    assert seen(agent.project) == end
    agent.forkpoint("redo", "--yes")
    assert seen(agent.project) == start
    agent.forkpoint("undo", "--yes")

    fork = agent.forkpoint("fork", before_prompt(agent, TWO), "--name", "alt")
    assert fork["cwd"] == str(agent.project)
    assert {file: file.read_bytes() for file in kept} == kept, "a session of the agent's is never edited"
    agent.say(NEWEST)
    agent.go_on(fork["command"], INSTEAD)
    assert without_details(_told(agent, NEWEST)) == scripted(agent, ONE, TWO, THREE, NEWEST), "not the fork's"
    told = _told(agent, INSTEAD)
    assert without_details(told) == scripted(agent, ONE, INSTEAD)
    original = next(request for request in agent.stub.conversations() if request.turn == "TURN2")
    assert told[:-1] == agent.told(original)[:-1], "calls and results are those of the session that it was cut from"

    log = wait_until(lambda: _with_prompt(agent, INSTEAD), "the agent wrote it down")
    is_forked(log, left=TWO, instead=INSTEAD)
    here = next(branch for branch in log["branches"] if branch["session"] == fork["session"])
    assert (here["name"], here["state"]) == ("alt", "active")
    assert sorted(texts(log)) == sorted([ONE, TWO, THREE, NEWEST, INSTEAD]), "what the fork copied is shown once"
    assert len(agent.sessions()) == 1
    refused = agent.forkpoint("undo", "--yes", code=3)
    assert "continued" in refused["error"]["what"]


def _told(agent: RealAgent, prompt: str) -> list[Act]:
    """What the model was told when it was sent a prompt; beside it some agents ask for a title."""
    asked = [agent.told(request) for request in agent.stub.conversations()]
    [told] = [acts for acts in asked if acts and acts[-1].text == prompt]
    return told


def _with_prompt(agent: RealAgent, text: str) -> Json | None:
    log = agent.forkpoint("log")
    return log if text in texts(log) else None


def test_a_restore_during_a_slow_call_is_refused_until_the_agent_is_gone(agent: RealAgent) -> None:
    agent.record()
    asleep = agent.project / ".asleep"
    running = agent.start(SLOW)
    try:
        wait_until(asleep.exists, "the shell sleeps")
        before = seen(agent.project)
        point = wait_until(lambda: before_prompt(agent, SLOW), "the prompt is in the transcript")
        refused = agent.forkpoint("restore", point, "--files", "--yes", code=3)
        assert f"{agent.TITLE} is in the middle of a tool call here" in refused["error"]["what"]
        assert seen(agent.project) == before
        assert [session["live"] for session in agent.sessions()] == [True]
        assert {live["agent"] for live in agent.forkpoint("status")["live"]} == {agent.NAME}
    finally:
        running.kill()
        running.wait()
        asleep.unlink(missing_ok=True)
    assert agent.forkpoint("status")["live"] == []
    assert paths(agent.forkpoint("restore", point, "--files", "--yes"), "restored") == {"slow.txt"}
    assert not (agent.project / "slow.txt").exists()


def test_what_is_installed_is_shown_before_and_leaves_no_trace_when_it_is_taken_out(agent: RealAgent) -> None:
    before = seen(agent.config)
    shown = agent.forkpoint("install", agent.NAME, "--dry-run")
    assert any("forkpoint" in line for step in shown["agents"] for line in step["lines"])
    assert seen(agent.config) == before
    agent.forkpoint("install", agent.NAME, "--yes")
    assert seen(agent.config) != before
    agent.forkpoint("uninstall", agent.NAME, "--yes")
    assert seen(agent.config) == before
    agent.say(ONE)
    assert not [point for point in agent.forkpoint("log")["checkpoints"] if point["reason"] in ("prompt", "tool")]


def test_a_session_from_before_forkpoint_has_points_to_go_back_to(agent: RealAgent) -> None:
    agent.say(ONE)
    agent.say(TWO)
    log = agent.forkpoint("log")
    points = dict(every_checkpoint(log, "import"))
    assert points.keys() == {ONE, TWO}
    done = agent.forkpoint("restore", points[TWO]["id"], "--files", "--path", "new.txt", "--yes")
    assert (paths(done, "restored"), done["failed"], done["conflicts"]) == ({"new.txt"}, [], [])
    assert (agent.project / "new.txt").read_text() == "new v2\n"
    assert {point["complete"] for point in points.values()} == {False}
    agent.forkpoint("restore", points[ONE]["id"], "--files", "--all", "--yes")
    there = (agent.project / "todelete.txt").exists()
    assert there == agent.WHOLE_TREES, "what the shell did is known only where the agent keeps whole trees"
