"""The dialog that names a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import work
from textual.widget import Widget
from textual.widgets import Input

from ...store.errors import ForkpointError
from ...store.model import Operation, Point
from ..actions import Where
from ..inventory import HEAD
from ..widgets.choices import Field
from ..widgets.sheet import text
from ..words import moment, one_line
from .dialog import Dialog


class LabelDialog(Dialog[Operation]):
    """Asks for a label; an empty one takes the label away."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    AUTO_FOCUS = "#label"
    verb = "Label"

    def __init__(self, point: Point) -> None:
        super().__init__()
        self.point = point

    def compose_head(self) -> Iterable[Widget]:
        name = Input(self.point.label, id="label", placeholder="a name for this checkpoint", max_length=80)
        yield Field("Label", name, HEAD - 1)

    def begin(self) -> None:
        self.heading = f"Label the checkpoint of {moment(self.point.time, self.app.now())}"
        super().begin()
        words = "A label stands in the tree, and is a name for every command."
        if self.point.label:
            words = f"It is called “{one_line(self.point.label)}” now; an empty name takes that away."
        self.tell([text(words, "muted")])

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        name = self.query_one("#label", Input).value.strip()
        if name == self.point.label:
            self.leave(None)
            return
        try:
            done = await self.ask(lambda store: store.label(self.point.id, name))
        except ForkpointError as error:
            self.failed(error)
            return
        self.leave(done)
