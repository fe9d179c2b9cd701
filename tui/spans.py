"""Pieces of a line and how they are cut to a width: known to what draws lines, and to what only prepares them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

Span = tuple[str, str]
"""A piece of text and the names of its inks, those further right over the others."""
NARROWEST_COLUMNS = 42
"""Cells of a pane below which a row's columns of lines are left out."""
LEAST_ASIDE = 10
"""Cells that must be left for what is said behind a row's words."""


def clip(text: str, width: int, more: str = "…") -> str:
    """The text in at most so many cells, with a sign where something is left out."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + more if width > 0 else ""


def clip_title(text: str, width: int, more: str = "…") -> str:
    """A moment's name in at most so many cells; its clock time, behind the last dot, is never cut."""
    head, dot, when = text.rpartition(" · ")
    if cell_len(text) <= width or not dot or len(when) + 8 > width:
        return clip(text, width, more)
    closing = '"' if head.endswith('"') else ""
    return clip(head, width - cell_len(when) - 3 - len(closing), more) + closing + dot + when


def spans_length(spans: Iterable[Span]) -> int:
    """Cells that the spans take."""
    return sum(cell_len(text) for text, _ in spans)


def _cut_at_the_end(spans: Iterable[Span], room: int, more: str) -> Iterator[Span]:
    """As many of the spans as there is room for."""
    for text, ink in spans:
        if room > 0:
            cut = clip(text, room, more)
            room -= cell_len(cut)
            yield cut, ink


class Parts(NamedTuple):
    """A row of the tree before its width is known."""

    lead: Sequence[Span]
    """Guides, the sign of folding, and how far it stands in."""
    body: Sequence[Span]
    """Its words: cut where there is no room."""
    aside: Sequence[Span]
    """What is said behind them where there is room left."""
    marks: Sequence[Span]
    """At the right: where one is, and the mark …"""
    lines: Sequence[Span]
    """… the columns of lines, left out where it is narrow …"""
    rest: Sequence[Span]
    """… and checkpoint and time."""

    def fitted(self, width: int, more: str) -> list[Span]:
        """The row in exactly so many cells."""
        tail = [*self.marks, *(self.lines if width >= NARROWEST_COLUMNS else ()), *self.rest]
        room = max(width - 1 - spans_length(tail) - spans_length(self.lead), 4)
        left = room - spans_length(self.body)
        words = [*self.body, *(_cut_at_the_end(self.aside, left, more) if left >= LEAST_ASIDE else ())]
        return joined([*self.lead, *_cut(words, room, more), (" ", "text"), *tail])


def joined(spans: Iterable[Span]) -> list[Span]:
    """Neighbours of the same ink as one: each piece costs when it is drawn."""
    found: list[Span] = []
    for text, ink in spans:
        if found and found[-1][1] == ink:
            found[-1] = (found[-1][0] + text, ink)
        elif text:
            found.append((text, ink))
    return found


def _cut(body: list[Span], room: int, more: str) -> list[Span]:
    """Words in exactly this room; what is too long is cut in its longest piece."""
    over = spans_length(body) - room
    if over > 0:
        longest = max(range(len(body)), key=lambda at: cell_len(body[at][0]))
        text, ink = body[longest]
        body[longest] = (clip(text, max(cell_len(text) - over, 8), more), ink)
    fitted: list[Span] = []
    for text, ink in body:
        cut = clip(text, room, more)
        fitted.append((cut, ink))
        room -= cell_len(cut)
        if room <= 0:
            break
    return [*fitted, (" " * max(room, 0), "text")]
