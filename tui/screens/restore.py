"""The dialog before files or conversation go back, forward or back again: it tells first what that will do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import ClassVar

from textual import work
from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget

from ...store.errors import ForkpointError, Refused
from ...store.model import Inventory
from ...store.text import path_text
from .. import inventory
from ..actions import Where
from ..widgets.choices import Choice, Option, Press, Tick
from ..widgets.lines import bindings
from ..widgets.sheet import Paragraph, text
from .dialog import Dialog
from .ways import Done, Planned, Way, Wish

SCOPES = (Option("files", "files", "f"), Option("conversation", "conversation", "c"), Option("both", "both", "b"))
ON_CONFLICT = (Option("keep", "keep mine"), Option("checkpoint", "the checkpoint's"), Option("merge", "merge"))
EVERYTHING = "everything as it was then, what others changed too"
MOST_CONFLICTS = 50
"""Conflicts with a choice of their own; the others stay as they are."""


class RestoreDialog(Dialog[Done]):
    """Shows the inventory of what is chosen; it is worked out anew with every choice."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    BINDINGS: ClassVar[list[Binding]] = [b for b in bindings("dialog") if b.action not in ("cancel", "confirm")]  # type: ignore[assignment]
    SCOPES: ClassVar[tuple[Option, ...]] = SCOPES

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way
        self.verb = way.verb
        self.heading = f"{way.verb} …"
        self.planned: Planned | None = None
        self._live_asked = False

    def compose_body(self) -> Iterable[Widget]:
        if self.way.asks_scope:
            yield Choice("What goes back?", self.SCOPES, ident="scope")
        yield Vertical(id="conflicts")
        if self.way.asks_scope:
            yield Tick(EVERYTHING, ident="everything")

    def compose_buttons(self) -> Iterable[Widget]:
        yield Press("Diff", "d", ident="diff")

    def begin(self) -> None:
        super().begin()
        self.query_one("#confirm", Press).set_ready(False)
        self.tell([text("Looking what this would do …", "muted")])
        self.replan()

    @work(exclusive=True, group="plan")
    async def replan(self, why: Refused | None = None, wait: float = 0.0) -> None:
        """Works out what is chosen now, after so many seconds; says why it had to be done again."""
        self.query_one("#confirm", Press).set_ready(False)
        if wait:
            await asyncio.sleep(wait)
        wish = self.wish()
        try:
            planned = await self.ask(lambda store: self.way.plan(store, wish))
        except ForkpointError as error:
            self.no_plan(error)
            return
        self.planned = planned
        self.trouble("")
        if why is not None:
            self.failed(why)
        self.show(planned)

    def wish(self) -> Wish:
        """What the person has chosen so far."""
        if not self.way.asks_scope:
            return Wish()
        scope = self.query_one("#scope", Choice).value or None
        asked = self.query_one("#conflicts").query(Choice)
        choices = {bytes.fromhex(choice.name or ""): choice.value for choice in asked}
        return Wish(scope, self.query_one("#everything", Tick).on, choices)  # type: ignore[arg-type]

    def no_plan(self, error: ForkpointError) -> None:
        """Nothing can be done as it is chosen."""
        self.planned = None
        self.query_one("#confirm", Press).set_ready(False)
        if not self.way.asks_scope:
            # Nothing can be chosen here that would make it possible.
            self.entitle(self.way.verb)
            self.query_one("#confirm").display = self.query_one("#diff").display = False
        self.tell([])
        self.failed(error)

    def show(self, planned: Planned) -> None:
        """Tells a plan."""
        self.entitle(planned.title)
        self.tell(self.inventory_told(planned))
        self.query_one("#confirm", Press).set_ready(planned.wish.scope is not None or not self.way.asks_scope)
        if planned.scopes:
            offered = [option for option in self.SCOPES if option.value in planned.scopes]
            self.query_one("#scope", Choice).offer(offered)
        self.offer_choices(planned.inventory)

    def inventory_told(self, planned: Planned) -> list[Paragraph]:
        """What would happen, in as many lines as the screen has room for."""
        if planned.inventory is None:
            return []
        height = self.app.size.height
        room = 1 if height < 22 else 3 if height < 36 else 8
        signs, now = self.app.signs, self.app.now()
        return inventory.told(planned.inventory, row_time=self.way.row_time, now=now, signs=signs, room=room)

    def offer_choices(self, found: Inventory | None) -> None:
        """A choice for each path that somebody else changed; made once, since their answers are kept."""
        box = self.query_one("#conflicts")
        if not self.way.asks_scope or found is None or found.scope == "conversation":
            return
        known = {choice.name for choice in box.query(Choice)}
        for change in found.conflicts[:MOST_CONFLICTS]:
            name = change.path.hex()
            if name not in known:
                box.add_class("-some")
                box.mount(Choice(path_text(change.path), ON_CONFLICT, value="keep", name=name))
        self.call_after_refresh(self.fit)

    # Choosing

    def action_scope_files(self) -> None:
        self._pick("files")

    def action_scope_conversation(self) -> None:
        self._pick("conversation")

    def action_scope_both(self) -> None:
        self._pick("both")

    def _pick(self, scope: str) -> None:
        choice = self.query_one("#scope", Choice) if self.way.asks_scope else None
        if choice is not None and not self.busy and scope in [option.value for option in choice.options]:
            choice.pick(scope)

    def on_choice_picked(self, event: Choice.Picked) -> None:
        if event.choice.id == "scope":
            self.with_files(event.value != "conversation")
        self._live_asked = False
        self.replan()

    def with_files(self, some: bool) -> None:
        """Shows what only files have to be asked for."""
        self.query_one("#conflicts").display = some
        self.query_one("#everything").display = some

    def on_tick_turned(self, event: Tick.Turned) -> None:
        self._live_asked = False
        self.replan()

    # Doing it

    def action_dialog_diff(self) -> None:
        """The files now, and as they would be."""
        from .diff import DiffScreen

        found = self.planned.inventory if self.planned else None
        if found is not None and found.target.checkpoint:
            self.open(DiffScreen("now", found.target.checkpoint, in_dialog=True))
        else:
            self.trouble("There is no checkpoint to compare with.")

    def on_press_pressed(self, event: Press.Pressed) -> None:
        if event.press.id == "diff":
            self.action_dialog_diff()

    def may_act(self) -> bool:
        """Only what was shown is done: an inventory for exactly what is chosen now."""
        planned, wish = self.planned, self.wish()
        if planned is not None and self.way.asks_scope and wish.scope is None:
            self.trouble("Choose first what goes back: f files, c conversation, b both.")
            return False
        return planned is not None and planned.is_for(wish)

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        planned, live = self.planned, self._live_asked
        if planned is None:
            return
        self.query_one("#confirm", Press).name_it(f"{self.way.verb} …")
        try:
            result = await self.ask(lambda store: self.way.carry_out(store, planned, live))
        except Refused as error:
            self._refused(error, planned)
            return
        except ForkpointError as error:
            self._stopped(error)
            return
        self.leave((self.way, result))

    def _stopped(self, error: ForkpointError) -> None:
        self.query_one("#confirm", Press).name_it(self.way.verb)
        self.failed(error)

    def _refused(self, error: Refused, planned: Planned) -> None:
        """An agent in the middle of a call: said again, and only a second ctrl+s goes on."""
        self._stopped(error)
        at_work = planned.inventory.live if planned.inventory is not None else ()
        if any(live.doing for live in at_work) and not self._live_asked:
            self._live_asked = True
            self.query_one("#confirm", Press).name_it(f"{self.way.verb} all the same")
            again = "It may be writing these files at this moment: ctrl+s again goes on all the same."
            self.trouble(f"{error.what}.", again)
        else:
            self.replan(error)
