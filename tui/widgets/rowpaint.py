"""How a row of the tree is drawn: from the row and what surrounds it to pieces of a line."""

from __future__ import annotations

from dataclasses import dataclass

from ..rows import Row
from ..spans import Parts, Span, clip
from ..theme import Signs
from ..words import age, clock, count, one_line, short

GUIDES = 12
"""Levels of branches that are drawn; deeper ones stand at the last."""
LONGEST_NAME = 24
"""Cells of a branch's name."""
COMMANDS = frozenset({"bash", "shell", "local_shell", "exec_command", "run_shell_command", "powershell"})
"""Tools of which one wants to know at once what came out."""


@dataclass(frozen=True, slots=True)
class Look:
    """What all rows of a pane have in common."""

    signs: Signs
    now: int
    clocks: bool
    """Clock times, not ages."""
    columns: tuple[int, int]
    """Cells of the columns of lines that came and went; 0 where none were counted."""
    needle: str
    """What is searched for."""


@dataclass(frozen=True, slots=True)
class State:
    """How one row stands now."""

    folds: bool
    is_open: bool
    here: str
    """What is here: files, talk or both; "" where nothing is."""
    marked: bool


def row_parts(row: Row, state: State, look: Look) -> Parts:
    """The row: guides, words, then the columns at the right."""
    marks = _marks(state, look)
    lines = _lines(row, look) if row.lines or not marks else []
    lead, body = _lead(row, state, look), _body(row, state, look)
    return Parts(lead, body, _outcome(row), marks, lines, _rest(row, state, look))


def _lead(row: Row, state: State, look: Look) -> list[Span]:
    signs = look.signs
    guide = f"{signs.line} "
    guides = guide * min(row.depth, GUIDES)
    if row.kind == "branch":
        guides = guides[: -len(guide)] + signs.branch
    fold = f"{signs.unfolded if state.is_open else signs.folded} " if state.folds else "  "
    return [(guides, "faint"), (fold, "muted"), ("  " * row.inset, "text")]


def _body(row: Row, state: State, look: Look) -> list[Span]:
    """The words of a row, with its number, chips and what went wrong."""
    text = one_line(row.text)
    if row.branch is not None:
        return _branch(row, text, state, look)
    if row.kind == "prompt":
        ink = "strong" if row.active else "muted"
        number = row.entry.turn if row.entry else 0
        return [(f"{number}  ", ink), *_found(text, ink, look.needle), *_chips(row, state, look)]
    if row.operation is not None:
        sign = look.signs.fork if row.operation.kind == "fork" else look.signs.back
        return [(f"{sign} ", "muted"), *_found(text, "muted", look.needle)]
    sign = [(f"{look.signs.compaction} ", "muted")] if row.compaction else []
    if row.kind == "summary":
        return [*sign, *_found(text, "muted", look.needle), *_chips(row, state, look)]
    quiet = row.kind in ("point", "result") or (row.entry is not None and row.entry.flavour == "thinking")
    ink = "attention" if row.kind == "result" and row.error else "text" if row.active and not quiet else "muted"
    wrong = [(f"  {look.signs.error}", "attention")] if row.error and row.kind != "result" else []
    return [*sign, *_found(text, ink, look.needle), *wrong, *_chips(row, state, look)]


def _branch(row: Row, text: str, state: State, look: Look) -> list[Span]:
    branch = row.branch
    assert branch is not None
    name = clip(one_line(branch.name), LONGEST_NAME, look.signs.more)
    told = branch.state if branch.state != "active" or row.active else "left"
    return [
        *([(name, "chip"), ("  ", "text")] if name else []),
        *_found(text, "muted", look.needle),
        *([(f"  {told}, {count(row.entries, 'entry', 'entries')}", "faint")] if row.entries else []),
        *_summed_up(row, state, look),
    ]


def _found(text: str, ink: str, needle: str) -> list[Span]:
    """The text with what is searched for made to stand out."""
    searched = text.lower() if needle.islower() else text
    if not needle or len(searched) != len(text):
        return [(text, ink)]
    spans: list[Span] = []
    at = 0
    while (found := searched.find(needle, at)) >= 0:
        spans += [(text[at:found], ink), (text[found : found + len(needle)], "hit")]
        at = found + len(needle)
    return [*spans, (text[at:], ink)]


def _outcome(row: Row) -> list[Span]:
    """The first words of what a call brought back: of one that failed, and of a command."""
    if row.result is None or row.entry is None:
        return []
    told = one_line(row.result.text)
    if row.result.error:
        return [(f" {told}", "attention")]
    is_telling = row.entry.tool.lower() in COMMANDS and any(map(str.isalnum, told))
    return [(f"  {told}", "muted")] if is_telling else []


def _chips(row: Row, state: State, look: Look) -> list[Span]:
    """Labels and pins: of a folded row those inside of it too; and what else it holds that should be seen."""
    points = [*row.points, *row.moved] if state.folds and not state.is_open else row.points
    # A save is called by its label already.
    labels = dict.fromkeys(point.label for point in points if point.label and point.label != row.text)
    chips: list[Span] = [(f" [{one_line(label)}]", "chip") for label in labels]
    if any(point.pinned for point in points):
        chips.append((f" {look.signs.pin}", "chip"))
    return chips + _summed_up(row, state, look)


def _summed_up(row: Row, state: State, look: Look) -> list[Span]:
    """Sub-agents and errors inside of what is folded; a call that started a sub-agent always says so."""
    is_folded = state.folds and not state.is_open
    summed: list[Span] = []
    if row.agents and (is_folded or not row.heads):
        summed.append((f"  {look.signs.agent} {row.agents:,}", "muted"))
    if row.errors and is_folded:
        summed.append((f"  {look.signs.error} {row.errors:,}", "attention"))
    return summed


def _marks(state: State, look: Look) -> list[Span]:
    """Where we are, and what is marked."""
    marks: list[Span] = [(f"{look.signs.mark} mark  ", "here")] if state.marked else []
    if state.here:
        marks.append((f"{look.signs.here} {state.here}  ", "here"))
    return marks


def _rest(row: Row, state: State, look: Look) -> list[Span]:
    """Checkpoint and time."""
    when = clock(row.time, look.now) if look.clocks else age(row.time, look.now)
    return [
        (f" {_sign(row, state, look.signs)} ", "text" if row.active else "muted"),
        (f"{when:>{6 if look.clocks else 3}} ", "muted"),
    ]


def _lines(row: Row, look: Look) -> list[Span]:
    added, removed = row.lines or (0, 0)
    came, went = look.columns
    if not came:
        return []
    return [
        (f"{'+' + short(added) if added else '':>{came}} ", "added" if row.active else "muted"),
        (f"{look.signs.minus + short(removed) if removed else '':>{went}}", "removed" if row.active else "muted"),
    ]


def _sign(row: Row, state: State, signs: Signs) -> str:
    """Whether the row has a checkpoint, and whether that one knows all files."""
    points = [*row.points, *row.moved] if state.folds and not state.is_open else row.points
    if not points:
        return " "
    return signs.checkpoint if any(point.complete for point in points) else signs.partial


def column_cells(most: tuple[int, int]) -> tuple[int, int]:
    """Cells that the columns of "+n" and "−n" take."""
    return (len(short(most[0])) + 1, len(short(most[1])) + 1) if any(most) else (0, 0)
