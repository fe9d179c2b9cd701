"""The base of every pane that draws lines on demand: only what is on the screen is ever painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.cache import LRUCache
from textual.events import Click, Focus, Resize
from textual.geometry import Offset, Region, Size, clamp
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from ..actions import Where, actions_of
from ..spans import Span as Span
from ..spans import clip as clip
from ..spans import clip_title as clip_title
from ..spans import spans_length as spans_length
from ..theme import Signs, inked

if TYPE_CHECKING:
    from ..app import ForkpointApp


def bindings(*places: Where) -> list[Binding]:
    """The key bindings of these places, from the one list of actions."""
    return [
        Binding(action.keys, action.id, action.label or action.text, id=f"{action.where}.{action.id}", show=False)
        for action in actions_of(*places)
        if action.keys
    ]


class Lines(ScrollView, can_focus=True):
    """A list of lines with a cursor; subclasses say how many there are and paint one."""

    BINDINGS: ClassVar[list[Binding]] = bindings("move")  # type: ignore[assignment]

    cursor: reactive[int] = reactive(0, repaint=False, always_update=False)
    has_cursor = True

    @dataclass
    class Moved(Message):
        """The cursor rests on another line; only the newest of several counts."""

        lines: Lines
        at: int

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Lines.Moved) and message.lines is self.lines

        @property
        def control(self) -> Lines:
            return self.lines

    @dataclass
    class Chosen(Message):
        """A line that had the cursor already was clicked."""

        lines: Lines
        at: int

        @property
        def control(self) -> Lines:
            return self.lines

    if TYPE_CHECKING:

        @property
        def app(self) -> ForkpointApp: ...

    def __init__(self, *, ident: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=ident, classes=classes)
        self._strips: LRUCache[tuple[int, ...], Strip] = LRUCache(1024)
        self._styles: dict[str, Style] = {}

    # What a subclass says

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        return 0

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        """The pieces of a line, and the ink of the whole line beneath them."""
        del at, width
        return (), ""

    def plain(self, at: int) -> str:
        """A line as it is copied."""
        return "".join(text for text, _ in self.spans(at, self.width)[0]).rstrip()

    # Painting

    @property
    def signs(self) -> Signs:
        return self.app.signs

    @property
    def width(self) -> int:
        """Cells that a line has, the scroll bar's left out."""
        return self.scrollable_content_region.width

    def ink(self, names: str) -> Style:
        """The style of these inks over each other, on the pane's own ground."""
        style = self._styles.get(names)
        if style is None:
            style = self._styles[names] = inked(self.rich_style, names, self.app.theme_variables)
        return style

    def repaint(self) -> None:
        """Forgets every painted line, and what the number of lines was."""
        self._strips.clear()
        size = Size(self.content_width, self.line_count)
        if size != self.virtual_size:
            self.virtual_size = size
        self.refresh()

    @property
    def content_width(self) -> int:
        """Cells that the longest line takes, for scrolling sideways; 0 where lines are cut."""
        return 0

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def on_mount(self) -> None:
        self.repaint()

    def on_resize(self, event: Resize) -> None:
        self._strips.clear()

    def on_focus(self, event: Focus) -> None:
        self._strips.clear()
        self.refresh()

    def on_blur(self) -> None:
        self._strips.clear()
        self.refresh()

    def selected_ink(self) -> str:
        """The ink of the cursor's line."""
        return "row" if self.has_focus else "row-idle"

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        at, width = y + scroll_y, self.width
        if at >= self.line_count:
            return Strip.blank(self.size.width, self.rich_style)
        key = (at, at == self.cursor, scroll_x, width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._paint(at, scroll_x, width)
        return strip

    def _paint(self, at: int, scroll_x: int, width: int) -> Strip:
        spans, ground = self.spans(at, width)
        return self.strip_of(spans, ground, at, scroll_x, width)

    def strip_of(self, spans: Sequence[Span], ground: str, at: int, scroll_x: int, width: int) -> Strip:
        """The spans as they stand at a line: on its ground, cut, and what the mouse marked marked."""
        if self.has_cursor and at == self.cursor and not ground:
            ground = self.selected_ink()
        base = self.ink(ground) if ground else self.rich_style
        segments = [Segment(self.signs.drawn(text), self.ink(f"{ground} {ink}")) for text, ink in spans if text]
        strip = Strip(segments)
        if strip.cell_length > scroll_x + width and width > 2:
            strip = Strip([*strip.crop(0, scroll_x + width - 1), Segment(self.signs.cut, self.ink(f"{ground} muted"))])
        selection = self.text_selection
        if selection is not None and (found := selection.get_span(at)) is not None:
            strip = self._select(strip, *found)
        return strip.crop_extend(scroll_x, scroll_x + width, base).apply_offsets(scroll_x, at)

    def _select(self, strip: Strip, start: int, end: int) -> Strip:
        end = strip.cell_length if end < 0 else min(end, strip.cell_length)
        if start >= end:
            return strip
        style = self.screen.get_component_rich_style("screen--selection")
        marked = [Segment(part.text, (part.style or Style()) + style) for part in strip.crop(start, end)]
        return Strip([*strip.crop(0, start), *marked, *strip.crop(end)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        first = selection.start.y if selection.start else 0
        last = min(selection.end.y if selection.end else self.line_count, self.line_count - 1)
        lines = [self.plain(at) for at in range(first, last + 1)]
        if not lines:
            return None
        if selection.end and selection.end.y == last:
            lines[-1] = lines[-1][: selection.end.x]
        lines[0] = lines[0][selection.start.x if selection.start else 0 :]
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    # Moving

    def validate_cursor(self, value: int) -> int:
        return clamp(value, 0, max(0, self.line_count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        if not self.is_mounted:
            return
        self.refresh_line(old)
        self.refresh_line(new)
        self.show_line(new)
        if self.has_cursor and self.has_focus:
            # The terminal's own cursor goes along, for those who are read the screen.
            self.app.cursor_position = self.region.offset + Offset(0, new - self.scroll_offset.y)
        self.post_message(self.Moved(self, new))

    def show_line(self, at: int) -> None:
        """Scrolls as little as is needed to have a line on the screen."""
        self.scroll_to_region(Region(0, at, 1, 1), animate=False, x_axis=False, force=True)

    def on_click(self, event: Click) -> None:
        if not self.has_cursor:
            return
        at = event.y + self.scroll_offset.y
        if at >= self.line_count:
            return
        if at == self.cursor:
            self.post_message(self.Chosen(self, at))
        self.cursor = at

    def move(self, by: int) -> None:
        if self.has_cursor:
            self.cursor += by
        else:
            self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def action_cursor_down(self) -> None:
        self.move(1)

    def action_cursor_up(self) -> None:
        self.move(-1)

    def action_first(self) -> None:
        self.move(-self.line_count)

    def action_last(self) -> None:
        self.move(self.line_count)

    def action_half_down(self) -> None:
        self.move(self.page // 2)

    def action_half_up(self) -> None:
        self.move(-(self.page // 2))

    def action_page_down(self) -> None:
        self.move(self.page)

    def action_page_up(self) -> None:
        self.move(-self.page)

    @property
    def page(self) -> int:
        """Lines that stand on the screen at once, less one that stays in sight."""
        return max(2, self.scrollable_content_region.height - 1)
