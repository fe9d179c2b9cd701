"""The dialog that switches recording on: it shows the agents' files and the lines that are added, first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work

from ...store.errors import ForkpointError
from ..actions import Where
from ..widgets.choices import Press
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import agent, agents, count, one_line
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
            found = await self.ask(look)
        except ForkpointError as error:
            self.tell([])
            self.failed(error)
            return
        self.steps = [step for step in found if step.changes]
        self.tell(steps_told(self.steps, [step for step in found if step.error is not None]))
        self.query_one("#confirm", Press).set_ready(bool(self.steps))

    def may_act(self) -> bool:
        return bool(self.steps)

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        steps = self.steps
        self.query_one("#confirm", Press).name_it("Switching on …")

        def switch_on(store: Store) -> str:
            tried = [step.carried_out() for step in steps]
            failed = [step for step in tried if step.error is not None]
            done = [step.agent for step in tried if step.error is None]
            if failed and failed[0].error is not None and not done:
                raise failed[0].error
            files = "" if store.exists else f", first checkpoint of {count(store.save().files, 'file')} taken"
            missed = "".join(f" Not {agent(step.agent)}: {one_line(str(step.error))}." for step in failed)
            left = "".join(f" {agent(step.agent)}: {one_line(step.left)}." for step in tried if step.left)
            return f"Recording {agents(done)}{files}.{missed}{left}"

        try:
            words = await self.ask(switch_on)
        except ForkpointError as error:
            self.query_one("#confirm", Press).name_it(self.verb)
            self.failed(error)
            return
        self.leave(words)


def steps_told(steps: Sequence[Step], failed: Sequence[Step] = ()) -> list[Paragraph]:
    """Which files change, and how; the agents' own lines stay as they are. Then what cannot be done, and why."""
    told = [
        text(f"{agent(step.agent)} stays as it is: {one_line(str(step.error))}", "attention", hang=2) for step in failed
    ]
    if not steps:
        return told or [text("Recording is switched on already.", "muted")]
    paragraphs = [
        text("A checkpoint is made at each prompt and around each call that may write."),
        text("That never slows or stops an agent; forkpoint uninstall takes exactly this out again.", "muted"),
    ]
    if told:
        paragraphs += [BLANK, *told]
    for step in steps:
        if step.change is not None:
            paragraphs += [BLANK, text(f"{agent(step.agent)}: {one_line(step.change.file)}", "strong")]
            paragraphs += [
                text(one_line(row), INKS.get(row[:1], "muted"), indent=1, wrap=False) for row in step.change.lines
            ]
    return paragraphs
