"""The dialog that makes a branch: its name, its agent, and whether its files come into this folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget
from textual.widgets import Input

from ...store.errors import ForkpointError
from ..inventory import HEAD, line
from ..widgets.choices import Choice, Field, Option, Press
from ..widgets.lines import clip
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import agent, count, one_line
from .restore import RestoreDialog
from .ways import BranchOff, Planned, Wish

TYPING = 0.15
"""Seconds after the last key before a name is tried."""
ONLY_OWN = "no other agent reads its form"


class ForkDialog(RestoreDialog):
    """Tells what a branch from here would carry, under which name, and how it goes on; with files, their inventory."""

    SCOPES: ClassVar[tuple[Option, ...]] = (
        Option("conversation", "stay as they are", "c"),
        Option("both", "come into this folder", "b"),
    )

    def __init__(self, target: str, row_time: int = 0) -> None:
        super().__init__(BranchOff(target, row_time))
        self._named = False

    def compose_head(self) -> Iterable[Widget]:
        name = Input(id="name", placeholder="a name for the branch", max_length=60)
        yield Field("Name", name, HEAD - 1)
        yield Choice("Files", self.SCOPES, value="conversation", column=HEAD, ident="scope")

    def compose_body(self) -> Iterable[Widget]:
        yield from (widget for widget in super().compose_body() if widget.id != "scope")

    def begin(self) -> None:
        self.query_one("#diff", Press).display = False
        self.with_files(False)
        super().begin()

    def wish(self) -> Wish:
        """The name counts only once there is one: before that, a good one is asked for."""
        chosen = super().wish()
        name = self.query_one("#name", Input).value.strip() if self._named else ""
        return Wish(chosen.scope, chosen.everything, chosen.choices, name)

    def show(self, planned: Planned) -> None:
        if planned.fork is not None and not self._named:
            # The proposed name was planned as it stands now in the field.
            self._named = True
            with self.prevent(Input.Changed):
                self.query_one("#name", Input).value = planned.fork.name
            self.planned = planned = Planned(
                planned.plan, planned.inventory, planned.title, self.wish(), planned.scopes, planned.fork
            )
        super().show(planned)

    def inventory_told(self, planned: Planned) -> list[Paragraph]:
        """The branch; and what its files would do to those that are here, which is told first."""
        told = super().inventory_told(planned)
        fork = planned.fork
        if fork is None:
            return told
        title = agent(fork.agent)
        branch = [
            line("Agent", [(title, "text"), (f", as before: {ONLY_OWN}", "muted")]),
            line("Carries", [(f"{count(fork.entries, 'entry', 'entries')} of the conversation", "text")]),
        ]
        if fork.prompt_text:
            words = clip(one_line(fork.prompt_text), 70)
            branch.append(line("Left out", [(f"“{words}”", "text"), (", handed back", "muted")]))
        branch.append(line("Goes on", [(one_line(shlex.join(fork.command)), "text")]))
        if fork.note and planned.inventory is None:
            branch.append(line("Note", [(one_line(fork.note), "attention")], "attention"))
        if planned.inventory is None:
            branch.append(text("This folder and this conversation stay as they are.", "muted"))
        roomy = told and self.app.size.height >= 22
        return [*told, *([BLANK] if roomy else []), *branch]

    def with_files(self, some: bool) -> None:
        super().with_files(some)
        self.query_one("#diff", Press).display = some

    def no_plan(self, error: ForkpointError) -> None:
        # What was told of another name still holds: only the name is wrong.
        self.planned = None
        self.query_one("#confirm", Press).set_ready(False)
        if not self._named:
            self.tell([])
        self.failed(error)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.planned = None
        self.query_one("#confirm", Press).set_ready(False)
        if event.value.strip():
            self.replan(wait=TYPING)
        else:
            self.workers.cancel_group(self, "plan")
            self.trouble("A branch needs a name.")
