"""A restore's inventory in the words of its dialog: restored, kept, conflict, discarded, cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence

from ..store.model import Discarded, Inventory, Live, PathChange
from ..store.text import path_text
from .theme import Signs
from .widgets.lines import Span
from .widgets.sheet import Paragraph, text
from .words import agent, count, duration, long_age, moment, one_line

HEAD = 11
"""Cells of the column of headings."""


def told(inventory: Inventory, *, row_time: int, now: int, signs: Signs, room: int) -> list[Paragraph]:
    """The inventory; `room` is how many paths of a class stand on lines of their own."""
    paragraphs = [text(live_words(live, now), "attention", hang=2) for live in inventory.live]
    if inventory.note:
        paragraphs.append(text(one_line(inventory.note), "attention", hang=2))
    lost = lost_told(inventory, now)
    paragraphs += [lost] if lost is not None else []
    if inventory.scope != "conversation":
        paragraphs += files_told(inventory, row_time, now, room)
    paragraphs += discarded_told(inventory)
    for effect in inventory.effects:
        paragraphs.append(line("Cannot be undone", [(one_line(effect), "attention")]))
    if not paragraphs:
        paragraphs.append(text("Nothing would change.", "muted"))
    return paragraphs


def lost_told(inventory: Inventory, now: int) -> Paragraph | None:
    """What is there now and will not be, before all else, by name and count; None where nothing is to happen."""
    changed = changing(inventory)
    files = [change for change in changed if change.action == "delete"]
    lines = [change for change in changed if change.action == "write" and change.removed]
    others = [change for change in changed if change.action == "write" and change.removed is None]
    parts = discarded_turns(inventory, now)
    if files:
        parts.append(named(files))
    if lines:
        total = sum(change.removed or 0 for change in lines)
        parts.append(f"{count(total, 'line')} of {named(lines)}")
    if others:
        parts.append(f"what {named(others)} {'holds' if len(others) == 1 else 'hold'} now")
    if parts:
        return Paragraph([("Goes away  ", "attention"), (" · ".join(parts), "text")], hang=HEAD)
    if changed:
        return Paragraph([("Goes away  ", "strong"), ("nothing", "muted")], hang=HEAD)
    return None


def changing(inventory: Inventory) -> list[PathChange]:
    """Every path that will be touched, conflicts that do not stay among them."""
    if inventory.scope == "conversation":
        return []
    return [*inventory.restored, *(change for change in inventory.conflicts if change.action != "none")]


def named(changes: Sequence[PathChange]) -> str:
    """The first one by its name, and how many more: "fold.py and 2 more files"."""
    more = len(changes) - 1
    return path_text(changes[0].path) + (f" and {count(more, 'more file', 'more files')}" if more else "")


def files_told(inventory: Inventory, row_time: int, now: int, room: int) -> list[Paragraph]:
    """What happens to the files."""
    paragraphs: list[Paragraph] = []
    as_of = inventory.target.files_as_of
    if row_time and as_of and abs(row_time - as_of) >= 1_000_000_000:
        apart = "before" if as_of < row_time else "after"
        words = f"files as of {moment(as_of, now)}, {duration(abs(row_time - as_of))} {apart} this row"
        paragraphs.append(line("", [(words, "muted")]))
    lost_first = sorted(inventory.restored, key=lambda change: (change.action != "delete", -(change.removed or 0)))
    paragraphs += group("Restored", lost_first, room, restored_words)
    paragraphs += group("Kept", inventory.kept, room, kept_words)
    some = max(room, 2)
    paragraphs += group(
        "Conflict !", inventory.conflicts, some, lambda change: conflict_words(change, now), "attention"
    )
    paragraphs += group("Fails !", inventory.failed, some, kept_words, "attention")
    if inventory.uncaptured:
        words = f"{count(inventory.uncaptured, 'path')} could not be captured then: left alone"
        paragraphs.append(line("", [(words, "muted")]))
    return paragraphs


def line(head: str, spans: Sequence[Span], ink: str = "strong") -> Paragraph:
    """A heading and what stands behind it."""
    shown = f"{head:<{HEAD}}" if len(head) < HEAD else f"{head}  "
    return Paragraph([(shown, ink), *spans], hang=HEAD)


def group(head: str, changes: Sequence[PathChange], room: int, words, ink: str = "strong") -> list[Paragraph]:
    """A class of paths: how many, then the first ones by name."""
    if not changes:
        return [line(head, [("no file", "muted")])] if head == "Restored" else []
    counted = f"{count(len(changes), 'file'):<9}"
    paragraphs: list[Paragraph] = []
    for number, change in enumerate(changes[:room]):
        spans: list[Span] = [(counted if not number else " " * len(counted), "text"), *words(change)]
        if number == min(room, len(changes)) - 1 and len(changes) > room:
            spans.append((f" · {len(changes) - room:,} more", "muted"))
        paragraphs.append(Paragraph([(f"{head if not number else '':<{HEAD}}", ink), *spans], hang=HEAD + len(counted)))
    return paragraphs


def restored_words(change: PathChange) -> list[Span]:
    """What becomes of a file, in words."""
    spans: list[Span] = [(path_text(change.path), "text")]
    if change.action == "delete":
        lines = f", {count(change.removed, 'line')}" if change.removed else ""
        return [*spans, (f": goes{lines}", "removed"), note_span(change)]
    if change.action == "create":
        lines = f", {count(change.added, 'line')}" if change.added else ""
        return [*spans, (f": comes back{lines}", "added"), note_span(change)]
    counts = line_spans(change)
    return [*spans, *([(": ", "text"), *counts] if counts else []), note_span(change)]


def line_spans(change: PathChange) -> list[Span]:
    """How many lines go, and how many come back."""
    spans: list[Span] = []
    if change.removed:
        spans.append((f"{count(change.removed, 'line')} go{'es' if change.removed == 1 else ''}", "removed"))
    if change.added:
        lines = f"{change.added:,}" if spans else count(change.added, "line")
        spans += [(", ", "text")] if spans else []
        spans.append((f"{lines} come{'s' if change.added == 1 else ''} back", "added"))
    return spans


def note_span(change: PathChange) -> Span:
    """What else a person should know of a path."""
    return (f" ({one_line(change.note)})" if change.note else "", "muted")


def kept_words(change: PathChange) -> list[Span]:
    """Why a file stays as it is."""
    why = ", ".join(part for part in (one_line(change.why), one_line(change.note)) if part)
    return [(path_text(change.path), "text"), (f" ({why})" if why else "", "muted")]


def conflict_words(change: PathChange, now: int) -> list[Span]:
    """Whose change stands against the checkpoint's, and what becomes of it."""
    seen = f", {long_age(change.when, now)}" if change.when else ""
    spans: list[Span] = [(path_text(change.path), "text"), (f", {one_line(change.why)}{seen}: ", "text")]
    if change.action == "none":
        return [*spans, ("stays as it is", "strong"), note_span(change)]
    if change.note == "merged":
        return [*spans, ("both are merged", "strong")]
    fate = "it goes" if change.action == "delete" else "the checkpoint's comes"
    counts = line_spans(change) if change.action == "write" else []
    return [*spans, (fate, "strong"), *([(": ", "text"), *counts] if counts else [])]


def discarded_told(inventory: Inventory) -> list[Paragraph]:
    """Where what goes away stays to be found again."""
    discarded = inventory.discarded
    parts: list[str] = []
    if inventory.scope != "files" and discarded.turns:
        where = f"as branch {one_line(discarded.branch)}" if discarded.branch else "in the tree"
        verb = "stays" if discarded.turns == 1 else "stay"
        parts.append(f"{count(discarded.turns, 'prompt')} {verb} {where}")
    if inventory.scope != "conversation" and discarded.files:
        parts.append(f"{count(len(discarded.files), 'file')} in the guard")
    if not parts:
        return []
    return [line("Discarded", [(" · ".join(parts), "text"), (": u undoes", "muted")])]


def discarded_turns(inventory: Inventory, now: int) -> list[str]:
    """Prompts that leave the conversation, by their first words."""
    discarded: Discarded = inventory.discarded
    if inventory.scope == "files" or not discarded.turns:
        return []
    since = f" ({duration(now - discarded.since)})" if discarded.since else ""
    names = [f"“{short_words(prompt)}”" for prompt in discarded.prompts[:2]]
    more = f" and {len(discarded.prompts) - 2} more" if len(discarded.prompts) > 2 else ""
    return [f"{'prompt' if discarded.turns == 1 else 'prompts'} {', '.join(names)}{more}{since}"]


def short_words(words: str) -> str:
    """The beginning of a prompt."""
    shown = one_line(words)
    return shown if len(shown) <= 32 else shown[:31].rstrip(" .,:;") + "…"


def live_words(live: Live, now: int) -> str:
    """Who is at work here, since when, and doing what."""
    name = agent(live.agent)
    facts = [f"pid {live.pid}"] if live.pid else []
    if live.doing:
        facts += [one_line(live.doing), duration(now - live.doing_since)]
        state = "is working here now"
    else:
        facts += [f"since {moment(live.since, now)}"] if live.since else []
        state = "is open here now"
    return f"{name} {state}" + (f" ({', '.join(facts)})" if facts else "")
