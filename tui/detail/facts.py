"""Facts of a row: ids, times, tokens and cost, sizes, and what its checkpoint holds and does not hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ...store import naming
from ...store.model import Covered, Entry, Point
from ...store.text import path_text
from ..rows import Row
from ..widgets.flow import Part
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import count, covered_facts, duration, full_time, home_relative, listing, moment, one_line, signed, size
from .asked import Asked
from .heading import reason

Pairs = Sequence[tuple[str, str]]

MOST_COUNTED = 400
"""Entries of a turn whose tokens are added up."""
SHOWN = 12
"""Paths of each kind that are named."""
TOKENS = {
    "tokens in": "in",
    "tokens from cache": "from cache",
    "tokens to cache": "to cache",
    "tokens out": "out",
    "tokens of thoughts": "of thoughts",
}
KINDS = {"tool_call": "tool call", "tool_result": "tool result"}
OF_A_RECORD = frozenset({"session", "record", "file", "message"})
"""What an agent's module tells that stands elsewhere here, or says nothing to a person."""


def facts(asked: Asked) -> Iterator[Part]:
    """Where everything about the row stands, subject by subject."""
    row = asked.row
    for heading, pairs in _subjects(asked, row):
        if pairs:
            yield text(heading, "strong")
            yield from told_pairs(pairs)
            yield BLANK


def _subjects(asked: Asked, row: Row) -> Iterator[tuple[str, Pairs]]:
    if row.heads and row.entry is not None:
        yield "Turn", turn_facts(asked, row)
    for point in row.points:
        asked.check()
        yield "Checkpoint", point_facts(point, asked.store.covered(point.id), asked.now, asked)
    if not row.points and row.kind != "operation":
        yield "Checkpoint", [stands_for(asked, row)]
    for point in row.gone:
        yield "Checkpoint, its files gone", gone_facts(point)
    if row.branch is not None:
        yield "Branch", branch_facts(row)
    if row.operation is not None:
        yield "Operation", operation_facts(row)
    told: Pairs = ()
    for entry in (row.entry, row.result):
        if entry is not None:
            asked.check()
            found = entry_facts(asked, entry)
            # What a call's result says of folder, version and the like stands with the call.
            yield KINDS.get(entry.kind, entry.kind).capitalize(), [pair for pair in found if pair not in told]
            told = found
    if row.entry is not None:
        yield "Session", session_facts(asked)


# A turn


def turn_facts(asked: Asked, row: Row) -> Pairs:
    """What a turn took: time, calls, and what the agent recorded of tokens and cost."""
    at = asked.outline.index[row.key]
    inner = [inside for inside in asked.outline.rows[at + 1 : row.end] if inside.entry is not None]
    calls = [inside for inside in inner if inside.entry and inside.entry.kind == "tool_call"]
    failed = sum(1 for inside in calls if inside.error)
    last = max((inside.result.time if inside.result else inside.time for inside in inner), default=row.time)
    pairs = [("Began", full_time(row.time)), ("Took", duration(last - row.time) if inner else "")]
    steps = count(len(calls), "call") + (f", {failed} of them failed" if failed else "") if calls else ""
    pairs.append(("Calls", steps))
    if row.lines is not None:
        pairs.append(("Lines", signed(*row.lines) or "none"))
    pairs += used(asked, [inside.entry for inside in inner if inside.entry])
    return [pair for pair in pairs if pair[1]]


def used(asked: Asked, entries: Sequence[Entry]) -> Pairs:
    """Tokens and cost of entries, where the agent records them; a message that stands in several counts once."""
    spoken = [entry for entry in entries if entry.kind in ("reply", "tool_call")]
    messages: dict[str, dict[str, str]] = {}
    for entry in spoken[:MOST_COUNTED]:
        asked.check()
        told = asked.store.facts(entry)
        messages[told.get("message") or told.get("record") or entry.id] = told
    summed: Counter[str] = Counter()
    cost = 0.0
    for told in messages.values():
        summed.update({name: int(told[name]) for name in TOKENS if told.get(name, "").isdigit()})
        if found := re.match(r"[\d.]+", told.get("cost", "")):
            cost += float(found[0])
    models = dict.fromkeys(told["model"] for told in messages.values() if told.get("model"))
    tokens = ", ".join(f"{summed[name]:,} {words}" for name, words in TOKENS.items() if summed[name])
    if tokens and len(spoken) > MOST_COUNTED:
        tokens += f" (the first {MOST_COUNTED} entries)"
    pairs = [("Model", ", ".join(models)), ("Tokens", tokens), ("Cost", f"{cost:.4f} $" if cost else "")]
    return [pair for pair in pairs if pair[1]]


# Checkpoints


def point_facts(point: Point, covered: Covered, now: int, asked: Asked) -> Pairs:
    """What a checkpoint is, what it can speak of, and what it cannot."""
    files = count(point.files, "file") + (f", {size(covered.bytes)}" if covered.bytes else "")
    pairs = [("Id", point.id), ("Made", reason(point)), ("Time", full_time(point.time))]
    pairs.append(("Files", files if point.complete else f"partial: {naming.known(point)}"))
    if point.complete:
        pairs.append(("Covers", _coverage(covered)))
    else:
        pairs.append(("Knows", _known(asked, point)))
    pairs += [(name.capitalize(), value) for name, value in covered_facts(covered, SHOWN)]
    if covered.inferred:
        pairs.append(("Inferred", listing([path_text(path) for path in covered.inferred], SHOWN)))
    told = {
        "Label": point.label,
        "Pinned": "kept for good" if point.pinned else "",
        "Late": "saved after the agent went on: it may hold a little of what came next" if point.late else "",
        "Inferred": "concluded from later evidence" if point.inferred else "",
        "Stored": "" if point.stored else "only in the agent's own copies so far",
    }
    return [*pairs, *((name, value) for name, value in told.items() if value)]


def _coverage(covered: Covered) -> str:
    """The scope of a whole checkpoint in words."""
    left_out: list[str] = []
    if covered.rules:
        left_out.append(f"what is ignored ({listing([path_text(name) for name in covered.rules], SHOWN)})")
    if covered.largest_file:
        left_out.append(f"files over {size(covered.largest_file)}")
    return f"the whole folder but {' and '.join(left_out)}" if left_out else "the whole folder"


def _known(asked: Asked, point: Point) -> str:
    """The paths that a partial one speaks of; every other is unknown."""
    names = [path_text(path) for path in asked.store.known(point.id)]
    return f"{listing(names, SHOWN)}; no other path" if names else "no path"


def gone_facts(point: Point) -> Pairs:
    """A checkpoint of which only the row is left."""
    return [("Id", point.id), ("Made", reason(point)), ("Files", f"{naming.gone(point)} {full_time(point.gone)}")]


def stands_for(asked: Asked, row: Row) -> tuple[str, str]:
    """Which checkpoint a row without one stands for."""
    at = asked.outline.checkpoint_at(row)
    if at is None:
        return ("None", "none stands at or before this row")
    return ("None of its own", f"files as of {moment(at.time, asked.now)} ({at.id})")


# Branches, operations, entries


def branch_facts(row: Row) -> Pairs:
    """How a branch came to be, and where it is gone on with."""
    branch = row.branch
    assert branch is not None
    origin = {"agent": "the agent", "forkpoint": "a fork made here"}.get(branch.origin, "")
    told = {
        "Name": branch.name,
        "State": branch.state,
        "Made by": origin,
        "Head": branch.head,
        "Session": branch.session,
    }
    return [(name, value) for name, value in told.items() if value]


def operation_facts(row: Row) -> Pairs:
    """What a person did."""
    operation = row.operation
    assert operation is not None
    told = {name: str(operation.data.get(key) or "") for name, key in (("Guard", "guard"), ("To", "point"))}
    scope = str(operation.data.get("scope") or "")
    pairs = [("Id", operation.id), ("Kind", operation.kind), ("Time", full_time(row.time)), ("Scope", scope)]
    return [pair for pair in (*pairs, *told.items()) if pair[1]]


def entry_facts(asked: Asked, entry: Entry) -> Pairs:
    """What the agent's record tells of an entry."""
    kind = KINDS.get(entry.kind, entry.kind)
    pairs = [("Id", entry.id), ("Kind", f"{kind}, {entry.flavour}" if entry.flavour else kind)]
    pairs += [("Time", full_time(entry.time)), ("Tool", entry.tool), ("Call", entry.call)]
    told = asked.store.facts(entry)
    for name, value in told.items():
        if name not in OF_A_RECORD:
            is_count = name.startswith("tokens") and value.isdigit()
            shown = home_relative(value) if name == "folder" else value
            pairs.append((name[:1].upper() + name[1:], f"{int(value):,}" if is_count else shown))
    if entry.span is not None:
        place = f"{size(entry.span.length)}, byte {entry.span.offset:,} of {entry.span.file}"
        pairs.append(("Record", place))
    return list({name: (name, value) for name, value in pairs if value}.values())


def session_facts(asked: Asked) -> Pairs:
    """The session that the row is of."""
    info, entry = asked.outline.tree.info, asked.row.entry
    branch = asked.outline.tree.branch_of.get(entry.id, "") if entry else ""
    files = f"{count(len(info.files), 'file')}, {size(info.bytes)}" if info.files else ""
    pairs = [("Id", entry.session if entry else info.id), ("Agent", naming.agent(info.agent) if info.agent else "")]
    pairs += [("Branch", branch), ("Folder", home_relative(info.cwd)), ("Written in", files)]
    return [pair for pair in pairs if pair[1]]


def told_pairs(pairs: Pairs) -> Iterator[Part]:
    """Names and values in two columns."""
    wide = max((len(name) for name, _ in pairs), default=0) + 2
    for name, value in pairs:
        yield Paragraph([(f"{one_line(name):<{wide}}", "muted"), (one_line(value), "text")], indent=2, hang=wide)
