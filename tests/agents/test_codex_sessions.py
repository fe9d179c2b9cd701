"""Real sessions of Codex CLI: recorded by its hooks, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import re
from typing import cast

import pytest
from forkpoint.store.agents.codex import settings

from tests.builders.folders import seen
from tests.lab.codex_cli import CodexCli, said, thread
from tests.lab.stub_llm import Json, Message
from tests.lab.terminal import Terminal, wait_until


@pytest.fixture
def recorded(codex: CodexCli) -> CodexCli:
    """Codex CLI with our hooks, put in by the command that people use, and trusted."""
    codex.forkpoint("install", "codex", "--yes")
    codex.trust(settings.hashes(str(codex.config / "hooks.json")))
    return codex


def texts(log: Json, kind: str = "prompt") -> list[str]:
    return [entry["text"] for entry in log["entries"] if entry["kind"] == kind]


def checkpoints(log: Json, reason: str) -> dict[str, Json]:
    """Checkpoints of a reason by the text of the entry that they are bound to."""
    entries = {entry["id"]: entry["text"] for entry in log["entries"]}
    return {
        entries[point["entry"]]: point for point in log["checkpoints"] if point["reason"] == reason and point["entry"]
    }


def codex_sessions(codex: CodexCli) -> list[Json]:
    return [item for item in cast("list[Json]", codex.forkpoint("sessions")) if item["agent"] == "codex"]


def before_prompt(codex: CodexCli, text: str) -> str:
    """The checkpoint before a prompt."""
    return checkpoints(codex.forkpoint("log"), "prompt")[text]["id"]


def paths(inventory: Json, kind: str) -> set[str]:
    return {change["path"] for change in inventory[kind]}


def told(messages: list[Message]) -> list[tuple[str, str, int]]:
    """A conversation as the model was given it, but for what Codex says of the moment."""
    return [(message.role, message.text, message.calls) for message in messages if message.role != "developer"]


# --- the tree ------------------------------------------------------------------------------------------------------


def test_three_turns_are_a_tree_with_a_checkpoint_for_everything_that_wrote(recorded: CodexCli) -> None:
    session = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("Do TURN2 please", "resume", session)
    recorded.ask("Do TURN3 please", "resume", session)
    log = recorded.forkpoint("log")
    assert log["session"] == session
    assert texts(log) == ["Do TURN1 please", "Do TURN2 please", "Do TURN3 please"]
    assert list(checkpoints(log, "prompt")) == texts(log)
    assert list(checkpoints(log, "tool")) == [
        "apply_patch new.txt",
        "apply_patch existing.txt, new.txt",
        "Bash rm todelete.txt && mv torename.txt renamed.txt",
        "apply_patch new.txt, moved.txt",
        "Bash echo shell-made > shell.txt; echo more >> existing.txt",
        "apply_patch sub/dir/three.txt",
    ]
    assert len(log["branches"]) == 1
    assert log["here"]["files"] == checkpoints(log, "tool")["apply_patch sub/dir/three.txt"]["id"]
    assert not log["here"]["dirty"]


def test_what_the_shell_deleted_comes_back_and_undo_takes_it_away_again(recorded: CodexCli) -> None:
    start = seen(recorded.project)
    session = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("Do TURN2 please", "resume", session)
    end = seen(recorded.project)
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN1 please"), "--both", "--yes")
    assert paths(done, "restored") == {
        "existing.txt",
        "moved.txt",
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


def test_what_a_sub_agent_wrote_is_bound_to_its_own_call(recorded: CodexCli) -> None:
    recorded.ask("Do TURNAGENT please")
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURNAGENT please", "SUBJOB: write sub.txt"]
    wrote = checkpoints(log, "tool")["apply_patch sub.txt"]
    assert wrote["files"] == checkpoints(log, "prompt")["Do TURNAGENT please"]["files"] + 1
    entries = {entry["id"]: entry for entry in log["entries"]}
    assert entries[wrote["entry"]]["turn"] == 1
    assert len(codex_sessions(recorded)) == 1


# --- what people do meanwhile ---------------------------------------------------------------------------------------


def test_a_person_s_edit_between_two_hooks_is_a_conflict_and_stays(recorded: CodexCli) -> None:
    session = thread(recorded.ask("Do TURN1 please"))
    mine = recorded.project / "existing.txt"
    mine.write_text(mine.read_text() + "by a person\n")
    recorded.ask("QUESTION", "resume", session)
    done = recorded.forkpoint("restore", before_prompt(recorded, "Do TURN1 please"), "--files", "--yes")
    assert paths(done, "conflicts") == {"existing.txt"}
    assert mine.read_text().endswith("by a person\n")
    assert (recorded.project / "todelete.txt").read_text() == "delete me\n"


def test_a_restore_during_a_slow_call_is_refused_until_the_agent_is_killed(recorded: CodexCli) -> None:
    asleep = recorded.project / ".asleep"
    running = recorded.start("Do TURNSLOW please")
    try:
        wait_until(asleep.exists, "the shell sleeps")
        before = seen(recorded.project)
        point = before_prompt(recorded, "Do TURNSLOW please")
        refused = recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        assert "Codex CLI is in the middle of a tool call" in refused["error"]["what"]
        assert seen(recorded.project) == before
        live = recorded.forkpoint("status")["live"]
        assert [(item["agent"], item["pid"]) for item in live] == [("codex", running.pid)]
    finally:
        running.kill()
        running.wait()
        asleep.unlink(missing_ok=True)
    assert recorded.forkpoint("status")["live"] == []
    recorded.forkpoint("restore", point, "--files", "--yes")
    assert not (recorded.project / "slow.txt").exists()


# --- its own screen --------------------------------------------------------------------------------------------------


def ready(screen: Terminal) -> Terminal:
    """The screen when it waits for a prompt."""
    screen.see("Ask Codex")
    return screen


def say(screen: Terminal, text: str, answer: str) -> None:
    screen.type(text)
    screen.see(re.escape(text))
    wait_until(lambda: _sent(screen, text), f"{text} is sent")
    screen.see(answer)
    screen.see("Worked for|esc to interrupt")


def _sent(screen: Terminal, text: str) -> bool:
    """Enter that comes too soon after the text is taken for a part of it."""
    screen.press("Enter")
    return "Ask Codex" in screen.text() or "esc to interrupt" in screen.text()


def test_a_rewind_in_its_own_screen_is_a_fork_and_an_interrupted_call_is_not_waited_for(
    recorded: CodexCli, screens: None
) -> None:
    asleep = recorded.project / ".asleep"
    with ready(recorded.screen()) as screen:
        say(screen, "Do TURN1 please", "TURN1 is done")
        say(screen, "Do TURNSLOW please", "I sleep")
        wait_until(asleep.exists, "the shell sleeps")
        point = before_prompt(recorded, "Do TURNSLOW please")
        recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        screen.press("Escape")
        screen.see("interrupted")
        wait_until(lambda: _restored(recorded, point), "the restore is let through")
        asleep.unlink(missing_ok=True)
        screen.press("Escape")
        screen.see("esc again")
        screen.press("Escape")
        screen.see("↵ rewind")
        screen.press("Enter")
        screen.see("reverted to this point")
        screen.press("C-u")
        say(screen, "Do TURN3 please", "TURN3 is done")
    log = recorded.forkpoint("log")
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["Do TURNSLOW please"] == parents["Do TURN3 please"]
    assert sorted(branch["state"] for branch in log["branches"]) == ["active", "left"]
    active = next(branch for branch in log["branches"] if branch["state"] == "active")
    assert checkpoints(log, "tool")["apply_patch sub/dir/three.txt"]["branch"] == active["name"]
    assert checkpoints(log, "tool")["apply_patch slow.txt"]["branch"] != active["name"]


def _restored(codex: CodexCli, point: str) -> Json | None:
    try:
        return codex.forkpoint("restore", point, "--files", "--yes")
    except AssertionError:
        return None


def test_going_on_with_a_fork_by_its_command_sends_exactly_the_conversation_up_to_it(
    recorded: CodexCli, screens: None
) -> None:
    original = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("Do TURN2 please", "resume", original)
    recorded.ask("Do TURN3 please", "resume", original)
    asked = next(request for request in recorded.stub.conversations() if request.turn == "TURN2")
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"), "--name", "alt")
    assert fork["command"] == ["codex", "resume", fork["session"]]
    assert fork["cwd"] == str(recorded.project)
    assert thread(recorded.ask("QUESTION to the newest", "resume", "--last")) == original

    before = len(recorded.stub.requests)
    with ready(recorded.screen(*fork["command"][1:])) as screen:
        say(screen, "Do TURN3 again", "TURN3 is done")
    sent = next(request for request in recorded.stub.requests[before:] if request.turn)
    assert told(sent.messages)[:-1] == told(asked.messages)[:-1]
    assert sent.messages[-1].text == "Do TURN3 again"

    log = recorded.forkpoint("log")
    here = next(branch for branch in log["branches"] if branch["session"] == fork["session"])
    assert here["name"] == "alt"
    assert checkpoints(log, "prompt")["Do TURN3 again"]["branch"] == "alt"
    assert len(codex_sessions(recorded)) == 1


# --- forks ------------------------------------------------------------------------------------------------------------


def test_a_fork_goes_on_when_the_session_that_it_was_cut_from_is_deleted(recorded: CodexCli) -> None:
    original = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("Do TURN2 please", "resume", original)
    pointer = thread(recorded.ask("QUESTION", "fork", original))
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"))
    for file in recorded.rollouts():
        if original in file.name:
            file.unlink()
    assert said(recorded.ask("Do TURN3 please", "resume", fork["session"]))[-1] == "TURN3 is done."
    with pytest.raises(AssertionError, match="missing source rollout"):
        recorded.ask("QUESTION", "resume", pointer)
    assert {"Do TURN1 please", "Do TURN2 please", "Do TURN3 please"} <= set(texts(recorded.forkpoint("log")))


def test_a_fork_before_the_first_prompt_is_a_session_that_is_known(recorded: CodexCli) -> None:
    recorded.ask("Do TURN1 please")
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN1 please"), "--name", "anew")
    before = len(recorded.stub.requests)
    assert thread(recorded.ask("QUESTION", "resume", fork["session"])) == fork["session"]
    sent = recorded.stub.requests[before]
    assert [message.text for message in sent.messages if message.role == "user"][1:] == ["QUESTION"]
    log = recorded.forkpoint("log")
    assert checkpoints(log, "prompt")["QUESTION"]["branch"] == "anew"


def test_a_cut_between_calls_that_ran_side_by_side_keeps_both_with_their_results(recorded: CodexCli) -> None:
    recorded.ask("Do TURNSIDE please")
    log = recorded.forkpoint("log")
    call = next(entry for entry in log["entries"] if entry["text"] == "Bash echo a > a.txt")
    fork = recorded.forkpoint("fork", call["id"])
    before = len(recorded.stub.requests)
    recorded.ask("QUESTION", "resume", fork["session"])
    messages = recorded.stub.requests[before].messages
    assert [message.role for message in messages[-5:]] == ["assistant", "assistant", "tool", "tool", "user"]
    assert not any("aborted" in message.text for message in messages)


def test_codex_s_own_fork_and_ours_are_branches_of_one_session(recorded: CodexCli) -> None:
    original = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("QUESTION a", "fork", original)
    recorded.ask("QUESTION b", "resume", original)
    log = recorded.forkpoint("log")
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["QUESTION a"] == parents["QUESTION b"]
    assert texts(log).count("Do TURN1 please") == 1


def test_a_session_from_before_forkpoint_has_points_to_go_back_to(codex: CodexCli) -> None:
    session = thread(codex.ask("Do TURN1 please"))
    codex.ask("Do TURN2 please", "resume", session)
    log = codex.forkpoint("log")
    partial = checkpoints(log, "import")
    assert set(partial) == {"Do TURN1 please", "Do TURN2 please"}
    assert [point["complete"] for point in partial.values()] == [False, False]
    done = codex.forkpoint("restore", partial["Do TURN2 please"]["id"], "--files", "--yes")
    assert (paths(done, "restored"), paths(done, "conflicts")) == ({"new.txt"}, set())
    assert {change["why"] for change in done["kept"]} == {"its state then is inferred"}
    assert (codex.project / "new.txt").read_text() == "new v2\n"
    assert not (codex.project / "todelete.txt").exists()  # the shell's doing is not known here


# --- installing -------------------------------------------------------------------------------------------------------


def test_hooks_record_only_when_a_person_trusted_them_in_codex_s_own_screen(codex: CodexCli, screens: None) -> None:
    codex.forkpoint("install", "codex", "--yes")
    codex.ask("QUESTION")
    before = len(codex.forkpoint("log")["checkpoints"])
    assert any("not trusted yet" in finding["what"] for finding in findings(codex, code=1))
    with codex.screen() as screen:
        screen.see("Trust all and continue")
        wait_until(lambda: _chosen(screen, "2. Trust all"), "it is chosen")
        screen.press("Enter")
        ready(screen)
        say(screen, "Do TURN2 please", "TURN2 is done|failed")
    assert all(finding["ok"] for finding in findings(codex))
    assert len(codex.forkpoint("log")["checkpoints"]) > before


def _chosen(screen: Terminal, choice: str) -> bool:
    """Presses Down until the mark stands before a choice: a key that comes too early is lost."""
    if re.search(rf"^\S {re.escape(choice)}", screen.text(), re.MULTILINE):
        return True
    screen.press("Down")
    return False


def findings(codex: CodexCli, code: int = 0) -> list[Json]:
    return cast("list[Json]", codex.forkpoint("doctor", code=code))


def test_uninstalling_leaves_hooks_and_turn_as_they_were(codex: CodexCli) -> None:
    file = codex.config / "hooks.json"
    own = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
    file.write_text(own)
    codex.forkpoint("install", "codex", "--yes")
    codex.trust(settings.hashes(str(file)))
    assert said(codex.ask("QUESTION")) == ["Just an answer, no tools."]
    recorded = len(codex.forkpoint("log")["checkpoints"])
    assert recorded > 0
    codex.forkpoint("uninstall", "codex", "--yes")
    assert file.read_text() == own
    codex.ask("Do TURN1 please")
    assert len([p for p in codex.forkpoint("log")["checkpoints"] if p["complete"]]) == 0
