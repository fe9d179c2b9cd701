"""Code and what programs put out, as lines with colours; what spans several lines is coloured as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..widgets.colouring import INK_OF, lexer_for
from ..widgets.flow import Line, Link
from ..widgets.lines import Span
from ..widgets.sheet import Paragraph

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MOST_COLOURED = 40_000
"""Characters of a piece of code that is coloured; a longer one is plain."""
LONGEST_LINE = 2_000
"""Characters past which a line, and all of the code with it, is plain."""


@lru_cache(maxsize=64)
def _named(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, stripall=False, ensurenl=False)
    except ClassNotFound:
        return None


def lexer_of(language: str) -> Lexer | None:
    """What can take code apart: by the word behind the fence, or by a file's name."""
    if not language:
        return None
    return _named(language.lower()) or (lexer_for(language) if "." in language else None)


@lru_cache(maxsize=512)
def _ink(token: str) -> str:
    return next((ink for beginning, ink in INK_OF if token.startswith(beginning)), "text")


def coloured_lines(code: str, lexer: Lexer | None) -> list[list[Span]]:
    """The lines of some code in pieces, each with its ink."""
    if lexer is None or len(code) > MOST_COLOURED or any(len(line) > LONGEST_LINE for line in code.split("\n")):
        return [[(line, "text")] for line in code.split("\n")]
    lines: list[list[Span]] = [[]]
    for token, piece in lexer.get_tokens(code):
        ink = _ink(str(token))
        for number, words in enumerate(piece.split("\n")):
            if number:
                lines.append([])
            if words and lines[-1] and lines[-1][-1][1] == ink:
                lines[-1][-1] = (lines[-1][-1][0] + words, ink)
            elif words:
                lines[-1].append((words, ink))
    same = "\n".join("".join(words for words, _ in line) for line in lines) == code
    return lines if same else [[(line, "text")] for line in code.split("\n")]


@dataclass(frozen=True, slots=True)
class Code:
    """Code on a ground of its own."""

    code: str
    language: str = ""
    """The word behind the fence, or a file's name."""
    lead: Sequence[Span] = ()
    follow: Sequence[Span] = ()
    ground: str = "code"
    link: Link | None = None

    def lines(self, width: int) -> Iterator[Line]:
        code = self.code.rstrip("\n").expandtabs(4)
        prefix = self.lead
        for spans in coloured_lines(code, lexer_of(self.language)):
            yield from _line(
                spans, [*prefix, (" ", "text")], [*self.follow, (" ", "text")], width, self.ground, self.link
            )
            prefix = self.follow


@dataclass(frozen=True, slots=True)
class Patch:
    """Lines that came and went, told by their first character."""

    text: str
    name: str = ""
    """The file's name, for the colours."""
    lead: Sequence[Span] = ()
    link: Link | None = None

    def lines(self, width: int) -> Iterator[Line]:
        kept = self.text.split("\n")
        bodies = "\n".join(line[1:] for line in kept)
        grounds = {"+": "new", "-": "old"}
        for line, spans in zip(kept, coloured_lines(bodies.expandtabs(4), lexer_of(self.name)), strict=False):
            sign = line[:1]
            if sign == "@" or sign not in ("+", "-", " ", ""):
                yield from Paragraph([(line, "muted")], lead=self.lead, link=self.link).lines(width)
                continue
            ink = {"+": "added", "-": "removed"}.get(sign, "text")
            lead = [*self.lead, (f"{sign or ' '} ", ink)]
            follow = [*self.lead, ("  ", "text")]
            yield from _line(spans, lead, follow, width, grounds.get(sign, ""), self.link)


def _line(
    spans: Sequence[Span], lead: Sequence[Span], follow: Sequence[Span], width: int, ground: str, link: Link | None
) -> Iterator[Line]:
    """One line of code; its further lines stand deeper than its first."""
    words = "".join(piece for piece, _ in spans)
    deep = min(len(words) - len(words.lstrip()) + 2, width // 2)
    yield from Paragraph(spans, hang=deep, lead=lead, follow=follow, ground=ground, link=link).lines(width)
