"""The panes on data that was built for them: widths, lengths, odd characters, and sizes far above the usual."""

from __future__ import annotations

import time

import pytest
from forkpoint.tui.outline import Outline
from forkpoint.tui.theme import PLAIN
from forkpoint.tui.widgets.lines import clip, clip_title
from forkpoint.tui.widgets.listing import Column, Item, Listing
from forkpoint.tui.widgets.sheet import Paragraph, Sheet, text, wrapped
from forkpoint.tui.widgets.timeline import Timeline
from rich.cells import cell_len

from tests.builders.app import frame
from tests.builders.pane import WIDTHS, shown
from tests.builders.tree import START, Conversation, headers_session, long_session


async def test_the_tree_of_a_session_as_it_is_drawn() -> None:
    tree = Timeline(ident="tree")
    async with shown(tree) as pilot:
        tree.fill(Outline(headers_session().tree()))
        await pilot.pause()
        assert frame(pilot.app).rstrip() == DRAWN.rstrip()


DRAWN = """\
▸ 1  Read the header parser and tell me how it splits lines               ● 40m
▸ 2  Accept empty header values  ✗ 1                              +48 −12 ● 36m
├─▸ main  Use a regular expression instead  left, 3 entries      +112 −74 ● 23m
▸ 3  Keep the loop, handle the blank line first [green] ◆         +22  −5 ● 22m
  ↩ files went back to before prompt 3; u undoes                            15m
▸ 4  Now fold continuation lines as RFC 9112 says  ✗ 1            +64 −31 ● 14m
▾ 5  Fix those five                                               +17 −40 ●  5m
    Edit src/headers/fold.py                                       +9 −31 ●  4m
    Edit tests/test_fold.py                                        +8  −9 ●  2m
    Five tests asserted the old split; two still do, for bare C… ◀ here     now
"""


async def test_a_folded_row_says_what_is_inside_and_a_call_what_came_of_it() -> None:
    told = Conversation()
    told.prompt("Look around")
    call = told.call("Task find the parser", result="it is in parse.py")
    agent = next(entry.call for entry in told.entries if entry.id == call)
    told.call("Grep parse", under=agent, error=True, result="no such folder")
    told.call("Bash pytest -q", 0, 0, result="148 passed", label="green", pinned=True)
    told.point(told.entries[0].id, "import", "before", complete=False, known=3)
    told.entry("summary", "what was said so far", flavour="compaction")
    tree = Timeline(ident="tree")
    async with shown(tree) as pilot:
        tree.fill(Outline(told.tree()))
        tree.fold_all(False)
        await pilot.pause()
        folded = frame(pilot.app).rstrip().split("\n")
        assert folded[0].startswith("▸ 1  Look around [green] ◆  ↳ 1  ✗ 1 ")
        assert folded[1].startswith("  ≡ what was said so far ")
        tree.fold_all(True)
        await pilot.pause()
        unfolded = frame(pilot.app).rstrip().split("\n")
        assert unfolded[1].startswith("▾   Task find the parser  ↳ 1 ")
        assert unfolded[2].startswith("      Grep parse  ✗ no such folder ")
        assert unfolded[3].startswith("      it is in parse.py ")
        assert unfolded[4].startswith("    Bash pytest -q [green] ◆  148 passed ")
        await pilot.resize_terminal(40, 24)
        await pilot.pause()
        assert "Bash pytest -q [green] ◆ " in frame(pilot.app)


async def test_every_row_is_exactly_as_wide_as_the_tree() -> None:
    told = headers_session()
    told.prompt("漢字の見出し 🎉 and a very long prompt " * 6)
    told.call("Edit 漢字/ファイル.py", 12_345, 1_234_567, label="ラベル")
    tree = Timeline(ident="tree")
    async with shown(tree) as pilot:
        tree.fill(Outline(told.tree()))
        tree.fold_all(True)
        for width in WIDTHS:
            await pilot.resize_terminal(width, 60)
            await pilot.pause()
            assert {tree.render_line(y).cell_length for y in range(tree.line_count)} == {tree.width}


async def test_fifty_thousand_rows_fold_and_move_at_once() -> None:
    outline = Outline(long_session(500, 49))
    tree = Timeline(ident="tree")
    async with shown(tree) as pilot:
        begin = time.perf_counter()
        tree.fill(outline)
        tree.fold_all(True)
        await pilot.press("end", "pageup", "home")
        tree.fold_all(False)
        await pilot.pause()
        assert len(outline.rows) == 49_500
        assert tree.line_count == 500
        assert time.perf_counter() - begin < 10


async def test_the_cursor_stays_on_its_row_and_line_when_rows_come_above() -> None:
    told = headers_session()
    tree = Timeline(ident="tree")
    async with shown(tree, (80, 10)) as pilot:
        tree.fill(Outline(told.tree()))
        tree.fold_all(True)
        await pilot.press("home", *["down"] * 12)
        row, line = tree.row, tree.cursor - tree.scroll_offset.y
        told.points.insert(0, told.points[0].__class__("f" * 16, None, "", "after", "manual", START, text="early"))
        tree.fill(Outline(told.tree()))
        await pilot.pause()
        assert tree.row is not None and row is not None
        assert tree.row.key == row.key
        assert tree.cursor - tree.scroll_offset.y == line


async def test_files_before_a_left_prompt_and_the_talk_at_its_end_are_one_place() -> None:
    told = Conversation()
    told.prompt("One")
    told.call("Edit a.py", 1, 0)
    end = told.reply("Answer one")
    left = told.prompt("Two")
    told.call("Edit b.py", 1, 0)
    told.talk = end
    told.files = next(point.id for point in told.points if point.entry == left)
    tree = Timeline(ident="tree")
    async with shown(tree) as pilot:
        tree.fill(Outline(told.tree()))
        await pilot.pause()
        shown_lines = frame(pilot.app).split("\n")
        assert [line.split("◀")[1].split()[0] for line in shown_lines if "◀" in line] == ["here"]
        assert "Answer one" in next(line for line in shown_lines if "◀" in line)


async def test_plain_signs_are_ascii() -> None:
    tree = Timeline(ident="tree")
    async with shown(tree, signs=PLAIN) as pilot:
        tree.fill(Outline(headers_session().tree()))
        await pilot.pause()
        assert frame(pilot.app).isascii()
        assert "< here" in frame(pilot.app)


async def test_control_characters_never_reach_the_terminal() -> None:
    told = Conversation()
    told.prompt("evil \x1b]0;title\x07 \x1b[2J \x9b31m \u202e text")
    tree = Timeline(ident="tree")
    async with shown(tree) as pilot:
        tree.fill(Outline(told.tree()))
        await pilot.pause()
        assert not set("\x1b\x07\x9b\u202e") & set(frame(pilot.app))


# Text and lists


@pytest.mark.parametrize("width", [8, 20, 33, 80])
def test_wrapping_keeps_every_word_within_the_width(width: int) -> None:
    words = "the parser folds 漢字の行 and a-word-that-is-much-longer-than-any-line-here " * 3
    lines = wrapped(text(words, hang=2), width)
    assert all(sum(cell_len(piece) for piece, _ in line) <= width for line in lines)
    assert "".join("".join(piece for piece, _ in line) for line in lines).replace(" ", "") == words.replace(" ", "")


@pytest.mark.parametrize("width", range(8, 60))
def test_a_word_in_several_inks_is_not_broken_between_them(width: int) -> None:
    spans = [("payment.html", "text"), (": ", "text"), ("1 line goes", "removed"), (", ", "text"), ("6 見出", "added")]
    lines = wrapped(Paragraph([*spans, ("!", "text"), (" unbrokenname", "text"), (".", "text")], hang=2), width)
    told = ["".join(words for words, _ in line) for line in lines]
    assert all(cell_len(line) <= width for line in told)
    assert "".join("".join(told).split()) == "payment.html:1linegoes,6見出!unbrokenname."
    if width >= 16:
        assert not any(line.strip()[:1] in {",", ":", "!", "."} for line in told), told


def test_line_feeds_and_tabs_of_a_paragraph_stay() -> None:
    lines = wrapped(Paragraph((("a\n\tb", "text"),), indent=1), 20)
    assert ["".join(piece for piece, _ in line) for line in lines] == [" a", "     b"]


async def test_a_sheet_wraps_anew_when_it_gets_narrower() -> None:
    sheet = Sheet(ident="sheet")
    async with shown(sheet, (80, 10)) as pilot:
        sheet.show([text("word " * 40)])
        await pilot.pause()
        wide = sheet.line_count
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        assert sheet.line_count > wide


async def test_a_list_passes_over_headings_and_keeps_its_row_while_filtered() -> None:
    columns = (Column("Name", grows=True), Column("Size", right=True))
    listing = Listing(columns, ident="list")
    async with shown(listing, (40, 12)) as pilot:
        rows = [Item("d1", ("Today",), heading=True), Item("a", ("apple", "1")), Item("d2", ("Before",), heading=True)]
        listing.fill([*rows, Item("b", ("banana", "22"))])
        await pilot.pause()
        assert listing.item is not None and listing.item.key == "a"
        await pilot.press("j")
        assert listing.item.key == "b"
        assert listing.filter("ban") == 1
        assert listing.item.key == "b"
        assert listing.filter("") == 2
        await pilot.press("g")
        assert listing.item.key == "a"
        assert {listing.render_line(y).cell_length for y in range(listing.line_count)} == {listing.width}


def test_names_are_cut_but_never_their_time() -> None:
    name = 'before prompt 4 "Now fold continuation lines as RFC 9112 says" · 09:41'
    cut = clip_title(name, 40)
    assert cut.endswith('…" · 09:41')
    assert cell_len(cut) == 40
    assert clip("漢字漢字", 5) == "漢字…"
    assert clip_title("short · 09:41", 40) == "short · 09:41"
