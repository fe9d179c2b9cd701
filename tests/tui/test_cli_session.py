"""The commands on an agent's session: the tree as text, forks, and going back in the conversation."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from forkpoint.tui.demo import build

from tests.builders.cli import Talk, every_file, forkpoint, process


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a session of six prompts, one of which was abandoned."""
    folder = build(tmp_path, time.time_ns())
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def log(shop: Path) -> dict[str, Any]:
    return forkpoint("log", "--json").json


def prompt(log: dict[str, Any], words: str) -> dict[str, Any]:
    return next(entry for entry in log["entries"] if entry["kind"] == "prompt" and words in entry["text"])


def test_the_line_that_is_gone_on_with_is_flat_and_the_other_indented_at_its_fork(shop: Path) -> None:
    lines = forkpoint("log").lines
    rows = [line[line.index("  ", 6) :] if line[:1].isdigit() else line for line in lines]
    turns = [row.split("●", 1)[-1].strip().split("  ")[0] for row in rows if "● " in row and "  " in row.strip()]
    assert [turn for turn in turns if turn.isdigit()] == ["1", "2", "2", "3", "4", "4", "5"]
    fork, other = [n for n, line in enumerate(lines) if "├╴" in line]
    assert "could-form-open (left, made by agent)" in lines[fork]
    assert "offer-gift-wrapping (left, made by agent)" in lines[other]
    inner = [line for line in lines if "│" in line]
    assert [line.split("●")[1].split()[0] for line in inner] == ["2", "Write", "Edit", "Edit", "4", "Edit", "Edit"]
    assert lines.index(inner[0]) == fork + 1
    assert lines[-1].endswith("◀ here")


def test_every_checkpoint_is_in_the_text(log: dict[str, Any]) -> None:
    out = forkpoint("log").out
    assert [point["id"] for point in log["checkpoints"] if point["id"][:8] not in out] == []


def test_all_entries_can_be_listed(log: dict[str, Any]) -> None:
    out = forkpoint("log", "--entries").out
    assert "Read templates/index.html" in out
    assert "Committed and pushed to main." in out


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_tree_fits_the_terminal(shop: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert all(len(line) <= width for line in forkpoint("log").lines[1:])


def test_log_of_a_path_says_who_changed_it(shop: Path) -> None:
    found = forkpoint("log", "--path", "templates", "--json").json
    told = [(item["path"].partition("/")[2], item["who"]["kind"], item["who"]["words"]) for item in found]
    assert ("receipt.html", "shell", "the shell in Bash rm templates/receipt.html") in told
    assert ("payment.html", "tool", "Write templates/payment.html") in told
    rewound = "unsure: what had stood there came back: a rewind of the agent's own, or a person"
    assert ("base.html", "unsure", rewound) in told, "the rewind put it back without a hook"


def test_sessions_are_counted(shop: Path) -> None:
    (session,) = forkpoint("sessions", "--json").json
    assert (session["agent"], session["title"], session["branches"]) == ("claude", "Payment page for the tea shop", 3)
    assert session["entries"] > 40


def test_show_of_an_entry_gives_its_whole_text(log: dict[str, Any]) -> None:
    entry = prompt(log, "redesign")
    answer = forkpoint("show", entry["id"])
    assert "Now redesign the payment page. It should feel modern." in answer.out
    document = forkpoint("show", entry["id"], "--json").json
    assert document["entry"]["id"] == entry["id"]
    assert document["blocks"][0]["text"].startswith("Now redesign")
    assert [point["reason"] for point in document["checkpoints"]] == ["prompt"]


def test_a_fork_prints_how_to_go_on_and_gives_the_prompt_back(log: dict[str, Any], shop: Path) -> None:
    before = every_file(shop)
    answer = forkpoint("fork", prompt(log, "redesign")["id"], "--name", "quiet")
    assert answer.code == 0
    (command,) = [line.strip() for line in answer.lines if line.strip().startswith("cd ")]
    words = shlex.split(command)
    assert words[:4] == ["cd", str(shop), "&&", "claude"] and words[4] == "--resume" and len(words[5]) == 36
    assert "  Now redesign the payment page. It should feel modern." in answer.lines
    assert every_file(shop) == before
    (transcript,) = Path(os.environ["CLAUDE_CONFIG_DIR"]).rglob(f"{words[5]}.jsonl")
    texts = [json.loads(line).get("message", {}).get("content") for line in transcript.read_text().splitlines()]
    assert "Good. Commit that and push it." in texts
    assert not any("redesign" in str(text) for text in texts)


def test_a_fork_as_a_document(log: dict[str, Any], shop: Path) -> None:
    document = forkpoint("fork", prompt(log, "redesign")["id"], "--json").json
    assert {"branch", "session", "agent", "command", "cwd"} <= set(document)
    assert document["command"] == ["claude", "--resume", document["session"]]
    assert (document["agent"], document["cwd"]) == ("claude", str(shop))
    names = [branch["name"] for branch in forkpoint("branches", "--json").json]
    assert document["branch"] in names


def _claude(folder: Path) -> dict[str, str]:
    """An environment whose `claude` only notes how it was called."""
    folder.mkdir()
    (folder / "claude").write_text(f'#!/bin/sh\npwd > {folder}/called\necho "$@" >> {folder}/called\n')
    (folder / "claude").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_person_may_go_on_in_the_agent_at_once(log: dict[str, Any], shop: Path, tmp_path: Path) -> None:
    env = _claude(tmp_path / "bin")
    talk = Talk("fork", prompt(log, "redesign")["id"], cwd=tmp_path, env=env)
    assert talk.close() != 0, "there is nothing to fork in that folder"

    talk = Talk("-C", shop, "fork", prompt(log, "redesign")["id"], cwd=tmp_path, env=env)
    talk.until("Go on with it now? [y/N]")
    talk.type("y\n")
    assert talk.close() == 0
    folder, arguments = (tmp_path / "bin/called").read_text().splitlines()
    assert folder == str(shop)
    assert arguments.split()[0] == "--resume" and f"--resume {arguments.split()[1]}" in talk.seen


def test_going_back_in_the_conversation_leaves_the_files(log: dict[str, Any], shop: Path) -> None:
    before = every_file(shop)
    answer = forkpoint("restore", prompt(log, "redesign")["id"], "--conversation", "--yes", "--json")
    assert answer.code == 0
    assert answer.json["restored"] == []
    assert answer.json["discarded"]["turns"] == 2
    assert [text[:12] for text in answer.json["discarded"]["prompts"]] == ["Now redesign", "That is loud"]
    assert answer.json["fork"]["command"][:2] == ["claude", "--resume"]
    assert every_file(shop) == before
    states = {branch["name"]: branch["state"] for branch in forkpoint("branches", "--json").json}
    assert states[answer.json["discarded"]["branch"]] == "left"
    assert states[answer.json["fork"]["branch"]] == "active"


def test_without_a_scope_and_without_a_terminal_everything_is_told_and_nothing_done(
    log: dict[str, Any], shop: Path
) -> None:
    before = every_file(shop)
    answer = forkpoint("restore", prompt(log, "redesign")["id"])
    assert answer.code == 3
    assert "templates/receipt.html" in answer.out and "“That is loud." in answer.out
    assert "--files, --conversation or --both" in answer.err
    assert forkpoint("restore", prompt(log, "redesign")["id"], "--yes").code == 2
    assert every_file(shop) == before
    assert [act["kind"] for act in forkpoint("operations", "--json").json] == ["label"], "only the demo's own"


def test_a_person_says_what_goes_back(log: dict[str, Any], shop: Path) -> None:
    before = every_file(shop)
    talk = Talk("restore", prompt(log, "redesign")["id"], cwd=shop)
    talk.until("What goes back?")
    talk.type("\n")
    assert talk.close() == 3
    assert every_file(shop) == before

    talk = Talk("restore", prompt(log, "redesign")["id"], cwd=shop)
    talk.until("What goes back?")
    talk.type("f\n")
    talk.until("Go back (files)? [y/N]")
    talk.type("y\n")
    assert talk.close() == 0
    assert (shop / "templates/receipt.html").exists()
    assert "claude --resume" not in talk.seen


@pytest.mark.parametrize("choice", ["keep", "checkpoint"])
def test_a_conflict_stays_as_it_is_unless_chosen_otherwise(log: dict[str, Any], shop: Path, choice: str) -> None:
    mine = (shop / "templates/base.html").read_text()
    committed = subprocess.run(["git", "show", "HEAD:templates/base.html"], cwd=shop, capture_output=True, text=True)
    options = ("--files", "--on-conflict", choice, "--yes")
    answer = forkpoint("restore", prompt(log, "redesign")["id"], *options)
    assert answer.code == 0
    now = (shop / "templates/base.html").read_text()
    assert now == (mine if choice == "keep" else committed.stdout)


def test_everything_as_it_was_names_what_only_others_changed(log: dict[str, Any], shop: Path) -> None:
    (shop / "mine.txt").write_text("mine\n")
    target = prompt(log, "redesign")["id"]
    assert "mine.txt" not in [
        item["path"] for item in forkpoint("restore", target, "--files", "--dry-run", "--json").json["restored"]
    ]
    document = forkpoint("restore", target, "--files", "--all", "--dry-run", "--json").json
    told = [item["path"] for name in ("restored", "conflicts", "kept") for item in document[name]]
    assert "mine.txt" in told
    assert len(told) == len(set(told))


@pytest.fixture
def running(shop: Path, log: dict[str, Any]) -> str:
    """The session's agent is open, in this very process, and in the middle of a call."""
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    folder.mkdir()
    session = forkpoint("sessions", "--json").json[0]["id"]
    told = {"pid": os.getpid(), "sessionId": session, "cwd": str(shop), "startedAt": int(time.time() * 1000) - 60_000}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(told))
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": str(shop),
        "transcript_path": "",
        "tool_name": "Bash",
        "tool_input": {"command": "sleep 60"},
        "tool_use_id": "toolu_open",
    }
    env = {**os.environ, "CLAUDE_PID": str(os.getpid()), "CLAUDE_PROJECT_DIR": str(shop)}
    assert process("hook", "claude", cwd=shop, env=env, given=json.dumps(payload)).code == 0
    return session


def test_files_are_not_restored_in_the_middle_of_an_agent_s_call(log: dict[str, Any], shop: Path, running: str) -> None:
    before = every_file(shop)
    target = prompt(log, "redesign")["id"]
    shown = forkpoint("restore", target, "--both", "--dry-run")
    assert shown.lines[1].startswith(f"Claude Code is working here now (pid {os.getpid()}, Bash, ")
    answer = forkpoint("restore", target, "--both", "--yes")
    assert answer.code == 3
    assert "--live" in answer.err
    assert every_file(shop) == before
    assert [act["kind"] for act in forkpoint("operations", "--json").json] == ["label"], "only the demo's own"

    answer = forkpoint("restore", target, "--both", "--yes", "--live")
    assert answer.code == 0
    assert (shop / "templates/receipt.html").exists()
    assert answer.lines[-2].startswith("Claude Code still has the old conversation")
    assert answer.lines[-1].startswith(f"  cd {shop} && claude --resume ")


def test_a_second_question_comes_before_files_change_under_an_agent(
    log: dict[str, Any], shop: Path, running: str
) -> None:
    before = every_file(shop)
    talk = Talk("restore", prompt(log, "redesign")["id"], "--files", "--live", cwd=shop)
    talk.until("Go back (files)? [y/N]")
    talk.type("y\n")
    talk.until("all the same? [y/N]")
    talk.type("n\n")
    assert talk.close() == 3
    assert every_file(shop) == before
