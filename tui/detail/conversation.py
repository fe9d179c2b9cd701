"""The conversation of a row: of an entry all of it, of a turn the prompt, the replies, and each call in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...store.model import Block, Entry
from ..outline import Outline
from ..rows import Row
from ..widgets.flow import Link, Part, squeezed
from ..widgets.lines import Span
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import count, one_line
from .asked import Asked
from .blocks import Teller
from .heading import line_spans, reason

MOST_READ = 60
"""Replies of a turn that are told in full at once; each of the others is opened when it is wanted."""
MOST_STEPS = 100
"""Steps of a sub-agent that are listed below its call."""
SAID = 80
"""Characters of what a failed call brought back, beside its line."""


def conversation(asked: Asked) -> Iterator[Part]:
    """The whole text of a row."""
    return squeezed(_told(asked), BLANK)


def _told(asked: Asked) -> Iterator[Part]:
    row = asked.row
    if row.kind == "operation":
        yield from operation_told(row)
    elif row.branch is not None:
        yield from branch_told(asked.outline, row)
    elif row.entry is None:
        for point in row.points:
            yield text(f"{reason(point)}.", "said")
    elif row.kind in ("entry", "result"):
        yield from entry_told(asked, row, alone=True)
    else:
        yield from entry_told(asked, row)
        yield BLANK
        yield from _turn(asked)


def _turn(asked: Asked) -> Iterator[Part]:
    """What followed a prompt: calls stand close together, replies apart."""
    read = 0
    at = asked.outline.index[asked.row.key]
    for inner in asked.outline.rows[at + 1 : asked.row.end]:
        if inner.inset != 1 or inner.entry is None:
            continue
        asked.check()
        if inner.entry.kind == "tool_call":
            yield from call_told(asked, inner)
            continue
        read += 1
        yield BLANK
        yield from entry_told(asked, inner) if read <= MOST_READ else _later(asked, inner)
        yield BLANK


def _later(asked: Asked, row: Row) -> Iterator[Part]:
    """An entry of a very long turn: a line that opens it."""
    is_open = row.key in asked.opened
    sign = asked.signs.unfolded if is_open else asked.signs.folded
    yield Paragraph([(f"{sign} {one_line(row.text)}", "text")], hang=2, link=Link("part", row.key))
    if is_open:
        yield from entry_told(asked, row)


def entry_told(asked: Asked, row: Row, *, alone: bool = False) -> Iterator[Part]:
    """An entry in full, a call with what it brought back: an edit as it was asked for only where that tells nothing."""
    found: list[tuple[Entry, list[Block]]] = []
    for entry in (row.entry, row.result):
        if entry is not None:
            asked.check()
            found.append((entry, asked.store.blocks(entry)))
    patched = any(block.kind == "diff" for _, blocks in found[1:] for block in blocks)
    for entry, blocks in found:
        kept = [block for block in blocks if block.kind != "diff" or entry is row.result or not patched]
        yield from _blocks(asked, entry, kept, alone=alone)
        if entry.kind == "tool_call":
            yield from _steps(asked, row)


def _steps(asked: Asked, row: Row) -> Iterator[Part]:
    """What the sub-agent of a call did, in lines."""
    inside = _inside(asked.outline, row)
    for inner in inside[:MOST_STEPS]:
        yield Paragraph([(f"{asked.signs.dot} {one_line(inner.text)}", "muted")], indent=2, hang=2)
    if len(inside) > MOST_STEPS:
        yield text(f"{count(len(inside) - MOST_STEPS, 'more step')}: they stand in the tree", "muted", indent=2)
    yield BLANK


def _blocks(asked: Asked, entry: Entry, blocks: Sequence[Block], *, alone: bool) -> Iterator[Part]:
    if not blocks:
        if entry.kind != "tool_call":
            yield text(one_line(entry.text))
        return
    if entry.kind == "tool_result":
        said = "error" if entry.error else "answer"
        yield Paragraph([(f"  {asked.signs.error} " if entry.error else "  ", "attention"), (said, "chip")])
    yield from Teller(entry, asked.signs, asked.opened, asked.store.root).told(blocks, alone=alone)


def call_told(asked: Asked, row: Row) -> Iterator[Part]:
    """A call of a turn in one line, which opens to all of it."""
    is_open = row.key in asked.opened
    sign = asked.signs.unfolded if is_open else asked.signs.folded
    yield Paragraph(_call_line(asked, row, sign), hang=2, link=Link("part", row.key))
    if is_open:
        yield from entry_told(asked, row)
        yield BLANK


def _call_line(asked: Asked, row: Row, sign: str) -> list[Span]:
    signs, lines = asked.signs, row.lines
    tool, _, rest = one_line(row.text).partition(" ")
    spans: list[Span] = [(f"{sign} ", "muted"), (tool, "strong"), (f" {rest}", "text")]
    if lines and lines != (0, 0):
        spans += [("  ", "text"), *line_spans(*lines, signs)]
    if inside := _inside(asked.outline, row):
        spans.append((f"  {count(len(inside), 'step')} of a sub-agent", "muted"))
    if row.error:
        told = one_line(row.result.text)[:SAID] if row.result else ""
        spans.append((f"  {signs.error} {told}".rstrip(), "attention"))
    return spans


def _inside(outline: Outline, row: Row) -> list[Row]:
    """What stands inside of a row: of a call the steps of its sub-agent, of a branch its prompts and their steps."""
    at = outline.index[row.key]
    return [inner for inner in outline.rows[at + 1 : max(row.end, at + 1)] if inner.kind != "result"]


def operation_told(row: Row) -> Iterator[Part]:
    """What a person did, and whether it can be undone."""
    operation = row.operation
    assert operation is not None
    if operation.undoable:
        yield text("It can be undone: u asks first and says what would happen.", "muted")
    elif operation.why:
        yield text(f"It cannot be undone: {one_line(operation.why)}.", "muted")


def branch_told(outline: Outline, row: Row) -> Iterator[Part]:
    """A branch that was left: how it came to be, and its prompts."""
    branch = row.branch
    assert branch is not None
    inner = _inside(outline, row)
    prompts = [inside for inside in inner if inside.kind == "prompt"]
    fork = outline.rows[outline.index[branch.fork]] if branch.fork in outline.index else None
    yield text(f"Branch {one_line(branch.name)}, {branch.state}.", "text")
    yield text(f"{count(len(prompts), 'prompt')}, {count(row.entries, 'entry', 'entries')}.", "muted")
    if fork is not None:
        yield text(f"It leaves the conversation after “{one_line(fork.text)}”.", "muted")
    yield BLANK
    for prompt in prompts:
        number = prompt.entry.turn if prompt.entry else 0
        yield text(f"{number}  {one_line(prompt.text)}", hang=3)
