"""Colours and signs: three meanings have a colour (added, removed, attention), and none is told by colour alone."""

from __future__ import annotations

import codecs
import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.style import Style
    from textual.theme import Theme


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters that the app draws with."""

    checkpoint: str = "●"
    partial: str = "◐"
    idle: str = "○"
    here: str = "◀"
    folded: str = "▸"
    unfolded: str = "▾"
    line: str = "│"
    branch: str = "├─"
    rule: str = "─"
    error: str = "✗"
    pin: str = "◆"
    mark: str = "◇"
    back: str = "↩"
    fork: str = "⎇"
    agent: str = "↳"
    compaction: str = "≡"
    more: str = "…"
    cut: str = "»"
    arrow: str = "→"
    minus: str = "−"
    dot: str = "·"
    left_quote: str = "“"
    right_quote: str = "”"
    bar: str = "▌"
    bullet: str = "•"
    crossing: str = "┼"
    picked: str = "(•)"
    unpicked: str = "( )"
    ticked: str = "[x]"
    unticked: str = "[ ]"

    def drawn(self, text: str) -> str:
        """A text with the signs inside of it as the terminal can show them."""
        return text if self is not PLAIN or text.isascii() else text.translate(TO_PLAIN)


PLAIN = Signs(
    checkpoint="*",
    partial="o",
    idle="-",
    here="<",
    folded=">",
    unfolded="v",
    line="|",
    branch="+-",
    rule="-",
    error="x",
    pin="#",
    mark="=",
    back="~",
    fork="Y",
    agent="&",
    compaction="%",
    more="~",
    cut=">",
    arrow="->",
    minus="-",
    dot="-",
    left_quote='"',
    right_quote='"',
    bar="|",
    bullet="-",
    crossing="+",
    picked="(*)",
)
"""For terminals and locales without the other ones."""

TO_PLAIN = str.maketrans({"●": "*", "◐": "o", "·": "-", "−": "-", "…": "~", "→": ">", "“": '"', "”": '"', "»": ">"})
"""The signs that stand inside of sentences."""


def signs_for(environment: Mapping[str, str] = os.environ) -> Signs:
    """The signs that this process's terminal can show; FORKPOINT_ASCII=1 asks for the plain ones."""
    if environment.get("FORKPOINT_ASCII") or environment.get("TERM") == "linux":
        return PLAIN
    try:
        encoding = codecs.lookup(locale.getpreferredencoding(False)).name
    except LookupError:
        return PLAIN
    return Signs() if encoding == "utf-8" else PLAIN


NO_COLOURS = "no-colour"
"""The theme of greys, which NO_COLOR asks for."""


def themes() -> list[Theme]:
    """The app's own themes; the first is the default."""
    calm = {
        "added": "#8fc29a",
        "added-ground": "#20352a",
        "added-word": "#2f6345",
        "removed": "#dd8f97",
        "removed-ground": "#3b252b",
        "removed-word": "#783a48",
        "attention": "#e8b45a",
        "row": "#2b4a66",
        "row-idle": "#26333f",
        "bar": "#20272d",
        "gap": "#1b1f23",
        "muted": "#7d868d",
        "faint": "#4f585f",
        "border-blurred": "#3a444c",
        "footer-background": "#20272d",
        "code-keyword": "#9db8d8",
        "code-string": "#b9c7a1",
        "code-number": "#d3b58f",
        "code-name": "#d8d3a8",
    }
    light = {
        "added": "#1d6b37",
        "added-ground": "#dcefe0",
        "added-word": "#a5d8b3",
        "removed": "#a32638",
        "removed-ground": "#f8e0e2",
        "removed-word": "#eeb0b7",
        "attention": "#8a5800",
        "row": "#bcd7f0",
        "row-idle": "#dfe6ec",
        "bar": "#e6eaed",
        "gap": "#f1f3f4",
        "muted": "#5d676e",
        "faint": "#a3adb4",
        "border-blurred": "#b8c1c7",
        "footer-background": "#e6eaed",
        "code-keyword": "#1d4f8c",
        "code-string": "#4a6414",
        "code-number": "#8a4b08",
        "code-name": "#5d5310",
    }
    blue_orange = {
        "added": "#86b8ee",
        "added-ground": "#1b3147",
        "added-word": "#285f94",
        "removed": "#eda35d",
        "removed-ground": "#40301d",
        "removed-word": "#8a5520",
    }
    dark = {
        "primary": "#6ea8d8",
        "secondary": "#7d868d",
        "accent": "#e8b45a",
        "warning": "#e8b45a",
        "error": "#dd8f97",
        "success": "#8fc29a",
        "foreground": "#d9dcde",
        "background": "#16191c",
        "surface": "#1a1e21",
        "panel": "#20272d",
    }
    pale = {
        "primary": "#2468a0",
        "secondary": "#5d676e",
        "accent": "#8a5800",
        "warning": "#8a5800",
        "error": "#a32638",
        "success": "#1d6b37",
        "foreground": "#20262a",
        "background": "#fbfcfc",
        "surface": "#f4f6f7",
        "panel": "#e6eaed",
    }
    contrast = {
        "added": "#7dff9b",
        "added-ground": "#002a0c",
        "added-word": "#005c1c",
        "removed": "#ffb0b8",
        "removed-ground": "#3a0008",
        "removed-word": "#8a0018",
        "attention": "#ffd75f",
        "row": "#004a9e",
        "row-idle": "#333333",
        "bar": "#1c1c1c",
        "gap": "#101010",
        "muted": "#d0d0d0",
        "faint": "#a8a8a8",
        "border-blurred": "#a8a8a8",
        "footer-background": "#1c1c1c",
        "code-keyword": "#9fd0ff",
        "code-string": "#d8ff9f",
        "code-number": "#ffd0a0",
        "code-name": "#ffffaf",
    }
    greys = {
        "added": "#ffffff",
        "added-ground": "#303030",
        "added-word": "#5c5c5c",
        "removed": "#c4c4c4",
        "removed-ground": "#1c1c1c",
        "removed-word": "#484848",
        "attention": "#ffffff",
        "row": "#4a4a4a",
        "row-idle": "#303030",
        "bar": "#242424",
        "gap": "#181818",
        "muted": "#a0a0a0",
        "faint": "#6c6c6c",
        "border-blurred": "#6c6c6c",
        "footer-background": "#242424",
        "code-keyword": "#ffffff",
        "code-string": "#d0d0d0",
        "code-number": "#d0d0d0",
        "code-name": "#e4e4e4",
    }
    stark = {
        "primary": "#9fd0ff",
        "secondary": "#d0d0d0",
        "accent": "#ffd75f",
        "warning": "#ffd75f",
        "error": "#ffb0b8",
        "success": "#7dff9b",
        "foreground": "#ffffff",
        "background": "#000000",
        "surface": "#000000",
        "panel": "#1c1c1c",
    }
    grey = {
        "primary": "#d0d0d0",
        "secondary": "#a0a0a0",
        "accent": "#ffffff",
        "warning": "#ffffff",
        "error": "#ffffff",
        "success": "#ffffff",
        "foreground": "#e4e4e4",
        "background": "#121212",
        "surface": "#181818",
        "panel": "#242424",
    }
    return [
        _theme("calm", dark, calm, dark=True),
        _theme("calm-light", pale, light, dark=False),
        _theme("calm-blue-orange", dark, calm | blue_orange, dark=True),
        _theme("high-contrast", stark, contrast, dark=True),
        _theme(NO_COLOURS, grey, greys, dark=True),
    ]


def _theme(name: str, base: Mapping[str, str], variables: Mapping[str, str], *, dark: bool) -> Theme:
    from textual.theme import Theme

    colours = {key: value for key, value in base.items() if key != "primary"}
    theme = Theme(name, base["primary"], dark=dark, variables=dict(variables))
    for key, value in colours.items():
        setattr(theme, key, value)
    return theme


@dataclass(frozen=True, slots=True)
class Ink:
    """How a piece of text looks: names of theme variables, and what is left of it without colours."""

    colour: str = ""
    ground: str = ""
    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    reverse: bool | None = None


INKS: Mapping[str, Ink] = {
    "text": Ink(),
    "strong": Ink(bold=True),
    "muted": Ink("muted"),
    "faint": Ink("faint"),
    "title": Ink(bold=True, underline=True),
    "said": Ink(italic=True),
    "link": Ink(underline=True),
    "code": Ink(ground="bar"),
    "prompt-bar": Ink("primary"),
    "added": Ink("added"),
    "removed": Ink("removed"),
    "attention": Ink("attention", bold=True),
    "key": Ink("attention", bold=True),
    "chip": Ink("muted", bold=True),
    "hit": Ink("attention", bold=True, underline=True),
    "here": Ink("attention", bold=True),
    "row": Ink(ground="row"),
    "row-idle": Ink(ground="row-idle"),
    "head": Ink(ground="bar", bold=True),
    "bar": Ink(ground="bar"),
    "old": Ink(ground="removed-ground"),
    "new": Ink(ground="added-ground"),
    "gap": Ink(ground="gap"),
    "old-word": Ink(ground="removed-word", bold=True),
    "new-word": Ink(ground="added-word", bold=True),
    "code-keyword": Ink("code-keyword"),
    "code-string": Ink("code-string"),
    "code-number": Ink("code-number"),
    "code-name": Ink("code-name"),
    "code-comment": Ink("muted", italic=True),
    "selected": Ink(reverse=True),
}


def inked(base: Style, names: str, variables: Mapping[str, str]) -> Style:
    """A style with these inks (separated by blanks) over it, the later ones over the earlier."""
    from rich.style import Style

    for name in names.split():
        ink = INKS[name]
        base += Style(
            color=variables[ink.colour] if ink.colour else None,
            bgcolor=variables[ink.ground] if ink.ground else None,
            bold=ink.bold,
            italic=ink.italic,
            underline=ink.underline,
            reverse=ink.reverse,
        )
    return base
