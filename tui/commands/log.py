"""`forkpoint log`: a session's tree, or the points where one path changed."""

from __future__ import annotations

import time

import click

from ...store import naming
from ...store.model import SessionTree, Touch
from ...store.text import path_text
from .. import words
from ..output import Cell, Row, shortened
from ..values import iso, path_keys
from .call import Call, command
from .documents import Document, point_document, tree_document, who_document
from .tree_text import heading, sign, tree_rows


@command("log")
@click.argument("session", required=False)
@click.option("--path", "name", metavar="P", help="Only the points where P changed, and who changed it.")
@click.option("--entries", is_flag=True, help="Every entry, not only prompts and checkpoints.")
def log(call: Call, session: str | None, name: str | None, entries: bool) -> int:
    """The tree: turns, checkpoints, branches."""
    call.need_workspace()
    tree = call.store().tree(session)
    if name is not None:
        return _log_path(call, tree, call.path(name))
    show_tree(call, tree, every_entry=entries)
    return 0


def show_tree(call: Call, tree: SessionTree, *, every_entry: bool = False) -> None:
    """Writes a whole tree."""
    if call.json:
        call.output.document(tree_document(tree))
        return
    call.say_root()
    call.output.table([heading(tree)])
    call.output.say("")
    call.output.table(tree_rows(tree, time.time_ns(), every_entry=every_entry))
    call.output.say(*(f"! {words.one_line(problem.what)}" for problem in tree.problems))


def _log_path(call: Call, tree: SessionTree, path: bytes) -> int:
    found = call.store().touches(path, tree)
    if call.json:
        call.output.document([_touch_document(touch) for touch in found])
        return 0
    call.say_root()
    if not found:
        call.output.say(f"Nothing that is recorded here changed {path_text(path) or 'anything'}.")
        return 0
    known = [*tree.points, *(touch.point for touch in found if touch.point)]
    short, now = shortened(point.id for point in known), time.time_ns()
    call.output.table(_touch_row(touch, short, now) for touch in found)
    return 0


def _touch_row(touch: Touch, short: dict[str, str], now: int) -> Row:
    point = touch.point
    return Row(
        (
            Cell(words.moment(touch.time, now), "dim", right=True),
            Cell(short[point.id] if point else "", "cyan"),
            Cell(touch.status),
            Cell(words.signed(touch.added, touch.removed), "dim", right=True),
            Cell(path_text(touch.path)),
        ),
        (Cell(f"{sign(point) if point else ' '} {words.one_line(naming.who(touch.who))}"),),
    )


def _touch_document(touch: Touch) -> Document:
    return {
        "checkpoint": point_document(touch.point) if touch.point else None,
        "time": iso(touch.time),
        **path_keys(touch.path),
        "status": touch.status,
        "added": touch.added,
        "removed": touch.removed,
        "who": who_document(touch.who),
    }
