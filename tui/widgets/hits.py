"""What a search found, under the names of its sessions; only the rows on the screen are ever laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from ...store.model import Hit
from ..found import fitted, kind, line
from ..words import age, agent, count, one_line
from .lines import Lines, Span

SHOWS_BRANCH = 90
"""Columns from which the branch of a row stands beside it."""
BRANCH = 18
KIND = 8


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of what the hits below it are of."""

    title: str
    about: str


class HitList(Lines):
    """Hits by session, the newest first; then files."""

    def __init__(self, *, ident: str | None = None) -> None:
        super().__init__(ident=ident)
        self.rows: list[Heading | Hit] = []
        self.empty = ""
        """What is said where there is nothing."""

    @property
    def line_count(self) -> int:
        return len(self.rows) or (1 if self.empty else 0)

    @property
    def hit(self) -> Hit | None:
        """The one under the cursor."""
        row = self.rows[self.cursor] if self.cursor < len(self.rows) else None
        return row if isinstance(row, Hit) else None

    def fill(self, hits: Sequence[Hit]) -> None:
        """Shows other hits; the cursor stays on its own where it is still there."""
        kept = named(self.hit) if self.hit else None
        self.rows = list(grouped(hits))
        places = (at for at, row in enumerate(self.rows) if isinstance(row, Hit) and named(row) == kept)
        self.set_reactive(Lines.cursor, self.validate_cursor(next(places, 0)))
        self.repaint()
        if self.is_attached:
            self.show_line(self.cursor)
            self.post_message(self.Moved(self, self.cursor))

    def validate_cursor(self, value: int) -> int:
        """Headings are passed over, in the direction of the move."""
        value = max(0, min(value, len(self.rows) - 1))
        step = -1 if value < self.cursor else 1
        for way in (step, -step):
            at = value
            while 0 <= at < len(self.rows):
                if isinstance(self.rows[at], Hit):
                    return at
                at += way
        return value

    def show_line(self, at: int) -> None:
        if at and isinstance(self.rows[at - 1], Heading):
            super().show_line(at - 1)
        super().show_line(at)

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        if not self.rows:
            return [(" " + self.empty, "muted")], ""
        row = self.rows[at]
        if isinstance(row, Heading):
            title = fitted(row.title, (), max(width - 4, 1), self.signs.more)
            return [(" ", "text"), *((text, "strong") for text, _ in title), (f"  {row.about}", "muted")], ""
        return self._of_hit(row, width), ""

    def _of_hit(self, hit: Hit, width: int) -> list[Span]:
        branch = one_line(hit.branch) if width >= SHOWS_BRANCH else ""
        branch = "".join(text for text, _ in fitted(branch, (), BRANCH, self.signs.more))
        when = age(hit.time, self.app.now())
        room = width - KIND - 10 - (BRANCH + 2 if width >= SHOWS_BRANCH else 0)
        pieces = line(hit, room, self.signs.more)
        used = sum(cell_len(text) for text, _ in pieces)
        ink = "strong" if hit.kind == "prompt" else "text"
        return [
            (f"   {kind(hit):<{KIND}}", "chip"),
            (f"{when:>4}  ", "muted"),
            *((text, "hit" if marked else ink) for text, marked in pieces),
            (" " * max(room - used + 1, 0), "text"),
            (branch, "muted"),
        ]

    def plain(self, at: int) -> str:
        row = self.rows[at] if at < len(self.rows) else None
        if isinstance(row, Hit):
            return f"{row.name}:{row.line}: {row.text}" if row.name else row.text
        return row.title if row else ""


def named(hit: Hit) -> tuple[str, str, bytes]:
    """What tells a hit from all others."""
    return hit.session, hit.entry or hit.point, hit.path


def grouped(hits: Sequence[Hit]) -> list[Heading | Hit]:
    """The hits of each session under its name, in the order of their first ones; files last."""
    sessions: dict[str, list[Hit]] = {}
    for hit in hits:
        sessions.setdefault("" if hit.kind == "file" else hit.session, []).append(hit)
    files = sessions.pop("", [])
    rows: list[Heading | Hit] = []
    for those in sessions.values():
        rows.append(Heading(one_line(those[0].title) or "Untitled", f"{agent(those[0].agent)}, {len(those):,}"))
        rows.extend(those)
    if files:
        rows.append(Heading("Files of checkpoints", count(len(files), "file")))
        rows.extend(files)
    return rows
