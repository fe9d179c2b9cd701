"""What dialogs are made of: told text, choices, ticks and buttons; none of them answers to a printable key alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from ..theme import inked
from .lines import Span
from .sheet import Paragraph, text, wrapped

if TYPE_CHECKING:
    from ..app import ForkpointApp


class Painted(Widget):
    """A small widget whose lines are spans."""

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    def lines(self, width: int) -> list[list[Span]]:
        """What is painted at a width; a subclass says it."""
        del width
        return []

    def ink(self, names: str) -> Style:
        """The style of inks over each other, on the widget's ground."""
        return inked(self.rich_style, names, self.app.theme_variables)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return max((sum(cell_len(text) for text, _ in line) for line in self.lines(container.width)), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self.lines(width)
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        strip = Strip([Segment(self.app.signs.drawn(text), self.ink(ink)) for text, ink in lines[y] if text])
        return strip.crop_extend(0, width, self.rich_style)


class Told(Painted):
    """Paragraphs, as high as they need."""

    DEFAULT_CSS = "Told { height: auto; width: 1fr; }"

    def __init__(self, paragraphs: Iterable[Paragraph] = (), *, ident: str | None = None) -> None:
        super().__init__(id=ident)
        self.paragraphs = list(paragraphs)
        self._wrapped: tuple[int, list[list[Span]]] = (-1, [])

    def show(self, paragraphs: Iterable[Paragraph]) -> None:
        """Tells something else."""
        self.paragraphs = list(paragraphs)
        self._wrapped = (-1, [])
        self.refresh(layout=True)

    def lines(self, width: int) -> list[list[Span]]:
        if self._wrapped[0] != width:
            self._wrapped = (width, [line for paragraph in self.paragraphs for line in wrapped(paragraph, width)])
        return self._wrapped[1]

    @property
    def words(self) -> str:
        """All that is told, for tests and copying."""
        return "\n".join("".join(text for text, _ in paragraph.spans) for paragraph in self.paragraphs)


@dataclass(frozen=True, slots=True)
class Option:
    """One of several things to choose."""

    value: str
    label: str
    key: str = ""
    """The key of the dialog that chooses it."""


class Choice(Painted, can_focus=True):
    """One of several; none is chosen until the person does."""

    DEFAULT_CSS = "Choice { height: auto; width: 1fr; }"
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("left", "look(-1)", show=False),
        Binding("right", "look(1)", show=False),
        Binding("enter,space", "pick", show=False),
    ]

    @dataclass
    class Picked(Message):
        choice: Choice
        value: str

        @property
        def control(self) -> Choice:
            return self.choice

    def __init__(
        self,
        lead: str,
        options: Sequence[Option],
        *,
        value: str = "",
        column: int = 0,
        ident: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(id=ident, name=name)
        self.lead = lead
        self.column = column
        """Where the options begin; 0: right behind the lead."""
        self.options = list(options)
        self.value = value
        self.at = max(0, next((n for n, option in enumerate(options) if option.value == value), 0))

    def pick(self, value: str) -> None:
        """Chooses, and tells so."""
        self.at = next(n for n, option in enumerate(self.options) if option.value == value)
        if self.value != value:
            self.value = value
            self.post_message(self.Picked(self, value))
        self.refresh()

    def offer(self, options: Sequence[Option]) -> None:
        """Offers other options; the choice stays while it is one of them."""
        self.options = list(options)
        self.at = min(self.at, len(self.options) - 1)
        self.refresh(layout=True)

    def action_look(self, by: int) -> None:
        self.at = (self.at + by) % len(self.options)
        self.refresh()

    def action_pick(self) -> None:
        self.pick(self.options[self.at].value)

    def _pieces(self) -> list[list[Span]]:
        signs = self.app.signs
        pieces: list[list[Span]] = []
        for number, option in enumerate(self.options):
            chosen = option.value == self.value
            focused = self.has_focus and number == self.at
            piece: list[Span] = [(signs.picked if chosen else signs.unpicked, "strong" if chosen else "text")]
            piece.append((option.key, "key"))
            ink = "strong" if chosen else "text"
            pieces.append([*piece, (f" {option.label}", f"{ink} selected" if focused else ink)])
        return pieces

    def lines(self, width: int) -> list[list[Span]]:
        pieces = [(piece, sum(cell_len(words) for words, _ in piece)) for piece in self._pieces()]
        lead = f"{self.lead:<{self.column}}" if self.column or not self.lead else f"{self.lead} "
        gap = 2 if cell_len(lead) + sum(length + 2 for _, length in pieces) <= width else 1
        lead += " " * (gap - 1) if self.lead and not self.column else ""
        above = cell_len(lead) + max(length for _, length in pieces) > width
        # A lead that leaves no room, such as a long path, stands on lines of its own.
        out: list[list[Span]] = [[(part, "strong")] for part in (chop_cells(lead, width) if above else [lead])]
        indent = self.column or 2
        used = width if above else cell_len(lead)
        for piece, length in pieces:
            if used and used + length > width:
                out.append([(" " * indent, "text")])
                used = indent
            out[-1].extend([*piece, (" " * gap, "text")])
            used += length + gap
        return out

    def on_click(self, event: Click) -> None:
        """Anywhere on an option: its sign, its key or its words."""
        signs = (self.app.signs.picked, self.app.signs.unpicked)
        place = start = 0
        for line in self.lines(self.size.width)[event.y : event.y + 1]:
            for words, _ in line:
                start = place if words in signs else start
                place += cell_len(words)
                hit = next((option for option in self.options if words == f" {option.label}"), None)
                if hit is not None and start <= event.x < place:
                    self.pick(hit.value)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


class Tick(Painted, can_focus=True):
    """Yes or no."""

    DEFAULT_CSS = "Tick { height: 1; width: 1fr; }"
    BINDINGS: ClassVar[list[Binding]] = [Binding("enter,space", "turn", show=False)]  # type: ignore[assignment]

    @dataclass
    class Turned(Message):
        tick: Tick
        on: bool

    def __init__(self, label: str, *, ident: str | None = None) -> None:
        super().__init__(id=ident)
        self.label = label
        self.on = False

    def action_turn(self) -> None:
        self.on = not self.on
        self.post_message(self.Turned(self, self.on))
        self.refresh()

    def on_click(self) -> None:
        self.action_turn()

    def lines(self, width: int) -> list[list[Span]]:
        signs = self.app.signs
        ink = "selected" if self.has_focus else "text"
        return [[(signs.ticked if self.on else signs.unticked, "text"), (f" {self.label}", ink)]]

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


class Field(Horizontal):
    """A text field with its name before it, on one line."""

    DEFAULT_CSS = "Field { height: 1; width: 1fr; } Field Input { width: 1fr; }"

    def __init__(self, lead: str, field: Input, column: int) -> None:
        super().__init__()
        self._told = Told([text(lead, "strong")])
        self._told.styles.width = column
        self.field = field

    def compose(self) -> ComposeResult:
        yield self._told
        yield self.field


class Press(Painted, can_focus=True):
    """A button: Enter or a click presses it, and its key does from anywhere in the dialog."""

    DEFAULT_CSS = "Press { height: 1; width: auto; margin-left: 2; }"
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("enter", "press", show=False),
        Binding("right", "app.focus_next", show=False),
        Binding("left", "app.focus_previous", show=False),
    ]

    @dataclass
    class Pressed(Message):
        press: Press

        @property
        def control(self) -> Press:
            return self.press

    def __init__(self, label: str, key: str, *, ident: str, main: bool = False) -> None:
        super().__init__(id=ident)
        self.label = label
        self.key = key
        self.main = main
        """The one that does what the dialog is for."""
        self.ready = True

    def name_it(self, label: str) -> None:
        """Gives it another label."""
        self.label = label
        self.refresh(layout=True)

    def set_ready(self, ready: bool) -> None:
        """Whether it can be pressed now; it is drawn so."""
        self.ready = ready
        self.refresh()

    def action_press(self) -> None:
        self.post_message(self.Pressed(self))

    def on_click(self) -> None:
        self.action_press()

    def lines(self, width: int) -> list[list[Span]]:
        if self.has_focus:
            return [[(f" {self.label} ", "strong selected"), (f"{self.key} ", "selected")]]
        ink = "muted" if not self.ready else "strong" if self.main else "text"
        return [[(f" {self.label} ", f"{ink} bar"), (f"{self.key} ", "key bar" if self.ready else "muted bar")]]

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
