"""Real sessions of Codex CLI: recorded by its hooks, seen as a tree, rewound, forked and gone on with."""

from __future__ import annotations

import re
from typing import cast

import pytest

from tests.lab.codex_cli import CodexCli, said, thread
from tests.lab.stub_llm import Act, Json
from tests.lab.terminal import Terminal, wait_until

from .shown import before_prompt, checkpoints, is_forked, restored, texts


@pytest.fixture
def recorded(codex: CodexCli) -> CodexCli:
    """Codex CLI with our hooks, put in by the command that people use, and trusted."""
    codex.record()
    return codex


# --- the tree ------------------------------------------------------------------------------------------------------


def test_what_a_sub_agent_wrote_is_bound_to_its_own_call(recorded: CodexCli) -> None:
    recorded.ask("Do TURNAGENT please")
    log = recorded.forkpoint("log")
    assert texts(log) == ["Do TURNAGENT please", "SUBJOB: write sub.txt"]
    wrote = checkpoints(log, "tool")["apply_patch sub.txt"]
    assert wrote["files"] == checkpoints(log, "prompt")["Do TURNAGENT please"]["files"] + 1
    entries = {entry["id"]: entry for entry in log["entries"]}
    assert entries[wrote["entry"]]["turn"] == 1
    assert len(recorded.sessions()) == 1


# --- its own screen --------------------------------------------------------------------------------------------------


def test_a_rewind_in_its_own_screen_is_a_fork_and_an_interrupted_call_is_not_waited_for(
    recorded: CodexCli, screens: None
) -> None:
    asleep = recorded.project / ".asleep"
    with recorded.screen() as screen:
        recorded.tell(screen, "Do TURN1 please", "TURN1 is done")
        recorded.tell(screen, "Do TURNSLOW please", "I sleep")
        wait_until(asleep.exists, "the shell sleeps")
        point = before_prompt(recorded, "Do TURNSLOW please")
        recorded.forkpoint("restore", point, "--files", "--yes", code=3)
        screen.press("Escape")
        screen.see("interrupted")
        wait_until(lambda: restored(recorded, point), "the restore is let through")
        asleep.unlink(missing_ok=True)
        screen.press("Escape")
        screen.see("esc again")
        screen.press("Escape")
        screen.see("↵ rewind")
        screen.press("Enter")
        screen.see("reverted to this point")
        screen.press("C-u")
        recorded.tell(screen, "Do TURN3 please", "TURN3 is done")
    is_forked(recorded.forkpoint("log"), left="Do TURNSLOW please", instead="Do TURN3 please")


# --- forks ------------------------------------------------------------------------------------------------------------


def test_a_fork_goes_on_when_the_session_that_it_was_cut_from_is_deleted(recorded: CodexCli) -> None:
    original = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("Do TURN2 please", "resume", original)
    pointer = thread(recorded.ask("QUESTION", "fork", original))
    fork = recorded.forkpoint("fork", before_prompt(recorded, "Do TURN2 please"))
    for file in recorded.transcripts():
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
    assert recorded.told(sent) == [Act("user", "QUESTION")]
    log = recorded.forkpoint("log")
    assert checkpoints(log, "prompt")["QUESTION"]["branch"] == "anew"


def test_a_cut_between_calls_that_ran_side_by_side_keeps_both_with_their_results(recorded: CodexCli) -> None:
    recorded.ask("Do TURNSIDE please")
    log = recorded.forkpoint("log")
    call = next(entry for entry in log["entries"] if entry["text"] == "Bash echo a > a.txt")
    fork = recorded.forkpoint("fork", call["id"])
    before = len(recorded.stub.requests)
    recorded.ask("QUESTION", "resume", fork["session"])
    told = recorded.told(recorded.stub.requests[before])
    assert [act.who for act in told[-5:]] == ["call", "call", "result", "result", "user"]
    assert not any("aborted" in act.detail for act in told)


def test_codex_s_own_fork_and_ours_are_branches_of_one_session(recorded: CodexCli) -> None:
    original = thread(recorded.ask("Do TURN1 please"))
    recorded.ask("QUESTION a", "fork", original)
    recorded.ask("QUESTION b", "resume", original)
    log = recorded.forkpoint("log")
    parents = {entry["text"]: entry["parent"] for entry in log["entries"] if entry["kind"] == "prompt"}
    assert parents["QUESTION a"] == parents["QUESTION b"]
    assert texts(log).count("Do TURN1 please") == 1


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
        codex.tell(screen, "QUESTION")
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
