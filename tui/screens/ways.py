"""What the dialog with the inventory stands before: going back, a branch, an undo, a redo; each plans and does it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...store.errors import UsageError
from ...store.model import ForkResult, Inventory, OnConflict, RestoreResult, Scope
from ..words import one_line

if TYPE_CHECKING:
    from ...store.api import ForkPlan, RestorePlan, Store, UndoPlan


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person has chosen so far."""

    scope: Scope | None = None
    everything: bool = False
    choices: dict[bytes, OnConflict] = field(default_factory=dict[bytes, OnConflict])
    name: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what it would do."""

    plan: RestorePlan | UndoPlan | ForkPlan
    inventory: Inventory | None
    """None: no file is touched."""
    title: str
    wish: Wish
    """What it was made for."""
    scopes: tuple[Scope, ...] = ()
    """What can go back at all."""
    fork: ForkPlan | None = None
    """The branch that comes of it."""

    def is_for(self, wish: Wish) -> bool:
        """Whether it is the plan of exactly what is chosen now."""
        mine = self.wish
        return (mine.scope, mine.everything, mine.name) == (wish.scope, wish.everything, wish.name) and all(
            mine.choices.get(path, "keep") == choice for path, choice in wish.choices.items()
        )


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
        return Planned(plan, plan.inventory, title, wish, scopes, plan.fork)

    def carry_out(self, store: Store, planned: Planned, live: bool) -> RestoreResult:
        return store.restore(planned.plan, live=live)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class BranchOff:
    """A branch from a moment: of the conversation alone, or with the files of that moment in this folder."""

    target: str
    row_time: int
    verb = "Fork"
    done = "Forked"
    way_back = "u undoes"
    asks_scope = True

    def plan(self, store: Store, wish: Wish) -> Planned:
        """Plans the branch under the wished name, or under a good one."""
        if wish.scope == "both":
            plan = store.plan_restore(
                self.target, "both", everything=wish.everything, choices=wish.choices, name=wish.name
            )
            fork, inventory = plan.fork, plan.inventory
            assert fork is not None
        else:
            plan = fork = store.plan_fork(self.target, name=wish.name)
            inventory = None
        return Planned(plan, inventory, f"Fork from {one_line(fork.target.title)}", wish, (), fork)

    def carry_out(self, store: Store, planned: Planned, live: bool) -> RestoreResult | ForkResult:
        if planned.inventory is None:
            return store.fork(planned.plan)  # type: ignore[arg-type]
        return store.restore(planned.plan, live=live)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Taking the newest act back, or doing it again."""

    kind: Literal["undo", "redo"]
    at: int = 1
    of: int = 1
    """One of several that are taken back one after the other."""
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
        place = f" {self.at} of {self.of}" if self.of > 1 else ""
        title = f"{self.verb}{place}: {one_line(plan.operation.summary)}"
        return Planned(plan, plan.inventory, title, wish)

    def carry_out(self, store: Store, planned: Planned, live: bool) -> RestoreResult:
        plan: UndoPlan = planned.plan  # type: ignore[assignment]
        return store.undo(plan, live=live) if self.kind == "undo" else store.redo(plan, live=live)


Way = GoBack | BranchOff | TakeBack

Done = tuple[Way, RestoreResult | ForkResult]
"""What was done, and what came of it."""
