"""What stands in which row of the tree."""

from __future__ import annotations

import random
from copy import copy
from dataclasses import replace

from forkpoint.store.model import Entry
from forkpoint.tui.outline import Outline
from forkpoint.tui.rows import FILTERS, Row, filtered_rows, unfolded_rows

from tests.builders.tree import Conversation, headers_session, long_session


def lines(outline: Outline, shown: list[int] | None = None) -> list[str]:
    """Rows as text: branch depth as bars, insets as blanks; of all rows the results are left out."""
    found = [row for row in outline.rows if row.kind != "result"]
    rows = found if shown is None else [outline.rows[at] for at in shown]
    return [f"{'| ' * row.depth}{'  ' * row.inset}{row.text}" for row in rows]


def row_of(outline: Outline, text: str) -> Row:
    return next(row for row in outline.rows if row.text.startswith(text))


def folded(outline: Outline, *opened: str) -> list[str]:
    return lines(outline, unfolded_rows(outline.rows, {row_of(outline, text).key for text in opened}))


def test_turns_fold_to_their_prompt_and_a_left_branch_to_one_line() -> None:
    assert folded(Outline(headers_session().tree())) == [
        "Read the header parser and tell me how it splits lines",
        "Accept empty header values",
        "| Use a regular expression instead",
        "Keep the loop, handle the blank line first",
        "files went back to before prompt 3; u undoes",
        "Now fold continuation lines as RFC 9112 says",
        "Fix those five",
    ]


def test_an_unfolded_turn_shows_its_calls_and_an_unfolded_call_its_result() -> None:
    outline = Outline(headers_session().tree())
    assert folded(outline, "Accept")[1:7] == [
        "Accept empty header values",
        "  Edit src/headers/parse.py",
        "  Write src/headers/empty.py",
        "  Bash pytest -q",
        "  Edit tests/test_parse.py",
        "  Empty values pass now, but two tests still fail.",
    ]
    call = row_of(outline, "Bash pytest")
    assert call.error
    assert folded(outline, "Accept", "Bash pytest")[4:6] == ["  Bash pytest -q", "    exit 1, 2 failed"]
    assert outline.rows[outline.index[call.result.id if call.result else ""]].text == "exit 1, 2 failed"


def test_only_a_branch_that_was_left_is_indented() -> None:
    outline = Outline(headers_session().tree())
    assert [row.text for row in outline.rows if row.depth and row.kind != "result"] == [
        "Use a regular expression instead",
        "Use a regular expression instead",
        "Edit src/headers/parse.py",
        "Done, though it backtracks on long lines.",
    ]
    assert not any(row.active for row in outline.rows if row.depth)
    assert all(row.active for row in outline.rows if not row.depth)


def test_a_turn_sums_up_its_calls() -> None:
    outline = Outline(headers_session().tree())
    assert row_of(outline, "Accept").lines == (48, 12)
    assert row_of(outline, "Use a regular").lines == (112, 74)
    assert row_of(outline, "Read the header").lines is None


def test_a_fork_in_the_middle_of_a_turn_stands_after_the_turn() -> None:
    told = Conversation()
    told.prompt("Begin")
    middle = told.call("Edit a.py", 1, 0)
    told.call("Edit b.py", 2, 0)
    told.reply("Both done")
    told.back_to(middle, "second")
    told.prompt("Only a, please")
    outline = Outline(told.tree())
    assert lines(outline) == ["Begin", "  Edit a.py", "| Edit b.py", "| Edit b.py", "| Both done", "Only a, please"]
    branch = next(row for row in outline.rows if row.branch)
    assert branch.kind == "branch"
    assert branch.target == branch.branch.head if branch.branch else False


def test_what_follows_the_place_where_the_talk_went_back_to_is_a_left_branch() -> None:
    told = Conversation()
    told.prompt("One")
    end = told.reply("Answer one")
    told.prompt("Two")
    told.reply("Answer two")
    tree = told.tree()
    outline = Outline(replace(tree, here=replace(tree.here, talk=end)))
    assert folded(outline) == ["One", "| Two"]
    assert [row.text for row in outline.rows if row.active] == ["One", "Answer one"]


def test_two_beginnings_are_branches_too() -> None:
    told = Conversation()
    told.prompt("First try")
    told.back_to(None, "again")
    told.prompt("Second try")
    assert folded(Outline(told.tree())) == ["| First try", "Second try"]


def test_a_sub_agent_stands_inside_of_its_call() -> None:
    told = Conversation()
    told.prompt("Look around")
    call = told.call("Task find the parser")
    agent = next(entry.call for entry in told.entries if entry.id == call)
    told.call("Grep parse", under=agent)
    told.reply("It is in parse.py", under=agent)
    told.reply("Found it")
    outline = Outline(told.tree())
    assert folded(outline, "Look") == ["Look around", "  Task find the parser", "  Found it"]
    assert folded(outline, "Look", "Task")[2:4] == [
        "    Grep parse",
        "    It is in parse.py",
    ]
    assert row_of(outline, "Task").agents == row_of(outline, "Look").agents == 1


def test_a_compaction_heads_what_comes_after_it() -> None:
    told = Conversation()
    told.prompt("Work")
    told.call("Edit a.py", 1, 0)
    told.entry("summary", "compacted: we edited a.py", flavour="compaction")
    told.call("Edit b.py", 1, 0)
    assert folded(Outline(told.tree())) == ["Work", "compacted: we edited a.py"]


def test_checkpoints_by_hand_have_rows_and_guards_belong_to_their_operation() -> None:
    told = Conversation()
    told.prompt("Work")
    told.call("Edit a.py", 1, 0)
    guard = told.point(told.tip, "guard", "after")
    told.operation("restore", "files went back; u undoes", guard=guard)
    told.point(None, "manual", "after", text="saved by hand", label="mine")
    outline = Outline(told.tree())
    assert folded(outline) == ["Work", "files went back; u undoes", "saved by hand"]
    assert outline.rows[outline.index[guard]].kind == "operation"


def test_somebody_else_s_changes_stand_before_the_call_that_found_them() -> None:
    told = Conversation()
    told.prompt("Work")
    call = told.call("Edit a.py", 1, 0)
    told.points.insert(1, replace(told.points[-1], id="f" * 16, side="before", added=4, removed=0))
    assert told.points[1].entry == call
    outline = Outline(told.tree())
    assert folded(outline, "Work") == ["Work", "  changed by somebody else before this call", "  Edit a.py"]
    assert row_of(outline, "Work").lines == (1, 0)


def test_a_workspace_without_a_conversation_lists_its_checkpoints() -> None:
    told = Conversation()
    told.point(None, "manual", "after", text="saved by hand")
    told.point(None, "guard", "after", text="guard")
    assert folded(Outline(told.tree())) == ["saved by hand", "guard"]


def test_a_turn_known_only_from_the_agent_s_own_copies_counts_what_the_next_prompt_found() -> None:
    told = Conversation()
    told.prompt("One", point=False)
    told.call("Edit a.py")
    two = told.prompt("Two", point=False)
    told.point(two, "import", "before", complete=False, added=7, removed=2, known=3)
    outline = Outline(told.tree())
    assert row_of(outline, "One").lines == (7, 2)
    assert row_of(outline, "Two").lines is None


def test_a_row_without_a_checkpoint_stands_for_the_newest_before_it() -> None:
    outline = Outline(headers_session().tree())
    last = outline.checkpoint_at(row_of(outline, "Five tests"))
    own = row_of(outline, "Edit tests/test_fold.py").point
    assert last is own and own is not None
    before = outline.checkpoint_before(own)
    assert before is row_of(outline, "Edit src/headers/fold.py").point


def test_a_turn_s_changes_lie_between_its_own_checkpoint_and_its_last_call() -> None:
    outline = Outline(headers_session().tree())
    row = row_of(outline, "Accept")
    ends = outline.ends(row)
    assert ends == (row.point, row_of(outline, "Edit tests/test_parse.py").point)


def test_a_branch_s_changes_lie_between_its_fork_and_its_head() -> None:
    outline = Outline(headers_session().tree())
    branch = next(row for row in outline.rows if row.kind == "branch")
    ends = outline.ends(branch)
    assert ends is not None
    assert ends[0] is row_of(outline, "Edit tests/test_parse.py").point
    assert ends[1].label == "dead end"


def test_filters_keep_the_way_to_what_they_want() -> None:
    outline = Outline(headers_session().tree())
    assert lines(outline, filtered_rows(outline.rows, FILTERS["labelled"], set())) == [
        "| Use a regular expression instead",
        "| Use a regular expression instead",
        "|   Edit src/headers/parse.py",
        "Keep the loop, handle the blank line first",
        "  Bash pytest -q",
    ]
    prompts = filtered_rows(outline.rows, FILTERS["prompts"], set())
    assert all(outline.rows[at].heads for at in prompts)


def test_fifty_thousand_entries_in_one_chain_need_no_recursion() -> None:
    outline = Outline(long_session(500, 50))
    assert len(unfolded_rows(outline.rows, set())) == 500
    assert len(outline.rows) == 500 * 101


def test_a_thousand_forks_inside_each_other_need_no_recursion() -> None:
    told = Conversation()
    told.prompt("root")
    for number in range(1500):
        at = told.tip
        told.prompt(f"left {number}", point=False)
        told.back_to(at, f"branch-{number}")
        told.prompt(f"on {number}", point=False)
    first = told.entries[1].id
    tree = told.tree()
    outline = Outline(replace(tree, here=replace(tree.here, talk=first)))
    assert max(row.depth for row in outline.rows) > 0
    assert len(outline.rows) > 3000


def test_a_parent_that_is_missing_begins_a_line() -> None:
    told = Conversation()
    told.prompt("One")
    told.entries.append(Entry("lost", "gone", "reply", told.clock, "an orphan", told.session))
    told.branch_of["lost"] = "lost"
    assert "| an orphan" in lines(Outline(told.tree()))


def told_further(told: Conversation, chance: random.Random) -> None:
    """One more thing happens, as it may in a session that is looked at."""
    calls = [entry for entry in told.entries if entry.kind == "tool_call" and not entry.under]
    what = chance.choice(["prompt", "reply", "reply", "call", "call", "call", "agent", "fork", "back", "save", "label"])
    if what == "prompt" or not calls:
        told.prompt(f"prompt {len(told.entries)}", point=chance.random() < 0.8)
        told.call("Edit begin.py", 1, 1)
    elif what == "reply":
        told.reply(f"reply {len(told.entries)}")
    elif what == "call":
        counted = (chance.randrange(9), 2) if chance.random() < 0.7 else (None, None)
        told.call(f"Edit {len(told.entries)}.py", *counted, error=chance.random() < 0.2)
    elif what == "agent":
        call = told.call("Task look around")
        under = next(entry.call for entry in told.entries if entry.id == call)
        told.call("Grep parse", under=under)
        told.call("Read parse.py", under=chance.choice(calls).call)
    elif what == "fork":
        told.back_to(chance.choice(calls).id, f"branch-{len(told.entries)}")
        told.prompt("another way")
    elif what == "back":
        guard = told.point(told.tip, "guard", "after")
        told.operation("restore", "files went back; u undoes", guard=guard)
    elif what == "save":
        told.point(None, "manual", "after", text="saved by hand")
    elif told.points:
        at = chance.randrange(len(told.points))
        told.points[at] = replace(told.points[at], label="named")


def test_an_outline_that_grew_is_the_one_that_would_have_been_made_anew() -> None:
    taken = steps = 0
    for seed in range(15):
        chance, told = random.Random(seed), Conversation()
        told.prompt("first")
        told.reply("answer")
        grown = Outline(told.tree())
        for _ in range(25):
            told_further(told, chance)
            before, fresh = grown, Outline(told.tree())
            before.grown(told.tree())  # an answer that nobody waited for
            tree = told.tree()
            # A store reads its checkpoints anew each time.
            grown = before.grown(replace(tree, points=tuple(replace(point) for point in tree.points)))
            assert grown.rows == fresh.rows, seed
            assert grown.index == fresh.index
            assert grown.columns == fresh.columns
            assert (grown.told, grown.prompts, grown.whole) == (fresh.told, fresh.prompts, fresh.whole)
            files = told.files
            assert grown.place_of_files(files) == fresh.place_of_files(files)
            assert [grown.checkpoint_at(row) for row in grown.rows] == [fresh.checkpoint_at(row) for row in fresh.rows]
            steps += 1
            taken += before.rows[0] is grown.rows[0] and len(grown.rows) > 1
    assert taken > steps / 3


def test_an_outline_that_is_shown_stays_as_it_is_while_its_successor_is_made() -> None:
    told = headers_session()
    outline = Outline(told.tree())
    before = (
        [copy(row) for row in outline.rows],
        dict(outline.index),
        {at: list(own) for at, own in outline.own.items()},
    )
    told.call("Edit src/headers/more.py", 5, 1)
    grown = outline.grown(told.tree())
    assert grown.rows[0] is outline.rows[0]
    assert len(grown.rows) == len(outline.rows) + 2
    assert (outline.rows, outline.index, outline.own) == before
