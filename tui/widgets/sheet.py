"""A pane of text: paragraphs wrapped to its width once, painted line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, chop_cells
from textual.events import Resize

from .flow import MOST_LINES, Line, Link
from .lines import Lines, Span, spans_length

WORD = re.compile(r"\S+|\s+")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text in one ink, or pieces in several; line feeds begin a new line."""

    spans: Sequence[Span] = ()
    indent: int = 0
    """Blanks before every line."""
    hang: int = 0
    """Further blanks before every line but the first."""
    wrap: bool = True
    lead: Sequence[Span] = ()
    """Stands before the first line: a list's mark, the bar of a quotation …"""
    follow: Sequence[Span] | None = None
    """… and as wide before the others; None: blanks."""
    ground: str = ""
    """The ink beneath the whole lines."""
    link: Link | None = None

    def lines(self, width: int) -> Iterator[Line]:
        """The lines as they are painted; all of them lead to the same."""
        for spans in wrapped(self, width):
            yield Line(spans, self.ground, self.link)


def text(words: str, ink: str = "text", *, indent: int = 0, hang: int = 0, wrap: bool = True) -> Paragraph:
    """A paragraph in one ink."""
    return Paragraph(((words, ink),), indent, hang, wrap)


BLANK = Paragraph()


@dataclass(slots=True)
class _Wrapper:
    """Fills lines of a width with words."""

    width: int
    hang: int
    lines: list[list[Span]] = field(default_factory=lambda: [[]])
    used: int = 0

    def feed(self) -> None:
        self.lines.append([])
        self.used = 0

    def turn(self) -> None:
        self.feed()
        if self.hang:
            self.lines[-1].append((" " * self.hang, "text"))
            self.used = self.hang

    def put(self, words: str, ink: str) -> None:
        """Adds text without a line feed."""
        if self.used + len(words) <= self.width and words.isascii():
            self.lines[-1].append((words, ink))
            self.used += len(words)
            return
        for word in WORD.findall(words):
            length = cell_len(word)
            if self.used + length > self.width:
                if word.isspace():
                    if self.used > self.hang:
                        self.turn()
                    continue
                if self.used > self.hang:
                    self._turn_with_word()
                self._put_long(word, ink)
                continue
            self.lines[-1].append((word, ink))
            self.used += length

    def _turn_with_word(self) -> None:
        """Turns, and takes along what stands right before: a word in two inks is one word all the same."""
        line = self.lines[-1]
        carried: list[Span] = []
        while line and not line[-1][0][-1:].isspace():
            words, ink = line.pop()
            start = max((at + 1 for at, letter in enumerate(words) if letter.isspace()), default=0)
            carried.insert(0, (words[start:], ink))
            if start:
                line.append((words[:start], ink))
        if not line:
            # One word fills the line: it breaks where it must.
            line.extend(carried)
            carried = []
        self.turn()
        self.lines[-1] += carried
        self.used += sum(cell_len(words) for words, _ in carried)

    def _put_long(self, word: str, ink: str) -> None:
        """Adds a word that may be longer than a line: what room there is holds its beginning."""
        head = chop_cells(word[: 2 * self.width], max(self.width - self.used, 1))[0]
        self._add(head, ink)
        for piece in chop_cells(word[len(head) :], max(self.width - self.hang, 1)):
            self._add(piece, ink)

    def _add(self, piece: str, ink: str) -> None:
        if self.used + cell_len(piece) > self.width:
            self.turn()
        self.lines[-1].append((piece, ink))
        self.used += cell_len(piece)


def wrapped(paragraph: Paragraph, width: int) -> list[list[Span]]:
    """The lines of a paragraph in so many cells."""
    lead = [(" " * paragraph.indent, "text"), *paragraph.lead] if paragraph.indent else list(paragraph.lead)
    room = max(width - spans_length(lead), 8)
    wrapper = _Wrapper(room if paragraph.wrap else 1_000_000, min(paragraph.hang, room // 2))
    for words, ink in paragraph.spans:
        for number, line in enumerate(words.expandtabs(4).split("\n")):
            if number:
                wrapper.feed()
            wrapper.put(line, ink)
    if not lead:
        return wrapper.lines
    follow: list[Span] = [(" " * spans_length(lead), "text")]
    if paragraph.follow is not None:
        follow = [(" " * paragraph.indent, "text"), *paragraph.follow]
    return [[*(follow if number else lead), *line] for number, line in enumerate(wrapper.lines)]


class Sheet(Lines):
    """Shows paragraphs; scrolls, and has no cursor."""

    has_cursor = False

    def __init__(self, *, ident: str | None = None, classes: str | None = None) -> None:
        super().__init__(ident=ident, classes=classes)
        self.paragraphs: list[Paragraph] = []
        self._lines: list[list[Span]] = []
        self._wrapped_to = 0

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def show(self, paragraphs: Iterable[Paragraph], *, keep_place: bool = False) -> None:
        """Shows other paragraphs, from the top unless the place is to be kept."""
        self.paragraphs = list(paragraphs)
        if self.is_attached:
            self._wrap()
            if not keep_place:
                self.scroll_to(y=0, animate=False, force=True)

    def _wrap(self) -> None:
        # The scroll bar's cells are kept free, so that its coming and going never wraps the text anew.
        self._wrapped_to = width = max(self.size.width - 1, 8)
        lines: list[list[Span]] = []
        for paragraph in self.paragraphs:
            lines.extend(wrapped(paragraph, width))
            if len(lines) > MOST_LINES:
                lines = [*lines[:MOST_LINES], [("This is not all: y copies the whole text.", "attention")]]
                break
        self._lines = lines
        self.repaint()

    def on_mount(self) -> None:
        self._wrap()

    def on_resize(self, event: Resize) -> None:
        if max(event.size.width - 1, 8) != self._wrapped_to:
            self._wrap()

    def spans(self, at: int, width: int) -> tuple[Sequence[Span], str]:
        return self._lines[at], ""

    def plain(self, at: int) -> str:
        return "".join(text for text, _ in self._lines[at])
