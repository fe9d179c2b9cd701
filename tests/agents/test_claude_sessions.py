"""Real sessions of Claude Code: recorded by its hooks, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import json

import pytest

from tests.builders.folders import seen
from tests.lab.claude_code import ClaudeCode
from tests.lab.stub_llm import Json, Message
from tests.lab.terminal import Terminal, wait_until


@pytest.fixture
def recorded(claude: ClaudeCode) -> ClaudeCode:
    """Claude Code with our hooks, put in by the command that people use."""
    claude.forkpoint("install", "claude", "--yes")
    return claude


def texts(log: Json, kind: str = "prompt") -> list[str]:
    return [entry["text"] for entry in log["entries"] if entry["kind"] == kind]


def checkpoints(log: Json, reason: str) -> dict[str, Json]:
    """Checkpoints of a reason by the text of the entry that they are bound to."""
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return {
        entries[point["entry"]]: point for point in log["checkpoints"] if point["reason"] == reason and point["entry"]
    }


def before_prompt(claude: ClaudeCode, text: str) -> str:
    """The checkpoint before a prompt."""
    return checkpoints(claude.forkpoint("log"), "prompt")[text]["id"]


def paths(inventory: Json, kind: str) -> set[str]:
    return {change["path"] for change in inventory[kind]}


# --- the tree ------------------------------------------------------------------------------------------------------


def test_three_turns_are_a_tree_with_a_checkpoint_for_everything_that_wrote(recorded: ClaudeCode) -> None:
    for turn, options in (("TURN1", ()), ("TURN2", ("--continue",)), ("TURN3", ("--continue",))):
        recorded.ask(f"Do {turn} please", *options)
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURN1 please", "Do TURN2 please", "Do TURN3 please"]
    assert list(checkpoints(log, "prompt")) == texts(log)
    assert list(checkpoints(log, "tool")) == [
        "Write new.txt",
        "Edit existing.txt",
        "Edit new.txt",  # that of the second turn: it has the same words
        "Bash rm todelete.txt && mv torename.txt renamed.txt",
        "Bash echo shell-made > shell.txt; echo more >> existing.txt",
        "Write sub/dir/three.txt",
    ]
    assert len(log["branches"]) == 1
    assert log["here"]["files"] == checkpoints(log, "tool")["Write sub/dir/three.txt"]["id"]
    assert log["here"]["dirty"] in (0, False)


def test_what_the_shell_deleted_comes_back_and_undo_takes_it_away_again(recorded: ClaudeCode) -> None:
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
    recorded.forkpoint("redo", "--yes")
    assert seen(recorded.project) == start


def test_modes_links_and_empty_folders_come_back_too(recorded: ClaudeCode) -> None:
    start = seen(recorded.project)
    recorded.ask("Do TURNODD please")
    end = seen(recorded.project)
    assert start != end
    recorded.forkpoint("restore", before_prompt(recorded, "Do TURNODD please"), "--files", "--yes")
    assert seen(recorded.project) == start
    recorded.forkpoint("undo", "--yes")
    assert seen(recorded.project) == end


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


def test_a_restore_during_a_slow_call_is_refused(recorded: ClaudeCode) -> None:
    asleep = recorded.project / ".asleep"
    running = recorded.start("Do TURNSLOW please")
    try:
        wait_until(asleep.exists, "the shell sleeps")
        before = seen(recorded.project)
        point = before_prompt(recorded, "Do TURNSLOW please")
        refused = recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        assert "in the middle of a tool call" in refused["error"]["what"]
        assert seen(recorded.project) == before
        asleep.unlink()
        assert running.wait(60) == 0
        recorded.forkpoint("restore", point, "--files", "--yes")
        assert not (recorded.project / "slow.txt").exists()
    finally:
        asleep.unlink(missing_ok=True)
        running.kill()
        running.wait()


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
        done = wait_until(lambda: _restored(recorded, point), "the restore is let through")
    assert paths(done, "restored") == {"slow.txt"}
    assert not (recorded.project / "slow.txt").exists()


def test_a_call_of_a_killed_agent_is_not_waited_for(recorded: ClaudeCode) -> None:
    running = recorded.start("Do TURNSLOW please")
    wait_until((recorded.project / ".asleep").exists, "the shell sleeps")
    point = before_prompt(recorded, "Do TURNSLOW please")
    running.kill()
    running.wait()
    (recorded.project / ".asleep").unlink()
    recorded.forkpoint("restore", point, "--files", "--yes")
    assert not (recorded.project / "slow.txt").exists()


def _restored(claude: ClaudeCode, point: str) -> Json | None:
    try:
        return claude.forkpoint("restore", point, "--files", "--yes")
    except AssertionError:
        return None


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
    log = recorded.forkpoint("log")
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["Do TURN2 please"] == parents["Do TURN3 please"]
    states = {branch["title"]: branch["state"] for branch in log["branches"]}
    assert sorted(states.values()) == ["active", "left"]
    active = next(branch["name"] for branch in log["branches"] if branch["state"] == "active")
    assert checkpoints(log, "tool")["Write sub/dir/three.txt"]["branch"] == active
    assert checkpoints(log, "tool")["Bash echo shell-made > shell.txt; echo more >> existing.txt"]["branch"] != active


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


def _told(messages: list[Message]) -> list[tuple[str, str, int]]:
    return [(message.role, message.text, message.calls) for message in messages]


def test_going_on_with_a_fork_sends_exactly_the_conversation_up_to_it(recorded: ClaudeCode) -> None:
    for turn, options in (("TURN1", ()), ("TURN2", ("--continue",)), ("TURN3", ("--continue",))):
        original = recorded.ask(f"Do {turn} please", *options)["session_id"]
    asked = next(request for request in recorded.stub.conversations() if request.turn == "TURN2")
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"), "--name", "alt")
    assert fork["cwd"] == str(recorded.project)
    assert fork["command"][-2:] == ["--resume", fork["session"]]
    assert recorded.ask("QUESTION to the old one", "--continue")["session_id"] == original

    before = len(recorded.stub.requests)
    recorded.ask("Do TURNODD please", *fork["command"][1:])
    sent = next(request for request in recorded.stub.requests[before:] if request.turn)
    assert _told(sent.messages)[:-1] == _told(asked.messages)[:-1]
    assert sent.messages[-1].text.replace("TURNODD", "TURN2") == asked.messages[-1].text

    log = recorded.forkpoint("log")
    here = next(branch for branch in log["branches"] if branch["session"] == fork["session"])
    assert here["name"] == "alt"
    assert checkpoints(log, "prompt")["Do TURNODD please"]["branch"] == "alt"
    last = max(log["checkpoints"], key=lambda point: point["time"])
    assert (last["reason"], last["branch"]) == ("tool", "alt")


def test_going_back_with_both_hands_the_prompt_back_and_keeps_the_old_branch(recorded: ClaudeCode) -> None:
    recorded.ask("Do TURN1 please")
    recorded.ask("Do TURN2 please", "--continue")
    files = {file: file.read_bytes() for file in recorded.transcripts()}
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN2 please"), "--both", "--yes")
    assert done["discarded"]["turns"] == 1
    for file, data in files.items():
        assert file.read_bytes() == data
    states = [branch["state"] for branch in recorded.forkpoint("log")["branches"]]
    assert "left" in states


# --- installing -----------------------------------------------------------------------------------------------------


def test_uninstalling_leaves_settings_and_turn_as_they_were(claude: ClaudeCode) -> None:
    file = claude.config / "settings.json"
    before = file.read_bytes()
    claude.forkpoint("install", "claude", "--yes")
    assert claude.ask("QUESTION")["result"] == "Just an answer, no tools."
    recorded = len(claude.forkpoint("log")["checkpoints"])
    assert recorded > 0
    claude.forkpoint("uninstall", "claude", "--yes")
    assert file.read_bytes() == before
    claude.ask("Do TURN1 please", "--continue")
    assert len([p for p in claude.forkpoint("log")["checkpoints"] if p["complete"]]) == recorded


def test_why_hooks_are_refused_in_a_file_with_comments_claude_would_not_read_them(claude: ClaudeCode) -> None:
    fired = claude.folder / "fired"
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"touch {fired}"}]}]}}
    (claude.config / "settings.json").write_text("// mine\n" + json.dumps(hook))
    claude.ask("QUESTION")
    assert not fired.exists()
    refused = claude.forkpoint("install", "claude", "--yes", code=1)
    assert "a comment in line 1" in refused["error"]["what"]


def test_a_session_from_before_forkpoint_has_points_to_go_back_to(claude: ClaudeCode) -> None:
    start = {file.name: file.read_bytes() for file in claude.project.iterdir() if file.name == "existing.txt"}
    claude.ask("Do TURN1 please")
    log = claude.forkpoint("log")
    partial = [point for point in log["checkpoints"] if not point["complete"]]
    assert partial
    claude.forkpoint("restore", partial[0]["id"], "--files", "--yes")
    assert (claude.project / "existing.txt").read_bytes() == start["existing.txt"]
    assert not (claude.project / "new.txt").exists()
    assert not (claude.project / "todelete.txt").exists()  # the shell's doing is not known here
