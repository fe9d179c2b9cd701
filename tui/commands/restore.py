"""`forkpoint restore`: inventory, confirmation, restore."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from ...store.errors import Refused, UsageError
from ...store.model import Inventory, OnConflict, RestoreResult, Scope
from .. import words
from .call import Call, command
from .documents import inventory_document, result_document
from .inventory_text import SCOPES, inventory_rows, result_lines

if TYPE_CHECKING:
    from ...store.api import RestorePlan, Store

WHICH = "say what goes back: --files, --conversation or --both"


@command("restore")
@click.argument("id")
@click.option("--files", is_flag=True, help="Files go back; the conversation stays.")
@click.option("--conversation", is_flag=True, help="The conversation goes back, as a branch of its own; files stay.")
@click.option("--both", is_flag=True, help="Files and conversation go back.")
@click.option(
    "--all", "everything", is_flag=True, help="Everything as it was then, not only what this session changed."
)
@click.option("--path", "names", multiple=True, metavar="P", help="Only P and what is below it; may be repeated.")
@click.option(
    "--on-conflict",
    metavar="keep|checkpoint|merge",
    type=click.Choice(["keep", "checkpoint", "merge"]),
    default="keep",
    show_default=True,
    help="What becomes of files that somebody else changed since.",
)
@click.option("--dry-run", is_flag=True, help="Only the inventory.")
@click.option("-y", "--yes", is_flag=True, help="Without asking.")
@click.option("--live", is_flag=True, help="Though an agent is in the middle of a call.")
def restore(
    call: Call,
    id: str,  # noqa: A002
    files: bool,
    conversation: bool,
    both: bool,
    everything: bool,
    names: tuple[str, ...],
    on_conflict: OnConflict,
    dry_run: bool,
    yes: bool,
    live: bool,
) -> int:
    """Brings files, conversation or both back to a point, after telling what that will do.

    Without one of --files, --conversation and --both nothing is done: on a terminal it asks, elsewhere it prints the
    inventory of both and ends with exit code 3.
    """
    store = call.need_workspace()
    scope = _scope(store, id, [name for name, given in _flags(files, conversation, both) if given], names)
    if scope is None and yes and not dry_run:
        raise UsageError(WHICH)
    paths = [call.path(name) for name in names]

    def plan(chosen: Scope) -> RestorePlan:
        return store.plan_restore(id, chosen, everything=everything, paths=paths, choices=on_conflict)

    planned = plan(scope or "both")
    if dry_run:
        show_inventory(call, planned.inventory)
        return 0
    if not yes and not call.asks:
        return refuse(call, planned.inventory, "add --yes" if scope else f"{WHICH}, and add --yes")
    if not call.json:
        show_inventory(call, planned.inventory)
    if scope is None:
        planned = plan(_ask_scope())
        show_inventory(call, planned.inventory)
    if not yes:
        _confirm(call, planned.inventory, live)
    result = _carried_out(call, store, planned, plan, yes, live)
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


def _flags(files: bool, conversation: bool, both: bool) -> Sequence[tuple[Scope, bool]]:
    return (("files", files), ("conversation", conversation), ("both", both))


def _scope(store: Store, name: str, given: list[Scope], paths: tuple[str, ...]) -> Scope | None:
    """The chosen scope; None when the person has to say. Where there is nothing but files, files."""
    if len(given) > 1:
        raise UsageError("--files, --conversation and --both exclude each other")
    if given:
        if paths and given[0] == "conversation":
            raise UsageError("--path speaks of files, --conversation leaves them alone")
        return given[0]
    return "files" if paths or store.resolve(name).session == "files" else None


def _ask_scope() -> Scope:
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
        call.output.document(inventory_document(inventory))
        return
    call.say_root()
    call.output.table(inventory_rows(inventory))


def refuse(call: Call, inventory: Inventory, todo: str) -> int:
    """Writes what would be done and that it was not: exit code 3."""
    if not call.json:
        show_inventory(call, inventory)
        raise Refused("nothing was done: this needs a confirmation", todo=todo)
    error = {"what": "nothing was done: this needs a confirmation", "path": "", "todo": todo}
    call.output.document({**inventory_document(inventory), "error": error, "exit": Refused.exit_code})
    return Refused.exit_code


def show_result(call: Call, result: RestoreResult) -> int:
    """Writes what was done; exit code 1 when a path was not restored as it was told."""
    if call.json:
        call.output.document(result_document(result))
    else:
        call.output.say(*result_lines(result))
    return 1 if result.failed or result.late_conflicts else 0
