"""What a restore would do, as data: the changes in their order, and every differing path in exactly one class.

Pure: what has to be asked of the disk or the store comes in as functions. What is carried out is what is shown here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..model import OnConflict, PathChange
from ..states import Node, State
from ..walk.secrets import MARK, path_looks_secret
from .change import Change
from .coverage import Coverage, Pair, folders
from .draft import Classifier, Merge, Row, settle_collisions, settle_parents, settle_removals
from .order import ordered
from .scope import Decision

Count = Callable[[bytes, Node | None, Node | None], tuple[int, int] | None]
"""(path, what stands there, what will) → lines that come and lines that go; None for what has no lines."""
Asked = tuple[bytes, Node | None, Node | None]
Share = Callable[[Callable[[Asked], tuple[int, int] | None], Sequence[Asked]], Sequence[tuple[int, int] | None]]
"""Counts the lines of many."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The paths of an inventory, and the changes that carry it out."""

    changes: tuple[Change, ...]
    restored: tuple[PathChange, ...]
    kept: tuple[PathChange, ...]
    conflicts: tuple[PathChange, ...]
    """Those whose action is "none" stay as they are; the others were chosen."""
    failed: tuple[PathChange, ...]
    """Refused, or impossible on this file system: known before the start."""


def plan(
    pairs: Mapping[bytes, Pair],
    then: Coverage,
    now: State,
    present: Coverage,
    decisions: Mapping[bytes, Decision],
    *,
    choices: Mapping[bytes, OnConflict] | OnConflict = "keep",
    count: Count,
    merge: Merge,
    standing: Callable[[bytes], str],
    fold: Callable[[bytes], bytes] | None = None,
    share: Share = lambda count, asked: list(map(count, asked)),
) -> Plan:
    """The plan for the differing paths that have a decision; the others are not in question.

    `choices` are for conflicts; a path that is named there with "keep" is left in any case, and one with "checkpoint"
    is taken although it was moving or inferred. `standing` tells what stands at a path that the present state does not
    hold, since it is ignored or cannot be captured: "folder", "other" or "". `fold` is given where the file system
    ignores case.
    """
    if fold:
        standing = _standing_besides(now, standing, fold)
    classifier = Classifier(then, present, choices, merge, standing)
    rows = {path: classifier.row(path, pairs[path], decision) for path, decision in decisions.items() if path in pairs}
    settle_removals(rows, now, present)
    settle_parents(rows, pairs, standing)
    if fold:
        settle_collisions(rows, now, fold)
    acts = {
        path: Change(path, row.pair.now, row.after, row.content, not row.pair.listed)
        for path, row in rows.items()
        if row.act
    }
    named = {path: row for path, row in sorted(rows.items()) if row.pair.listed}
    lines = _lines(named, count, share)
    shown = {path: _shown(path, row, lines.get(path)) for path, row in named.items()}

    def those(place: str) -> tuple[PathChange, ...]:
        return tuple(change for path, change in shown.items() if named[path].place == place)

    return Plan(ordered(acts), those("restored"), those("kept"), those("conflicts"), those("failed"))


def _standing_besides(
    now: State, standing: Callable[[bytes], str], fold: Callable[[bytes], bytes]
) -> Callable[[bytes], str]:
    """What stands at a path, apart from what the state holds under a name that differs only in case."""
    held = {fold(path) for path in (*folders(now), *now)}
    return lambda path: "" if fold(path) in held else standing(path)


def _shown(path: bytes, row: Row, lines: tuple[int, int] | None) -> PathChange:
    """One line of an inventory; a conflict that stays tells what the checkpoint's would do."""
    before, after = _ends(row)
    added, removed = lines or (None, None)
    notes = [row.note, _difference(before, after)]
    if _is_file(row.pair.then, row.pair.now) and path_looks_secret(path):
        notes.append(MARK)
    if lines is None and row.place in ("restored", "conflicts") and _is_file(before, after) and row.content is None:
        notes.append("binary")
    note = ", ".join(note for note in notes if note)
    action = _action(before, after) if row.act else "none"
    return PathChange(path, row.why, action, added, removed, note, row.preselected, row.when)


def _ends(row: Row) -> tuple[Node | None, Node | None]:
    """What stands there, and what will, or would."""
    return row.pair.now, row.after if row.act else row.pair.then


def _lines(rows: Mapping[bytes, Row], count: Count, share: Share) -> dict[bytes, tuple[int, int] | None]:
    """The lines that come and go at each path where they are told."""
    asked: list[Asked] = []
    found: dict[bytes, tuple[int, int] | None] = {}
    for path, row in rows.items():
        before, after = _ends(row)
        if row.place not in ("restored", "conflicts") or row.content is not None:
            continue
        if before and after and before.oid == after.oid and before.kind == after.kind:
            found[path] = (0, 0) if before.kind == "file" else None
        elif _is_file(before, after):
            asked.append((path, before, after))
    told = share(lambda item: count(*item), asked)
    return found | {path: lines for (path, _, _), lines in zip(asked, told, strict=True)}


def _is_file(before: Node | None, after: Node | None) -> bool:
    """Whether a file comes, goes or changes."""
    return any(node is not None and node.kind == "file" for node in (before, after))


def _action(before: Node | None, after: Node | None) -> Literal["write", "create", "delete", "mode"]:
    if before is None:
        return "create"
    if after is None:
        return "delete"
    return "mode" if (before.kind, before.oid) == (after.kind, after.oid) else "write"


def _difference(before: Node | None, after: Node | None) -> str:
    """What lines do not tell."""
    if before is None or after is None:
        kind = (before or after or Node("file", 0, "")).kind
        return kind if kind != "file" else ""
    if before.kind != after.kind:
        return f"{before.kind} → {after.kind}"
    if before.mode != after.mode:
        return f"mode {before.mode:o} → {after.mode:o}"
    return "link" if before.kind == "link" else ""
