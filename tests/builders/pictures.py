"""The screen as text that a snapshot keeps: what stands there, and below it in which styles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.segment import Segment
from rich.style import Style

MOVING = re.compile(r"\bin \d\.\d{3}s")
"""How long a test took."""
NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def picture(app: Any) -> str:
    """The screen's lines; then, for each of them, a letter for the style of every cell; then what the letters mean.

    Letters are given in the order in which styles come. A style that only a blank has is told by its ground.
    """
    names: dict[str, str] = {}
    lines: list[str] = []
    styles: list[str] = []
    for strip in app.screen._compositor.render_strips():
        lines.append("".join(segment.text for segment in strip).rstrip())
        styles.append(_runs(strip, names))
    text = "\n".join(lines)
    text = MOVING.sub("in 0.001s", text)
    legend = [f"{name} = {style}" for style, name in names.items()]
    return "\n".join(["", text, "", *_numbered(styles), "", *legend, ""])


def _runs(strip: Iterable[Segment], names: dict[str, str]) -> str:
    """The styles of a line: a letter and how many cells it goes on for."""
    runs: list[tuple[str, int]] = []
    for text, style, _ in strip:
        name = names.setdefault(_told(style or Style(), blank=not text.strip()), NAMES[len(names)])
        length = Segment(text).cell_length
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + length)
        else:
            runs.append((name, length))
    return " ".join(f"{name}{length}" for name, length in runs)


def _told(style: Style, *, blank: bool) -> str:
    """A style in words: colours, and what else can be seen of it."""
    ground = style.bgcolor.get_truecolor().hex if style.bgcolor else "default"
    if blank and not (style.underline or style.reverse or style.strike):
        return f"on {ground}"
    ink = style.color.get_truecolor().hex if style.color else "default"
    marks = [mark for mark in ("bold", "dim", "italic", "underline", "reverse", "strike") if getattr(style, mark)]
    return " ".join([*marks, ink, "on", ground])


def _numbered(styles: list[str]) -> list[str]:
    """Lines of styles, those that are the same one after the other told once."""
    told: list[str] = []
    first = 0
    for number in range(1, len(styles) + 1):
        if number == len(styles) or styles[number] != styles[first]:
            rows = f"{first + 1}" if number == first + 1 else f"{first + 1}-{number}"
            told.append(f"{rows}: {styles[first]}")
            first = number
    return told
