"""The words of a diff that were marked with the mouse, without numbers and signs."""

from __future__ import annotations

from textual.selection import Selection

from .difflayout import WHOLE, Layout


def marked_words(layout: Layout, selection: Selection, shift: int) -> tuple[str, str] | None:
    """The words between two places of the screen, and what ends them; wrapped lines are one again."""
    first = selection.start.y if selection.start else 0
    last = min(selection.end.y if selection.end else layout.height, layout.height - 1)
    out: list[str] = []
    for at in range(first, last + 1):
        text, lead, starts = _words(layout, at, shift)
        start = max(0, selection.start.x - lead) if selection.start and at == first else 0
        end = max(0, selection.end.x - lead) if selection.end and at == last else len(text)
        if starts or not out:
            out.append(text[start:end])
        else:
            out[-1] += text[start:end]
    return ("\n".join(out), "\n") if out else None


def _words(layout: Layout, at: int, shift: int) -> tuple[str, int, bool]:
    """The words on a line of the screen, the cells before them, and whether a row begins there."""
    row, part = layout.at(at)
    text = layout.content.text(row)
    if layout.content.kinds[row] in WHOLE:
        return text, 1, True
    if layout.wrap:
        return text[part * layout.room : (part + 1) * layout.room], layout.lead, not part
    return text, layout.lead - shift, True
