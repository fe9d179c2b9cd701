"""Parts of a page as a test reads them: their lines at a width, and what these lead to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from forkpoint.tui.detail.asked import Asked
from forkpoint.tui.widgets.flow import Line, Link, Part, laid
from rich.cells import cell_len

WIDE = 200


def lines(parts: Iterable[Part], width: int = WIDE) -> list[str]:
    """The lines, without blanks at their ends; none of them may be wider than the page."""
    made = laid(parts, width).lines
    assert all(sum(cell_len(words) for words, _ in line.spans) <= width for line in made)
    return [line.text.rstrip() for line in made]


def inks(parts: Iterable[Part], words: str, width: int = WIDE) -> str:
    """The inks of a piece of text that stands alone in its span."""
    spans = [span for line in laid(parts, width).lines for span in line.spans]
    return next(ink for text, ink in spans if text.strip() == words)


def links(parts: Iterable[Part], width: int = WIDE) -> list[Link]:
    """What lines lead to, each once."""
    found = (line.link for line in laid(parts, width).lines)
    return list(dict.fromkeys(link for link in found if link is not None))


def line_with(parts: Iterable[Part], words: str, width: int = WIDE) -> Line:
    """The first line that holds these words."""
    return next(line for line in laid(parts, width).lines if words in line.text)


def at(asked: Asked, beginning: str, *opened: str, **more: object) -> Asked:
    """The same question about the row whose text begins so."""
    row = next(row for row in asked.outline.rows if row.text.startswith(beginning))
    return replace(asked, row=row, opened=frozenset(opened), **more)  # type: ignore[arg-type]
