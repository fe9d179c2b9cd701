"""A session's tree as text: the rows of the outline that are turns, checkpoints, branches and operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...store.model import Branch, Point, SessionTree
from ...store.naming import gone
from .. import words
from ..outline import Outline
from ..outline import Row as Place
from ..output import Cell, Row, shortened

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
    short = shortened([item.id for item in (*tree.points, *tree.gone, *tree.entries)])
    outline = Outline(tree)
    laid = [(n, place) for n, place in enumerate(outline.rows) if place.kind != "result"]
    places = [(n, place) for n, place in laid if every_entry or _is_shown(place)]
    talk = _shown_at(outline.index.get(tree.here.talk or ""), [n for n, _ in places])
    rows: list[Row] = []
    for number, place in places:
        rows += _rows_of(_Drawing(place, tree, short, now, talks=number == talk))
    return rows


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A place, and what is needed to draw it."""

    place: Place
    tree: SessionTree
    short: dict[str, str]
    now: int
    talks: bool
    """The conversation would go on from here."""


def _shown_at(row: int | None, shown: Sequence[int]) -> int | None:
    """The row that stands for another one: the last one that is shown at or before it."""
    return max((n for n in shown if row is not None and n <= row), default=None)


def heading(tree: SessionTree) -> Row:
    """What the tree is of, in one line."""
    prompts = sum(entry.kind == "prompt" and not entry.under for entry in tree.entries)
    counts = [
        words.agent(tree.info.agent),
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
    return place.kind != "entry" or bool(place.points or place.gone)


def _rows_of(drawing: _Drawing) -> Iterator[Row]:
    """The row of a place, with one line more for each further checkpoint that it holds."""
    own = drawing.place.point
    further = [point for point in drawing.place.points if point is not own]
    for point in further:
        if own is not None and point.time <= own.time:
            yield _point_row(point, drawing)
    yield _main_row(drawing)
    for point in further:
        if own is None or point.time > own.time:
            yield _point_row(point, drawing)


def _main_row(drawing: _Drawing) -> Row:
    place = drawing.place
    if place.branch is not None:
        return _branch_row(place, place.branch)
    point, name = place.point, place.target
    guard = place.operation.data.get("guard") if place.operation else None
    if isinstance(guard, str):
        name = guard
    elif point is None and place.gone:
        name = place.gone[-1].id
    return Row(
        _columns(place.time, drawing.short.get(name, ""), bool(point or guard), drawing),
        (*_guides(place), Cell(f"{sign(point)} "), _name(place)),
        (*_facts(point, place), Cell(_gone(place, drawing.now), "dim"), Cell(_here(point, drawing), "green")),
    )


def _gone(place: Place, now: int) -> str:
    """That checkpoints stood here whose files were deleted."""
    if not place.gone:
        return ""
    last = place.gone[-1]
    return f"files {gone(last)} {words.moment(last.gone, now)}"


def _point_row(point: Point, drawing: _Drawing) -> Row:
    files = "◀ files" if drawing.tree.here.files == point.id else ""
    return Row(
        _columns(point.time, drawing.short[point.id], True, drawing),
        (*_guides(drawing.place), Cell(f"{sign(point)} "), Cell(point_name(point), "dim")),
        (*_facts(point, None), Cell(files, "green")),
    )


def _branch_row(place: Place, branch: Branch) -> Row:
    facts = ", ".join(filter(None, [branch.state, f"made by {branch.origin}" if branch.origin else ""]))
    guides = Cell("│  " * (place.depth - 1) + "├╴ ", "dim")
    return Row((Cell(""), Cell("")), (guides, Cell(words.one_line(branch.name), "blue"), Cell(f" ({facts})", "dim")))


def _columns(moment: int, name: str, is_point: bool, drawing: _Drawing) -> tuple[Cell, Cell]:
    time = Cell(words.moment(moment, drawing.now), "dim", right=True)
    return time, Cell(name, "cyan" if is_point else "dim")


def _guides(place: Place) -> tuple[Cell, ...]:
    return (Cell("│  " * place.depth + "  " * place.inset, "dim"),)


def _name(place: Place) -> Cell:
    text = words.one_line(place.text)
    if place.kind == "prompt" and place.entry is not None:
        return Cell(f"{place.entry.turn}  {text}", "bold")
    if place.kind == "operation":
        return Cell(f"↩ {text}", "yellow")
    return Cell(text, "red" if place.error else "")


def _facts(point: Point | None, place: Place | None) -> tuple[Cell, ...]:
    if point is None:
        return ()
    lines = words.signed(point.added, point.removed)
    if lines and place is not None and place.kind == "prompt":
        lines = f"{lines} since the turn before"
    return (Cell(lines, "dim"), Cell(" · ".join(_notes(point, place.text if place else "")), "yellow"))


def _here(point: Point | None, drawing: _Drawing) -> str:
    files = point is not None and drawing.tree.here.files == point.id
    return {(True, True): "◀ here", (True, False): "◀ files", (False, True): "◀ talk"}.get((files, drawing.talks), "")


def _notes(point: Point, called: str) -> list[str]:
    """What else there is to say of a point; a save is called by its label already."""
    notes = [f"[{words.one_line(point.label)}]"] if point.label and point.label != called else []
    notes += ["pinned"] if point.pinned else []
    notes += [f"knows {words.count(point.known, 'file')}"] if not point.complete else []
    notes += ["late"] if point.late else []
    notes += [f"{point.uncaptured} not captured"] if point.uncaptured else []
    return notes
