"""What every dialog is: told text, then choices, then buttons, the one that cancels first and focused.

No printable key does what a dialog is for, whatever opened it: only ctrl+s, or moving to the button and Enter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from ...store.errors import ForkpointError
from ..actions import Where
from ..theme import PLAIN
from ..widgets.choices import Press, Told
from ..widgets.lines import bindings, clip_title
from ..widgets.sheet import Paragraph, text
from ..widgets.toosmall import is_covered
from .page import in_words
from .stacked import Stacked

if TYPE_CHECKING:
    from textual.css.types import EdgeType

    from ..app import ForkpointApp

Result = TypeVar("Result")

KEYS = {binding.action: binding for binding in bindings("dialog")}


class Body(VerticalScroll, can_focus=False):
    """What a dialog tells and asks; scrolls when it is higher than the screen."""


class Dialog(Stacked, ModalScreen[Result], Generic[Result]):
    """A dialog that is left with esc, and done with ctrl+s."""

    PLACES: ClassVar[tuple[Where, ...]] = ()
    AUTO_FOCUS = "#cancel"
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        KEYS["cancel"],
        KEYS["confirm"],
        Binding("?,f1", "app.help", id="everywhere.help", show=False),
        Binding("down", "scroll_body(1)", show=False),
        Binding("up", "scroll_body(-1)", show=False),
        Binding("pagedown", "scroll_body(8)", show=False),
        Binding("pageup", "scroll_body(-8)", show=False),
    ]

    heading = ""
    """The title in the border."""
    verb = "Do it"
    """The label of the button that does it."""

    busy = False
    """It is being done."""
    _title = ""

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            with Body(id="body"):
                yield from self.compose_head()
                yield Told(ident="told")
                yield Told(ident="title")
                yield from self.compose_body()
            yield Told(ident="trouble")
            with Horizontal(id="buttons"):
                yield Press("Cancel", self.app.choices.keys.named("dialog.cancel"), ident="cancel")
                yield from self.compose_buttons()
                if self.verb:
                    yield Press(self.verb, self.app.choices.keys.named("dialog.confirm"), ident="confirm", main=True)

    def compose_head(self) -> Iterable[Widget]:
        """Fields and choices above the told text."""
        return ()

    def compose_body(self) -> Iterable[Widget]:
        """Choices and fields below the told text."""
        return ()

    def compose_buttons(self) -> Iterable[Widget]:
        """Buttons between cancelling and doing it."""
        return ()

    def begin(self) -> None:
        box = self.query_one("#dialog")
        kind: EdgeType = "ascii" if self.app.signs is PLAIN else "round"
        box.styles.border = (kind, self.app.theme_variables["attention"])
        self.query_one("#trouble").display = False
        self.entitle(self.heading)

    def entitle(self, title: str) -> None:
        """Puts a title into the border; where it has no room there, it is told in full below."""
        self._title = title
        short = self.app.size.height < 22
        width = self.app.size.width if short else min(100, self.app.size.width * 9 // 10)
        shown = clip_title(title, width - 6, self.app.signs.more)
        self.query_one("#dialog").border_title = Content(shown).markup
        whole = self.query_one("#title", Told)
        whole.display = shown != title
        whole.show([text(title, "muted")])

    def resized(self, size: Size) -> None:
        self.entitle(self._title)
        self.call_after_refresh(self.fit)

    def tell(self, paragraphs: Iterable[Paragraph]) -> None:
        """What stands at the top of the dialog."""
        self.query_one("#told", Told).show(paragraphs)
        self.call_after_refresh(self.fit)

    def fit(self) -> None:
        """Gives the dialog all of the screen where what it tells needs that: then only the text in it scrolls."""
        body = self.query_one("#body")
        inside = max((child.virtual_region.bottom for child in body.displayed_children), default=0)
        around = 4 + self.query_one("#trouble").outer_size.height
        self.query_one("#dialog").set_class(inside + around > self.size.height * 94 // 100, "-full")

    def trouble(self, words: str, todo: str = "") -> None:
        """What is wrong, above the buttons; "" takes it away."""
        lines = [text(f"! {words}", "attention", hang=2)] if words else []
        if words and todo:
            lines.append(text(f"  {todo}", "muted", hang=2))
        self._beside(lines)

    def aside(self, words: str) -> None:
        """Something to know, above the buttons: nothing is wrong."""
        self._beside([text(words, "muted")])

    def _beside(self, lines: list[Paragraph]) -> None:
        told = self.query_one("#trouble", Told)
        told.display = bool(lines)
        told.show(lines)

    def failed(self, error: ForkpointError) -> None:
        """What the engine refused, and what to do; the dialog can be used again."""
        self.busy = False
        self.trouble(in_words(error), error.todo)

    def action_scroll_body(self, by: int) -> None:
        self.query_one("#body").scroll_relative(y=by, animate=False)

    def action_cancel(self) -> None:
        """Leaves; what is being done already cannot be left."""
        if not self.busy:
            self.leave(None)

    def action_confirm(self) -> None:
        """Does what the dialog is for, once, and only while it can be read."""
        if not self.busy and not is_covered(self) and self.may_act():
            self.busy = True
            self.trouble("")
            self.act()

    def may_act(self) -> bool:
        """Whether there is something to do now; tells why where there is not."""
        return True

    def act(self) -> object:
        """Does it, in a worker, and dismisses the dialog with what came of it."""

    def on_press_pressed(self, event: Press.Pressed) -> None:
        if event.press.id == "cancel":
            self.action_cancel()
        elif event.press.id == "confirm":
            self.action_confirm()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a field goes to the next one, after the last to the button that cancels; it never goes further.

        Of several that were pressed before the first was heard, only the first counts.
        """
        event.stop()
        if self.focused is event.input:
            fields = list(self.query(Input))
            after = fields[fields.index(event.input) + 1 :]
            (after[0] if after else self.query_one("#cancel")).focus()
