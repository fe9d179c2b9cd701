"""The parts of an entry as they are told: prose, code, patches, and what programs put out, long ones in excerpts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...store.model import Block, Entry
from ...store.text import clean
from ..theme import Signs
from ..widgets.flow import Link, Part
from ..widgets.lines import Span
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import count, one_line
from .code import Code, Patch
from .markdown import markdown

LONGEST = 200_000
"""Characters of a block that are shown; copying takes all."""
HEAD, TAIL = 14, 5
"""Lines of a long block that are told at once: its beginning, and its end, where errors stand."""
LINE = 1_000
"""Characters of a line in an excerpt."""
INSIDE: tuple[Span, ...] = (("  ", "text"),)
"""What stands before all that belongs to a call."""


class Excerpt(NamedTuple):
    """What is told of a long text at once."""

    head: str
    hidden: str
    """What is left out, in words; "" where nothing is."""
    tail: str


def excerpt(words: str) -> Excerpt:
    """Beginning and end of a text; the middle is only counted, so that it takes no time however long it is."""
    lines = words.count("\n") + 1
    if lines <= HEAD + TAIL + 2 and len(words) <= LINE * 2:
        return Excerpt(words, "", "")
    if lines <= HEAD + TAIL + 2:
        every = words.split("\n")
        left = sum(len(line) - LINE + 1 for line in every if len(line) > LINE)
        return Excerpt("\n".join(map(_cut, every)), count(left, "more character") if left else "", "")
    end = start = 0
    for _ in range(HEAD):
        end = words.index("\n", end) + 1
    start = len(words)
    for _ in range(TAIL):
        start = words.rindex("\n", 0, start)
    hidden = count(lines - HEAD - TAIL, "more line")
    return Excerpt(
        "\n".join(map(_cut, words[: end - 1].split("\n"))),
        hidden,
        "\n".join(map(_cut, words[start + 1 :].split("\n"))),
    )


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


class Teller:
    """Tells the blocks of one entry, with what a person opened of it."""

    def __init__(self, entry: Entry, signs: Signs, opened: frozenset[str], root: str = "") -> None:
        self._entry, self._signs, self._opened, self._root = entry, signs, opened, root
        self._number = 0

    def told(self, blocks: Sequence[Block], *, alone: bool = False) -> Iterator[Part]:
        """The blocks below each other; `alone`: nothing else is told, and what was thought stands open."""
        for block in blocks:
            self._number += 1
            yield from self._block(block, alone)
            yield BLANK

    def _block(self, block: Block, alone: bool) -> Iterator[Part]:
        if block.kind == "image":
            yield image(block)
        elif block.kind == "thinking":
            yield from self._thought(self._shown(block), alone)
        elif block.kind == "text":
            if block.title:
                yield text(one_line(self._below(block.title)), "chip")
            yield from self._prose(self._shown(block))
            yield from self._rest(block)
        else:
            yield from self._record(block)

    def _shown(self, block: Block) -> str:
        return clean(block.text[:LONGEST].strip("\n"), keep_lines=True)

    def _rest(self, block: Block) -> Iterator[Part]:
        if len(block.text) > LONGEST:
            yield text(f"{len(block.text) - LONGEST:,} more characters: y copies all of it", "attention")

    @property
    def _name(self) -> str:
        return f"{self._entry.id}/{self._number}"

    def _below(self, words: str) -> str:
        """Words in which paths of the workspace are told from its root."""
        return words.replace(f"{self._root}/", "") if self._root else words

    def _prose(self, words: str) -> Iterator[Part]:
        if self._entry.kind == "prompt":
            yield from as_typed(words, self._signs)
        elif self._entry.kind == "notice":
            yield text(words)
        else:
            yield from markdown(words, self._signs)

    def _thought(self, words: str, alone: bool) -> Iterator[Part]:
        """Folded: it is long, and seldom what one looks for."""
        is_open = alone or self._name in self._opened
        if not alone:
            sign = self._signs.unfolded if is_open else self._signs.folded
            lines = count(words.count("\n") + 1, "line")
            yield Paragraph([(f"{sign} thought, {lines}", "muted")], hang=2, link=Link("part", self._name))
        if is_open:
            yield Paragraph([(words, "muted said")], lead=() if alone else INSIDE)

    def _record(self, block: Block) -> Iterator[Part]:
        """What a call was given, did or brought back."""
        title, _, path = self._below(one_line(block.title)).partition(" ")
        path = path if title in ("Write", "Edit", "write", "edit", "MultiEdit", "NotebookEdit") else ""
        if block.kind == "diff" and block.title:
            yield Paragraph([(path or self._below(one_line(block.title)), "chip")], lead=INSIDE)
        name = path or _language(block)
        cut = excerpt(block.text.strip("\n"))
        if not cut.hidden:
            yield self._piece(block, cut.head, name)
            return
        is_open = self._name in self._opened
        sign = self._signs.unfolded if is_open else self._signs.folded
        fold = Paragraph([(f"{sign} {cut.hidden}", "muted")], lead=INSIDE, link=Link("part", self._name))
        if is_open:
            yield fold
            yield self._piece(block, block.text[:LONGEST].strip("\n"), name)
            yield from self._rest(block)
            return
        yield self._piece(block, cut.head, name)
        yield fold
        if cut.tail:
            yield self._piece(block, cut.tail, name)

    def _piece(self, block: Block, words: str, name: str) -> Part:
        words = clean(words, keep_lines=True)
        if block.kind == "diff":
            return Patch(words, name, INSIDE)
        if block.kind == "tool_output":
            return Paragraph([(words, "text")], lead=INSIDE, hang=2)
        return Code(words, name, INSIDE, INSIDE)


def _language(block: Block) -> str:
    """What the input of a call is written in: a command is the shell's, and all else is told as JSON."""
    words = block.text.lstrip()[:1]
    return "json" if words in ("{", "[") else "bash" if block.kind == "tool_input" else ""


def image(block: Block) -> Part:
    """An image by its name: a terminal shows none."""
    return Paragraph([("image  ", "chip"), (one_line(block.text or block.title), "muted")], hang=7)


def as_typed(words: str, signs: Signs) -> Iterator[Part]:
    """What a person typed, as it was typed: fenced code alone is told apart, and nothing else is taken for a mark."""
    bar: tuple[Span, ...] = ((f"{signs.bar} ", "prompt-bar"),)
    lines: list[str] = []
    fence, language = "", ""
    for line in [*words.split("\n"), None]:
        mark = line.strip()[:3] if line is not None else ""
        if line is not None and mark != "```":
            lines.append(line)
            continue
        if lines:
            code = "\n".join(lines)
            yield Code(code, language, bar, bar) if fence else Paragraph([(code, "text")], lead=bar, follow=bar)
        lines = []
        if line is not None:
            fence, language = ("", "") if fence else ("```", line.strip()[3:].strip())
