"""`forkpoint log`: a session's tree, or the points where one path changed."""

from __future__ import annotations

import time

import click

from ...store.model import Entry, FileDiff, Point, SessionTree
from ...store.text import path_text
from .. import words
from ..output import Cell, Row, shortened
from ..values import path_keys
from .call import Call, command
from .documents import point_document, tree_document
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
    entries = {entry.id: entry for entry in tree.entries}
    found = [(point, file) for point in tree.points for file in _touching(call, point, path)]
    found.sort(key=lambda pair: pair[0].time)
    if call.json:
        call.output.document([_touch_document(point, file, entries) for point, file in found])
        return 0
    call.say_root()
    if not found:
        call.output.say(f"No checkpoint of this session changed {path_text(path) or 'anything'}.")
        return 0
    short, now = shortened(point.id for point in tree.points), time.time_ns()
    call.output.table(_touch_row(point, file, entries, short, now) for point, file in found)
    return 0


def _touching(call: Call, point: Point, path: bytes) -> list[FileDiff]:
    files = call.store().changes(point.id).files
    return [file for file in files if any(_is_in(name, path) for name in (file.path, file.old_path) if name)]


def _is_in(name: bytes, path: bytes) -> bool:
    return not path or name == path or name.startswith(path + b"/")


def who(point: Point, entries: dict[str, Entry]) -> str:
    """Who changed what a checkpoint saw changed: the step after which it stands, else somebody else."""
    entry = entries.get(point.entry or "")
    if point.side == "after" and point.reason == "tool" and entry is not None:
        return words.one_line(entry.text)
    if point.reason == "guard":
        return "not recorded before"
    return "not by a step of this session"


def _touch_row(point: Point, file: FileDiff, entries: dict[str, Entry], short: dict[str, str], now: int) -> Row:
    return Row(
        (
            Cell(words.moment(point.time, now), "dim", right=True),
            Cell(short[point.id], "cyan"),
            Cell(file.status),
            Cell(words.signed(file.added, file.removed), "dim", right=True),
            Cell(path_text(file.path)),
        ),
        (Cell(f"{sign(point)} {who(point, entries)}"),),
    )


def _touch_document(point: Point, file: FileDiff, entries: dict[str, Entry]) -> dict[str, object]:
    return {
        "checkpoint": point_document(point),
        **path_keys(file.path),
        "status": file.status,
        "added": file.added,
        "removed": file.removed,
        "who": who(point, entries),
    }
