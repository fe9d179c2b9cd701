"""What the detail pane tells of a row: its conversation, the files that changed, and facts. Read in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..store import naming
from ..store.model import Block, Diff, Entry, Point, Who
from ..store.text import clean, path_text
from .outline import Outline
from .rows import Row
from .theme import Signs
from .widgets.difftext import LETTERS, file_name, file_notes
from .widgets.lines import Span, clip, spans_length
from .widgets.sheet import BLANK, Paragraph, text
from .words import agent, count, covered_facts, full_time, long_age, moment, one_line

if TYPE_CHECKING:
    from ..store.api import Store

MOST_REPLIES = 40
"""Replies of a turn that are told in full."""
GLANCED = 2
"""Lines below the first one where a row is told at a glance."""
LONGEST = 200_000
"""Characters of a block that are shown; copying takes all."""

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


def heading(outline: Outline, row: Row, now: int, signs: Signs) -> list[Paragraph]:
    """What the row is, how much it changed, and when."""
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
    paragraphs = [text(one_line(row.text), "strong"), Paragraph(spans)]
    if point is not None and not point.complete:
        who = agent(outline.tree.info.agent) or "the agent"
        paragraphs.append(text(f"Recorded by {who}, {naming.known(point)}.", "said"))
    return [*paragraphs, BLANK]


def headed(row: Row, paragraphs: list[Paragraph]) -> list[Paragraph]:
    """The heading without the words that the conversation begins with anyway."""
    says_it_itself = row.entry is not None and row.entry.kind in ("prompt", "reply", "summary", "notice")
    return paragraphs[1:] if says_it_itself else paragraphs


def line_spans(added: int, removed: int, signs: Signs) -> list[Span]:
    """Lines that came and went."""
    spans: list[Span] = []
    if added:
        spans.append((f"+{added}", "added"))
    if removed:
        spans.append((f"{' ' if spans else ''}{signs.minus}{removed}", "removed"))
    return spans


# Conversation


def conversation(store: Store, outline: Outline, row: Row, signs: Signs) -> list[Paragraph]:
    """The whole text of a row; of a turn the prompt, what was done, and the replies."""
    if row.kind == "operation" and row.operation is not None:
        return operation_told(row)
    if row.branch is not None:
        return branch_told(outline, row)
    if row.entry is None:
        return [text(f"{reason(point)}.", "said") for point in row.points]
    if row.kind in ("entry", "result"):
        return entry_told(store, row)
    paragraphs = [*entry_told(store, row), BLANK]
    told = 0
    at = outline.index[row.key]
    for inner in outline.rows[at + 1 : row.end]:
        if inner.inset != 1 or inner.entry is None:
            continue
        if inner.entry.kind == "tool_call":
            paragraphs.append(call_line(inner, signs))
        elif inner.entry.flavour == "thinking":
            continue
        elif told < MOST_REPLIES:
            told += 1
            paragraphs += [BLANK, *entry_told(store, inner), BLANK]
        else:
            paragraphs.append(text(one_line(inner.text), "muted"))
    return squeezed(paragraphs)


def entry_told(store: Store, row: Row) -> list[Paragraph]:
    """An entry in full, a call with what it brought back."""
    paragraphs: list[Paragraph] = []
    for entry in (row.entry, row.result):
        if entry is None:
            continue
        blocks = store.blocks(entry)
        if not blocks:
            paragraphs.append(text(one_line(entry.text)))
        for block in blocks:
            paragraphs += block_told(replace(block, title=below(store.root, block.title)), error=entry.error)
            paragraphs.append(BLANK)
    return squeezed(paragraphs)


def below(root: str, words: str) -> str:
    """Words in which paths of the workspace are told from its root."""
    return words.replace(f"{root}/", "")


def block_told(block: Block, *, error: bool = False) -> list[Paragraph]:
    """A part of an entry."""
    cut = block.text if len(block.text) <= LONGEST else block.text[:LONGEST]
    shown = clean(cut.strip("\n"), keep_lines=True)
    paragraphs: list[Paragraph] = []
    if block.title:
        paragraphs.append(text(one_line(block.title), "attention" if error else "chip"))
    if block.kind == "diff":
        inks = {"+": "added", "-": "removed"}
        paragraphs += [text(line, inks.get(line[:1], "text"), indent=2, wrap=False) for line in shown.split("\n")]
    elif block.kind in ("tool_input", "tool_output", "raw"):
        paragraphs.append(text(shown, "text", indent=2))
    elif block.kind == "thinking":
        paragraphs.append(text(shown, "muted"))
    else:
        paragraphs += prose(shown)
    if len(block.text) > LONGEST:
        paragraphs.append(text(f"{len(block.text) - LONGEST:,} more characters: y copies all of it", "attention"))
    return paragraphs


def prose(words: str) -> Iterator[Paragraph]:
    """A person's or an agent's words; fenced code stands in by two cells and is told apart by that."""
    fenced = False
    for line in words.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            yield text(line, "text", indent=2)
            continue
        stripped = line.lstrip("#")
        if stripped != line and stripped.startswith(" "):
            yield text(stripped.strip(), "strong")
            continue
        bare = line.lstrip()
        hang = len(line) - len(bare) + (2 if bare[:2] in ("- ", "* ") else 0)
        yield Paragraph(list(emphasised(line)), hang=hang)


def emphasised(line: str) -> Iterator[Span]:
    """A line of prose, **strong** words made so."""
    strong = False
    for piece in line.split("**"):
        if piece:
            yield piece, "strong" if strong else "text"
        strong = not strong


def call_line(row: Row, signs: Signs) -> Paragraph:
    """A call of a turn in one line."""
    lines = row.lines
    spans: list[Span] = [(f"{signs.dot} {one_line(row.text)}", "muted")]
    if lines and lines != (0, 0):
        spans += [("  ", "text"), *line_spans(*lines, signs)]
    if row.error:
        told = one_line(row.result.text)[:60] if row.result else ""
        spans.append((f"  {signs.error} {told}".rstrip(), "attention"))
    return Paragraph(spans, hang=2)


def operation_told(row: Row) -> list[Paragraph]:
    """What a person did, and whether it can be undone."""
    operation = row.operation
    assert operation is not None
    if operation.undoable:
        return [text("It can be undone: u asks first and says what would happen.", "muted")]
    return [text(f"It cannot be undone: {one_line(operation.why)}.", "muted")] if operation.why else []


def branch_told(outline: Outline, row: Row) -> list[Paragraph]:
    """A branch that was left: how it came to be, and its prompts."""
    branch = row.branch
    assert branch is not None
    at = outline.index[row.key]
    inner = outline.rows[at + 1 : row.end]
    prompts = [inside for inside in inner if inside.kind == "prompt"]
    fork = outline.rows[outline.index[branch.fork]] if branch.fork in outline.index else None
    paragraphs = [
        text(f"Branch {one_line(branch.name)}, {branch.state}.", "text"),
        text(f"{count(len(prompts), 'prompt')}, {count(row.entries, 'entry', 'entries')}.", "muted"),
    ]
    if fork is not None:
        paragraphs.append(text(f"It leaves the conversation after “{one_line(fork.text)}”.", "muted"))
    paragraphs.append(BLANK)
    for prompt in prompts:
        number = prompt.entry.turn if prompt.entry else 0
        paragraphs.append(text(f"{number}  {one_line(prompt.text)}", hang=3))
    return paragraphs


def squeezed(paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Without two blank lines in a row, and without one at the end."""
    out: list[Paragraph] = []
    for paragraph in paragraphs:
        if paragraph.spans or (out and out[-1].spans):
            out.append(paragraph)
    while out and not out[-1].spans:
        out.pop()
    return out


def whole_text(store: Store, outline: Outline, row: Row) -> str:
    """What copying a row takes: the entry's whole text, else its words."""
    texts: list[str] = []
    for entry in (row.entry, row.result):
        if entry is not None:
            texts += [block.text for block in store.blocks(entry)] or [entry.text]
    return clean("\n".join(texts) or row.text, keep_lines=True)


# Files


def files_changed(diff: Diff | None, signs: Signs, authors: Mapping[bytes, list[Who]] | None = None) -> list[Paragraph]:
    """The files that differ, each on a line; those in a row of the same author below a line that tells who that is."""
    if diff is None:
        return [text("No two checkpoints stand around this row, so what changed in it is not known.", "muted")]
    if not diff.files:
        return [text("No file changed.", "muted"), *unknown_told(diff)]
    paragraphs: list[Paragraph] = []
    told = ""
    for file in diff.files:
        those = (authors or {}).get(file.path, ())
        by = ", before that ".join(one_line(naming.who(who)) for who in those)
        if by != told:
            paragraphs.append(text(f"by {by}" if by else "not known by whom", "said"))
            told = by
        notes = file_notes(file) if file.notes or file.status == "mode" else []
        spans: list[Span] = [(f"{LETTERS[file.status]} ", "chip"), (file_name(file), "text"), ("  ", "text")]
        spans += line_spans(file.added, file.removed, signs)
        if notes:
            spans.append((f"  {', '.join(notes)}", "muted"))
        if file.problem:
            spans.append((f"  {signs.error} {one_line(file.problem)}", "attention"))
        paragraphs.append(Paragraph(spans, hang=4))
    return [*paragraphs, *unknown_told(diff)]


def unknown_told(diff: Diff) -> list[Paragraph]:
    """What a comparison cannot speak of."""
    if not diff.unknown:
        return []
    return [BLANK, text(f"{count(diff.unknown, 'path')} known to one side only: not compared.", "muted")]


# Facts


def facts(store: Store, outline: Outline, row: Row, now: int) -> list[Paragraph]:
    """Where everything about the row stands."""
    pairs: list[tuple[str, str]] = []
    for point in row.points:
        pairs += point_facts(point, now)
        pairs += [(name.capitalize(), value) for name, value in covered_facts(store.covered(point.id), 5)]
    if not row.points and row.kind != "operation":
        pairs += stands_for(outline, row, now)
    if row.branch is not None:
        pairs += [("Branch", f"{row.branch.name}, {row.branch.state}"), ("Head", row.branch.head)]
        if row.branch.session:
            pairs.append(("Session", row.branch.session))
    if row.operation is not None:
        pairs += [("Operation", row.operation.id), ("Kind", row.operation.kind), ("Time", full_time(row.time))]
    if row.entry is not None:
        pairs += entry_facts(store, outline, row.entry)
    return told_pairs(pairs)


def point_facts(point: Point, now: int) -> list[tuple[str, str]]:
    """What a checkpoint is."""
    files = count(point.files, "file") if point.complete else f"partial: {naming.known(point)}"
    facts = [("Checkpoint", point.id), ("Made", reason(point)), ("Time", full_time(point.time)), ("Files", files)]
    if point.label:
        facts.append(("Label", point.label))
    if point.pinned:
        facts.append(("Pinned", "kept for good"))
    if point.late:
        facts.append(("Late", "saved after the agent went on: it may hold a little of what came next"))
    if point.inferred:
        facts.append(("Inferred", "concluded from later evidence"))
    if not point.stored:
        facts.append(("Stored", "only in the agent's own copies so far"))
    return facts


def stands_for(outline: Outline, row: Row, now: int) -> list[tuple[str, str]]:
    """Which checkpoint a row without one stands for."""
    at = outline.checkpoint_at(row)
    if at is None:
        return [("Checkpoint", "none stands at or before this row")]
    return [("Checkpoint", f"none of its own: files as of {moment(at.time, now)} ({at.id})")]


def entry_facts(store: Store, outline: Outline, entry: Entry) -> list[tuple[str, str]]:
    """What the agent's record tells of an entry."""
    kinds = {"tool_call": "tool call", "tool_result": "tool result"}
    kind = kinds.get(entry.kind, entry.kind)
    facts = [("Entry", entry.id), ("Kind", f"{kind}, {entry.flavour}" if entry.flavour else kind)]
    if branch := outline.tree.branch_of.get(entry.id):
        facts.append(("Branch", branch))
    told = {name[:1].upper() + name[1:]: value for name, value in store.facts(entry).items()}
    facts.append(("Session", entry.session))
    facts += [(name, value) for name, value in told.items() if name not in ("Session", "Record", "File")]
    if entry.span is not None:
        facts.append(("Record", f"{entry.span.file}, byte {entry.span.offset:,}, {entry.span.length:,} long"))
    return facts


def told_pairs(pairs: Sequence[tuple[str, str]]) -> list[Paragraph]:
    """Names and values in two columns."""
    wide = max((len(name) for name, _ in pairs), default=0) + 2
    return [
        Paragraph([(f"{one_line(name):<{wide}}", "muted"), (one_line(value), "text")], hang=wide)
        for name, value in pairs
    ]


# The strip below the tree


def glance(outline: Outline, row: Row, diff: Diff | None, now: int, signs: Signs, width: int) -> list[Paragraph]:
    """Three lines about a row: what and when, which files, the last words."""
    facts_line = heading(outline, row, now, signs)[1]
    whole = one_line(row.text)
    title = clip(whole, width - spans_length(facts_line.spans) - 3, signs.more)
    first = Paragraph([(title, "strong"), ("   ", "text"), *facts_line.spans], wrap=False)
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


def plain(paragraphs: Sequence[Paragraph]) -> str:
    """Paragraphs as text."""
    return "\n".join("".join(words for words, _ in paragraph.spans) for paragraph in paragraphs)
