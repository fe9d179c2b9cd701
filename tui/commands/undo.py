"""Backwards and forwards through what a person did: `undo`, `redo`, `operations`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ...store.model import Operation, RestoreResult
from .. import words
from ..output import Cell, Row
from .call import Call, command
from .documents import inventory_document, operation_document
from .going_back import refuse, show_result
from .inventory_text import inventory_rows

if TYPE_CHECKING:
    from ...store.api import UndoPlan


def _options(function: Callable[..., int]) -> Callable[..., int]:
    function = click.option("--live", is_flag=True, help="Though an agent is in the middle of a call.")(function)
    function = click.option("-y", "--yes", is_flag=True, help="Without asking.")(function)
    return click.option("--dry-run", is_flag=True, help="Only what would be done.")(function)


@command("undo")
@_options
def undo(call: Call, dry_run: bool, yes: bool, live: bool) -> int:
    """Takes back the newest restore, fork or mark of a person in this root."""
    store = call.need_workspace()
    return _step(call, "Undo", store.plan_undo(), lambda plan: store.undo(plan, live=live, at_once=yes), dry_run, yes)


@command("redo")
@_options
def redo(call: Call, dry_run: bool, yes: bool, live: bool) -> int:
    """Does again what the newest undo took back."""
    store = call.need_workspace()
    return _step(call, "Redo", store.plan_redo(), lambda plan: store.redo(plan, live=live, at_once=yes), dry_run, yes)


def _step(
    call: Call, name: str, plan: UndoPlan, carry_out: Callable[[UndoPlan], RestoreResult], dry_run: bool, yes: bool
) -> int:
    if dry_run:
        _show(call, name, plan)
        return 0
    if not yes and not call.asks:
        return refuse(call, plan.inventory, "add --yes")
    if not call.json:
        _show(call, name, plan)
    if not yes:
        call.confirm(f"{name} this?")
    return show_result(call, carry_out(plan))


def _show(call: Call, name: str, plan: UndoPlan) -> None:
    if call.json:
        call.output.document({**inventory_document(plan.inventory), "of": operation_document(plan.operation)})
        return
    call.say_root()
    when = words.moment(plan.operation.time, time.time_ns())
    call.output.say(f"{name}: {words.one_line(plan.operation.summary)} ({when})")
    call.output.table(inventory_rows(plan.inventory, titled=False))


@command("operations")
def operations(call: Call) -> int:
    """What a person did in this root, newest first, and what can be undone."""
    found = call.need_workspace().operations()
    if call.json:
        call.output.document([operation_document(operation) for operation in found])
        return 0
    call.say_root()
    now = time.time_ns()
    call.output.table(_row(operation, now) for operation in found)
    if not found:
        call.output.say("Nothing was restored, forked or marked here yet.")
    return 0


def _row(operation: Operation, now: int) -> Row:
    if operation.undoable:
        undo = f"can be undone until {words.moment(operation.until, now)}" if operation.until else "can be undone"
    else:
        undo = words.one_line(operation.why)
    return Row(
        (
            Cell(words.moment(operation.time, now), "dim", right=True),
            Cell(operation.id[:8], "cyan"),
            Cell(operation.kind),
        ),
        (Cell(words.one_line(operation.summary)),),
        (Cell(undo, "dim"),),
    )
