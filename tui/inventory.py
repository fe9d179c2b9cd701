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
    if inventory.scope != "conversation":
        paragraphs += files_told(inventory, row_time, now, room)
    paragraphs += discarded_told(inventory, now)
    for effect in inventory.effects:
        paragraphs.append(line("Cannot be undone", [(one_line(effect), "attention")]))
    if not paragraphs:
        paragraphs.append(text("Nothing would change.", "muted"))
    return paragraphs


def files_told(inventory: Inventory, row_time: int, now: int, room: int) -> list[Paragraph]:
    """What happens to the files."""
    paragraphs: list[Paragraph] = []
    as_of = inventory.target.files_as_of
    if row_time and as_of and abs(row_time - as_of) >= 1_000_000_000:
        apart = "before" if as_of < row_time else "after"
        words = f"files as of {moment(as_of, now)}, {duration(abs(row_time - as_of))} {apart} this row"
        paragraphs.append(line("", [(words, "muted")]))
    paragraphs += group("Restored", inventory.restored, room, restored_words)
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
    if change.added or change.removed:
        spans.append((": ", "text"))
        if change.removed:
            spans.append((f"{count(change.removed, 'line')} go" + ("es" if change.removed == 1 else ""), "removed"))
        if change.added:
            spans.append((", " if change.removed else "", "text"))
            spans.append((f"{change.added:,} come" + ("s" if change.added == 1 else "") + " back", "added"))
    return [*spans, note_span(change)]


def note_span(change: PathChange) -> Span:
    """What else a person should know of a path."""
    return (f" ({one_line(change.note)})" if change.note else "", "muted")


def kept_words(change: PathChange) -> list[Span]:
    """Why a file stays as it is."""
    why = ", ".join(part for part in (one_line(change.why), one_line(change.note)) if part)
    return [(path_text(change.path), "text"), (f" ({why})" if why else "", "muted")]


def conflict_words(change: PathChange, now: int) -> list[Span]:
    """Whose change stands against the checkpoint's."""
    spans: list[Span] = [(path_text(change.path), "text"), (f": {one_line(change.why)}", "text")]
    if change.when:
        spans.append((f", {long_age(change.when, now)}", "muted"))
    return [*spans, note_span(change)]


def discarded_told(inventory: Inventory, now: int) -> list[Paragraph]:
    """Work that exists now and will not after, and under which names it stays."""
    discarded = inventory.discarded
    parts = [*discarded_files(inventory), *discarded_turns(inventory, now)]
    if not parts:
        return []
    stays = [f"branch {one_line(discarded.branch)}"] if discarded.branch and inventory.scope != "files" else []
    stays.append("u undoes")
    return [line("Discarded", [(" · ".join(parts), "text"), (f": {', '.join(stays)}", "muted")])]


def discarded_files(inventory: Inventory) -> list[str]:
    """Files whose present contents would be gone."""
    files = inventory.discarded.files
    if inventory.scope == "conversation":
        return []
    if len(files) > 1:
        return [f"{count(len(files), 'file')} as they are now"]
    return [f"{path_text(file.path)} as it is now" for file in files]


def discarded_turns(inventory: Inventory, now: int) -> list[str]:
    """Prompts that leave the conversation, by their first words."""
    discarded: Discarded = inventory.discarded
    if inventory.scope == "files" or not discarded.turns:
        return []
    since = f" ({duration(now - discarded.since)})" if discarded.since else ""
    names = [f"“{short_words(prompt)}”" for prompt in discarded.prompts[:2]]
    more = f" and {len(discarded.prompts) - 2} more" if len(discarded.prompts) > 2 else ""
    return [f"{count(discarded.turns, 'prompt')} {', '.join(names)}{more}{since}"]


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
