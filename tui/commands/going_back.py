"""Going back by a command: inventory, confirmation, restore."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...store.errors import Refused, UsageError
from ...store.model import Inventory, OnConflict, RestoreResult, Scope
from .. import words
from .call import Call
from .inventory_text import SCOPES, inventory_rows, result_lines

if TYPE_CHECKING:
    from ...store.api import RestorePlan, Store

WHICH = "say what goes back: --files, --conversation or --both"


class Asked(NamedTuple):
    """What stands on the command line."""

    id: str
    scopes: Sequence[Scope]
    everything: bool = False
    names: Sequence[str] = ()
    on_conflict: OnConflict = "keep"
    dry_run: bool = False
    yes: bool = False
    live: bool = False


def go_back(call: Call, asked: Asked) -> int:
    """Tells what going back does, asks unless that was answered beforehand, and does it; gives the exit code."""
    store = call.need_workspace()
    scope = _scope(store, asked)
    if scope is None and asked.yes and not asked.dry_run:
        raise UsageError(WHICH)
    paths = [call.path(name) for name in asked.names]

    def plan(chosen: Scope) -> RestorePlan:
        return store.plan_restore(asked.id, chosen, everything=asked.everything, paths=paths, choices=asked.on_conflict)

    planned = plan(scope or "both")
    if asked.dry_run:
        show_inventory(call, planned.inventory)
        return 0
    if not asked.yes and not call.asks:
        return refuse(call, planned.inventory, "add --yes" if scope else f"{WHICH}, and add --yes")
    if not call.json:
        show_inventory(call, planned.inventory)
    if scope is None:
        planned = plan(_ask_scope())
        show_inventory(call, planned.inventory)
    if not asked.yes:
        _confirm(call, planned.inventory, asked.live)
    result = _carried_out(call, store, planned, plan, asked.yes, asked.live)
    code = show_result(call, result)
    if result.late_conflicts and not call.json:
        # What was carried out is what was shown; the rest is shown anew.
        call.output.say("", "Going back again would do this:")
        call.output.table(inventory_rows(plan("files").inventory))
    return code


def _confirm(call: Call, inventory: Inventory, live: bool) -> None:
    call.confirm(f"Go back ({SCOPES[inventory.scope]})?")
    if live and inventory.live:
        call.confirm("An agent may be writing these files at this moment. Go back all the same?")


def _carried_out(
    call: Call, store: Store, planned: RestorePlan, plan: Callable[[Scope], RestorePlan], yes: bool, live: bool
) -> RestoreResult:
    """Goes back; where a file changed since the inventory was shown, shows it again to a person who is there."""
    while True:
        try:
            return store.restore(planned, live=live, at_once=yes)
        except Refused as refused:
            again = plan(planned.inventory.scope)
            if yes or not call.asks or again.inventory == planned.inventory:
                raise
            planned = again
            call.output.say("", f"Nothing was done yet: {words.one_line(refused.what)}. Now it is this:")
            call.output.table(inventory_rows(planned.inventory))
            _confirm(call, planned.inventory, live)


def _scope(store: Store, asked: Asked) -> Scope | None:
    """The chosen scope; None when the person has to say. Where there is nothing but files, files."""
    if len(asked.scopes) > 1:
        raise UsageError("--files, --conversation and --both exclude each other")
    if asked.scopes:
        if asked.names and asked.scopes[0] == "conversation":
            raise UsageError("--path speaks of files, --conversation leaves them alone")
        return asked.scopes[0]
    return "files" if asked.names or store.resolve(asked.id).session == "files" else None


def _ask_scope() -> Scope:
    import click

    letters: dict[str, Scope] = {"f": "files", "c": "conversation", "b": "both"}
    answer = click.prompt(
        "What goes back? [f]iles, [c]onversation, [b]oth, or Enter for nothing", default="", show_default=False
    )
    chosen = letters.get(str(answer).strip().lower()[:1])
    if chosen is None:
        raise Refused("nothing was done")
    return chosen


def show_inventory(call: Call, inventory: Inventory) -> None:
    """Writes what would be done."""
    if call.json:
        from .documents import inventory_document

        call.output.document(inventory_document(inventory))
        return
    call.say_root()
    call.output.table(inventory_rows(inventory))


def refuse(call: Call, inventory: Inventory, todo: str) -> int:
    """Writes what would be done and that it was not: exit code 3."""
    if not call.json:
        show_inventory(call, inventory)
        raise Refused("nothing was done: this needs a confirmation", todo=todo)
    from .documents import inventory_document

    error = {"what": "nothing was done: this needs a confirmation", "path": "", "todo": todo}
    call.output.document({**inventory_document(inventory), "error": error, "exit": Refused.exit_code})
    return Refused.exit_code


def show_result(call: Call, result: RestoreResult) -> int:
    """Writes what was done; exit code 1 when a path was not restored as it was told."""
    if call.json:
        from .documents import result_document

        call.output.document(result_document(result))
    else:
        call.output.say(*result_lines(result))
    return 1 if result.failed or result.late_conflicts else 0
