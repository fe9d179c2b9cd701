"""The dialog before files or conversation go back, forward or back again: it tells first what that will do."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget

from ...store.errors import ForkpointError, Refused, UsageError
from ...store.model import Inventory, OnConflict, RestoreResult, Scope
from ...store.text import path_text
from .. import inventory
from ..actions import Where
from ..widgets.choices import Choice, Option, Press, Tick
from ..widgets.lines import bindings
from ..widgets.sheet import text
from ..words import one_line
from .dialog import Dialog

if TYPE_CHECKING:
    from ...store.api import RestorePlan, Store, UndoPlan

SCOPES = (Option("files", "files", "f"), Option("conversation", "conversation", "c"), Option("both", "both", "b"))
ON_CONFLICT = (Option("keep", "keep mine"), Option("checkpoint", "the checkpoint's"), Option("merge", "merge"))
MOST_CONFLICTS = 50
"""Conflicts with a choice of their own; the others stay as they are."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person has chosen so far."""

    scope: Scope | None = None
    everything: bool = False
    choices: dict[bytes, OnConflict] = field(default_factory=dict[bytes, OnConflict])


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what it would do."""

    plan: RestorePlan | UndoPlan
    inventory: Inventory
    title: str
    wish: Wish
    """What it was made for."""
    scopes: tuple[Scope, ...] = ()
    """What can go back at all."""


@dataclass(frozen=True, slots=True)
class GoBack:
    """Going back to a moment."""

    target: str
    row_time: int
    verb = "Go back"
    done = "Gone back"
    way_back = "u undoes"
    asks_scope = True

    def plan(self, store: Store, wish: Wish) -> Planned:
        """Plans what is wished; before that, what could be: both, else what there is."""
        if wish.scope is not None:
            return self._plan(store, wish, wish.scope, ())
        try:
            return self._plan(store, wish, "both", ("files", "conversation", "both"))
        except UsageError as neither:
            for scope in ("files", "conversation"):
                with suppress(UsageError):
                    return self._plan(store, wish, scope, (scope,))
            raise neither

    def _plan(self, store: Store, wish: Wish, scope: Scope, scopes: tuple[Scope, ...]) -> Planned:
        plan = store.plan_restore(self.target, scope, everything=wish.everything, choices=wish.choices)
        title = f"Go back to {one_line(plan.inventory.target.title)}"
        return Planned(plan, plan.inventory, title, wish, scopes)

    def carry_out(self, store: Store, plan: RestorePlan, live: bool) -> RestoreResult:
        return store.restore(plan, live=live)


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Taking the newest act back, or doing it again."""

    kind: Literal["undo", "redo"]
    row_time: int = 0
    asks_scope = False

    @property
    def verb(self) -> str:
        return "Undo" if self.kind == "undo" else "Redo"

    @property
    def done(self) -> str:
        return "Undone" if self.kind == "undo" else "Done again"

    @property
    def way_back(self) -> str:
        return "U does it again" if self.kind == "undo" else "u undoes"

    def plan(self, store: Store, wish: Wish) -> Planned:
        plan = store.plan_undo() if self.kind == "undo" else store.plan_redo()
        return Planned(plan, plan.inventory, f"{self.verb}: {one_line(plan.operation.summary)}", wish)

    def carry_out(self, store: Store, plan: UndoPlan, live: bool) -> RestoreResult:
        return store.undo(plan, live=live) if self.kind == "undo" else store.redo(plan, live=live)


class RestoreDialog(Dialog["tuple[GoBack | TakeBack, RestoreResult]"]):
    """Shows the inventory of what is chosen; it is worked out anew with every choice."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    BINDINGS: ClassVar[list[Binding]] = [b for b in bindings("dialog") if b.action not in ("cancel", "confirm")]  # type: ignore[assignment]

    def __init__(self, way: GoBack | TakeBack) -> None:
        super().__init__()
        self.way = way
        self.verb = way.verb
        self.heading = f"{way.verb} …"
        self.planned: Planned | None = None
        self._live_asked = False

    def compose_body(self) -> Iterable[Widget]:
        if self.way.asks_scope:
            yield Choice("What goes back?", SCOPES, ident="scope")
        yield Vertical(id="conflicts")
        if self.way.asks_scope:
            yield Tick("everything as it was then, what others changed too", ident="everything")

    def compose_buttons(self) -> Iterable[Widget]:
        yield Press("Diff", "d", ident="diff")

    def begin(self) -> None:
        super().begin()
        self.query_one("#confirm", Press).set_ready(False)
        self.tell([text("Looking what this would do …", "muted")])
        self.replan()

    @work(exclusive=True, group="plan")
    async def replan(self, why: Refused | None = None) -> None:
        """Works the inventory out for what is chosen now; says why it had to be done again."""
        wish = self.wish()
        self.query_one("#confirm", Press).set_ready(False)
        try:
            planned = await self.ask(lambda store: self.way.plan(store, wish))
        except ForkpointError as error:
            self._no_plan(error)
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

    def _no_plan(self, error: ForkpointError) -> None:
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
        room = 1 if self.app.size.height < 22 else 3 if self.app.size.height < 36 else 8
        signs, now = self.app.signs, self.app.now()
        told = inventory.told(planned.inventory, row_time=self.way.row_time, now=now, signs=signs, room=room)
        self.entitle(planned.title)
        self.tell(told)
        self.query_one("#confirm", Press).set_ready(planned.wish.scope is not None or not self.way.asks_scope)
        if planned.scopes:
            offered = [option for option in SCOPES if option.value in planned.scopes]
            self.query_one("#scope", Choice).offer(offered)
        self._offer_choices(planned.inventory)

    def _offer_choices(self, inventory: Inventory) -> None:
        """A choice for each path that somebody else changed; made once, since their answers are kept."""
        box = self.query_one("#conflicts")
        if not self.way.asks_scope or inventory.scope == "conversation":
            return
        known = {choice.name for choice in box.query(Choice)}
        for change in inventory.conflicts[:MOST_CONFLICTS]:
            name = change.path.hex()
            if name not in known:
                box.mount(Choice(path_text(change.path), ON_CONFLICT, value="keep", name=name))

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
            self.query_one("#conflicts").display = event.value != "conversation"
            self.query_one("#everything").display = event.value != "conversation"
        self._live_asked = False
        self.replan()

    def on_tick_turned(self, event: Tick.Turned) -> None:
        self.replan()

    # Doing it

    def action_dialog_diff(self) -> None:
        """The files now, and as they would be."""
        from .diff import DiffScreen

        target = self.planned.inventory.target.checkpoint if self.planned else None
        if target:
            self.open(DiffScreen("now", target, in_dialog=True))
        else:
            self.trouble("There is no checkpoint to compare with.")

    def on_press_pressed(self, event: Press.Pressed) -> None:
        if event.press.id == "diff":
            self.action_dialog_diff()

    def may_act(self) -> bool:
        """Only what was shown is done: an inventory for exactly what is chosen now."""
        planned, wish = self.planned, self.wish()
        if planned is None:
            return False
        if self.way.asks_scope and wish.scope is None:
            self.trouble("Choose first what goes back: f files, c conversation, b both.")
            return False
        if planned.wish.scope != wish.scope or planned.wish.everything != wish.everything:
            return False
        return all(planned.wish.choices.get(path, "keep") == choice for path, choice in wish.choices.items())

    @work(exclusive=True, group="act")
    async def act(self) -> None:
        planned, live = self.planned, self._live_asked
        if planned is None:
            return
        self.query_one("#confirm", Press).name_it(f"{self.way.verb} …")
        try:
            result = await self.ask(lambda store: self.way.carry_out(store, planned.plan, live))  # type: ignore[arg-type]
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
        if any(live.doing for live in planned.inventory.live) and not self._live_asked:
            self._live_asked = True
            self.query_one("#confirm", Press).name_it(f"{self.way.verb} all the same")
            again = "It may be writing these files at this moment: ctrl+s again goes on all the same."
            self.trouble(f"{error.what}.", again)
        else:
            self.replan(error)
