"""What a row is, in its first lines and at a glance: title, lines, time, checkpoint, last words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...store import naming
from ...store.model import Diff, Point
from ...store.text import path_text
from ..outline import Outline
from ..rows import Row
from ..theme import Signs
from ..widgets.difftext import LETTERS
from ..widgets.flow import Line, Part
from ..widgets.lines import Span, clip, spans_length
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import agent, long_age, moment, one_line
from .asked import Asked, Tab

GLANCED = 2
"""Lines below the first one where a row is told at a glance."""

REASONS = {
    "prompt": "taken before this prompt",
    "tool": "taken after this call",
    "start": "taken when the session started",
    "stop": "taken when the agent stopped",
    "end": "taken when the session ended",
    "manual": "saved by hand",
    "guard": "taken before something was changed",
    "import": "recorded by the agent itself",
}


def reason(point: Point) -> str:
    """Why a checkpoint was made, in words."""
    if point.reason == "tool" and point.side == "before":
        return "taken before this call: somebody else had changed files"
    return REASONS.get(point.reason, point.reason)


@dataclass(frozen=True, slots=True)
class Title:
    """What the row is, in one line."""

    words: str
    signs: Signs

    def lines(self, width: int) -> Iterator[Line]:
        yield Line([(clip(self.words, width, self.signs.more), "strong")])


def heading(asked: Asked, tab: Tab) -> Iterator[Part]:
    """What the row is, how much it changed, and when; the title is left out where the conversation begins with it."""
    outline, row, signs = asked.outline, asked.row, asked.signs
    words = one_line(row.text)
    if tab != "conversation":
        yield Title(words, signs)
    elif row.entry is None or row.entry.kind in ("tool_call", "tool_result"):
        yield text(words, "strong")
    yield Paragraph(when(outline, row, asked.now, signs))
    point = row.point
    if point is not None and not point.complete:
        who = agent(outline.tree.info.agent) or "the agent"
        yield text(f"Recorded by {who}, {naming.known(point)}.", "said")
    yield BLANK


def when(outline: Outline, row: Row, now: int, signs: Signs) -> list[Span]:
    """When it was, how much it changed, and as of when its files are."""
    lines = row.lines
    spans: list[Span] = [(moment(row.time, now), "muted"), (f", {long_age(row.time, now)}", "muted")]
    if lines and lines != (0, 0):
        spans += [("   ", "text"), *line_spans(*lines, signs)]
    point = row.point
    if point is not None:
        spans.append((f"   {signs.checkpoint if point.complete else signs.partial} checkpoint", "muted"))
    elif row.kind != "operation":
        at = outline.checkpoint_at(row)
        if at is not None:
            spans.append((f"   files as of {moment(at.time, now)}", "muted"))
    return spans


def line_spans(added: int, removed: int, signs: Signs) -> list[Span]:
    """Lines that came and went."""
    spans: list[Span] = []
    if added:
        spans.append((f"+{added}", "added"))
    if removed:
        spans.append((f"{' ' if spans else ''}{signs.minus}{removed}", "removed"))
    return spans


def glance(outline: Outline, row: Row, diff: Diff | None, now: int, signs: Signs, width: int) -> list[Paragraph]:
    """Three lines about a row: what and when, which files, the last words."""
    facts = when(outline, row, now, signs)
    whole = one_line(row.text)
    title = clip(whole, width - spans_length(facts) - 3, signs.more)
    first = Paragraph([(title, "strong"), ("   ", "text"), *facts], wrap=False)
    files: list[Span] = []
    for file in diff.files[:6] if diff else ():
        files += [(f"{LETTERS[file.status]} ", "chip"), (path_text(file.path), "text"), (" ", "text")]
        files += [*line_spans(file.added, file.removed, signs), ("   ", "text")]
    if diff is not None and len(diff.files) > 6:
        files.append((f"{len(diff.files) - 6} more", "muted"))
    words = last_words(outline, row)
    quote = [(f"{signs.left_quote}{words}{signs.right_quote}", "said")] if words else []
    below = [Paragraph(spans, wrap=False) for spans in (files, quote) if spans]
    if title != whole and len(below) < GLANCED:
        # What the first line has no room for goes on where nothing else stands.
        rest = whole[len(title.removesuffix(signs.more)) :].lstrip()
        below.insert(0, text(clip(rest, (GLANCED - len(below)) * (width - 8), signs.more)))
    return [first, *below]


def last_words(outline: Outline, row: Row) -> str:
    """What was said last in a turn, or brought back by a call."""
    if row.result is not None:
        return one_line(row.result.text)
    if not row.heads:
        return ""
    inner = outline.rows[outline.index[row.key] + 1 : row.end]
    replies = (inside for inside in reversed(inner) if inside.entry and inside.entry.kind == "reply")
    spoken = (inside.text for inside in replies if inside.entry and inside.entry.flavour != "thinking")
    return one_line(next(spoken, ""))
