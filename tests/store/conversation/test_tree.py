"""Where checkpoints stand in a conversation."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.claude.records import nanoseconds
from forkpoint.store.catalog.catalog import Row
from forkpoint.store.checkpoints.points import Checkpoint, new_id
from forkpoint.store.conversation import tree
from forkpoint.store.git.reader import Stored

from tests.builders.claude import ClaudeSession

claude = agents.get("claude")


@pytest.fixture
def session(tmp_path: Path, machine: Path) -> ClaudeSession:
    return ClaudeSession(machine / "claude", tmp_path)


def placed(session: ClaudeSession, *checkpoints: Checkpoint) -> list[str]:
    """Texts of the rows that checkpoints are bound to, "" for none."""
    (info,) = claude.sessions(str(session.cwd))
    conversation = claude.read(info)
    rows = [Row(Stored(point, "", "", "", "", ""), None, None, None) for point in checkpoints]
    built = tree.build(conversation, rows, [], [], "root")
    texts = {entry.id: entry.text for entry in conversation.entries}
    by_id = {point.id: texts.get(point.entry or "", "") for point in built.points}
    return [by_id[point.id] for point in checkpoints]


def before(session: ClaudeSession, text: str, prompt: str) -> Checkpoint:
    """What the hook that runs before a prompt records, a moment before it is written."""
    time = nanoseconds((session.now - timedelta(milliseconds=20)).isoformat())
    return Checkpoint(
        new_id(), "root", "prompt", "before", time, agent="claude", session=session.id, prompt=prompt, text=text
    )


def test_a_prompt_that_was_queued_is_not_the_one_whose_turn_it_joined(session: ClaudeSession) -> None:
    """Both hooks tell the same prompt id (2.1.332)."""
    session.prompt("first")
    first = before(session, "first", session.prompt_id)
    session.reply("Working.")
    session.now += timedelta(minutes=1)
    second = before(session, "and this", session.prompt_id)
    assert placed(session, first, second) == ["first", ""]
    session.queued("and this")
    assert placed(session, first, second) == ["first", "and this"]


def test_a_prompt_that_came_before_the_turn_was_over_is_found_under_its_own_id(session: ClaudeSession) -> None:
    """Its hook tells the id of the turn before, the transcript another one (2.1.332, while hooks take long)."""
    session.turn("first")
    late = before(session, "and this", session.prompt_id)
    session.turn("and this")
    assert placed(session, late) == ["and this"]


def test_prompts_of_a_copy_that_share_an_id_are_told_apart(session: ClaudeSession) -> None:
    """--fork-session writes its own prompt's id into all that it copies."""
    points = []
    for text in ("first", "again", "again"):
        points.append(before(session, text, "one-id-for-all"))
        session.turn(text)
        session.now += timedelta(minutes=1)
    lines = session.file.read_bytes().splitlines(keepends=True)
    for prompt in {line.split(b'"promptId":"')[1][:36] for line in lines if b'"promptId"' in line}:
        lines = [line.replace(prompt, b"one-id-for-all") for line in lines]
    session.file.write_bytes(b"".join(lines))
    assert placed(session, *points) == ["first", "again", "again"]


def test_a_prompt_with_a_picture_is_found_by_its_time(session: ClaudeSession) -> None:
    session.attachments = False
    session.prompt([{"type": "text", "text": "look"}, {"type": "image", "source": {}}])
    assert placed(session, before(session, "look", session.prompt_id)) == ["look [image]"]


def test_a_branch_that_was_named_in_the_agent_has_that_name(session: ClaudeSession) -> None:
    session.turn("build the page")
    other = session.branch("Try columns")
    session.turn("now the footer")
    other.turn("use two columns")
    (info,) = claude.sessions(str(session.cwd))
    built = tree.build(claude.read(info), [], [], [], "root")
    assert {branch.name for branch in built.branches} == {"try-columns", "footer"}
