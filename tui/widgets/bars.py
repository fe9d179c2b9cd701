"""The one-line bars: where one is, what is recorded, which keys work here, and what just happened."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from ..actions import Action, key_names
from ..theme import inked
from .lines import Span, clip, spans_length
from .sheet import Paragraph, wrapped

if TYPE_CHECKING:
    from ..app import ForkpointApp


class Bar(Widget):
    """One line of spans at the left, and some at the right where there is room for both."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    def __init__(self, *, ident: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=ident, classes=classes)
        self.left: list[Span] = []
        self.right: list[Span] = []

    def show(self, left: Sequence[Span], right: Sequence[Span] = ()) -> None:
        """Draws other spans."""
        self.left, self.right = list(left), list(right)
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # Another theme may change the inks and leave what the style sheet says.
        self.refresh()

    def _style(self, names: str) -> Style:
        return inked(self.rich_style, names, self.app.theme_variables)

    def fitted(self, width: int) -> list[Span]:
        """The spans that fit into a width."""
        room = width - 2
        right = self.right if spans_length(self.right) + 24 <= room else []
        left: list[Span] = []
        space = room - spans_length(right) - (1 if right else 0)
        for text, ink in self.left:
            cut = clip(text, space, self.app.signs.more)
            left.append((cut, ink))
            space -= cell_len(cut)
            if space <= 0:
                break
        return [(" ", "text"), *left, (" " * max(space, 0), "text"), *([(" ", "text")] if right else []), *right]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y:
            return Strip.blank(width, self.rich_style)
        segments = [Segment(self.app.signs.drawn(text), self._style(ink)) for text, ink in self.fitted(width) if text]
        return Strip(segments).adjust_cell_length(width, self.rich_style)


class Tabs(Bar):
    """The names of tabs behind their keys, three spans each; a click on one shows it."""

    async def on_click(self, event: Click) -> None:
        at = 1
        for number, (text, _) in enumerate(self.left):
            at += cell_len(text)
            if event.x < at:
                name = self.left[number - number % 3 + 1][0].strip().lower()
                await self.screen.run_action(f"show_{name}")
                return


class KeyBar(Bar):
    """The keys that work here, the most used first, as many as fit; a click does what the key does."""

    def __init__(self, *, ident: str | None = None) -> None:
        super().__init__(ident=ident)
        self.actions: list[Action] = []

    def show_actions(self, actions: Sequence[Action]) -> None:
        """Offers other actions."""
        self.actions = sorted((action for action in actions if action.footer), key=lambda action: action.footer)
        self.refresh()

    def shown(self, width: int) -> list[Action]:
        """The actions that fit; help and leaving never give way."""
        must = [action for action in self.actions if action.footer >= 20]
        room = width - 1 - sum(self._length(action) for action in must)
        fitting: list[Action] = []
        for action in self.actions:
            if action in must:
                continue
            room -= self._length(action)
            if room < 0:
                break
            fitting.append(action)
        return [*fitting, *must]

    def _length(self, action: Action) -> int:
        return cell_len(key_names(action)[0]) + 1 + cell_len(action.label) + 2

    def fitted(self, width: int) -> list[Span]:
        spans: list[Span] = [(" ", "text")]
        for action in self.shown(width):
            spans += [(key_names(action)[0], "key"), (f" {action.label}  ", "text")]
        return spans

    async def on_click(self, event: Click) -> None:
        at = 1
        for action in self.shown(self.size.width):
            at += self._length(action)
            if event.x < at - 2:
                where = {"everywhere": self.app, "detail": self.screen.focused}.get(action.where) or self.screen
                await where.run_action(action.id)
                return


class Notice(Bar):
    """What just happened, until something else does or esc takes it away; on as many lines as it needs, up to four."""

    DEFAULT_CSS = "Notice { display: none; height: auto; max-height: 4; } Notice.-on { display: block; }"

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def lines(self, width: int) -> list[list[Span]]:
        """What is said, in so many cells."""
        paragraph = Paragraph([(text, ink) for text, ink in self.left if text], indent=1, hang=2)
        lines = wrapped(paragraph, width - 1)
        return [
            [("".join(text for text, _ in run), ink) for ink, run in groupby(line, key=lambda span: span[1])]
            for line in lines
        ]

    def render_line(self, y: int) -> Strip:
        width, lines = self.size.width, self.lines(self.size.width)
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        segments = [Segment(self.app.signs.drawn(text), self._style(ink)) for text, ink in lines[y] if text]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def say(self, text: str, ink: str = "text", *, then: str = "") -> None:
        """Tells something: what it is, and in words of less weight what can be done then."""
        sign = "! " if ink == "attention" else ""
        self.show([(sign + text, ink), (f"  {then}" if then else "", "muted")])
        self.refresh(layout=True)
        self.add_class("-on")

    def hush(self) -> bool:
        """Takes the notice away; False where there was none."""
        was_on = self.has_class("-on")
        self.remove_class("-on")
        return was_on

    @property
    def words(self) -> str:
        """What it says now."""
        return "".join(text for text, _ in self.left) if self.has_class("-on") else ""
