"""The conversation of a row: prose as Markdown, calls in a line that opens, thoughts folded, pictures named."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from forkpoint.store.model import Block, Entry
from forkpoint.tui.detail.asked import Asked
from forkpoint.tui.detail.blocks import HEAD, LONGEST, TAIL, Teller
from forkpoint.tui.detail.conversation import conversation
from forkpoint.tui.detail.markdown import markdown
from forkpoint.tui.outline import Outline
from forkpoint.tui.theme import PLAIN, Signs
from forkpoint.tui.widgets.flow import Stale, laid

from tests.builders.page import at, inks, line_with, lines, links
from tests.builders.recorded import Recorded

SIGNS = Signs()


def test_a_turn_is_its_prompt_as_it_was_typed_its_replies_as_markdown_and_a_line_for_each_call(asked: Asked) -> None:
    page = list(conversation(at(asked, "Please fold")))
    assert lines(page)[:5] == [
        "▌ Please fold the headers.",
        "▌",
        "▌  def fold(lines):",
        "▌      return lines",
        "▌ Keep __init__ and *this* as they are.",
    ]
    shown = lines(page)
    assert "It folds now, with unfold in a module of its own:" in shown
    assert " parse.py │     5" in shown
    first = shown.index("▸ Write fold.py  +2")
    assert shown[first + 1] == "▸ Edit parse.py  +1 −1"
    assert shown[first + 2] == "▸ Bash pytest -q  ✗ tests/test_fold.py::test_0 FAILED"
    assert shown[first + 3 :] == ["", "Done, but some tests fail."]
    assert "strong" in inks(page, "What I did")
    assert line_with(page, "def unfold").ground == "code"


def test_thoughts_are_folded_until_they_are_opened(asked: Asked) -> None:
    turn = at(asked, "Please fold")
    (thought, *calls) = links(conversation(turn))
    assert "▸ thought, 3 lines" in lines(conversation(turn))
    assert "Which module?" not in "\n".join(lines(conversation(turn)))
    opened = lines(conversation(at(asked, "Please fold", thought.name)))
    assert opened[opened.index("▾ thought, 3 lines") + 1] == "  Which module?"
    assert [link.kind for link in calls] == ["part", "part", "part"]
    assert lines(conversation(at(asked, "Which module?"))) == ["Which module?", "One of its own.", "That is cleaner."]


def test_a_call_opens_to_what_it_was_given_and_what_it_brought_back_in_an_excerpt(asked: Asked) -> None:
    *_, shell = links(conversation(at(asked, "Please fold")))
    page = list(conversation(at(asked, "Please fold", shell.name)))
    shown = lines(page)
    start = shown.index("▾ Bash pytest -q  ✗ tests/test_fold.py::test_0 FAILED")
    assert shown[start + 1] == "   pytest -q"
    assert shown[start + 3] == "  ✗ error"
    assert shown[start + 3 + HEAD] == f"  tests/test_fold.py::test_{HEAD - 1} FAILED"
    assert shown[start + 4 + HEAD] == f"  ▸ {300 - HEAD - TAIL} more lines"
    assert shown[start + 4 + HEAD + TAIL] == "  tests/test_fold.py::test_299 FAILED"
    rest = next(link for link in links(page) if link not in links(conversation(at(asked, "Please fold"))))
    whole = lines(conversation(at(asked, "Please fold", shell.name, rest.name)))
    assert sum("FAILED" in line for line in whole) == 301


def test_an_edit_is_told_once_as_the_lines_that_came_and_went(asked: Asked) -> None:
    page = list(conversation(at(asked, "Edit parse.py")))
    assert line_with(page, "return unfold").ground == "new"
    assert line_with(page, "return data.split()").ground == "old"
    assert sum("return unfold" in line for line in lines(page)) == 1


def test_a_picture_is_named(asked: Asked) -> None:
    assert "image  image/png, 3 kB" in lines(conversation(at(asked, "And what is this?")))


def test_a_sub_agent_is_counted_and_its_steps_open_with_the_call(asked: Asked, tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "agents", hooked=False)
    agent.asked("Let another one look")
    inner = agent.session.subagent("Look around", description="a look")
    inner.tool("Read", {"file_path": str(agent.project / "a.py")}, "text")
    inner.reply("Nothing there.")
    agent.session.finish_subagent(inner, "It found nothing.")
    agent.stops()
    turn = anew(asked, agent)
    (call,) = links(conversation(turn))
    head = next(line for line in lines(conversation(turn)) if line.startswith("▸"))
    assert "3 steps of a sub-agent" in head
    opened = lines(conversation(at(turn, "Let another", call.name)))
    assert "  · Read a.py" in opened
    assert any("It found nothing." in line for line in opened)


def anew(asked: Asked, agent: Recorded) -> Asked:
    """The same question about another session."""
    store = agent.store()
    outline = Outline(store.tree())
    return replace(asked, store=store, outline=outline, row=outline.rows[0])


def test_twenty_megabytes_and_a_line_of_one_are_told_in_bounded_memory() -> None:
    entry = Entry("e1", None, "tool_result", 0, "", "s")
    output = Block("tool_output", "a line of the output\n" * 1_000_000, "Bash")
    long_line = Block("tool_output", "x" * 1_000_000, "Bash")
    tracemalloc.start()
    try:
        page = laid(Teller(entry, SIGNS, frozenset()).told([output, long_line]), 80).lines
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(page) < 60
    assert peak < 25_000_000, "its text once more, at the most"
    assert "  ▸ 999,981 more lines" in [line.text for line in page]
    assert "  ▸ 999,001 more characters" in [line.text for line in page]
    opened = laid(Teller(entry, SIGNS, frozenset({"e1/1", "e1/2"})).told([output, long_line]), 80).lines
    shown = [line.text for line in opened]
    assert f"{len(output.text) - LONGEST:,} more characters: y copies all of it" in shown
    assert f"{1_000_000 - LONGEST:,} more characters: y copies all of it" in shown
    assert len(shown) < 15_000


@pytest.mark.parametrize("kind", ["text", "thinking", "tool_input", "tool_output", "diff", "raw", "image"])
def test_no_control_character_gets_through(kind: str) -> None:
    entry = Entry("e1", None, "reply", 0, "", "s")
    evil = "a\x1b[2Jb \x9b31m \u202e <b> [link](x\x1b]0;t\x07)\n```sh\n\x1b[1m\n```\n| \x1b |\n|---|\n| \x07 |"
    block = Block(kind, evil, "t\x1b[2J")  # type: ignore[arg-type]
    shown = "\n".join(lines(Teller(entry, SIGNS, frozenset()).told([block], alone=True)))
    assert not set("\x1b\x07\x9b\u202e") & set(shown)
    assert shown.strip()


def test_nobody_reads_on_for_an_answer_that_is_stale(asked: Asked) -> None:
    looks = iter([True, True, False])
    with pytest.raises(Stale):
        list(conversation(at(asked, "Please fold", wanted=lambda: next(looks))))
    assert next(looks, None) is None


def test_replies_beyond_the_first_ones_are_lines_that_open(asked: Asked, tmp_path: Path) -> None:
    agent = Recorded(tmp_path / "long", hooked=False)
    agent.asked("Talk a lot")
    for number in range(70):
        agent.session.reply(f"Reply {number}\n\n- with **more**")
    agent.stops()
    turn = anew(asked, agent)
    shown = lines(conversation(turn))
    assert shown.count("• with more") == 60
    late = [link for link in links(conversation(turn)) if link.kind == "part"]
    assert len(late) == 11
    assert lines(conversation(at(turn, "Talk a lot", late[0].name))).count("• with more") == 61


def test_on_a_terminal_of_plain_signs_nothing_else_is_drawn(asked: Asked) -> None:
    *_, shell = links(conversation(at(asked, "Please fold")))
    page = [*conversation(at(asked, "Please fold", shell.name, signs=PLAIN)), *markdown("> - *a*\n\n---", PLAIN)]
    assert all(PLAIN.drawn(line).isascii() for line in lines(page))
