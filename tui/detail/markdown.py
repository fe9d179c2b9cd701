"""Markdown as parts of a page: headings, lists, quotations, tables and code, from markdown-it's flat list of tokens.

No recursion: what is inside of what is told by the prefix that stands before a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ..theme import Signs
from ..widgets.flow import Part
from ..widgets.lines import Span, spans_length
from ..widgets.sheet import Paragraph
from .code import Code
from .tables import Rule, Table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 60_000
"""Characters that are taken apart; what follows stands as it was written."""
LONGEST_LINE = 4_000
"""A line that is longer is no Markdown that anybody wrote: the parser takes very long for some of them."""
DEEPEST = 8
"""Lists and quotations inside of each other that are still indented."""

INKS = {"strong": "strong", "em": "said", "s": "muted", "link": "link"}
"""Marks of inline text and the inks that they add."""
APART = frozenset({"heading_close", "paragraph_close", "fence", "code_block", "hr", "blockquote_close", "table_close"})
"""Tokens after which a blank line stands, if anything follows."""
HEADINGS = {"h1": "title", "h2": "strong", "h3": "strong"}


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def markdown(words: str, signs: Signs) -> Iterator[Part]:
    """The parts of a text that is Markdown; cleaned already."""
    head, rest = _cut(words)
    if head:
        yield from _Writer(signs).written(_parser().parse(head))
    if rest:
        yield Paragraph([(rest, "text")])


def _cut(words: str) -> tuple[str, str]:
    """What is taken apart, and what is not."""
    end = len(words) if len(words) <= LONGEST else words.rfind("\n", 0, LONGEST) + 1
    at = 0
    while at < end:
        feed = words.find("\n", at)
        feed = end if feed < 0 else feed + 1
        if feed - at > LONGEST_LINE:
            return words[:at], words[at:]
        at = feed
    return words[:end], words[end:]


@dataclass(slots=True)
class _Inside:
    """One list item or quotation that the text stands in."""

    lead: Span
    """What stands before its first line."""
    follow: Span
    """What stands before all further ones."""
    begun: bool = False


@dataclass(slots=True)
class _List:
    """A list that is open: the next number, or None for marks."""

    number: int | None
    tight: bool = True


@dataclass(slots=True)
class _Writer:
    """Turns tokens into parts."""

    signs: Signs
    inside: list[_Inside] = field(default_factory=list[_Inside])
    lists: list[_List] = field(default_factory=list[_List])
    heading: str = ""
    apart: bool = False
    """A blank line stands before what comes next."""
    rows: list[list[list[Span]]] = field(default_factory=list[list[list[Span]]])
    aligns: list[str] = field(default_factory=list[str])

    def written(self, tokens: Sequence[Token]) -> Iterator[Part]:
        """The parts, a blank line between two that stand apart."""
        for token in tokens:
            blank = self._blank() if self.apart else None
            made = list(self._token(token))
            if made and blank is not None:
                yield blank
                self.apart = False
            yield from made
            if token.type in APART and not token.hidden:
                self.apart = True

    def _token(self, token: Token) -> Iterator[Part]:
        match token.type:
            case "heading_open":
                self.heading = token.tag
            case "inline":
                yield from self._inline(token)
            case "heading_close":
                self.heading = ""
            case "fence" | "code_block":
                lead, follow = self._prefix()
                yield Code(token.content, token.info.partition(" ")[0], lead, follow)
            case "hr":
                yield Rule(self.signs.rule, *self._prefix())
            case _ if token.type.startswith(("table", "thead", "tbody", "tr", "th", "td")):
                yield from self._table(token)
            case _:
                yield from self._container(token)

    def _container(self, token: Token) -> Iterator[Part]:
        match token.type:
            case "bullet_list_open":
                self.lists.append(_List(None))
            case "ordered_list_open":
                self.lists.append(_List(int(token.attrGet("start") or 1)))
            case "list_item_open":
                self._open(self._mark())
            case "blockquote_open":
                self._open((f"{self.signs.bar} ", "faint"), quoted=True)
            case "list_item_close" | "blockquote_close":
                if not self.inside[-1].begun:
                    yield self._paragraph([])
                self.inside.pop()
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
                self.apart = self.apart or not self.lists
            case _:
                pass

    def _mark(self) -> Span:
        """What stands before an item."""
        here = self.lists[-1]
        if here.number is None:
            return (f"{self.signs.bullet} ", "muted")
        here.number += 1
        return (f"{here.number - 1}. ", "muted")

    def _open(self, mark: Span, *, quoted: bool = False) -> None:
        self.inside.append(_Inside(mark, mark if quoted else (" " * spans_length([mark]), "text")))

    def _prefix(self) -> tuple[list[Span], list[Span]]:
        """What stands before the first line of the next part, and before its others."""
        deep = self.inside if len(self.inside) <= DEEPEST else [*self.inside[:DEEPEST], self.inside[-1]]
        lead = [item.follow if item.begun else item.lead for item in deep]
        for item in self.inside:
            item.begun = True
        return lead, [item.follow for item in deep]

    def _paragraph(self, spans: Sequence[Span], hang: int = 0) -> Paragraph:
        lead, follow = self._prefix()
        return Paragraph(spans, lead=lead, follow=follow, hang=hang)

    def _blank(self) -> Paragraph:
        """A blank line, down which the bars of quotations go on that are open still."""
        follow = [item.follow for item in self.inside if item.begun]
        return Paragraph(lead=follow if any(words.strip() for words, _ in follow) else ())

    # Inline text

    def _inline(self, token: Token) -> Iterator[Part]:
        spans = list(self._spans(token.children or []))
        if self.rows and self.aligns:
            self.rows[-1][-1] = spans
            return
        if self.heading:
            ink = HEADINGS.get(self.heading, "chip")
            spans = [(words, f"{ink} {marks}") for words, marks in spans]
        yield self._paragraph(spans)

    def _spans(self, tokens: Sequence[Token]) -> Iterator[Span]:
        marks: list[str] = []
        target, label = "", ""
        for token in tokens:
            kind, _, edge = token.type.rpartition("_")
            if edge == "open" and kind in INKS:
                marks.append(INKS[kind])
                target, label = (str(token.attrGet("href") or ""), "") if kind == "link" else (target, label)
            elif edge == "close" and kind in INKS:
                marks.remove(INKS[kind])
                if kind == "link" and target not in (label, f"mailto:{label}", ""):
                    yield f" ({target})", "muted"
            elif token.type in ("softbreak", "hardbreak"):
                yield "\n", "text"
            elif token.type == "image":
                yield f"[image {token.content or 'without a name'}: {token.attrGet('src')}]", "muted"
            elif token.content:
                label += token.content
                own = ["code"] if token.type == "code_inline" else []
                yield token.content, " ".join([*own, *marks]) or "text"

    # Tables

    def _table(self, token: Token) -> Iterator[Part]:
        match token.type:
            case "table_open":
                self.rows, self.aligns = [], []
            case "tr_open":
                self.rows.append([])
            case "th_open" | "td_open":
                if len(self.rows) == 1:
                    self.aligns.append(str(token.attrGet("style") or ""))
                self.rows[-1].append([])
            case "table_close":
                lead, follow = self._prefix()
                aligns = tuple("right" if "right" in style else "left" for style in self.aligns)
                yield Table(tuple(tuple(row) for row in self.rows), aligns, self.signs, lead, follow)
                self.rows, self.aligns = [], []
            case _:
                pass
