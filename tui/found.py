"""How what a search found is told: its kind in a word, and as much of its line as fits, with the words in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from ..store.model import Hit

KINDS = {
    "prompt": "prompt",
    "reply": "reply",
    "tool_call": "call",
    "tool_result": "output",
    "summary": "summary",
    "notice": "notice",
    "file": "file",
}
"""Kinds of hits in a word."""
Marks = Sequence[tuple[int, int]]
Piece = tuple[str, bool]
"""Some text, and whether it is what was looked for."""


def kind(hit: Hit) -> str:
    """What a hit is, in a word."""
    return "thinking" if hit.flavour == "thinking" else KINDS[hit.kind]


def line(hit: Hit, room: int, more: str = "…") -> list[Piece]:
    """What a hit shows on one line: of a file its name and the line inside, of an entry the line alone."""
    if not hit.name:
        return fitted(hit.text.rstrip(), hit.marks, room, more)
    place = f":{hit.line}" if hit.line else ""
    name = [*fitted(hit.name, hit.name_marks, max(room - len(place), 1), more), (place, False)]
    room -= sum(cell_len(text) for text, _ in name) + 2
    if not hit.line or room < 8:
        return name
    inside = hit.text.strip()
    skipped = len(hit.text) - len(hit.text.lstrip())
    marks = [(start - skipped, end - skipped) for start, end in hit.marks]
    return [*name, ("  ", False), *fitted(inside, marks, room, more)]


def fitted(text: str, marks: Marks, room: int, more: str = "…") -> list[Piece]:
    """A text in at most so many cells; its beginning gives way where the first mark would be out of sight."""
    if marks and cell_len(text[: marks[0][1]]) > room - 1:
        start = max(0, marks[0][0] - max(room // 4, 0))
        text = more + text[start:]
        marks = [(begin - start + len(more), end - start + len(more)) for begin, end in marks]
    whole = cell_len(text) <= room
    if not whole:
        text = set_cell_size(text, room - 1).rstrip() + more if room > 0 else ""
    return pieces(text, marks)


def pieces(text: str, marks: Marks) -> list[Piece]:
    """A text in pieces that are marked and such that are not."""
    found: list[Piece] = []
    at = 0
    for start, end in marks:
        start, end = max(start, at), min(end, len(text))
        if start < end:
            found += [(text[at:start], False), (text[start:end], True)]
            at = end
    return [piece for piece in (*found, (text[at:], False)) if piece[0]]
