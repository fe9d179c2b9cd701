"""How the commands write: cleaned, aligned text that honours terminal, pipe and width, or one JSON document."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TextIO

Style = Literal["", "bold", "dim", "red", "green", "yellow", "blue", "cyan"]

SGR: Mapping[Style, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}

PLAIN_SIGNS = str.maketrans(
    {"●": "*", "◐": "o", "○": ".", "◀": "<", "│": "|", "├": "|", "╰": "`", "╴": "-", "─": "-", "↩": "<", "·": "-"}
    | {"…": "~", "−": "-", "→": ">", "✓": "+", "✗": "x", "“": '"', "”": '"', "’": "'"}
)
"""What stands for our signs where the output's encoding does not have them."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """What the output goes to."""

    width: int | None = None
    """Columns to fit lines to; None: lines stay as long as they are (a pipe without COLUMNS)."""
    colour: bool = False
    person: bool = False
    """Somebody can answer a question."""

    @classmethod
    def of_process(cls) -> Terminal:
        """The terminal, or what stands in its place, of this process."""
        to_terminal = _is_terminal(sys.stdout)
        columns = os.environ.get("COLUMNS", "")
        fits = to_terminal or (columns.isdigit() and int(columns) > 0)
        return cls(
            width=max(20, shutil.get_terminal_size().columns) if fits else None,
            colour=to_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
            person=to_terminal and _is_terminal(sys.stdin),
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of a line; its text is one clean line."""

    text: str
    style: Style = ""
    right: bool = False
    """Aligned to the right of its column."""


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in columns, then one text that takes what room is left; without any cells the text begins the line."""

    cells: tuple[Cell, ...] = ()
    rest: tuple[Cell, ...] = ()
    end: tuple[Cell, ...] = ()
    """Stands behind the text, which makes room for it as long as it keeps a few words itself."""
    wraps: bool = False
    """Nothing of it may be missing: it goes on in further lines where it does not fit."""


@dataclass(slots=True)
class Output:
    """Where a command's answer goes."""

    terminal: Terminal
    stream: TextIO = field(default_factory=lambda: sys.stdout)

    def say(self, *lines: str) -> None:
        """Writes lines of text as they are; use `painted` and `one_line` before."""
        self.write("".join(f"{line}\n" for line in lines))

    def table(self, rows: Iterable[Row], gap: str = "  ") -> None:
        """Writes rows with their columns aligned, each cut to the terminal's width."""
        self.say(*table(list(rows), self.terminal, gap))

    def document(self, value: object) -> None:
        """Writes the one JSON document of a command."""
        self.write(json.dumps(value, indent=2) + "\n")

    def write(self, text: str) -> None:
        """Writes text as it is, with signs that the output's encoding has."""
        encoding = self.stream.encoding or "utf-8"
        if not encoding.lower().startswith("utf"):
            text = text.translate(PLAIN_SIGNS).encode(encoding, "backslashreplace").decode(encoding)
        try:
            self.stream.write(text)
            self.stream.flush()
        except BrokenPipeError:
            silence(self.stream)


def cell_len(text: str) -> int:
    """How many columns a text takes. rich, which takes a while to import, is asked for other signs than ours only."""
    if text.translate(PLAIN_SIGNS).isascii():
        return len(text)
    from rich import cells

    return cells.cell_len(text)


def set_cell_size(text: str, width: int) -> str:
    """The text in exactly so many columns: cut, or with blanks behind it."""
    from rich import cells

    return cells.set_cell_size(text, width)


def silence(stream: TextIO) -> None:
    """Sends what is still to come nowhere: the reader has gone, and the command goes on to its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def table(rows: Sequence[Row], terminal: Terminal, gap: str = "  ") -> list[str]:
    """Lines of the rows; the columns are as wide as their widest cell."""
    columns = max((len(row.cells) for row in rows), default=0)
    widths = [
        max((cell_len(row.cells[n].text) for row in rows if n < len(row.cells)), default=0) for n in range(columns)
    ]
    used = [n for n in range(columns) if widths[n]]
    return [line for row in rows for line in _lines(row, widths, used, terminal, gap)]


LEAST = 20
"""Columns that a text keeps, though what stands behind it be cut."""
SAYS = 7
"""Columns, two blanks among them, below which a cell that was cut says nothing, or the wrong thing: "1…" of 19:55."""


def _lines(row: Row, widths: Sequence[int], used: Sequence[int], terminal: Terminal, gap: str) -> list[str]:
    lead: list[Cell] = []
    for n in used:
        if n < len(row.cells):
            padding = " " * (widths[n] - cell_len(row.cells[n].text))
            before, after = (padding, gap) if row.cells[n].right else ("", padding + gap)
            lead += [Cell(before), row.cells[n], Cell(after)]
    tail = [Cell(f"  {cell.text}", cell.style) for cell in row.end if cell.text]
    if terminal.width is None:
        return [_join([*lead, *row.rest, *tail], terminal)]
    room = terminal.width - _width(lead)
    if row.wraps:
        return _wrapped(row, lead, tail, room, terminal)
    least = min(room, LEAST) if _width(tail) > room // 2 else 0
    tail = [cell for cell in _fitted(tail, min(_width(tail), room - least)) if cell_len(cell.text) >= SAYS]
    return [_join([*lead, *_fitted(row.rest, room - _width(tail)), *tail], terminal)]


def _wrapped(row: Row, lead: Sequence[Cell], tail: Sequence[Cell], room: int, terminal: Terminal) -> list[str]:
    """The row on as many lines as it needs, all but the first under its text."""
    whole = [*row.rest, *tail]
    if _width(whole) <= room:
        return [_join([*lead, *whole], terminal)]
    indent = Cell(" " * min(_width(lead), (terminal.width or 0) // 2))
    style = row.rest[0].style if row.rest else ""
    first, *others = [Cell(text, style) for text in wrap("".join(cell.text for cell in whole), max(10, room))]
    return [_join([*lead, first], terminal), *(_join([indent, other], terminal) for other in others)]


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken between words where that is possible."""
    lines = [""]
    for word in text.split():
        while cell_len(word) > width:
            lines.append(set_cell_size(word, width).rstrip() if cell_len(word[:1]) <= width else word[:1])
            word = word[len(lines[-1]) :]
        if word and lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        elif word:
            lines.append(word)
    return [line for line in lines if line] or [""]


def _width(cells: Sequence[Cell]) -> int:
    return sum(cell_len(cell.text) for cell in cells)


def _join(cells: Sequence[Cell], terminal: Terminal) -> str:
    """One line, without blanks at its end."""
    kept = list(cells)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = Cell(kept[-1].text.rstrip(), kept[-1].style)
    return "".join(painted(cell.text, cell.style, terminal) for cell in kept)


def _fitted(cells: Sequence[Cell], room: int) -> list[Cell]:
    """The cells in at most `room` columns; nothing stands behind one that is cut."""
    fitted: list[Cell] = []
    for cell in cells:
        fitted.append(Cell(cut(cell.text, room), cell.style))
        room -= cell_len(fitted[-1].text)
        if fitted[-1].text != cell.text:
            break
    return fitted


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns, ended by … where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def painted(text: str, style: Style, terminal: Terminal) -> str:
    """The text in its style, where the terminal has colours."""
    if not style or not text or not terminal.colour:
        return text
    return f"\x1b[{SGR[style]}m{text}\x1b[0m"


def shortened(ids: Iterable[str], least: int = 8) -> dict[str, str]:
    """Each id's shortest beginning that no other of them has, of at least `least` characters."""
    ordered = sorted(set(ids))
    short: dict[str, str] = {}
    for before, this, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        shared = max(_shared(this, before), _shared(this, after))
        short[this] = this[: max(least, shared + 1)]
    return short


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
