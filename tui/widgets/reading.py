"""A pane of text that is laid out on another thread; what can be opened in it is walked through like a page's links.

`j` goes to the next link while it is in sight, and else scrolls: prose is read, and lists are walked through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding
from textual.events import Click, Resize
from textual.message import Message

from ..actions import Where
from .flow import Laid, Link, Part, Stale, laid
from .lines import Lines, Span, bindings

NOWHERE = -1


class Reading(Lines):
    """Shows what was laid out; has a cursor only where a line leads somewhere."""

    PLACES: ClassVar[tuple[Where, ...]] = ("move", "detail")
    BINDINGS: ClassVar[list[Binding]] = bindings("detail")  # type: ignore[assignment]

    @dataclass
    class Followed(Message):
        """A link was entered or clicked."""

        pane: Reading
        link: Link

        @property
        def control(self) -> Reading:
            return self.pane

    @dataclass
    class Left(Message):
        """There is nothing to close here: the keys go back to where they were."""

        pane: Reading

        @property
        def control(self) -> Reading:
            return self.pane

    def __init__(self, *, ident: str | None = None, classes: str | None = None) -> None:
        super().__init__(ident=ident, classes=classes)
        self.parts: Sequence[Part] = ()
        self._laid = Laid()
        self._asked_width = 0
        self.set_reactive(Lines.cursor, NOWHERE)

    @property
    def line_count(self) -> int:
        return len(self._laid.lines)

    @property
    def text_width(self) -> int:
        """Cells that text is laid out in: the scroll bar's are kept free, so that its coming wraps nothing anew.

        While the pane is hidden, those that it has where it takes the tree's place.
        """
        return max((self.size.width or self.app.size.width - 2) - 1, 8)

    @property
    def link(self) -> Link | None:
        """What the line under the cursor leads to."""
        return self._link_at(self.cursor)

    def _link_at(self, at: int) -> Link | None:
        return self._laid.lines[at].link if 0 <= at < self.line_count else None

    # What is shown

    def show(self, parts: Sequence[Part], ready: Laid, *, keep_place: bool = False) -> None:
        """Shows other text, laid out already; from its top unless the place is to be kept."""
        self.parts = parts
        self._take(ready, keep_place=keep_place)
        if ready.width != self.text_width:
            self._lay_anew()

    def _take(self, ready: Laid, *, keep_place: bool) -> None:
        """Takes other lines; the cursor goes to the line that leads to the same as before, and nothing is scrolled."""
        held, place = self.link, self._laid.place(self.scroll_offset.y)
        self._laid = ready
        self._asked_width = ready.width
        self.repaint()
        top = ready.line_of(*place) if keep_place else 0
        if self.is_attached:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        sight = self._sight(top)
        links = list(self._links(sight))
        same = (at for at in links if keep_place and self._link_at(at) == held)
        self.set_reactive(Lines.cursor, next(same, links[0] if links else NOWHERE))
        self.post_message(self.Moved(self, self.cursor))

    def on_resize(self, event: Resize) -> None:
        if self.parts and self.text_width != self._asked_width:
            self._lay_anew()

    def _lay_anew(self) -> None:
        self._asked_width = self.text_width
        self.run_worker(self._lay(self.parts, self._asked_width), group="lay", exclusive=True)

    async def _lay(self, parts: Sequence[Part], width: int) -> None:
        """Wraps to another width on another thread; until then the old lines stand, cut where they are too long."""

        def wanted() -> bool:
            return self.parts is parts and self._asked_width == width

        try:
            ready = await self.app.ask(lambda store: laid(parts, width, wanted))
        except Stale:
            return
        if wanted() and self.is_attached:
            self._take(ready, keep_place=True)

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        line = self._laid.lines[at]
        chosen = at == self.cursor and line.link is not None and self.has_focus
        return line.spans, "row" if chosen else line.ground

    def selected_ink(self) -> str:
        return ""

    def plain(self, at: int) -> str:
        return self._laid.lines[at].text.rstrip()

    # Links

    def validate_cursor(self, value: int) -> int:
        return value if self._link_at(value) else NOWHERE

    def _links(self, lines: Iterable[int]) -> Iterator[int]:
        """Those of the lines that begin a link: one that is wrapped counts once."""
        for at in lines:
            link = self._link_at(at)
            if link and self._link_at(at - 1) != link:
                yield at

    def _sight(self, top: int) -> range:
        """The lines that are on the screen when it begins with this one."""
        return range(top, min(top + self.scrollable_content_region.height, self.line_count))

    def move(self, by: int) -> None:
        sight = self._sight(self.scroll_offset.y)
        if abs(by) == 1:
            ahead = range(self.cursor + 1, sight.stop) if self.cursor in sight else sight
            if by < 0:
                ahead = range(self.cursor - 1, sight.start - 1, -1) if self.cursor in sight else reversed(sight)
            found = next(self._links(ahead), NOWHERE)
            if found != NOWHERE:
                self.cursor = found
                return
        self._scroll(by)

    def _scroll(self, by: int) -> None:
        """Scrolls; the cursor goes along where it would be left behind."""
        top = max(0, min(self.scroll_offset.y + by, self.max_scroll_y))
        moved = top != self.scroll_offset.y
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        sight = self._sight(top)
        if self.cursor not in sight or not moved or abs(by) > 1:
            self.cursor = next(self._links(sight if by < 0 or moved else reversed(sight)), NOWHERE)

    def show_line(self, at: int) -> None:
        if at != NOWHERE:
            super().show_line(at)

    def on_click(self, event: Click) -> None:
        event.prevent_default()  # a link is followed at once
        at = event.y + self.scroll_offset.y
        if at >= self.line_count:
            return
        line = self._laid.lines[at]
        link = next((spot.link for spot in line.spots if spot.start <= event.x < spot.end), line.link)
        if link is not None:
            self.cursor = at
            self.post_message(self.Followed(self, link))

    def action_follow(self) -> None:
        if self.link is not None:
            self.post_message(self.Followed(self, self.link))

    def action_close_part(self) -> None:
        """Closes the part under the cursor; where there is none, the keys go back to the tree."""
        line = self._laid.lines[self.cursor] if 0 <= self.cursor < self.line_count else None
        if line is not None and line.link is not None and line.link.kind == "part" and self.signs.unfolded in line.text:
            self.post_message(self.Followed(self, line.link))
        else:
            self.post_message(self.Left(self))
