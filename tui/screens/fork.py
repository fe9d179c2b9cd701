"""The dialog that makes a branch."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.widget import Widget
from textual.widgets import Input

from ...store.errors import ForkpointError
from ...store.model import ForkResult
from ..actions import Where
from ..inventory import line
from ..widgets.choices import Press
from ..widgets.lines import clip
from ..widgets.sheet import text
from ..words import count, one_line
from .dialog import Dialog

if TYPE_CHECKING:
    from ...store.api import ForkPlan

TYPING = 0.15
"""Seconds after the last key before a name is tried."""


class ForkDialog(Dialog[ForkResult]):
    """Tells what a branch from here would carry, under which name, and how it goes on."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    verb = "Fork"
    heading = "Fork …"

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target = target
        self.plan: ForkPlan | None = None
        self._named = False

    def compose_body(self) -> Iterable[Widget]:
        yield Input(id="name", placeholder="a name for the branch", max_length=60)

    def begin(self) -> None:
        super().begin()
        self.query_one("#confirm", Press).set_ready(False)
        self.query_one("#name").border_title = "Name"
        self.tell([text("Looking what it would carry …", "muted")])
        self.replan()

    @work(exclusive=True, group="plan")
    async def replan(self, name: str = "") -> None:
        if name:
            await asyncio.sleep(TYPING)
        try:
            plan = await self.ask(lambda store: store.plan_fork(self.target, name=name))
        except ForkpointError as error:
            self.plan = None
            self.query_one("#confirm", Press).set_ready(False)
            self.failed(error)
            return
        self.plan = plan
        self.trouble("")
        self.show(plan)

    def show(self, plan: ForkPlan) -> None:
        """Tells a plan; the name that it proposes goes into the field once."""
        self.entitle(f"Fork from {one_line(plan.target.title)}")
        paragraphs = [line("Carries", [(f"{count(plan.entries, 'entry', 'entries')} of the conversation", "text")])]
        if plan.prompt_text:
            words = clip(one_line(plan.prompt_text), 70)
            paragraphs.append(line("Left out", [(f"“{words}”, handed back", "text")]))
        paragraphs.append(line("Files", [("stay as they are (r goes back with files)", "text")]))
        paragraphs.append(line("Goes on", [(one_line(shlex.join(plan.command)), "text")]))
        if plan.note:
            paragraphs.append(line("Note", [(one_line(plan.note), "attention")], "attention"))
        paragraphs.append(text("This conversation stays as it is.", "muted"))
        self.tell(paragraphs)
        self.query_one("#confirm", Press).set_ready(True)
        if not self._named:
            self._named = True
            with self.prevent(Input.Changed):
                self.query_one("#name", Input).value = plan.name

    def on_input_changed(self, event: Input.Changed) -> None:
        self.plan = None
        self.query_one("#confirm", Press).set_ready(False)
        if event.value.strip():
            self.replan(event.value.strip())
        else:
            self.trouble("A branch needs a name.")

    def may_act(self) -> bool:
        return self.plan is not None

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        plan = self.plan
        if plan is None:
            return
        try:
            result = await self.ask(lambda store: store.fork(plan))
        except ForkpointError as error:
            self.failed(error)
            return
        self.leave(result)
