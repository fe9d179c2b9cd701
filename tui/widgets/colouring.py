"""Colours for code, worked out for one painted line at a time."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST = 400
"""Characters past which a line is left plain."""

INK_OF = (
    ("Token.Comment", "code-comment"),
    ("Token.Keyword", "code-keyword"),
    ("Token.Operator.Word", "code-keyword"),
    ("Token.Literal.String", "code-string"),
    ("Token.Literal.Number", "code-number"),
    ("Token.Name.Function", "code-name"),
    ("Token.Name.Class", "code-name"),
    ("Token.Name.Tag", "code-keyword"),
    ("Token.Name.Attribute", "code-name"),
)
"""Beginnings of token names and the inks of their text; everything else is plain."""


@lru_cache(maxsize=256)
def _lexer(ending: str) -> Lexer | None:
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(ending, stripnl=False, stripall=False, ensurenl=False)
    except ClassNotFound:
        return None


def lexer_for(name: str) -> Lexer | None:
    """What can take a file's lines apart; None for plain text. Names with the same ending share one."""
    base = name.rpartition("/")[2]
    stem, dot, ending = base.rpartition(".")
    return _lexer(f"a.{ending}" if dot and stem else base)


def coloured(lexer: Lexer | None, text: str) -> list[tuple[str, str]]:
    """The text in pieces, each with its ink; what spans several lines is taken apart as if it began here."""
    if lexer is None or len(text) > LONGEST or not text.strip():
        return [(text, "text")]
    pieces: list[tuple[str, str]] = []
    for token, piece in lexer.get_tokens(text):
        ink = _ink(str(token))
        if pieces and pieces[-1][1] == ink:
            pieces[-1] = (pieces[-1][0] + piece, ink)
        else:
            pieces.append((piece, ink))
    whole = "".join(piece for piece, _ in pieces)
    return pieces if whole == text else [(text, "text")]


def coloured_within(lexer: Lexer | None, text: str, end: str, ink: str) -> list[tuple[str, str]]:
    """The same for a line that begins in something that ends with this mark."""
    place = text.find(end)
    stop = len(text) if place < 0 else place + len(end)
    rest = text[stop:]
    return [(text[:stop], ink), *(coloured(lexer, rest) if rest else [])]


@lru_cache(maxsize=512)
def _ink(token: str) -> str:
    return next((ink for beginning, ink in INK_OF if token.startswith(beginning)), "text")


def overlaid(
    pieces: list[tuple[str, str]], ranges: list[tuple[int, int]], ink: str, *, alone: bool = False
) -> list[tuple[str, str]]:
    """The pieces, with a further ink over these ranges of characters; or with it alone, where both are not readable."""
    if not ranges:
        return pieces
    out: list[tuple[str, str]] = []
    place = 0
    for text, under in pieces:
        end = place + len(text)
        cuts = sorted({place, end, *(at for pair in ranges for at in pair if place < at < end)})
        for start, stop in pairwise(cuts):
            inside = any(first <= start and stop <= last for first, last in ranges)
            out.append((text[start - place : stop - place], (ink if alone else f"{under} {ink}") if inside else under))
        place = end
    return out
