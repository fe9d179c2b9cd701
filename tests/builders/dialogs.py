"""Dialogs as a person reads them: what they tell, and that all of it can be seen."""

from __future__ import annotations

from typing import Any

from forkpoint.tui.widgets.choices import Choice, Press, Tick, Told
from textual.pilot import Pilot

from .app import frame, press


def told(app: Any) -> str:
    """All that the dialog tells."""
    return app.screen.query_one("#told", Told).words


async def whole(pilot: Pilot[None]) -> None:
    """Asserts that every word, choice and button of the dialog is on the screen, or comes when it is scrolled."""
    screen: Any = pilot.app.screen
    body = screen.query_one("#body")
    body.scroll_home(animate=False)
    await pilot.pause()
    shown = [_inside(pilot.app)]
    for _ in range(100):
        if body.scroll_y >= body.max_scroll_y:
            break
        await press(pilot, "down")
        shown.append(_inside(pilot.app))
    seen = "".join("".join(shown).split())
    for word in [word for part in screen.query(Told) if part.display for word in part.words.split()]:
        assert word in seen, f"{word!r}:\n{shown[-1]}"
    for button in screen.query(Press):
        assert not button.display or f" {button.label} {button.key} " in shown[0], f"{button.label!r}:\n{shown[0]}"
    for choice in screen.query(Choice):
        for option in choice.options if choice.display and choice.parent.display else ():
            assert f"{option.key}{option.label}".replace(" ", "") in seen
    for tick in screen.query(Tick):
        assert not tick.display or tick.label.replace(" ", "") in seen


def _inside(app: Any) -> str:
    """What the screen shows within the dialog's border."""
    box = app.screen.query_one("#dialog").region.shrink((1, 1, 1, 1))
    return "\n".join(line[box.x : box.right] for line in frame(app).split("\n")[box.y : box.bottom])
