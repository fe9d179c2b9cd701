"""The pane of a diff on data that was built for it: widths, lengths, odd characters, and sizes far above the usual."""

from __future__ import annotations

import time

import pytest
from forkpoint.store.model import FileDiff, Hunk, Line
from forkpoint.tui.theme import PLAIN
from forkpoint.tui.widgets.diffpane import DiffPane
from forkpoint.tui.widgets.difftext import DiffText, file_notes
from forkpoint.tui.widgets.filelist import FileList, file_items

from tests.builders.app import frame
from tests.builders.diffs import a_diff, big_diff, changed, hunk, text_diff
from tests.builders.pane import WIDTHS, shown


async def test_a_hundred_thousand_lines_open_at_once() -> None:
    content = DiffText(big_diff(200, 500))
    assert len(content) > 100_000
    pane = DiffPane(ident="diff")
    async with shown(pane, (160, 50)) as pilot:
        begin = time.perf_counter()
        pane.show(content)
        await pilot.press("G", "pageup", "g")
        pane.turn(split=True)
        await pilot.press("G")
        pane.turn(split=False, wrap=True)
        await pilot.press("G")
        assert time.perf_counter() - begin < 10
        assert pane.file == 199


@pytest.mark.parametrize("letter", ["x", "漢"], ids=["of ASCII", "of wide characters"])
async def test_a_line_of_a_megabyte_is_shown_to_its_end_and_what_changed_in_it_is_marked(letter: str) -> None:
    old, new = letter * 500_000 + "gone" + letter * 500_000, letter * 500_000 + "came" + letter * 500_000
    pane = DiffPane(ident="diff")
    async with shown(pane, (80, 12)) as pilot:
        pane.show(DiffText(text_diff([" before", f"-{old}", f"+{new}", " after"])))
        begin = time.perf_counter()
        await pilot.press("right", "right", "left", "right")
        assert "«" in frame(pilot.app)
        assert pane.search("came") == 1
        assert pane.next_hit(1, stay=True) == 1
        await pilot.pause()
        line = next(line for line in frame(pilot.app).split("\n") if "came" in line)
        assert line.startswith("▌  2 +«") and line.endswith("»")
        pane.turn(wrap=True)
        assert pane.line_count > 20_000
        pane.next_hit(1, stay=True)
        await pilot.press("j", "k", "pagedown", "pageup")
        assert "came" in frame(pilot.app)
        await pilot.press("G")
        assert "after" in frame(pilot.app)
        assert time.perf_counter() - begin < 15


@pytest.mark.parametrize(("split", "wrap"), [(False, False), (True, False), (False, True), (True, True)])
async def test_every_line_of_a_diff_is_exactly_as_wide_as_the_pane(split: bool, wrap: bool) -> None:
    old, new = "\treturn '漢字' * 80" + "漢" * 90, "\treturn '🎉'" + "x" * 200
    lines = [(" ", "def parse(data):"), ("-", old), ("+", new), (" ", "")]
    file = FileDiff("漢字.py".encode(), b"old.py", "renamed", 1, 1, (hunk(*lines),), ("mode 644 → 755",))
    pane = DiffPane(ident="diff")
    async with shown(pane) as pilot:
        pane.show(DiffText(a_diff(file, unknown=3)))
        for width in WIDTHS:
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            pane.turn(split=split, wrap=wrap)
            await pilot.pause()
            for slid in (0, 7, -7):
                pane.slide(slid)
                assert {pane.render_line(y).cell_length for y in range(pane.line_count)} == {pane.width}


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("words", ["".join(f"<{n}>" for n in range(100)), "漢字a" * 60], ids=["narrow", "wide"])
async def test_wrapping_shows_all_of_a_long_line(words: str, split: bool) -> None:
    pane = DiffPane(ident="diff")
    async with shown(pane, (101, 24)) as pilot:
        pane.show(DiffText(a_diff(FileDiff(b"a.txt", None, "added", 1, 0, (hunk(("+", words)),)))))
        pane.turn(wrap=True, split=split)
        await pilot.pause()
        start = (50 if split else 0) + pane.lead
        drawn = "".join(_cells(line)[start:].rstrip() for line in frame(pilot.app).split("\n"))
        assert words in drawn.replace("\0", "")


def _cells(line: str) -> str:
    """A line with a filler behind each wide character."""
    return "".join(f"{letter}\0" if ord(letter) > 0x3000 else letter for letter in line)


async def test_sliding_shows_the_end_of_a_line_on_both_sides_and_the_headings_stay() -> None:
    pane = DiffPane(ident="diff")
    async with shown(pane, (100, 12)) as pilot:
        pane.show(DiffText(text_diff(["-" + "a" * 90 + "OLD", "+" + "a" * 90 + "NEW", " short"])))
        pane.turn(split=True)
        await pilot.pause()
        assert "OLD" not in frame(pilot.app)
        await pilot.press("right", "right", "right", "right")
        assert "OLD" in frame(pilot.app) and "NEW" in frame(pilot.app)
        assert "a.txt" in frame(pilot.app)
        end = pane.shift
        await pilot.press("right")
        assert pane.shift == end
        await pilot.press(*["left"] * 9)
        assert pane.shift == 0


async def test_the_heading_of_a_file_stays_in_sight_and_says_where_one_is() -> None:
    lines = [
        hunk(*[(" ", f"line {n}") for n in range(30)], ("+", f"more {part}"), old=part, new=part) for part in (1, 90)
    ]
    pane = DiffPane(ident="diff")
    pane.always_marks = True
    async with shown(pane, (80, 12)) as pilot:
        pane.show(DiffText(a_diff(changed("one.py", *lines), changed("deep/two.py", *lines))))
        await pilot.pause()
        assert frame(pilot.app).split("\n")[0].endswith("2 hunks · file 1 of 2")
        await pilot.press("j", "j", "pagedown", "pagedown")
        top = frame(pilot.app).split("\n")[0]
        assert top.startswith(" one.py  +2") and top.endswith("hunk 1 of 2 · file 1 of 2")
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown", "pagedown", "pagedown")
        top = frame(pilot.app).split("\n")[0]
        assert top.startswith(" deep/two.py") and "file 2 of 2" in top
        for _ in range(12):
            await pilot.press("k")
            assert frame(pilot.app).split("\n")[pane.cursor - pane.scroll_offset.y].startswith("▌")
        await pilot.click(pane, offset=(3, 0))
        assert pane.cursor == pane.row_line(pane.content.files[1])  # type: ignore[union-attr]


async def test_a_long_path_gives_way_at_its_beginning() -> None:
    name = "a/very/long/path/that/goes/on/and/on/and/on/for/more/than/there/is/room/for/parse.py"
    content = DiffText(a_diff(changed(name, hunk(("+", "x"))), changed("b.py", hunk(("+", "x")))))
    pane, files = DiffPane(ident="diff"), FileList(ident="list")
    pane.always_marks = True
    async with shown(pane, (60, 6)) as pilot:
        pane.show(content)
        await pilot.pause()
        first = frame(pilot.app).split("\n")[0]
        assert first.startswith("▌…/") and "/parse.py  +1" in first and first.endswith("file 1 of 2")
    async with shown(files, (40, 6)) as pilot:
        files.fill(file_items(content, "−"))
        await pilot.pause()
        assert frame(pilot.app).split("\n")[0].endswith("/parse.py    +1")


async def test_old_and_new_stand_beside_each_other_where_their_words_are_alike() -> None:
    lines = ["-name, value = line.split(b':', 1)", "-fields.append((name, value.strip()))"]
    lines += ["+name, colon, value = line.partition(b':')", "+if not colon:", "+    raise HeaderError(line)"]
    lines += ["+fields.append((name, value.strip(b' ')))", " return fields"]
    content = DiffText(text_diff(lines))
    beside = [tuple(content.text(at)[:6] if at >= 0 else "" for at in pair) for pair in content.sides[2:]]
    assert beside == [
        ("name, ", "name, "),
        ("", "if not"),
        ("", "    ra"),
        ("fields", "fields"),
        ("return", "return"),
    ]


def test_every_line_stands_once_side_by_side_and_both_sides_keep_their_order() -> None:
    content = DiffText(
        text_diff([*(f"-old {n % 5} word" for n in range(40)), *(f"+new {n % 7} word" for n in range(31)), " end"])
    )
    short = DiffText(text_diff(["-a one", "-b two", "-c three", "+c three!", "+a one!", "+d", " same", "+x", "-y"]))
    for made in (content, short):
        for side in (0, 1):
            rows = [pair[side] for pair in made.sides if pair[side] >= 0]
            assert rows == sorted(set(rows))
        assert {at for pair in made.sides for at in pair if at >= 0} == set(range(len(made)))
        assert [made.sides[made.side_of[at]].count(at) > 0 for at in range(len(made))] == [True] * len(made)


@pytest.mark.parametrize(
    ("file", "notes"),
    [
        (FileDiff(b"a", None, "modified", 1, 1, (hunk((" ", "x")),)), []),
        (FileDiff(b"a", None, "added", 1, 0, (hunk(("+", "x")),)), []),
        (FileDiff(b"a", None, "added", 0, 0), ["an empty file"]),
        (FileDiff(b"a", None, "mode", 0, 0, (), ("mode 644 → 755",)), ["mode 644 → 755"]),
        (FileDiff(b"a", b"b", "renamed", 0, 0), []),
        (FileDiff(b"a", None, "modified", 0, 0), ["only white space differs"]),
        (FileDiff(b"a", None, "modified", 0, 0, (), (), "its bytes are gone"), []),
        (FileDiff(b"a", None, "modified", 0, 0, (), ("binary, 12 kB → 14 kB",)), ["binary, 12 kB → 14 kB"]),
        (FileDiff(b"a", None, "type", 0, 0, (), ("was a link to a.txt",)), ["was a link to a.txt"]),
    ],
)
def test_what_is_no_line_is_said_in_words(file: FileDiff, notes: list[str]) -> None:
    assert file_notes(file) == notes


async def test_what_became_of_a_file_stands_in_its_heading() -> None:
    line = hunk(("+", "x"))
    files = [
        FileDiff(b"a", None, "added", 1, 0, (line,)),
        FileDiff(b"b", None, "deleted", 0, 1, (hunk(("-", "x")),)),
        FileDiff(b"new", b"old", "renamed", 0, 0),
        FileDiff(b"bad", None, "modified", 0, 0, (), (), "its bytes are gone from the store"),
        FileDiff(b"ev\x1b[31mil\n", None, "added", 0, 0),
    ]
    pane = DiffPane(ident="diff")
    async with shown(pane, (60, 24)) as pilot:
        pane.show(DiffText(a_diff(*files, unknown=1)))
        await pilot.pause()
        drawn = frame(pilot.app)
    for words in ("a  added  +1", "b  deleted  −1", "old → new  renamed", "! its bytes are gone from the store"):
        assert words in drawn
    assert "ev␛[31mil" in drawn
    assert " 1 path not compared: only one of the two ends knows of it." in drawn.split("\n")[0]
    assert "\x1b" not in drawn


async def test_nothing_that_differs_is_said_and_what_is_not_known_too() -> None:
    pane = DiffPane(ident="diff")
    pane.empty = "The files are the same on both sides."
    async with shown(pane, (70, 6)) as pilot:
        pane.show(DiffText(a_diff(unknown=12)))
        await pilot.press("j", "G")
        assert frame(pilot.app).split("\n")[:2] == [
            " The files are the same on both sides.",
            " 12 paths not compared: only one of the two ends knows of them.",
        ]


def test_a_diff_s_text_is_cleaned_and_a_missing_line_feed_is_told() -> None:
    lines = (
        Line("-", "a\x1b[31m\r", 1, None),
        Line("\\", " No newline at end of file", None, None),
        Line("+", "b", None, 1),
    )
    content = DiffText(a_diff(FileDiff(b"x\x1b", None, "modified", 0, 1, (Hunk("@@\x1b", lines),))))
    drawn = [content.text(at) for at in range(len(content))]
    assert not any("\x1b" in line or "\r" in line for line in drawn)
    assert drawn[2:] == ["a␛[31m␍", "no line feed at the end", "b"]
    assert "\x1b" not in content.patch(1, len(content))


def test_ends_of_cr_lf_are_shown_only_where_they_differ() -> None:
    def last(*lines: str) -> list[str]:
        content = DiffText(text_diff(lines))
        return [content.text(at) for at in range(2, len(content))]

    assert last(" same\r", "-old\r", "+new\r") == ["same", "old", "new"]
    assert last("-one\r", "+one") == ["one␍", "one"]
    content = DiffText(text_diff([" same\r", "+new\r"]))
    assert content.patch(1, 4) == "@@ -1 +1 @@\n same\r\n+new\r\n"


async def test_a_search_marks_counts_and_goes_around() -> None:
    lines = [" first Word", "-old word", "+new word", " other", " last word"]
    pane = DiffPane(ident="diff")
    async with shown(pane, (100, 12)) as pilot:
        pane.show(DiffText(text_diff(lines, "words.txt")))
        assert pane.search("word") == 5
        assert [pane.next_hit(1) for _ in range(5)] == [2, 3, 4, 5, 1]
        assert [pane.next_hit(-1) for _ in range(2)] == [5, 4]
        assert pane.search("Word") == 1
        assert pane.search("nothing") == 0 and pane.next_hit(1) == 0
        pane.turn(split=True)
        await pilot.pause()
        pane.search("word")
        pane.next_hit(1, stay=True)
        seen = [pane.next_hit(1) for _ in range(4)]
        assert len(set(seen)) == 4


async def test_words_marked_with_the_mouse_are_copied_without_numbers_and_signs() -> None:
    pane = DiffPane(ident="diff")
    async with shown(pane, (40, 10)) as pilot:
        pane.show(DiffText(text_diff([" one", "-two", "+" + "three " * 12])))
        pane.turn(wrap=True)
        await pilot.pause()
        await pilot.mouse_down(pane, offset=(pane.lead + 1, 2))
        await pilot.hover(pane, offset=(pane.lead + 5, 5))
        await pilot.mouse_up(pane, offset=(pane.lead + 5, 5))
        copied = pilot.app.screen.get_selected_text()
        assert copied is not None
        first, second, third = copied.split("\n")
        assert (first, second) == ("ne", "two")
        assert ("three " * 12).startswith(third) and len(third) > 36


async def test_plain_signs_draw_a_diff_in_ascii() -> None:
    pane = DiffPane(ident="diff")
    pane.always_marks = True
    async with shown(pane, (100, 40), signs=PLAIN) as pilot:
        pane.show(DiffText(a_diff(*big_diff(2, 9).files, unknown=2)))
        pane.turn(split=True)
        await pilot.press("j", "right")
        assert frame(pilot.app).isascii()
