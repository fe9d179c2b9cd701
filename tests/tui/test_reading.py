"""The pane that is read: laid out off the screen's thread, scrolled, and walked through by what can be opened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from forkpoint.tui.widgets.flow import MOST_LINES, Line, Link, Part, laid
from forkpoint.tui.widgets.lines import Lines
from forkpoint.tui.widgets.reading import Reading
from forkpoint.tui.widgets.sheet import Paragraph, text
from textual import on
from textual.pilot import Pilot

from tests.builders.app import frame, until
from tests.builders.pane import Bench, shown


@dataclass(frozen=True)
class Slow:
    """A part that notes on which thread and at which widths it was laid out."""

    threads: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)

    def lines(self, width: int) -> Iterator[Line]:
        self.threads.append(threading.get_ident())
        self.widths.append(width)
        yield Line([("x" * width, "text")])


def show(pane: Reading, parts: Sequence[Part]) -> None:
    pane.show(parts, laid(parts, pane.text_width))


def linked(number: int) -> Paragraph:
    return Paragraph([(f"▸ part {number}", "text")], link=Link("part", f"p{number}"))


def prose(number: int) -> Paragraph:
    return text(f"line {number}")


def chosen(pane: Reading) -> str:
    return pane.link.name if pane.link else ""


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


async def test_another_width_wraps_anew_off_the_screens_thread_and_keeps_the_place() -> None:
    pane, slow = Reading(ident="detail"), Slow()
    async with shown(pane, (80, 10)) as pilot:
        parts: list[Part] = [*(text(f"word{number} " * 30) for number in range(40)), slow]
        show(pane, parts)
        await pressed(pilot, "pagedown", "pagedown")
        at = frame(pilot.app).split("\n")[0].split()[0]
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: slow.widths[-1] == 39 and pane.plain(pane.line_count - 1) == "x" * 39)
        assert frame(pilot.app).split("\n")[0].split()[0] == at
        assert all(len(line) <= 40 for line in frame(pilot.app).split("\n"))
        assert slow.threads[0] == threading.get_ident(), "the test laid it out itself"
        assert threading.get_ident() not in slow.threads[1:]


async def test_of_many_widths_only_the_last_one_counts() -> None:
    pane = Reading(ident="detail")
    async with shown(pane, (80, 10)) as pilot:
        parts = [text("word " * 200)]
        show(pane, parts)
        for width in (70, 60, 50, 44):
            await pilot.resize_terminal(width, 10)
        await until(pilot, lambda: pane._laid.width == 43)
        assert max(len(line) for line in frame(pilot.app).split("\n")) <= 44
        await asyncio.sleep(0)
        assert pane._laid.width == 43


async def test_j_walks_through_what_opens_while_it_is_in_sight_and_else_scrolls() -> None:
    pane = Reading(ident="detail")
    async with shown(pane, (40, 10)) as pilot:
        show(pane, [linked(1), *map(prose, range(3)), linked(2), *map(prose, range(30)), linked(3)])
        assert chosen(pane) == "p1"
        await pressed(pilot, "j")
        assert (chosen(pane), pane.scroll_offset.y) == ("p2", 0)
        await pressed(pilot, "j", "j")
        assert pane.scroll_offset.y == 2
        await pressed(pilot, "pagedown")
        assert chosen(pane) == "", "nothing of what is in sight opens"
        await pressed(pilot, "G")
        assert chosen(pane) == "p3"
        await pressed(pilot, "g")
        assert (chosen(pane), pane.scroll_offset.y) == ("p1", 0)
        await pressed(pilot, "ctrl+d", "k", "k", "k", "k", "k")
        assert (chosen(pane), pane.scroll_offset.y) == ("p1", 0)


class Followed(Bench):
    """Notes what was followed, and when the pane was left."""

    def __init__(self, pane: Lines) -> None:
        super().__init__(pane)
        self.followed: list[str] = []

    @on(Reading.Followed)
    def note(self, message: Reading.Followed) -> None:
        self.followed.append(message.link.name)

    @on(Reading.Left)
    def note_left(self) -> None:
        self.followed.append("left")


async def test_enter_a_click_and_the_keys_that_fold_follow_a_link() -> None:
    pane = Reading(ident="detail")
    app = Followed(pane)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        opened = Paragraph([("▾ part 2", "text")], link=Link("part", "p2"))
        show(pane, [linked(1), prose(1), opened, prose(2)])
        await pressed(pilot, "enter", "j", "l", "h")
        assert app.followed == ["p1", "p2", "p2"]
        await pressed(pilot, "k", "h")
        assert app.followed[3:] == ["left"], "what is closed cannot be closed again"
        await pilot.click("#detail", offset=(4, 2))
        await pilot.click("#detail", offset=(4, 1))
        await pilot.pause()
        assert app.followed[4:] == ["p2"]


async def test_the_chosen_line_is_set_off_while_the_pane_has_the_keys() -> None:
    pane = Reading(ident="detail")
    async with shown(pane, (40, 10)) as pilot:
        show(pane, [prose(1), linked(1)])
        await pilot.pause()
        styles = [pane.render_line(y)._segments[0].style for y in (0, 1)]
        assert styles[0] and styles[1] and styles[0].bgcolor != styles[1].bgcolor
        pilot.app.screen.set_focus(None)
        await pilot.pause()
        assert len({getattr(pane.render_line(y)._segments[0].style, "bgcolor", None) for y in (0, 1)}) == 1


async def test_a_text_without_an_end_is_cut_and_says_so() -> None:
    pane = Reading(ident="detail")
    async with shown(pane, (40, 10)) as pilot:
        show(pane, [text("line\n" * (MOST_LINES + 5))])
        await pressed(pilot, "G")
        assert "This is not all: y copies" in frame(pilot.app)
        assert pane.line_count == MOST_LINES + 1


async def test_what_is_selected_is_what_stands_there() -> None:
    pane = Reading(ident="detail")
    async with shown(pane, (40, 10)) as pilot:
        show(pane, [prose(1), linked(1)])
        await pilot.mouse_down("#detail", offset=(0, 0))
        await pilot.hover("#detail", offset=(5, 0))
        await pilot.mouse_up("#detail", offset=(5, 0))
        assert pilot.app.screen.get_selected_text() == "line 1"
