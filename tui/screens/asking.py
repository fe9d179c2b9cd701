"""A dialog that tells one thing and does it when that is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import work

from ...store.errors import ForkpointError
from ...store.model import Operation
from ..actions import Where
from ..widgets.sheet import text
from .dialog import Dialog

if TYPE_CHECKING:
    from ...store.api import Store


class AskDialog(Dialog[Operation]):
    """Asks before an act, and answers with what it recorded."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)

    def __init__(self, heading: str, told: str, verb: str, act: Callable[[Store], Operation]) -> None:
        super().__init__()
        self.heading, self.verb = heading, verb
        self._told = told
        self._act = act

    def begin(self) -> None:
        super().begin()
        self.tell([text(self._told)])

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        try:
            done = await self.ask(self._act)
        except ForkpointError as error:
            self.failed(error)
            return
        self.leave(done)


class RecoverDialog(Dialog[str]):
    """Settles a restore that was interrupted: back to what was before it."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    heading = "A restore was interrupted"
    verb = "Roll back"

    def begin(self) -> None:
        super().begin()
        self.tell(
            [
                text("Rolling back brings the files to what they were before it."),
                text("A file that somebody changed since is left alone, and named.", "muted"),
                text("forkpoint recover can also finish it.", "muted"),
            ]
        )

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        try:
            findings = await self.ask(lambda store: store.recover(back=True))
        except ForkpointError as error:
            self.failed(error)
            return
        self.leave(" · ".join(finding.what for finding in findings))
