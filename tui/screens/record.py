"""The dialog that switches recording on: it shows the agent's settings file and the lines that are added, first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work

from ...store.errors import ForkpointError
from ..actions import Where
from ..widgets.choices import Press
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import count, one_line
from .dialog import Dialog

if TYPE_CHECKING:
    from ...store.api import Store
    from ..installing import Step

INKS = {"+": "added", "-": "removed"}


class RecordDialog(Dialog[str]):
    """Adds hooks for the agents in use, then takes the first checkpoint."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    heading = "Switch recording on"
    verb = "Switch on"

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def begin(self) -> None:
        super().begin()
        self.query_one("#confirm", Press).set_ready(False)
        self.tell([text("Looking which agents are in use …", "muted")])
        self.plan()

    @work(exclusive=True, group="plan")
    async def plan(self) -> None:
        def look(store: Store) -> list[Step]:
            from ..installing import planned_installs

            return planned_installs(store.root)

        try:
            self.steps = [step for step in await self.ask(look) if step.change.changes]
        except ForkpointError as error:
            self.tell([])
            self.failed(error)
            return
        self.tell(steps_told(self.steps))
        self.query_one("#confirm", Press).set_ready(bool(self.steps))

    def may_act(self) -> bool:
        return bool(self.steps)

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        steps = self.steps
        self.query_one("#confirm", Press).name_it("Switching on …")

        def switch_on(store: Store) -> str:
            done = [step.carried_out() for step in steps]
            files = "" if store.exists else f", first checkpoint of {count(store.save().files, 'file')} taken"
            return f"Recording {' and '.join(step.agent for step in done)}{files}."

        try:
            words = await self.ask(switch_on)
        except ForkpointError as error:
            self.query_one("#confirm", Press).name_it(self.verb)
            self.failed(error)
            return
        self.leave(words)


def steps_told(steps: list[Step]) -> list[Paragraph]:
    """Which files change, and how; the agent's own lines stay as they are."""
    if not steps:
        return [text("Recording is switched on already.", "muted")]
    paragraphs = [
        text("Hooks make a checkpoint at each prompt and around each call that may write."),
        text("They never slow or stop the agent; forkpoint uninstall takes exactly them out again.", "muted"),
    ]
    for step in steps:
        paragraphs += [BLANK, text(one_line(step.change.file), "strong")]
        paragraphs += [
            text(one_line(row), INKS.get(row[:1], "muted"), indent=1, wrap=False) for row in step.change.lines
        ]
    return paragraphs
