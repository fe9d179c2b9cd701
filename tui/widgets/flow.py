"""What a pane of text is laid out from: parts that know their lines at a width, and what a line leads to."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from .lines import Span

MOST_LINES = 20_000
"""Lines of the screen that a pane holds; what is longer says so and is copied in full."""


class Link(NamedTuple):
    """What is done when a line is entered or clicked."""

    kind: Literal["part", "file", "mode"]
    """Opens or closes a part of the text; shows a file's history; shows other changes."""
    name: str
    path: bytes = b""


class Spot(NamedTuple):
    """Cells of a line that lead somewhere by themselves, for the mouse."""

    start: int
    end: int
    link: Link


class Line(NamedTuple):
    """A line as it is painted."""

    spans: Sequence[Span] = ()
    ground: str = ""
    """The ink of the whole line beneath them."""
    link: Link | None = None
    spots: tuple[Spot, ...] = ()

    @property
    def text(self) -> str:
        return "".join(words for words, _ in self.spans)


class Part(Protocol):
    """A piece of the text that is laid out as a whole."""

    def lines(self, width: int) -> Iterable[Line]:
        """Its lines in so many cells."""
        ...


class Stale(Exception):
    """Nobody waits for this answer any more."""


def always() -> bool:
    """For where nobody stops waiting."""
    return True


@dataclass(slots=True)
class Laid:
    """Parts laid out at a width; made off the screen's thread, and never changed afterwards."""

    width: int = 0
    lines: list[Line] = field(default_factory=list[Line])
    starts: array[int] = field(default_factory=lambda: array("i"))
    """The first line of each part."""

    def place(self, at: int) -> tuple[int, int]:
        """The part that a line is of, and how many lines into it."""
        part = max(bisect_left(self.starts, at + 1) - 1, 0)
        return part, at - (self.starts[part] if self.starts else 0)

    def line_of(self, part: int, into: int) -> int:
        """The line of a place as `place` tells it, in what was laid out at another width."""
        if part >= len(self.starts):
            return max(len(self.lines) - 1, 0)
        end = self.starts[part + 1] if part + 1 < len(self.starts) else len(self.lines)
        return max(min(self.starts[part] + into, end - 1), 0)


def laid(parts: Iterable[Part], width: int, wanted: Callable[[], bool] = always) -> Laid:
    """Lays parts out. Raises Stale once the answer is not wanted any more."""
    found = Laid(width)
    for part in parts:
        if not wanted():
            raise Stale
        found.starts.append(len(found.lines))
        found.lines.extend(part.lines(width))
        if len(found.lines) > MOST_LINES:
            more: list[Span] = [("This is not all: y copies the whole text.", "attention")]
            found.lines[MOST_LINES:] = [Line(more)]
            break
    return found


def squeezed(parts: Iterable[Part], blank: Part) -> Iterator[Part]:
    """Without two blank lines in a row, and without one at either end."""
    pending = started = False
    for part in parts:
        if part == blank:
            pending = started
            continue
        if pending:
            yield blank
        pending, started = False, True
        yield part
