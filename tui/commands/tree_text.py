"""A session's tree as text: the rows of the outline that are turns, checkpoints, branches and operations."""

from __future__ import annotations

from collections.abc import Iterator

from ...store.model import Point, SessionTree
from .. import words
from ..outline import Outline
from ..outline import Row as Place
from ..output import Cell, Row, Style, shortened

REASONS = {
    "start": "the session starts",
    "stop": "the turn ends",
    "end": "the session ends",
    "manual": "saved",
    "guard": "guard",
}
"""How a checkpoint is named that stands in a row of its own, when it has no words itself."""


def tree_rows(tree: SessionTree, now: int, *, every_entry: bool = False) -> list[Row]:
    """The rows from the oldest to the newest; times are told as seen from `now` (nanoseconds)."""
    short = shortened([point.id for point in tree.points] + [entry.id for entry in tree.entries])
    rows: list[Row] = []
    for place in Outline(tree).rows:
        if every_entry or _is_shown(place):
            rows += _rows_of(place, tree, short, now)
    return rows


def heading(tree: SessionTree) -> Row:
    """What the tree is of, in one line."""
    prompts = sum(entry.kind == "prompt" and not entry.under for entry in tree.entries)
    counts = [
        words.one_line(tree.info.agent),
        words.count(prompts, "prompt") if prompts else "",
        words.count(len(tree.points), "checkpoint"),
        words.count(len(tree.branches), "branch", "branches") if len(tree.branches) > 1 else "",
        f"{words.count(tree.here.dirty, 'unrecorded change')} here" if tree.here.dirty else "",
    ]
    facts = " · ".join(filter(None, counts))
    return Row(rest=(Cell(words.one_line(tree.info.title), "bold"),), end=(Cell(facts, "dim"),))


def point_name(point: Point) -> str:
    """A checkpoint in words, when its entry does not say it."""
    return words.one_line(point.text) or REASONS.get(point.reason, f"{point.side} this {point.reason}")


def sign(point: Point | None) -> str:
    """● complete, ◐ partial, ○ inferred, blank without a checkpoint."""
    if point is None:
        return " "
    return "○" if point.inferred else "●" if point.complete else "◐"


def _is_shown(place: Place) -> bool:
    return place.kind != "entry" or bool(place.points)


def _rows_of(place: Place, tree: SessionTree, short: dict[str, str], now: int) -> Iterator[Row]:
    """The row of a place, with one line more for each further checkpoint that it holds."""
    earlier = [point for point in place.points[:-1] if point.side == "before"]
    later = [point for point in place.points[:-1] if point.side == "after"]
    for point in earlier:
        yield _point_row(point, place, tree, short, now)
    yield _main_row(place, tree, short, now)
    for point in later:
        yield _point_row(point, place, tree, short, now)


def _main_row(place: Place, tree: SessionTree, short: dict[str, str], now: int) -> Row:
    if place.branch is not None:
        facts = ", ".join(
            filter(None, [place.branch.state, f"made by {place.branch.origin}" if place.branch.origin else ""])
        )
        name = Cell(words.one_line(place.branch.name), "blue")
        return Row(
            (Cell(""), Cell("")), (Cell("│  " * (place.depth - 1) + "├╴ ", "dim"), name, Cell(f" ({facts})", "dim"))
        )
    point = place.point
    return Row(
        (
            Cell(words.moment(place.time, now), "dim", right=True),
            Cell(short.get(place.target, ""), "cyan" if point else "dim"),
        ),
        (*_guides(place), Cell(f"{sign(point)} "), _name(place)),
        _ends(point, tree, {place.target, place.entry.id if place.entry else ""}),
    )


def _point_row(point: Point, place: Place, tree: SessionTree, short: dict[str, str], now: int) -> Row:
    return Row(
        (Cell(words.moment(point.time, now), "dim", right=True), Cell(short[point.id], "cyan")),
        (*_guides(place), Cell(f"{sign(point)} "), Cell(point_name(point), "dim")),
        _ends(point, tree, {point.id}),
    )


def _guides(place: Place) -> tuple[Cell, ...]:
    return (Cell("│  " * place.depth + "  " * place.inset, "dim"),)


def _name(place: Place) -> Cell:
    text = words.one_line(place.text)
    if place.kind == "prompt" and place.entry is not None:
        return Cell(f"{place.entry.turn}  {text}", "bold")
    style: Style = "yellow" if place.kind == "operation" else "red" if place.error else ""
    return Cell(text, style)


def _ends(point: Point | None, tree: SessionTree, ids: set[str]) -> tuple[Cell, ...]:
    files, talk = tree.here.files in ids, tree.here.talk in ids
    here = {(True, True): "◀ here", (True, False): "◀ files", (False, True): "◀ talk"}.get((files, talk), "")
    if point is None:
        return (Cell(here, "green"),)
    lines = words.signed(point.added, point.removed)
    return (Cell(lines, "dim"), Cell(" · ".join(_notes(point)), "yellow"), Cell(here, "green"))


def _notes(point: Point) -> list[str]:
    notes = [f"[{words.one_line(point.label)}]"] if point.label else []
    notes += ["pinned"] if point.pinned else []
    notes += [f"knows {words.count(point.known, 'file')}"] if not point.complete else []
    notes += ["late"] if point.late else []
    notes += [f"{point.uncaptured} not captured"] if point.uncaptured else []
    return notes
