"""Signs and colours where a terminal has few of either."""

from __future__ import annotations

import locale

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.theme import INKS, PLAIN, Signs, signs_for, themes
from textual.color import Color

from tests.builders.app import a_parser, frame, press, running

BLACK = Color(0, 0, 0)


def test_plain_signs_are_used_where_others_cannot_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert signs_for({}) == Signs()
    assert signs_for({"TERM": "linux"}) == PLAIN
    assert signs_for({"FORKPOINT_ASCII": "1"}) == PLAIN
    monkeypatch.setattr(locale, "getpreferredencoding", lambda do_setlocale=True: "ANSI_X3.4-1968")
    assert signs_for({}) == PLAIN


def test_every_plain_sign_is_ascii() -> None:
    assert all(getattr(PLAIN, name).isascii() for name in Signs.__dataclass_fields__)
    assert PLAIN.drawn("14 ● · +3 −2 “so” …") == '14 * - +3 -2 "so" ~'


def test_every_theme_has_every_colour_that_is_drawn_with() -> None:
    wanted = {name for ink in INKS.values() for name in (ink.colour, ink.ground) if name}
    for theme in themes():
        assert wanted <= {*theme.variables, *theme.to_color_system().generate()}


def test_changed_lines_and_words_can_be_read_in_every_theme() -> None:
    for theme in themes():
        colours = {**theme.to_color_system().generate(), **theme.variables}
        for side in ("added", "removed"):
            assert contrast(colours["foreground"], colours[f"{side}-word"]) > 4.4
            assert contrast(colours["muted"], colours[f"{side}-ground"]) > 3
            for ink in ("foreground", side, "code-keyword", "code-string", "code-number", "code-name"):
                assert contrast(colours[ink], colours[f"{side}-ground"]) > 4.5, (theme.name, side, ink)


def contrast(one: str, other: str) -> float:
    """How far two colours are apart in lightness, as WCAG counts it: 1 to 21."""
    lightness = sorted(_luminance(Color.parse(colour)) for colour in (one, other))
    return (lightness[1] + 0.05) / (lightness[0] + 0.05)


def _luminance(colour: Color) -> float:
    parts = [value / 255 for value in (colour.r, colour.g, colour.b)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


async def test_without_colours_the_same_signs_tell_everything(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_parser(tmp_path / "headers")
    store = Store.open(tmp_path / "headers")
    async with running(store, (100, 30)) as pilot:
        await press(pilot, "K")
        with_colours = frame(pilot.app)
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(store, (100, 30)) as pilot:
        await press(pilot, "K")
        assert frame(pilot.app) == with_colours
        strips = pilot.app.screen._compositor.render_strips()
        painted = [segment.style for strip in strips for segment in strip.apply_filter(pilot.app._filters[-1], BLACK)]
        greys = [style.color.get_truecolor() for style in painted if style and style.color]
        assert all(grey.red == grey.green == grey.blue for grey in greys)


async def test_another_theme_of_textual_draws_with_our_colours(tmp_path) -> None:
    a_parser(tmp_path / "headers")
    async with running(Store.open(tmp_path / "headers")) as pilot:
        for name in ("textual-light", "ansi-dark", "calm-light", "calm-blue-orange"):
            pilot.app.theme = name
            await pilot.pause()
            assert "Now fold continuation lines" in frame(pilot.app)
