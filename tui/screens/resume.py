"""The dialog that goes on with a branch in its agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import work
from textual.widget import Widget

from ...store.errors import ForkpointError
from ...store.model import ForkResult
from ..inventory import live_words
from ..widgets.choices import Press
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import agent, one_line
from .outcome import GoOnDialog

if TYPE_CHECKING:
    from ...store.api import ResumePlan


class ResumeDialog(GoOnDialog):
    """Tells the command that goes on with a branch, and whether a copy has to be made for it first."""

    verb = "Continue now"
    heading = "Go on …"

    def __init__(self, session: str, branch: str) -> None:
        super().__init__(None)
        self.verb = "Continue now"
        self.session = session
        self.branch = branch
        self.plan: ResumePlan | None = None

    def compose_buttons(self) -> Iterable[Widget]:
        yield Press("Copy command", "y", ident="copy")

    def begin(self) -> None:
        super().begin()
        self.query_one("#confirm", Press).set_ready(False)
        self.query_one("#copy", Press).display = False
        self.tell([text("Looking how …", "muted")])
        self.look()

    @work(exclusive=True, group="plan")
    async def look(self) -> None:
        try:
            plan = await self.ask(lambda store: store.plan_resume(self.branch, session=self.session))
        except ForkpointError as error:
            self.tell([])
            self.failed(error)
            return
        self.plan = plan
        # A command for which something has to be written yet is not handed out: y writes nothing.
        self.fork = _as_fork(plan) if plan.fork is None else None
        self.entitle(f"Go on with {one_line(plan.branch or self.branch)} in {agent(plan.agent)}")
        self.tell(self.paragraphs())
        self.query_one("#confirm", Press).set_ready(True)
        self.query_one("#copy", Press).display = self.fork is not None

    def paragraphs(self) -> list[Paragraph]:
        plan = self.plan
        if plan is None:
            return []
        told = self.fork_told()
        if plan.note:
            told += [text(f"{one_line(plan.note)}.", hang=2)]
        for live in plan.live:
            told += [BLANK, text(f"{live_words(live, self.app.now())}: two would write into one session.", "attention")]
        return told

    def may_act(self) -> bool:
        return self.plan is not None

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        plan = self.plan
        assert plan is not None
        try:
            ready = await self.ask(lambda store: store.resume(plan))
        except ForkpointError as error:
            self.failed(error)
            return
        self.leave(_as_fork(ready))


def _as_fork(plan: ResumePlan) -> ForkResult:
    return ForkResult("", plan.branch, plan.session, plan.agent, plan.command, plan.cwd, "")
