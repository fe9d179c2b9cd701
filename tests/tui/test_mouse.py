"""What keys do the mouse does too: rows, tabs, buttons, the footer, scroll bars, a double click."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.builders.app import a_parser, frame, main, press, running, settled, until


async def test_rows_tabs_buttons_footer_and_a_double_click(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    async with running(agent.store(), (110, 30)) as pilot:
        screen = main(pilot.app)
        await press(pilot, "G")
        await click(pilot, "Write a parser for headers", line=1)
        assert screen.timeline.cursor == 0
        before = screen.timeline.line_count
        await pilot.click("#tree", offset=(5, 0), times=2)
        await settled(pilot)
        assert screen.timeline.line_count > before
        for name in ("Files", "Facts", "Conversation"):
            await click(pilot, name)
            assert screen.tab == name.lower()
        await click(pilot, "Go back…")
        await until(pilot, lambda: "What goes back?" in frame(pilot.app))
        await settled(pilot)
        await click(pilot, "Cancel")
        await until(pilot, lambda: pilot.app.screen is screen)
        await click(pilot, "? Help")
        await until(pilot, lambda: pilot.app.screen.query("#list"))
        listing = pilot.app.screen.query_one("#list")
        assert listing.scroll_offset.y == 0
        bar = listing.vertical_scrollbar
        await pilot.click(bar, offset=(0, bar.size.height - 1))
        await until(pilot, lambda: listing.scroll_offset.y > 0)


async def click(pilot: Pilot[None], words: str, line: int = 0) -> None:
    """Clicks on words where they stand first, from a line on."""
    lines = frame(pilot.app).split("\n")
    y = next(y for y in range(line, len(lines)) if words in lines[y])
    await pilot.click(offset=(lines[y].index(words) + 1, y))
    await settled(pilot)
