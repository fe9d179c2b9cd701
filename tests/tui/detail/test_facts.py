"""Facts of a row: ids and times, tokens and cost that are counted once, and what a checkpoint can speak of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from forkpoint.store.api import Store
from forkpoint.store.model import Covered
from forkpoint.tui.detail.asked import Asked
from forkpoint.tui.detail.facts import facts, point_facts
from forkpoint.tui.detail.heading import heading
from forkpoint.tui.outline import Outline

from tests.builders.page import at, lines
from tests.builders.recorded import Recorded
from tests.builders.tree import Conversation
from tests.builders.whole import whole

Subjects = dict[str, dict[str, str]]


def told(asked: Asked) -> Subjects:
    """Values by subject and name."""
    found: Subjects = {}
    for line in lines(facts(asked), 400):
        if line and not line.startswith(" "):
            found[line] = {}
        elif line:
            name, _, value = line.strip().partition("  ")
            found[list(found)[-1]][name] = value.strip()
    return found


def test_a_turn_tells_what_it_took_and_counts_a_message_s_tokens_once(asked: Asked) -> None:
    turn = told(at(asked, "Please fold"))["Turn"]
    assert turn["Calls"] == "3 calls, 1 of them failed"
    assert turn["Lines"] == "+3 −1"
    assert turn["Model"] == "claude-opus-5-5"
    thought, reply = (told(at(asked, text)) for text in ("Which module?", "## What I did"))
    assert thought["Reply"]["Tokens out"] == reply["Reply"]["Tokens out"] == "20", "two records of one message"
    assert turn["Tokens"] == "71,630 in, 60,000 from cache, 100 out", "five messages in six records"


def test_cost_is_told_where_the_agent_records_it(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    store = Store.open(whole("pi", tmp_path / "shop").cwd)
    outline = Outline(store.tree())
    turn = told(replace(asked, store=store, outline=outline, row=outline.rows[0]))["Turn"]
    assert turn["Cost"].endswith(" $")
    assert float(turn["Cost"].removesuffix(" $")) > 0


def test_an_entry_tells_its_ids_its_record_and_of_its_result_only_what_is_new(asked: Asked) -> None:
    found = told(at(asked, "Bash pytest"))
    call, result = found["Tool call"], found["Tool result"]
    assert call["Id"] != result["Id"]
    assert call["Tool"] == "Bash"
    assert ", byte " in call["Record"]
    assert "Folder" in call and "Folder" not in result
    assert found["Session"]["Agent"] == "Claude Code"
    assert found["Session"]["Branch"] == "fold-headers"
    assert found["Checkpoint"]["None of its own"].startswith("files as of ")


def test_a_checkpoint_tells_why_it_was_made_what_it_covers_and_what_it_left_out(asked: Asked) -> None:
    point = told(at(asked, "Edit parse.py"))["Checkpoint"]
    assert point["Made"] == "taken after this call"
    assert point["Files"].startswith("3 files, ")
    assert point["Covers"] == "the whole folder but files over 268 MB"
    own = at(asked, "Edit parse.py").row.points[0]
    covered = Covered((("big.bin", "too large"),), ("log.txt",), rules=(".gitignore",), largest_file=1_000_000)
    pairs = dict(point_facts(replace(own, label="green", late=True), covered, asked.now, asked))
    assert pairs["Covers"] == "the whole folder but what is ignored (.gitignore) and files over 1.0 MB"
    assert pairs["Uncaptured"] == "1 path, left alone by a restore: big.bin (too large)"
    assert pairs["Moving"] == "was being written when it was read: log.txt"
    assert pairs["Label"] == "green"
    assert "after the agent went on" in pairs["Late"]


def test_a_partial_checkpoint_says_what_it_knows(asked: Asked, tmp_path: Path) -> None:
    talk = Conversation()
    prompt = talk.prompt("One", point=False)
    talk.point(prompt, "import", "before", complete=False, known=3)
    outline = Outline(talk.tree())
    shown = lines(heading(replace(asked, outline=outline, row=outline.rows[0]), "files"))
    assert shown[2] == "Recorded by Claude Code, knows 3 files; what the shell did is not known here."


def test_the_paths_that_a_partial_checkpoint_knows_are_named(asked: Asked, tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "shop", hooked=False)
    agent.asked("Write it")
    agent.writes("a.py", "x = 1\n")
    agent.asked("And on")
    agent.writes("b.py", "y = 1\n")
    agent.stops()
    store = agent.store()
    outline = Outline(store.tree())
    row = next(row for row in outline.rows if row.text == "And on")
    point = told(replace(asked, store=store, outline=outline, row=row))["Checkpoint"]
    assert point["Files"].startswith("partial: knows ")
    assert "a.py" in point["Knows"] and point["Knows"].endswith("; no other path")
